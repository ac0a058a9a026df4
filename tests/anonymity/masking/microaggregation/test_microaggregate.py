"""The step: k-anonymous, means kept, strata, nulls, and the order of the rows."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pv
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.anonymity.masking import Microaggregate
from celosia.anonymity.microdata import Microdata, Roles, Step, read_microdata
from celosia.core.errors import CelosiaError

METHODS = ["mdav", "blocks", "principal"]


def read(columns: dict[str, Any], stratum: str | None = None, nulls: Any = "category") -> Microdata:
    roles = Roles(quasi_identifiers=list(columns), stratum=stratum, nulls=nulls)
    return read_microdata(pa.table(columns), roles=roles)


@pytest.mark.parametrize("method", METHODS)
@given(rows=st.lists(st.tuples(st.integers(0, 9), st.floats(-5, 5)), min_size=4, max_size=40), k=st.integers(2, 4))
def test_files_become_k_anonymous_and_keep_means(method: Any, rows: list[tuple[int, float]], k: int) -> None:
    data = read({"age": [row[0] for row in rows], "height": [row[1] for row in rows]})
    step = Microaggregate(columns=["age", "height"], k=k, method=method, block=10)
    assert isinstance(step, Step)
    masked = step.apply(data)
    released = list(zip(*masked.table.to_pydict().values(), strict=True))
    assert min(Counter(released).values()) >= k
    for name in ("age", "height"):
        assert masked.get_numbers(name).mean() == pytest.approx(data.get_numbers(name).mean(), abs=1e-12)
    assert (masked.rows == data.rows).all()


@given(st.permutations(range(14)))
def test_the_order_of_rows_does_not_matter(order: list[int]) -> None:
    frame = pa.table(
        {
            "age": [20, 20, 20, 20, 35, 35, 35, 50, 50, 50, 50, 50, 61, 61],
            "sex": list("MFMFMFMMMFFMMF"),
            "illness": list("abcdefghijklmn"),  # tells equal records apart
        }
    )
    roles = Roles(quasi_identifiers=["age", "sex"], sensitive=["illness"])
    for method, columns in (("mdav", ["age", "sex"]), ("blocks", ["age", "sex"]), ("mdav", ["age"])):
        step = Microaggregate(columns=columns, k=3, method=method, block=7)  # type: ignore[arg-type]
        once = step.apply(read_microdata(frame, roles=roles)).table.take(order)
        twice = step.apply(read_microdata(frame.take(order), roles=roles)).table
        assert once.equals(twice)


def test_figures_2_8_and_2_9_by_job() -> None:
    data = read(
        {
            "job": ["Diseñador web", "Administrador de BBDD", "Diseñador web", "Administrador de BBDD"],
            "age": [31, 46, 51, 30],
            "pay": [2700, 2950, 3500, 2760],
        }
    )
    for method in ("mdav", "univariate", "principal"):
        masked = Microaggregate(columns=["pay"], k=2, within=["job"], method=method).apply(data)
        assert masked.get_numbers("pay").tolist() == [3100, 2855, 3100, 2855]
        assert masked.get_numbers("age").tolist() == [31, 46, 51, 30]


def test_strata_are_aggregated_apart() -> None:
    region = ["N", "S"] * 6
    data = read({"region": region, "age": list(range(12))}, stratum="region")
    masked = Microaggregate(columns=["age"], k=3).apply(data).get_numbers("age")
    for name in "NS":
        rows = [row for row in range(12) if region[row] == name]
        assert masked[rows].mean() == pytest.approx(np.mean(rows))
        assert min(Counter(masked[rows]).values()) >= 3
    assert not set(masked[::2]) & set(masked[1::2])


def test_types_have_their_centers() -> None:
    data = read(
        {
            "age": [20, 21, 22, 60, 61, 65],
            "edu": ["low", "high", "high", "mid", "mid", "low"],
            "sex": ["F", "F", None, "M", "M", "F"],
        }
    )
    step = Microaggregate(columns=["age", "edu", "sex"], k=3, orders={"edu": ["low", "mid", "high"]})
    masked = step.apply(data).table.to_pydict()
    assert masked == {
        "age": [21.0] * 3 + [62.0] * 3,
        "edu": ["high"] * 3 + ["mid"] * 3,
        "sex": ["F"] * 3 + ["M"] * 3,
    }
    natural = Microaggregate(columns=["age"], k=3, orders={"age": []}).apply(data)
    assert natural.get_column("age").to_pylist() == [21, 21, 21, 61, 61, 61]


def test_univariate_leaves_nulls_in_place() -> None:
    data = read({"age": [20, None, 30, 70, 80, None]})
    masked = Microaggregate(columns=["age"], k=2, method="univariate").apply(data)
    assert masked.get_column("age").to_pylist() == [25, None, 25, 75, 75, None]


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"columns": ["age"], "k": 3, "method": "mdva"}, "anonymity_masking.unknown_choice"),
        ({"columns": "age", "k": 3}, "anonymity_masking.not_column_names"),
        ({"columns": ["age", "age"], "k": 3}, "anonymity_masking.not_column_names"),
        ({"columns": [], "k": 3}, "anonymity_masking.not_column_names"),
        ({"columns": ["age"], "k": 1}, "core.below_minimum"),
        ({"columns": ["age"], "k": 3, "orders": {"sex": []}}, "anonymity_masking.order_of_other_column"),
        ({"columns": ["age"], "k": 3, "within": ["age"]}, "anonymity_masking.swapped_and_kept"),
        ({"columns": ["gone"], "k": 3}, "anonymity.unknown_column"),
        ({"columns": ["age"], "k": 7}, "anonymity_masking.too_few_records"),
        ({"columns": ["age"], "k": 3, "within": ["sex"]}, "anonymity_masking.part_too_small"),
        ({"columns": ["pay"], "k": 3}, "anonymity_masking.null_in_column"),
        ({"columns": ["pay"], "k": 6, "method": "univariate"}, "anonymity_masking.too_few_known"),
        ({"columns": ["sex"], "k": 3, "method": "principal"}, "anonymity.column_not_numeric"),
        ({"columns": ["sex"], "k": 3, "orders": {"sex": ["F"]}}, "anonymity_masking.order_incomplete"),
    ],
)
def test_bad_input_is_refused_by_name(fields: dict[str, Any], code: str) -> None:
    data = read({"age": [1, 2, 3, 4, 5, 6], "sex": list("FFMMMM"), "pay": [1, 2, 3, 4, 5, None]})
    before = data.table
    with pytest.raises(CelosiaError) as caught:
        Microaggregate(**fields).apply(data)
    assert caught.value.code == code
    assert str(caught.value)
    assert data.table is before


@pytest.mark.skipif("CELOSIA_DATA" not in os.environ, reason="needs the Adult table")
def test_adult_becomes_k_anonymous() -> None:
    path = Path(os.environ["CELOSIA_DATA"]) / "adult" / "adult.csv"
    frame = pv.read_csv(path, parse_options=pv.ParseOptions(delimiter=";"))
    names = ["age", "education", "sex"]
    roles = Roles(quasi_identifiers=names, others=[name for name in frame.column_names if name not in names])
    masked = Microaggregate(columns=names, k=5, method="blocks", block=500).apply(read_microdata(frame, roles=roles))
    assert min(Counter(zip(*(masked.table.column(name).to_pylist() for name in names), strict=True)).values()) >= 5


@pytest.mark.parametrize("method", [*METHODS, "univariate"])
def test_the_last_digits_do_not_show_the_order_of_the_records(method: Any) -> None:
    lot = np.random.default_rng(3)
    columns = {"a": lot.choice([0.1, 0.7, 2.3, 1e9 + 0.1], 40), "b": lot.normal(size=40)}
    step = Microaggregate(columns=["a", "b"], k=7, method=method)
    released = []
    for order in (np.arange(40), lot.permutation(40), np.arange(40)[::-1]):
        masked = step.apply(read({name: values[order] for name, values in columns.items()}))
        released.append(sorted(zip(*masked.table.to_pydict().values(), strict=True)))
    assert released[0] == released[1] == released[2]
