"""Top coding, bottom coding and rounding."""

from __future__ import annotations

import pyarrow as pa
import pytest

from celosia.anonymity import Microdata, Roles, read_microdata
from celosia.anonymity.generalization import BottomCode, Round, TopCode
from celosia.core.errors import InputError, ParameterError, SchemaError


def read(values: list[object], weights: list[float] | None = None) -> Microdata:
    frame = pa.table({"c": pa.array(values), "w": weights or [1.0] * len(values)})
    return read_microdata(frame, roles=Roles(quasi_identifiers=["c"], weight="w"))


def test_the_seed_turns_15_into_a_label() -> None:
    done = TopCode(column="c", at=10, label=">10").apply(read([3, 10, 15, None]))
    assert done.get_column("c").to_pylist() == ["3", "10", ">10", None]
    assert done.spreads["c"].tolist() == [0.0, 0.0, 5 / 12, 0.0]


@pytest.mark.parametrize(
    ("replacement", "expected"),
    [("limit", [3, 10, 10, 10, 10]), ("mean", [3, 10, 17, 17, 17]), ("median", [3, 10, 20, 20, 20])],
)
def test_by_default_the_column_stays_numeric(replacement: str, expected: list[int]) -> None:
    data = read([3, 10, 14, 20, 11], weights=[1, 1, 1, 2, 0.5])
    done = TopCode(column="c", at=10, replacement=replacement).apply(data).get_column("c")  # type: ignore[arg-type]
    assert (done.type, done.to_pylist()) == (pa.int64(), expected)


def test_a_mean_with_a_fraction_makes_the_column_fractional() -> None:
    done = TopCode(column="c", at=10, replacement="mean").apply(read([3, 14, 15, 14, 15]))
    assert done.get_column("c").to_pylist() == [3.0, 14.5, 14.5, 14.5, 14.5]


def test_bottom_coding_mirrors_top_coding() -> None:
    data = read([-4.5, 0.0, 2.5, None])
    coded = BottomCode(column="c", at=0).apply(data)
    mirrored = TopCode(column="c", at=0).apply(read([4.5, 0.0, -2.5, None]))
    assert coded.get_column("c").to_pylist() == [0.0, 0.0, 2.5, None]
    assert coded.spreads["c"].tolist() == mirrored.spreads["c"].tolist()
    assert BottomCode(column="c", at=0, label="debt").apply(data).get_column("c").to_pylist() == [
        "debt",
        "0",
        "2.5",
        None,
    ]


def test_nothing_beyond_the_limit_changes_nothing() -> None:
    data = read([1, 2])
    assert TopCode(column="c", at=5).apply(data) is data


def test_rounding_keeps_the_type_and_writes_no_binary_noise() -> None:
    assert Round(column="c", to=10).apply(read([4, 5, 15, 26, None])).get_column("c").to_pylist() == [
        0,
        0,
        20,
        30,
        None,
    ]
    assert Round(column="c", to=0.1).apply(read([0.31, 0.74])).get_column("c").to_pylist() == [0.3, 0.7]
    assert Round(column="c", to=2.5).apply(read([1, 4])).get_column("c").to_pylist() == [0.0, 5.0]
    spread = Round(column="c", to=10).apply(read([0, 101])).spreads["c"]
    assert spread.tolist() == [9 / 101, 9 / 101]


def test_bad_input_is_refused() -> None:
    for make, code in (
        (lambda: TopCode(column="c", at=float("nan")), "anonymity_recoding.limit_not_number"),
        (lambda: BottomCode(column="c", at=True), "anonymity_recoding.limit_not_number"),
        (lambda: TopCode(column="c", at=1, replacement="max"), "anonymity_recoding.unknown_replacement"),  # type: ignore[arg-type]
        (lambda: Round(column="c", to=0), "anonymity_recoding.base_not_positive"),
    ):
        with pytest.raises(ParameterError) as caught:
            make()
        assert caught.value.code == code
    with pytest.raises(SchemaError, match="'c'"):
        TopCode(column="c", at=1).apply(read(["a"]))


def test_the_mean_above_a_limit_does_not_show_the_order_of_the_records() -> None:
    values, weights = [0.1, 11.1, 1e9 + 0.1, 12.7, 10.3, 99.9], [1.0, 2.3, 0.37, 4.7, 1.1, 0.9]
    step = TopCode(column="c", at=10, replacement="mean")
    means = {
        max(step.apply(read(list(values[turn:] + values[:turn]), weights[turn:] + weights[:turn])).get_numbers("c"))
        for turn in range(6)
    }
    assert len(means) == 1


def test_the_mean_of_one_or_two_values_is_not_released() -> None:
    data = read_microdata(pa.table({"pay": [1000, 1100, 9000, 9100]}), roles=Roles(sensitive=["pay"]))
    for replacement in ("mean", "median"):
        with pytest.raises(InputError) as caught:
            TopCode(column="pay", at=5000, replacement=replacement).apply(data)
        assert caught.value.code == "anonymity_recoding.too_few_beyond"
        assert TopCode(column="pay", at=1050, replacement=replacement).apply(data)
