"""Generalization hierarchies: what a value becomes at each level, from itself to a value that says nothing.

They are written by hand (``Categories``, from a dictionary or a CSV file) or follow from the values (``Intervals``,
``Prefixes``, ``Dates``).
"""

from celosia.anonymity.hierarchies.categories import Categories, read_hierarchy
from celosia.anonymity.hierarchies.dates import Dates
from celosia.anonymity.hierarchies.intervals import Intervals
from celosia.anonymity.hierarchies.levels import ANY, Hierarchy, Levels
from celosia.anonymity.hierarchies.prefixes import Prefixes

__all__ = [
    "ANY",
    "Categories",
    "Dates",
    "Hierarchy",
    "Intervals",
    "Levels",
    "Prefixes",
    "read_hierarchy",
]
