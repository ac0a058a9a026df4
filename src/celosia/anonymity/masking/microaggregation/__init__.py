"""Microaggregation: groups of at least k similar records, whose values become those of the group's center."""

from celosia.anonymity.masking.microaggregation.microaggregate import Microaggregate

__all__ = ["Microaggregate"]
