"""How long hypothesis searches. By default the same examples on every run, so that a red
test is red again; ``make soak`` looks at many more, at random.
"""

from __future__ import annotations

from hypothesis import settings

from tests.effort import USUAL

# No deadline: the machines that run this are shared, and a slow example is no bug.
settings.register_profile(
    "ci", derandomize=True, deadline=None, print_blob=True, database=None, max_examples=USUAL
)
settings.register_profile("soak", deadline=None, print_blob=True, max_examples=25 * USUAL)
settings.load_profile("ci")
