"""Composition for parameters fixed in advance, and filters for parameters that are not."""

from interlace.core.composition.composed import Composition, compose
from interlace.core.composition.filters import Filter

__all__ = ["Composition", "Filter", "compose"]
