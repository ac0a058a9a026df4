"""Methods that make values coarser, or leave records out, until a file satisfies privacy models."""

from celosia.anonymity.generalization.full_domain import FullDomain, Solution, search

__all__ = ["FullDomain", "Solution", "search"]
