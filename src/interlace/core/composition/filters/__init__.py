"""Filters: rules for parameters that are chosen from earlier answers (R3)."""

from interlace.core.composition.filters.filter import Filter, Item
from interlace.core.composition.filters.rule import Budget, Charge

__all__ = ["Budget", "Charge", "Filter", "Item"]
