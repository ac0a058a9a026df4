"""The Adult table of ``CELOSIA_DATA``: as it is, a million rows drawn from it, and its hierarchies.

Becker and Kohavi 1996, UCI; 30,162 complete records, nine columns, with the hierarchies that ARX distributes.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyarrow import csv

from celosia.anonymity import Microdata, Roles, read_hierarchy, read_microdata

if TYPE_CHECKING:
    from collections.abc import Sequence

COLUMNS = (
    *("sex", "age", "race", "marital-status", "education", "native-country"),
    *("workclass", "occupation", "salary-class"),
)
SIX = COLUMNS[:6]
MILLION = 1_000_000


def folder() -> Path | None:
    """Where the table is, if ``CELOSIA_DATA`` says so."""
    place = Path(os.environ.get("CELOSIA_DATA", ""), "adult")
    return place if (place / "adult.csv").is_file() else None


@lru_cache(maxsize=1)
def read_table() -> pa.Table:
    """The table."""
    place = folder()
    if place is None:
        raise FileNotFoundError("CELOSIA_DATA names no folder with adult/adult.csv")
    return csv.read_csv(place / "adult.csv", parse_options=csv.ParseOptions(delimiter=";"))


def read_adult(quasi_identifiers: Sequence[str] = SIX, sensitive: Sequence[str] = ("occupation",)) -> Microdata:
    """The table with its hierarchies."""
    return _declare(read_table(), quasi_identifiers, sensitive)


@lru_cache(maxsize=2)
def draw_million(quasi_identifiers: tuple[str, ...] = SIX, sensitive: tuple[str, ...] = ("occupation",)) -> Microdata:
    """A million rows drawn from the table with replacement."""
    rows = np.random.default_rng(1).integers(0, read_table().num_rows, MILLION)
    return _declare(read_table().take(pa.array(rows)), quasi_identifiers, sensitive)


@lru_cache(maxsize=1)
def draw_wide_million() -> Microdata:
    """A million rows with 15 quasi-identifiers: those of the table, and six that repeat some in another order."""
    lot = np.random.default_rng(2)
    table = draw_million().table
    extra = {f"{name} again": table.column(name).take(pa.array(lot.permutation(MILLION))) for name in COLUMNS[:6]}
    for name, column in extra.items():
        table = table.append_column(name, column)
    return _declare(table, (*COLUMNS, *extra), ())


def _declare(table: pa.Table, quasi_identifiers: Sequence[str], sensitive: Sequence[str]) -> Microdata:
    place = folder() or Path()
    rest = [name for name in table.column_names if name not in {*quasi_identifiers, *sensitive}]
    hierarchies = {
        name: read_hierarchy(place / f"adult_hierarchy_{name.removesuffix(' again')}.csv")
        for name in table.column_names
        if name.removesuffix(" again") in COLUMNS
    }
    roles = Roles(quasi_identifiers=quasi_identifiers, sensitive=sensitive, others=rest)
    return read_microdata(table, roles=roles, hierarchies=hierarchies)
