"""Swapping of households: they stay whole, risky ones move, tables by area and similar columns stay."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from celosia.anonymity.masking import SwapHouseholds
from celosia.anonymity.microdata import Microdata, Roles, read_microdata
from celosia.core.errors import CelosiaError
from celosia.noise import Seeded


def make_file(seed: int, homes: int = 60) -> Microdata:
    lot = np.random.default_rng(seed)
    sizes = lot.integers(1, 4, homes)
    region = lot.integers(0, 2, homes)
    town = region * 10 + lot.integers(0, 3, homes)
    people = np.repeat(np.arange(homes), sizes)
    frame = pa.table(
        {
            "home": people * 7 + 1,
            "region": region[people],
            "town": town[people],
            "age": lot.integers(0, 12, people.size),
            "sex": lot.choice(["F", "M"], people.size),
            "id": np.arange(people.size),
        }
    )
    roles = Roles(quasi_identifiers=["region", "town", "age", "sex"], sensitive=["id"], household="home")
    return read_microdata(frame, roles=roles)


def list_homes(data: Microdata) -> dict[int, dict[str, Any]]:
    homes: dict[int, dict[str, Any]] = defaultdict(lambda: defaultdict(list))
    for row in data.table.to_pylist():
        for name, value in row.items():
            homes[row["home"]][name].append(value)
    return homes


STEP = SwapHouseholds(geography=["region", "town"], keys=["age", "sex"], similar=["sex"], share=0.3, k=3)


@settings(max_examples=25)
@given(st.integers(0, 10**6))
def test_households_stay_whole_and_move_once(seed: int) -> None:
    data = make_file(seed)
    swapped = STEP.apply(data, source=Seeded(seed))
    before, after = list_homes(data), list_homes(swapped)
    for home, columns in after.items():
        assert len(set(columns["region"])) == len(set(columns["town"])) == 1
        for name in ("age", "sex", "id"):
            assert columns[name] == before[home][name]
        assert columns["town"][0] // 10 == columns["region"][0]  # the whole area moves

    def describe(homes: dict[int, dict[str, Any]]) -> Counter[Any]:
        return Counter((each["town"][0], tuple(sorted(each["sex"]))) for each in homes.values())

    assert describe(before) == describe(after)


def test_risky_households_move_and_the_share_is_reached() -> None:
    data = make_file(3, homes=400)
    swapped = STEP.apply(data, source=Seeded(1))
    before, after = list_homes(data), list_homes(swapped)
    moved = {home for home in before if before[home]["town"] != after[home]["town"]}
    assert len(moved) >= 0.3 * len(before)
    rows = data.table.to_pylist()
    towns = Counter((row["town"], row["age"], row["sex"]) for row in rows)
    risky = {row["home"] for row in rows if towns[row["town"], row["age"], row["sex"]] < 3}
    assert len(risky - moved) <= 0.05 * len(risky)


def test_no_more_than_the_share_moves_without_risk() -> None:
    lot = np.random.default_rng(2)
    frame = pa.table({"home": np.arange(1000), "town": lot.integers(0, 20, 1000), "age": np.zeros(1000, dtype=int)})
    data = read_microdata(frame, roles=Roles(quasi_identifiers=["town", "age"], household="home"))
    step = SwapHouseholds(geography=["town"], keys=["age"], share=0.1)
    swapped = step.apply(data, source=Seeded(2))
    moved = (swapped.get_numbers("town") != data.get_numbers("town")).sum()
    assert 100 <= moved <= 101
    again = step.apply(data, source=Seeded(3))
    assert not again.table.equals(swapped.table)


def test_risk_of_a_large_area_moves_households_out_of_it() -> None:
    frame = pa.table(
        {
            "home": [1, 2, 3, 4, 5, 6, 7, 8],
            "region": ["N", "N", "N", "N", "S", "S", "S", "S"],
            "town": ["Na", "Na", "Nb", "Nb", "Sa", "Sa", "Sb", "Sb"],
            "age": [99, 40, 40, 40, 40, 40, 40, 40],
        }
    )
    data = read_microdata(frame, roles=Roles(quasi_identifiers=["region", "town", "age"], household="home"))
    step = SwapHouseholds(geography=["region", "town"], keys=["age"], k=2, share=0.01)
    for seed in range(10):
        rows = step.apply(data, source=Seeded(seed)).table.to_pylist()
        assert rows[0]["region"] == "S"
        assert sum(row["region"] != before for row, before in zip(rows, "NNNNSSSS", strict=True)) == 2


def test_partners_are_equally_likely() -> None:
    frame = pa.table({"home": list(range(7)), "town": ["a", "b", "b", "b", "c", "c", "c"], "age": [9] + [1] * 6})
    data = read_microdata(frame, roles=Roles(quasi_identifiers=["town", "age"], household="home"))
    step = SwapHouseholds(geography=["town"], keys=["age"], k=2, share=0.01)
    chosen: Counter[int] = Counter()
    for seed in range(1200):
        towns = step.apply(data, source=Seeded(seed)).get_column("town").to_pylist()
        chosen[next(row for row in range(1, 7) if towns[row] == "a")] += 1
    assert len(chosen) == 6
    assert max(abs(count - 200) for count in chosen.values()) < 6 * np.sqrt(200)


def test_the_order_of_rows_does_not_matter() -> None:
    data = make_file(5)
    order = np.random.default_rng(6).permutation(len(data))
    once = STEP.apply(data, source=Seeded(7)).table.take(order)
    twice = STEP.apply(read_microdata(data.table.take(order), roles=data.roles), source=Seeded(7)).table
    assert once.equals(twice)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"share": 0}, "core.not_between_zero_and_one"),
        ({"k": 1}, "core.below_minimum"),
        ({"keys": []}, "anonymity_masking.not_column_names"),
        ({"keys": ["town"]}, "anonymity_masking.swapped_and_kept"),
        ({"geography": ["gone"]}, "anonymity.unknown_column"),
        ({"geography": ["age"], "keys": ["sex"]}, "anonymity_masking.household_in_two_areas"),
    ],
)
def test_bad_input_is_refused(fields: dict[str, Any], code: str) -> None:
    with pytest.raises(CelosiaError) as caught:
        SwapHouseholds(**{"geography": ["region", "town"], "keys": ["age"], **fields}).apply(make_file(1))
    assert caught.value.code == code
