"""Data shuffling: margins exactly, rank correlations within a stated error."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from celosia.anonymity.masking import Shuffle
from celosia.anonymity.microdata import Microdata, Roles, read_microdata
from celosia.core.errors import CelosiaError
from celosia.noise import Seeded

COUNT = 20_000
ERROR = 6 / np.sqrt(COUNT)  # of a rank correlation, by chance


def read(columns: dict[str, Any], stratum: str | None = None) -> Microdata:
    return read_microdata(pa.table(columns), roles=Roles(quasi_identifiers=list(columns), stratum=stratum))


def make_file() -> Microdata:
    lot = np.random.default_rng(8)
    age = lot.integers(18, 90, COUNT)
    pay = np.exp(age / 40 + 0.6 * lot.standard_normal(COUNT))
    rent = np.round(pay * lot.uniform(0.2, 0.5, COUNT), 1)
    return read({"age": age, "pay": pay, "rent": rent})


def correlate(data: Microdata) -> Any:
    return stats.spearmanr(np.column_stack([data.get_numbers(name) for name in data.table.column_names])).statistic


def test_margins_stay_exactly_and_rank_correlations_by_chance() -> None:
    data = make_file()
    shuffled = Shuffle(columns=["pay", "rent"], given=["age"]).apply(data, source=Seeded(1))
    for name in data.table.column_names:
        assert Counter(shuffled.get_column(name).to_pylist()) == Counter(data.get_column(name).to_pylist())
    assert shuffled.get_column("age").equals(data.get_column("age"))
    assert np.abs(correlate(shuffled) - correlate(data)).max() < ERROR
    # What is released of a person is new, given what was given.
    assert (shuffled.get_numbers("pay") == data.get_numbers("pay")).mean() < 0.01


def test_values_tell_no_more_than_what_is_given() -> None:
    data = make_file()
    shuffled = Shuffle(columns=["pay"], given=["age"]).apply(data, source=Seeded(2))
    ranks = [stats.rankdata(values) for values in (data.get_numbers("pay"), shuffled.get_numbers("pay"))]
    age = stats.rankdata(data.get_numbers("age"))
    rest = [each - np.polyval(np.polyfit(age, each, 5), age) for each in ranks]
    assert abs(np.corrcoef(rest[0], rest[1])[0, 1]) < ERROR
    alone = Shuffle(columns=["pay"]).apply(data, source=Seeded(3))
    assert abs(stats.spearmanr(alone.get_numbers("pay"), data.get_numbers("pay")).statistic) < ERROR


def test_strata_are_shuffled_apart_and_the_order_of_rows_does_not_matter() -> None:
    lot = np.random.default_rng(1)
    frame = pa.table({"region": list("NS") * 20, "age": lot.integers(0, 9, 40), "pay": lot.integers(0, 9, 40)})
    roles, order = Roles(quasi_identifiers=["region", "age"], sensitive=["pay"], stratum="region"), lot.permutation(40)
    step = Shuffle(columns=["pay"], given=["age"])
    once = step.apply(read_microdata(frame, roles=roles), source=Seeded(4)).table
    assert (
        once.take(order)
        .sort_by([(n, "ascending") for n in once.column_names])
        .equals(
            step.apply(read_microdata(frame.take(order), roles=roles), source=Seeded(4)).table.sort_by(
                [(n, "ascending") for n in once.column_names]
            )
        )
    )
    for region in (0, 1):
        rows = np.arange(region, 40, 2)
        assert Counter(once.column("pay").take(rows).to_pylist()) == Counter(frame.column("pay").take(rows).to_pylist())


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"columns": ["x"], "given": ["x"]}, "anonymity_masking.shuffled_and_given"),
        ({"columns": ["y"]}, "anonymity_masking.null_in_column"),
        ({"columns": ["x"], "given": ["y"]}, "anonymity_masking.null_in_column"),
        ({"columns": ["z"]}, "anonymity.unknown_column"),
    ],
)
def test_bad_input_is_refused(fields: dict[str, Any], code: str) -> None:
    with pytest.raises(CelosiaError) as caught:
        Shuffle(**fields).apply(read({"x": [1, 2, 3], "y": [1, 2, None]}))
    assert caught.value.code == code


def test_constant_columns_do_not_divide_by_zero() -> None:
    data = read({"x": [5, 5, 5, 5], "y": [1, 2, 3, 4]})
    for columns, given in ((["x"], ["y"]), (["y"], ["x"])):
        shuffled = Shuffle(columns=columns, given=given).apply(data)
        assert sorted(shuffled.get_column("y").to_pylist()) == [1, 2, 3, 4]
