"""The question that every library is asked in ``./dev bench query``, and where its table is.

Standard library only, for it is read in the peers' environments. The table has persons, about ten rows each; ``g``, one
of a hundred groups, and ``code``, the same as text; ``age``, integers, and ``weight``, reals of which some lie
outside the bounds. How many each group has, their sum and their mean are asked, at epsilon 1.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from benchmarks.peers.cache import cache

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["BOUNDS", "FEW", "GROUPS", "LIMIT", "MAX_GROUPS", "MAX_ROWS", "REPEATS", "ROWS", "path"]

ROWS = int(os.environ.get("CELOSIA_BENCH_ROWS") or 10_000_000)
FEW = 100_000  # rows of the table on which accuracy is measured
REPEATS = 100  # runs of each question whose accuracy is measured
GROUPS = 100
BOUNDS: dict[str, tuple[int, int]] = {"age": (0, 120), "weight": (0, 300)}
MAX_GROUPS, MAX_ROWS = 2, 3  # what one person counts with, where a person is protected
LIMIT = "500MB"  # of the memory that DuckDB may take for a table that is larger


def path(rows: int = ROWS) -> Path:
    """Parquet file of so many rows, which ``benchmarks/query.py`` writes."""
    return cache() / "tables" / f"rows-{rows}.parquet"
