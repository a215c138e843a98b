"""Composition for parameters fixed in advance, and filters for parameters that are not."""

from interlace.core.composition import scales
from interlace.core.composition.assembly import Assembly
from interlace.core.composition.batch import Batch
from interlace.core.composition.composed import Composition, compose
from interlace.core.composition.filters import Filter
from interlace.core.composition.odometers import Odometer, Reading
from interlace.core.composition.planning import plan

__all__ = [
    "Assembly",
    "Batch",
    "Composition",
    "Filter",
    "Odometer",
    "Reading",
    "compose",
    "plan",
    "scales",
]
