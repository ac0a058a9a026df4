"""Microdata files: k-anonymity and its kin, masking, and the risk of disclosure.

A file of records about people is read with the role of each column (``Roles``), changed by steps, measured, and
written. These methods are *not* differential privacy: they protect against stated attackers only. Where a method has a
differentially private counterpart, its documentation points there.
"""

from celosia.anonymity.hierarchies import ANY, Categories, Dates, Hierarchy, Intervals, Levels, Prefixes, read_hierarchy
from celosia.anonymity.microdata import Microdata, Roles, Step, read_microdata

__all__ = [
    "ANY",
    "Categories",
    "Dates",
    "Hierarchy",
    "Intervals",
    "Levels",
    "Microdata",
    "Prefixes",
    "Roles",
    "Step",
    "read_hierarchy",
    "read_microdata",
]
