"""``./dev bench anonymity``: measuring, generalizing and microaggregating files, against pycanon, anjana and anonypy.

The Adult table is read from ``CELOSIA_DATA``; without it only the cases on drawn numbers run.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from benchmarks.harness import Case
from benchmarks.tables import adult
from celosia.anonymity import (
    FullDomain,
    KAnonymity,
    LocalSuppression,
    Microaggregate,
    Microdata,
    Mondrian,
    Roles,
    find_special_uniques,
    measure,
    measure_loss,
    measure_risk,
    read_microdata,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

NUMBERS = ["a", "b", "c", "d"]


@lru_cache(maxsize=3)
def draw_numbers(rows: int) -> Microdata:
    """Four columns of normal numbers, with correlations."""
    lot = np.random.default_rng(3)
    values = lot.normal(size=(rows, 4)) @ (np.eye(4) + 0.4)
    return read_microdata(pa.table(dict(zip(NUMBERS, values.T, strict=True))), roles=Roles(quasi_identifiers=NUMBERS))


def squared_error(data: Microdata, masked: Microdata) -> float:
    """The squared error of standardized columns, over their total."""
    parts: list[NDArray[np.float64]] = []
    for name in NUMBERS:
        before, after = data.get_numbers(name), masked.get_numbers(name)
        parts.append(((before - after) / before.std()) ** 2)
    return float(np.mean(parts))


def measure_error() -> float:
    """The squared error of MDAV on 100,000 records, in percent of the total."""
    data = draw_numbers(100_000)
    return 100 * squared_error(data, Microaggregate(columns=NUMBERS, k=5).apply(data))


def cases() -> list[Case]:
    """All cases; those on Adult need its table."""
    found = [
        _microaggregate(32_000, "2.2 s"),
        _microaggregate(100_000, "0.75 s"),
        _microaggregate(1_000_000, "7.7 s"),
        Case.number("SSE of MDAV", measure_error, unit="%", parameters={"n": 100_000, "k": 5}, aim="1 %"),
    ]
    return found if adult.folder() is None else [*_adult_cases(), *found]


def _microaggregate(rows: int, aim: str) -> Case:
    step = Microaggregate(columns=NUMBERS, k=5)
    return Case.timed(
        "MDAV",
        lambda: step.apply(draw_numbers(rows)),
        repeats=3,
        parameters={"n": rows, "columns": 4, "k": 5},
        aim=aim,
    )


def _adult_cases() -> list[Case]:
    small, large = adult.read_adult(), adult.draw_million()
    nine = adult.read_adult(adult.COLUMNS, ())
    about = {"n": len(small), "columns": 6}
    million = {"n": adult.MILLION, "columns": 6}
    mondrian = Mondrian(k=10)
    optimal = FullDomain(models=(KAnonymity(5),), limit=0.05)
    return [
        Case.timed(
            "k, l and t together",
            lambda: measure(small),
            parameters=about,
            peers={"pycanon": "k-l-t"},
        ),
        Case.timed(
            "k, l and t together",
            lambda: measure(large),
            repeats=3,
            parameters=million,
            peers={"pycanon": "t-million"},  # t alone: the three together take longer than the harness waits
            aim="1 s",
        ),
        Case.timed(
            "Mondrian",
            lambda: mondrian.apply(small),
            parameters={**about, "k": 10},
            peers={"anonypy": "mondrian", "anjana": "k-anonymize"},
        ),
        Case.timed("Mondrian", lambda: mondrian.apply(large), repeats=3, parameters={**million, "k": 10}, aim="1 s"),
        Case.number(
            "NCP of Mondrian",
            lambda: float(np.mean(list(measure_loss(small, mondrian.apply(small)).values()))),
            unit="part",
            parameters={**about, "k": 10},
            aim="0.054",
        ),
        Case.timed(
            "optimal full domain",
            lambda: optimal.search(nine),
            parameters={"n": len(nine), "columns": 9, "k": 5, "limit": "5 %"},
            aim="1.4 s",
        ),
        Case.timed(
            "full domain, 15 columns",
            lambda: optimal.search(adult.draw_wide_million()),
            repeats=1,
            parameters={"n": adult.MILLION, "columns": 15, "k": 5, "limit": "5 %"},
            aim="it ends",
        ),
        Case.timed(
            "local suppression", lambda: LocalSuppression(k=5).apply(small), repeats=3, parameters={**about, "k": 5}
        ),
        Case.timed("risk", lambda: measure_risk(large), repeats=3, parameters=million),
        Case.timed("SUDA2, sets of up to 4", lambda: find_special_uniques(small, max_size=4), parameters=about),
    ]
