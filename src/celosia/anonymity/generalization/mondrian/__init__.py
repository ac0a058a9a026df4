"""Mondrian: multidimensional generalization by recursive splits."""

from celosia.anonymity.generalization.mondrian.mondrian import Mondrian

__all__ = ["Mondrian"]
