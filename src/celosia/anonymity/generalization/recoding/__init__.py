"""Recoding: hierarchies, dictionaries, intervals, limits, rounding, suppression, and keyed hashes of identifiers."""

from celosia.anonymity.generalization.recoding.generalize import Generalize
from celosia.anonymity.generalization.recoding.identifiers import HashIdentifiers, hash_identifiers
from celosia.anonymity.generalization.recoding.limits import BottomCode, Round, TopCode
from celosia.anonymity.generalization.recoding.recode import Discretize, Recode
from celosia.anonymity.generalization.recoding.records import DropRecords, Suppress

__all__ = [
    "BottomCode",
    "Discretize",
    "DropRecords",
    "Generalize",
    "HashIdentifiers",
    "Recode",
    "Round",
    "Suppress",
    "TopCode",
    "hash_identifiers",
]
