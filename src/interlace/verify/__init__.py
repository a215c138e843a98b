"""The exact verifier: the worst case of a mechanism's own code, and theorems as experiments.

It imports nothing of ``composition``: it does not trust what it checks.
"""

import inspect
import sys
from types import ModuleType

from interlace.verify.questions import Question
from interlace.verify.report import Attack, Point, Report
from interlace.verify.verifier import verify

__all__ = ["Attack", "Point", "Question", "Report", "verify"]


class _Callable(ModuleType):
    """``il.verify(...)`` is ``verify`` of this package, whose import puts the package there."""

    __call__ = staticmethod(verify)


sys.modules[__name__].__class__ = _Callable
# help() and completion read these of what is called: here the package.
__signature__ = inspect.signature(verify)
__doc__ = verify.__doc__ or ""
