"""Generalization and suppression: recoding of columns, Mondrian, and local suppression of cells."""

from celosia.anonymity.generalization.full_domain import FullDomain, Solution, search
from celosia.anonymity.generalization.mondrian import Mondrian
from celosia.anonymity.generalization.recoding import (
    BottomCode,
    Discretize,
    DropRecords,
    Generalize,
    HashIdentifiers,
    Recode,
    Round,
    Suppress,
    TopCode,
    hash_identifiers,
)
from celosia.anonymity.generalization.suppression import LocalSuppression

__all__ = [
    "BottomCode",
    "Discretize",
    "DropRecords",
    "FullDomain",
    "Generalize",
    "HashIdentifiers",
    "LocalSuppression",
    "Mondrian",
    "Recode",
    "Round",
    "Solution",
    "Suppress",
    "TopCode",
    "hash_identifiers",
    "search",
]
