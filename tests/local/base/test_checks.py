"""Numbers of people that cannot be, and counts that no reports add up to: for every protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from celosia.core import FormatError, ParameterError
from celosia.local.base.aggregate import Aggregate
from celosia.local.base.checks import are_sums_of_signs, check_crowd, exact_total
from celosia.local.catalogue import load_catalogue
from celosia.noise import Seeded
from tests.testing.small_protocols import SMALL

if TYPE_CHECKING:
    State = dict[str, np.ndarray[Any, np.dtype[np.int64]]]

CATALOGUE = load_catalogue()

NAMES = sorted(SMALL)
MEANS = ("Duchi", "Hybrid", "LocalLaplace", "OneBitMean", "Piecewise")


def made(name: str) -> tuple[Any, list[Any]]:
    make, values = SMALL[name]
    return make(1), values


def test_variances_are_of_people_that_can_be() -> None:
    cases: list[str] = [name for name in NAMES if name != "DistinctCount"]
    for name in cases:
        protocol, _ = made(name)
        bad: list[tuple[Any, ...]] = [(-5,), (-1,), (2.5,), (float("nan"),), ("7",), (None,), (True,)]
        if name not in MEANS:
            bad += [(10, -5), (10, 11), (10, float("nan")), (10, float("inf")), (10, "3"), (0, 1.0)]
            assert protocol.variance(10, 10) >= 0
        for given in bad:
            with pytest.raises(ParameterError, match=r"reports|count"):
                protocol.variance(*given)
        assert protocol.variance(10) > 0


def test_every_protocol_of_the_catalogue_is_among_them() -> None:
    assert {entry.kind.__name__ for entry in CATALOGUE.values()} <= set(NAMES)


def test_squares_and_worst_cases_too() -> None:
    for name in ("CountMeanSketch", "HadamardCountMeanSketch", "LocalHashing"):
        for squares in (-1.0, float("inf"), float("nan"), "2"):
            with pytest.raises(ParameterError, match="squares must be a number"):
                made(name)[0].variance(10, squares=squares)
    with pytest.raises(ParameterError, match="reports must be at least 0, not -5"):
        made("HadamardResponse")[0].worst_variance(-5)
    check_crowd(np.int64(3), np.float64(2.5))  # type: ignore[arg-type] # NumPy's numbers are numbers


def forged(aggregate: Aggregate[Any], state: State) -> Aggregate[Any]:
    """What a sender makes of an honest aggregate by changing its numbers."""
    table = aggregate.to_arrow()
    columns = {
        name: pa.LargeListArray.from_arrays(pa.array([0, array.size]), pa.array(array.reshape(-1)))
        for name, array in state.items()
    }
    found: Aggregate[Any] = Aggregate.from_arrow(pa.table(columns).replace_schema_metadata(table.schema.metadata))
    return found


def honest(name: str, count: int = 60) -> Aggregate[Any]:
    protocol, values = made(name)
    aggregate: Aggregate[Any] = protocol.aggregate()
    return aggregate.absorb(protocol.privatize((values * count)[:count], source=Seeded(3)))


def test_honest_states_are_read_whatever_was_merged() -> None:
    for name in NAMES:
        protocol, _ = made(name)
        whole = honest(name).merge(honest(name, 7))
        for aggregate in (whole, honest(name, 1), protocol.aggregate()):
            assert forged(aggregate, aggregate.state) == aggregate


TOTALS = {  # whose sum is decided by the number of reports; other states may have any number up to it
    "CountMeanSketch": "reports",
    "DBitFlip": "asked",
    "HadamardCountMeanSketch": "reports",
    "HierarchicalHistogram": "levels",
    "Hybrid": "sum",
    "Piecewise": "sum",
    "Rappor": "sizes",
    "SequenceFragmentPuzzle": "text_reports",
    "SubsetSelection": "supports",
}


def test_impossible_states_are_refused() -> None:
    for name in NAMES:
        aggregate = honest(name)
        for key in aggregate.state:
            for wrong in (-61, 2**40, 2**62, *([-1] if "adamard" not in name and "rows" not in name else [])):
                state = {one: array.copy() for one, array in aggregate.state.items()}
                state[key].reshape(-1)[0] = wrong
                with pytest.raises(FormatError, match="60 reports cannot add up to"):
                    forged(aggregate, state)
        key = TOTALS.get(type(aggregate.protocol).__name__, "said")
        for step in (1, -1) if key in aggregate.state else ():
            state = {one: array.copy() for one, array in aggregate.state.items()}
            state[key].reshape(-1)[int(np.argmax(state[key].reshape(-1) > 0))] += step
            with pytest.raises(FormatError, match="60 reports cannot add up to"):
                forged(aggregate, state)


def test_no_part_has_more_than_its_reports() -> None:
    cases: list[tuple[str, str, str]] = [
        ("CountMeanSketch", "ones", "reports"),
        ("DBitFlip", "ones", "asked"),
        ("HadamardCountMeanSketch", "signs", "reports"),
        ("Rappor", "ones", "sizes"),
        ("SequenceFragmentPuzzle", "fragment_ones", "fragment_reports"),
    ]
    for name, small, large in cases:
        aggregate = honest(name)
        state = {key: array.copy() for key, array in aggregate.state.items()}
        state[small].reshape(-1)[0] = state[large].reshape(-1)[0] + (2 if small == "signs" else 1)
        assert state[small].max() <= 60
        with pytest.raises(FormatError, match="cannot add up to"):
            forged(aggregate, state)


def test_totals_do_not_wrap() -> None:
    assert exact_total(np.array([2**62, 2**62, 2**62, 2**62, 3])) == 2**64 + 3
    assert exact_total(np.array([-3, 5, -(2**40)])) == 2 - 2**40
    huge = np.full((1, 8), 2**61)
    assert not are_sums_of_signs(huge, np.array([0]))
    assert not are_sums_of_signs(huge, np.array([2**62]))
