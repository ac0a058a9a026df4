"""Links to the nearest record against a comparison of every two records."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.anonymity import Microdata, Roles, read_microdata
from celosia.anonymity.risk import link_records, measure_interval_disclosure
from celosia.core.errors import CelosiaError

numbers = st.integers(0, 6)
mixed = st.tuples(st.one_of(st.none(), numbers), st.sampled_from(["a", "b", "c", None]))


def read(records: list[tuple[Any, ...]], nulls: Any = "category") -> Microdata:
    columns = {f"q{place}": list(column) for place, column in enumerate(zip(*records, strict=True))}
    table = pa.table(columns)
    kinds = [
        pa.int64() if kind == pa.null() and name == "q0" else kind
        for name, kind in zip(table.column_names, table.schema.types, strict=True)
    ]
    kinds = [pa.string() if kind == pa.null() else kind for kind in kinds]
    table = table.cast(pa.schema(list(zip(table.column_names, kinds, strict=True))))
    return read_microdata(table, roles=Roles(quasi_identifiers=table.column_names, nulls=nulls))


def link_plainly(distances: list[list[float]]) -> list[float]:
    """The chance of the right link for each masked record, whose original is that of its row."""
    found = []
    for row, line in enumerate(distances):
        nearest = [other for other, distance in enumerate(line) if distance <= min(line) + 1e-9]
        found.append(1 / len(nearest) if row in nearest else 0.0)
    return found


@given(
    st.integers(2, 15).flatmap(
        lambda size: st.tuples(*[st.lists(st.tuples(numbers, numbers), min_size=size, max_size=size)] * 2)
    )
)
def test_numbers_are_linked_by_euclidean_distance(files: Any) -> None:
    before, after = (np.array(file, dtype=float) for file in files)
    original, changed = read(files[0]), read(files[1])
    masked = original.replace_columns({name: changed.get_column(name) for name in ("q0", "q1")})
    spread = before.std(axis=0)
    spread[spread == 0] = 1
    distances = [[float(np.linalg.norm((one - two) / spread)) for two in before] for one in after]
    found = link_records(original, masked)
    assert found.probabilities.tolist() == pytest.approx(link_plainly(distances))
    assert found.distances.tolist() == pytest.approx([min(line) for line in distances])
    assert found.rate == pytest.approx(np.mean(link_plainly(distances)))


@given(
    st.integers(2, 12).flatmap(lambda size: st.tuples(*[st.lists(mixed, min_size=size, max_size=size)] * 2)),
    st.sampled_from(["category", "wildcard"]),
)
def test_numbers_and_categories_are_linked_by_gowers_distance(files: Any, nulls: Any) -> None:
    known = [one for one, _ in files[0] if one is not None]
    reach = (max(known) - min(known)) or 1 if known else 1

    def differ(one: Any, two: Any, *, number: bool) -> float:
        if one is None or two is None:
            return 0.0 if nulls == "wildcard" or one is two else 1.0
        return abs(one - two) / reach if number else float(one != two)

    original, changed = read(files[0], nulls), read(files[1], nulls)
    masked = original.replace_columns({name: changed.get_column(name) for name in ("q0", "q1")})
    distances = [
        [differ(one[0], two[0], number=True) + differ(one[1], two[1], number=False) for two in files[0]]
        for one in files[1]
    ]
    found = link_records(original, masked)
    assert found.probabilities.tolist() == pytest.approx(link_plainly(distances))
    assert found.distances.tolist() == pytest.approx([min(line) for line in distances])


def test_a_file_links_to_itself_and_noise_hides() -> None:
    lot = np.random.default_rng(2)
    values = lot.normal(size=(500, 3))
    columns = {f"x{i}": values[:, i] for i in range(3)}
    original = read_microdata(pa.table(columns), roles=Roles(quasi_identifiers=list(columns)))
    own = link_records(original, original)
    assert (own.rate, own.certain, own.by_chance) == (1.0, 500, 1 / 500)
    rates = []
    for size in (0.01, 0.3, 3.0):
        noisy = {name: pa.array(column + size * lot.normal(size=500)) for name, column in columns.items()}
        rates.append(link_records(original, original.replace_columns(noisy)).rate)
    assert rates[0] > 0.95 > rates[1] > 0.05 > rates[2]


@pytest.mark.parametrize("size", [2, 5])
def test_equal_masked_records_are_found_at_most_once(size: int) -> None:
    """Of k equal masked records at most one link is right, so that the rate is at most 1/k."""
    lot = np.random.default_rng(size)
    ages = np.sort(lot.integers(0, 40, 60)).astype(float)
    original = read_microdata(pa.table({"age": ages}), roles=Roles(quasi_identifiers=["age"]))
    means = ages.reshape(-1, size).mean(axis=1).repeat(size)
    found = link_records(original, original.replace_columns({"age": pa.array(means)}))
    assert found.rate <= 1 / size
    assert found.rate > 0


def test_pairs_follow_the_rows_and_not_the_order() -> None:
    original = read([(20, "a"), (30, "a"), (60, "b"), (61, "b")])
    masked = original.keep_rows(np.array([3, 0]))
    assert link_records(original, masked).probabilities.tolist() == [1.0, 1.0]
    assert link_records(original.keep_rows(np.array([2, 0, 3])), masked, ["q0"]).probabilities.tolist() == [1.0, 1.0]


def test_interval_disclosure_counts_values_near_the_masked_ones() -> None:
    original = read_microdata(
        pa.table({"age": [10, 20, 30, None], "job": list("abab"), "pay": [1.0, 2.0, 3.0, 4.0]}),
        roles=Roles(quasi_identifiers=["age", "job"], sensitive=["pay"]),
    )
    spread = float(np.std([1, 2, 3, 4]))
    masked = original.replace_columns({"pay": pa.array([1.0, 2 + 0.4 * spread, 3 - 0.6 * spread, 9.0])})
    found = measure_interval_disclosure(original, masked, width=0.5)
    assert found == {"age": 1.0, "pay": 0.5}
    assert measure_interval_disclosure(original, masked.keep_rows(np.array([3])), ["age"]) == {"age": 0.0}


def test_tables_and_bad_requests() -> None:
    original = read([(20, "a"), (30, "a"), (60, "b")])
    found = link_records(original, original)
    assert "Share of right links" in str(found)
    assert "100 %" in str(found)
    assert "Parte de enlaces correctos" in found.describe("es")
    texts = original.replace_columns({"q0": pa.array(["20-30", "20-30", "60"])})
    other = original.keep_rows(np.array([0, 1]))
    none = read_microdata(pa.table({"x": [1]}), roles=Roles(others=["x"]))
    bad: list[tuple[Any, str]] = [
        (lambda: link_records(original, texts), "anonymity_risk.column_of_other_type"),
        (lambda: link_records(other, original), "anonymity_risk.files_of_other_records"),
        (
            lambda: link_records(original, original.keep_rows(np.array([], dtype=np.int64))),
            "anonymity_risk.files_of_other_records",
        ),
        (lambda: link_records(original, original, ["zz"]), "anonymity.unknown_column"),
        (lambda: link_records(none, none), "anonymity.no_quasi_identifier"),
        (lambda: measure_interval_disclosure(original, original, width=0), "anonymity_risk.not_a_width"),
        (lambda: measure_interval_disclosure(original, original, ["q1"]), "anonymity.column_not_numeric"),
    ]
    for call, code in bad:
        with pytest.raises(CelosiaError) as caught:
            call()
        assert caught.value.code == code
