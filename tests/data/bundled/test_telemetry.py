from __future__ import annotations

import hashlib

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from scipy import stats

from celosia.core import ParameterError
from celosia.data import RECIPES, generate, generate_batches
from celosia.data.bundled import telemetry
from celosia.data.bundled.loan_words import LOAN_WORDS


def counts(table: pa.Table) -> dict[object, int]:
    return {row["values"].as_py(): row["counts"].as_py() for row in pc.value_counts(table["value"])}


def spread(table: pa.Table) -> int:
    numbers = counts(table).values()
    return max(numbers) - min(numbers)


def test_names_and_sizes() -> None:
    assert [recipe.rows for recipe in RECIPES.values()] == [
        *(50_000, 500_000, 1_000_000),
        *(50, 300, 750, 900, 2_500, 15_000, 60_000, 200_000, 350_000, 1_000_000, 2_400_000),
        *(750, 2_500, 50_000, 1_000_000),
    ]
    assert all(recipe.name == name and recipe.description for name, recipe in RECIPES.items())


@pytest.mark.parametrize("name", ["exp_distrib_50k", "norm_distrib_200k", "anglicismo_2500"])
def test_a_table_has_users_and_values(name: str) -> None:
    table = generate(name)
    assert table.num_rows == RECIPES[name].rows
    assert table.column_names == ["user", "value"]
    assert pc.all(pc.match_substring_regex(table["user"], "^[0-9A-Za-z]{10}$")).as_py()
    assert pc.count_distinct(table["user"]).as_py() == table.num_rows
    table.validate(full=True)


# The widths of the published experiments; six standard deviations of the most frequent value's count.
@pytest.mark.parametrize(
    ("name", "published"),
    [
        ("exp_distrib_50k", 19_651),
        ("exp_distrib_500k", 196_754),
        ("norm_distrib_200k", 38_488),
        ("anglicismo_50k", 7_945),
    ],
)
@pytest.mark.parametrize("seed", [7, 8])
def test_the_range_of_the_counts_is_the_published_one(name: str, published: int, seed: int) -> None:
    assert abs(spread(generate(name, seed=seed)) - published) < 6 * published**0.5


def test_a_name_and_a_seed_give_the_same_rows_everywhere() -> None:
    rows = generate("anglicismo_750", seed=3)
    digest = hashlib.sha256("".join(rows["user"].to_pylist() + rows["value"].to_pylist()).encode()).hexdigest()
    assert digest == "66b4d82e0b7f97e544cc28dc7b37b88296dcada9539acdc35348758674878b7f"
    assert generate("anglicismo_750", seed=3).equals(rows)
    assert not generate("anglicismo_750", seed=4).equals(rows)


def test_a_small_set_is_no_part_of_a_large_one() -> None:
    small, large = generate("norm_distrib_50"), generate("norm_distrib_300")
    assert not set(small["user"].to_pylist()) & set(large["user"].to_pylist())


def test_batches_make_up_the_table() -> None:
    batches = list(generate_batches("norm_distrib_200k"))
    assert max(batch.num_rows for batch in batches) == 65_536
    assert pa.Table.from_batches(batches).equals(generate("norm_distrib_200k"))


def test_exponential_weights_are_those_of_the_integer_part() -> None:
    weights = telemetry._exponential_weights()
    with mpmath.workdps(60):
        exact = [(mpmath.exp(-k / mpmath.mpf(2)) - mpmath.exp(-(k + 1) / mpmath.mpf(2))) * 2**60 for k in range(89)]
    assert all(abs(weight - value) <= 1 for weight, value in zip(weights.tolist(), exact, strict=True))


def test_normal_weights_are_those_of_the_value_cut_towards_zero() -> None:
    least, weights = telemetry._normal_weights()
    with mpmath.workdps(80):
        for number, weight in enumerate(weights.tolist(), start=least):
            low, high = (number - 1 if number <= 0 else number), (number + 1 if number >= 0 else number)
            area = mpmath.ncdf(mpmath.mpf(high - 12) / 2) - mpmath.ncdf(mpmath.mpf(low - 12) / 2)
            assert abs(weight - area * 2**60) <= 1


@pytest.mark.parametrize("name", ["exp_distrib_50k", "norm_distrib_60k"])
def test_values_follow_their_weights(name: str) -> None:
    values = generate(name)["value"].to_numpy()
    if name.startswith("exp"):
        expected = np.diff(stats.expon(scale=2).cdf(np.arange(12)))
        observed = np.bincount(values, minlength=40)[:11]
    else:
        expected = np.diff(stats.norm(12, 2).cdf(np.arange(6, 20)))
        observed = np.bincount(values, minlength=40)[6:19]
    expected = np.append(expected, 1 - expected.sum()) * values.size
    observed = np.append(observed, values.size - observed.sum())
    assert stats.chisquare(observed, expected).pvalue > 1e-4


def test_words_are_skewed_and_one_value_in_ten_is_no_word() -> None:
    table = generate("anglicismo_50k")
    found = counts(table)
    words = [found.get(word, 0) for word in LOAN_WORDS]
    assert abs(50_000 - sum(words) - 5_000) < 6 * 67
    harmonic = sum(1 / rank for rank in range(1, len(LOAN_WORDS) + 1))
    for rank in (1, 2, 3, 10, 100):
        expected = 45_000 / harmonic / rank
        assert abs(words[rank - 1] - expected) < 5 * expected**0.5
    others = [str(value) for value in found if value not in LOAN_WORDS]
    assert {len(text) for text in others} == set(range(3, 11))
    assert len(others) > 4_500


def test_an_unknown_name_is_refused_at_once() -> None:
    cases: list[object] = ["exp_distrib", "", "EXP_DISTRIB_50K", 7, None, ["exp_distrib_50k"]]
    for name in cases:
        with pytest.raises(ParameterError, match="name must be one of exp_distrib_50k"):
            generate_batches(name)  # type: ignore[arg-type]


def test_a_seed_is_a_whole_number() -> None:
    cases: list[object] = [-1, 1.5, True, "7", None]
    for seed in cases:
        with pytest.raises(ParameterError, match="seed"):
            generate("norm_distrib_50", seed=seed)  # type: ignore[arg-type]
