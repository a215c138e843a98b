"""Guarantees from other libraries and to them, and as versioned JSON.

Other libraries' objects are read by their names and attributes; none is imported, and none needs
to be installed.
"""

from interlace.interchange.documents import from_json, to_json
from interlace.interchange.events import from_dp_accounting
from interlace.interchange.events_out import EventTuple, to_dp_accounting
from interlace.interchange.measurements import from_opendp

__all__ = [
    "EventTuple",
    "from_dp_accounting",
    "from_json",
    "from_opendp",
    "to_dp_accounting",
    "to_json",
]
