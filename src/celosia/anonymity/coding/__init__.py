"""Columns as integer codes, and the groups of rows that agree on several of them.

Every measure and method of the package works on these codes, so that a million rows are array operations.
"""

from celosia.anonymity.coding.columns import Coded, encode, encode_columns, sort_rows
from celosia.anonymity.coding.groups import Groups, group_rows
from celosia.anonymity.coding.matching import count_matches

__all__ = [
    "Coded",
    "Groups",
    "count_matches",
    "encode",
    "encode_columns",
    "group_rows",
    "sort_rows",
]
