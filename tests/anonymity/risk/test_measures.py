"""Risk measures of a file against a plain comparison of records."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.anonymity import Microdata, Roles, read_microdata
from celosia.anonymity.risk import measure_risk
from celosia.core.errors import CelosiaError

KEYS = ["1251", "1211", "1211", "3315", "4314", "4311", "6215", "1251"]
WEIGHTS = [18, 45.5, 39, 17, 541, 8, 5, 92]
GOLDEN = [0.017144, 0.022042, 0.022042, 0.177076, 0.011654, 0.297063, 0.402359, 0.017144]

values = st.one_of(st.none(), st.integers(0, 2))
rows = st.lists(st.tuples(values, values, st.integers(1, 50), st.integers(0, 4)), min_size=1, max_size=25)


def franconi(**more: Any) -> Microdata:
    columns = {f"key {place}": [int(key[place]) for key in KEYS] for place in range(4)}
    roles = Roles(quasi_identifiers=list(columns), weight="weight", household="home" if more else None)
    return read_microdata(pa.table({**columns, "weight": WEIGHTS, **more}), roles=roles)


def agree(left: tuple[Any, ...], right: tuple[Any, ...], *, wild: bool) -> bool:
    return all(a == b or (wild and (a is None or b is None)) for a, b in zip(left, right, strict=True))


def test_the_example_of_franconi_and_polettini() -> None:
    risk = measure_risk(franconi())
    assert risk.frequencies.tolist() == [2, 2, 2, 1, 1, 1, 1, 2]
    assert risk.populations.tolist() == [110, 84.5, 84.5, 17, 541, 8, 5, 110]
    assert risk.individual.round(6).tolist() == GOLDEN
    assert risk.expected == pytest.approx(sum(GOLDEN), abs=4e-6)
    assert risk.rate == pytest.approx(sum(GOLDEN) / 8, abs=5e-7)
    assert (risk.smallest_class, risk.smallest_population, risk.uniques) == (1, 5, 4)
    assert risk.household.tolist() == pytest.approx(risk.individual.tolist())
    assert risk.marketer == pytest.approx(np.mean([1 / F for F in risk.populations]))
    assert risk.unsafe.sum() == 3


def test_a_household_is_found_with_any_of_its_members() -> None:
    risk = measure_risk(franconi(home=["a", "a", "b", "b", None, None, "c", "a"]))
    first = 1 - (1 - GOLDEN[0]) * (1 - GOLDEN[1]) * (1 - GOLDEN[7])
    second = 1 - (1 - GOLDEN[2]) * (1 - GOLDEN[3])
    expected = [first, first, second, second, GOLDEN[4], GOLDEN[5], GOLDEN[6], first]
    assert risk.household.tolist() == pytest.approx(expected, abs=2e-6)
    assert risk.household_expected == pytest.approx(sum(expected), abs=1e-5)
    assert risk.household_rate == pytest.approx(sum(expected) / 8, abs=1e-6)


@given(rows, st.sampled_from(["category", "wildcard"]), st.booleans())
def test_measures_are_those_of_a_plain_comparison(
    records: list[tuple[Any, ...]],
    nulls: Any,
    weighted: bool,  # noqa: FBT001
) -> None:
    a, b, weights, homes = map(list, zip(*records, strict=True))
    frame = pa.table({"a": pa.array(a, pa.int64()), "b": pa.array(b, pa.int64()), "w": weights, "h": homes})
    extra: dict[str, Any] = {"weight": "w"} if weighted else {"others": ["w"]}
    roles = Roles(quasi_identifiers=["a", "b"], household="h", nulls=nulls, **extra)
    risk = measure_risk(read_microdata(frame, roles=roles))
    classes = [
        [j for j, two in enumerate(records) if agree(one[:2], two[:2], wild=nulls == "wildcard")] for one in records
    ]
    assert risk.frequencies.tolist() == [len(members) for members in classes]
    persons = [sum(weights[j] if weighted else 1 for j in members) for members in classes]
    assert risk.populations.tolist() == persons
    assert risk.prosecutor.tolist() == pytest.approx([1 / len(members) for members in classes])
    assert risk.journalist.tolist() == pytest.approx([1 / person for person in persons])
    if not weighted:
        assert risk.individual.tolist() == pytest.approx([1 / len(members) for members in classes])
    for one, home in enumerate(homes):
        safe = math.prod(1 - risk.individual[two] for two, other in enumerate(homes) if other == home)
        assert risk.household[one] == pytest.approx(1 - safe, abs=1e-12)
    assert risk.smallest_class == min(map(len, classes))


@given(rows, st.sampled_from(["category", "wildcard"]))
def test_a_table_of_the_population_gives_its_classes(records: list[tuple[Any, ...]], nulls: Any) -> None:
    a, b, *_ = map(list, zip(*records, strict=True))
    population = pa.table({"b": pa.array(b, pa.int32()), "a": pa.array(a, pa.int64()), "name": ["x"] * len(a)})
    sample = population.select(["a", "b"]).slice(0, (len(a) + 1) // 2)
    data = read_microdata(sample, roles=Roles(quasi_identifiers=["a", "b"], nulls=nulls))
    risk = measure_risk(data, population=population)
    expected = [
        sum(agree(one[:2], two[:2], wild=nulls == "wildcard") for two in records) for one in records[: len(data)]
    ]
    assert risk.populations.tolist() == expected
    assert risk.individual.tolist() == pytest.approx([1 / persons for persons in expected])
    assert risk.smallest_population == min(expected)


def test_risk_that_stands_out_is_above_median_and_deviations() -> None:
    ages = [1] * 30 + [2] * 40 + [3] * 29 + [4]
    risk = measure_risk(read_microdata(pa.table({"age": ages}), roles=Roles(quasi_identifiers=["age"])))
    assert np.flatnonzero(risk.outstanding).tolist() == [99]
    everyone = measure_risk(read_microdata(pa.table({"age": range(9)}), roles=Roles(quasi_identifiers=["age"])))
    assert not everyone.outstanding.any()
    assert everyone.unsafe.all()


def test_strata_have_rates_of_their_own() -> None:
    frame = pa.table({"age": [1, 1, 2, 3], "region": ["n", "n", "n", "s"]})
    risk = measure_risk(read_microdata(frame, roles=Roles(quasi_identifiers=["age"], stratum="region")))
    assert risk.stratum_rates.tolist() == pytest.approx([2 / 3, 1])


def test_the_order_of_records_does_not_matter() -> None:
    order = np.array([5, 2, 7, 0, 1, 6, 3, 4])
    data = franconi()
    assert measure_risk(data.keep_rows(order)).individual.tolist() == measure_risk(data).individual[order].tolist()


def test_the_table_is_written_in_both_languages() -> None:
    risk = measure_risk(franconi(home=list("aabbccdd")))
    lines = str(risk).splitlines()
    assert len(lines) == 13
    assert "12.08 %" in str(risk)
    assert "Global risk" in str(risk)
    assert "Riesgo global" in risk.describe("es")
    assert "12,08 %" in risk.describe("es")
    assert len({len(line) for line in lines}) == 1
    assert "6215" not in repr(risk)


def test_bad_requests_are_refused() -> None:
    data = franconi()
    people = pa.table({name: data.table[name] for name in data.roles.quasi_identifiers})
    texts = people.set_column(0, "key 0", pa.array(list("abcdefgh")))
    no_keys = read_microdata(pa.table({"x": [1]}), roles=Roles(others=["x"]))
    bad: list[tuple[Any, dict[str, Any], str]] = [
        (no_keys, {}, "anonymity.no_quasi_identifier"),
        (data, {"threshold": 1.5}, "anonymity_risk.not_a_share"),
        (data, {"threshold": "x"}, "anonymity_risk.not_a_share"),
        (data, {"threshold": True}, "anonymity_risk.not_a_share"),
        (data, {"population": people.slice(1)}, "anonymity_risk.population_too_small"),
        (data, {"population": texts}, "anonymity_risk.column_of_other_type"),
        (data, {"population": people.drop_columns(["key 1"])}, "anonymity_risk.column_missing"),
    ]
    for given_data, options, code in bad:
        with pytest.raises(CelosiaError) as caught:
            measure_risk(given_data, **options)
        assert caught.value.code == code
        assert "6215" not in str(caught.value)


def test_a_frame_without_roles_is_refused() -> None:
    with pytest.raises(CelosiaError) as caught:
        measure_risk(pa.table({"sex": ["M"]}))
    assert caught.value.code == "anonymity.not_microdata"
