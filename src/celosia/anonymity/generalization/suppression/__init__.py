"""Local suppression: cells that become null, so that no combination of quasi-identifiers is rare."""

from celosia.anonymity.generalization.suppression.local import LocalSuppression

__all__ = ["LocalSuppression"]
