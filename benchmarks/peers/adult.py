"""The Adult table on which anonymity is compared, the same for us and for every peer; NumPy and pandas only.

It is read from ``$CELOSIA_DATA/adult``: 30,162 complete records, with one hierarchy for each column. A larger table is
a bootstrap of it, drawn from a fixed seed.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["MILLION", "QUASI_IDENTIFIERS", "SENSITIVE", "K", "bootstrap_rows", "folder", "load", "load_hierarchies"]

QUASI_IDENTIFIERS = ("sex", "age", "race", "marital-status", "education", "native-country")
SENSITIVE = "occupation"
K = 10
MILLION = 1_000_000


def folder() -> Path:
    """Return where the table and its hierarchies are."""
    place = os.environ.get("CELOSIA_DATA")
    if not place:
        sys.exit("CELOSIA_DATA is not set: it names the folder that holds adult/adult.csv")
    return Path(place) / "adult"


def bootstrap_rows(count: int, rows: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the rows of a larger table, by their place in the table of ``count`` rows."""
    return np.random.default_rng(0).integers(0, count, rows)


def load(rows: int | None = None) -> Any:
    """Return the table as a pandas frame, or a bootstrap of so many rows."""
    import pandas as pd

    frame = pd.read_csv(folder() / "adult.csv", sep=";")
    return frame if rows is None else frame.iloc[bootstrap_rows(len(frame), rows)].reset_index(drop=True)


def load_hierarchies() -> dict[str, dict[int, Any]]:
    """Return for each quasi-identifier its labels by level, level 0 first."""
    import pandas as pd

    frames = {
        name: pd.read_csv(folder() / f"adult_hierarchy_{name}.csv", sep=";", header=None) for name in QUASI_IDENTIFIERS
    }
    return {name: {level: frame[level].to_numpy() for level in range(frame.shape[1])} for name, frame in frames.items()}
