"""Generalization and suppression: recoding of columns, Mondrian, and local suppression of cells."""

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
    "Generalize",
    "HashIdentifiers",
    "LocalSuppression",
    "Mondrian",
    "Recode",
    "Round",
    "Suppress",
    "TopCode",
    "hash_identifiers",
]
