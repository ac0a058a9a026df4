"""Suppression of cells: so that no combination of quasi-identifiers is rare, or no record at risk."""

from celosia.anonymity.generalization.suppression.local import LocalSuppression
from celosia.anonymity.generalization.suppression.risky import SuppressRisky

__all__ = ["LocalSuppression", "SuppressRisky"]
