"""Additive and multiplicative noise: its distribution, and what it keeps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from celosia.anonymity.masking import AddNoise, MultiplyNoise
from celosia.anonymity.masking.draws import draw_normal, draw_uniform
from celosia.anonymity.microdata import Microdata, Roles, read_microdata
from celosia.core.errors import CelosiaError
from celosia.noise import Seeded

FALSE_ALARM = 1e-6
COUNT = 40_000


def read(columns: dict[str, Any]) -> Microdata:
    return read_microdata(pa.table(columns), roles=Roles(quasi_identifiers=list(columns)))


def make_correlated() -> Microdata:
    lot = np.random.default_rng(4)
    height = 170 + 10 * lot.standard_normal(COUNT)
    weight = 0.9 * height - 80 + 9 * lot.standard_normal(COUNT)
    return read({"height": height, "weight": weight})


def draw_noise(step: AddNoise, data: Microdata, seed: int) -> np.ndarray[Any, Any]:
    masked = step.apply(data, source=Seeded(seed))
    return np.column_stack([masked.get_numbers(name) - data.get_numbers(name) for name in step.columns])


def test_uniform_and_normal_numbers_have_their_distribution() -> None:
    uniform = draw_uniform(COUNT, Seeded(1))
    assert 0 < uniform.min() < uniform.max() < 1
    assert stats.kstest(uniform, "uniform").pvalue > FALSE_ALARM
    assert stats.kstest(draw_normal(COUNT, Seeded(2)), "norm").pvalue > FALSE_ALARM


@pytest.mark.parametrize("correlated", [False, True])
def test_noise_has_the_stated_variance(*, correlated: bool) -> None:
    data = make_correlated()
    step = AddNoise(columns=["height", "weight"], alpha=0.3, correlated=correlated)
    noise = draw_noise(step, data, 3)
    for place, name in enumerate(step.columns):
        scale = np.sqrt(0.3 * data.get_numbers(name).var(ddof=1))
        assert stats.kstest(noise[:, place] / scale, "norm").pvalue > FALSE_ALARM
        # Able to fail: noise that is 10 % wider is noticed.
        assert stats.kstest(1.1 * noise[:, place] / scale, "norm").pvalue < FALSE_ALARM


def test_correlations_stay_with_correlated_noise_only() -> None:
    data = make_correlated()
    true = np.corrcoef(data.get_numbers("height"), data.get_numbers("weight"))[0, 1]

    def correlate(**fields: Any) -> float:
        masked = AddNoise(columns=["height", "weight"], alpha=0.5, **fields).apply(data, source=Seeded(5))
        return float(np.corrcoef(masked.get_numbers("height"), masked.get_numbers("weight"))[0, 1])

    assert correlate(correlated=True) == pytest.approx(true, abs=0.02)  # five deviations of a correlation: (1-r²)/√n
    assert correlate() == pytest.approx(true / 1.5, abs=0.02)


def test_means_stay_and_variances_where_asked() -> None:
    data = make_correlated()
    for correlated in (False, True):
        for keep in (False, True):
            step = AddNoise(columns=["height", "weight"], alpha=0.4, correlated=correlated, keep_variance=keep)
            masked = step.apply(data, source=Seeded(6))
            for name in step.columns:
                before, after = data.get_numbers(name), masked.get_numbers(name)
                assert after.mean() == pytest.approx(before.mean(), abs=6 * before.std() / np.sqrt(COUNT))
                assert after.var() == pytest.approx(before.var() * (1 if keep else 1.4), rel=0.05)


def test_factors_have_mean_one_and_the_stated_variance() -> None:
    data = read({"pay": np.full(COUNT, 100.0)})
    masked = MultiplyNoise(columns=["pay"], alpha=0.04).apply(data, source=Seeded(8)).get_numbers("pay") / 100
    assert stats.kstest((np.log(masked) + np.log(1.04) / 2) / np.sqrt(np.log(1.04)), "norm").pvalue > FALSE_ALARM
    assert masked.mean() == pytest.approx(1, abs=6 * 0.2 / np.sqrt(COUNT))
    assert masked.var() == pytest.approx(0.04, rel=0.05)
    signs = read({"pay": [-5.0, 0.0, None, 5.0]})
    changed = MultiplyNoise(columns=["pay"], alpha=0.04).apply(signs, source=Seeded(8)).get_column("pay").to_pylist()
    assert changed[0] < 0 == changed[1] < changed[3]
    assert changed[2] is None


@pytest.mark.parametrize(
    "step",
    [
        AddNoise(columns=["a", "b"], alpha=0.2),
        AddNoise(columns=["a", "b"], alpha=0.2, correlated=True),
        MultiplyNoise(columns=["a", "b"], alpha=0.2),
    ],
)
def test_the_order_of_rows_does_not_matter_and_nulls_stay(step: Any) -> None:
    frame = pa.table({"a": [1.0, None, 3.0, 3.0, 5.0], "b": [2, 4, 1, None, 7], "c": list("vwxyz")})
    roles = Roles(quasi_identifiers=["a", "b"], sensitive=["c"])
    order = [3, 1, 4, 0, 2]
    once = step.apply(read_microdata(frame, roles=roles), source=Seeded(9)).table.take(order)
    twice = step.apply(read_microdata(frame.take(order), roles=roles), source=Seeded(9)).table
    assert once.equals(twice)
    assert once.column("a").null_count == once.column("b").null_count == 1


def test_figures_2_10_and_2_11() -> None:
    """The seed states a variance of 221.81 and alpha 0.1, so noise of 22.2; what it prints has 369 around 0."""
    before, after = [76.5, 54.6, 59.8, 81.2, 91.5, 50.9], [100.9, 97.0, 71.2, 75.6, 120.1, 38.4]
    printed = [24.42, 42.45, 11.41, -5.50, 28.63, -12.40]
    assert np.allclose(np.array(before) + printed, after, atol=0.11)
    assert np.var(before) == pytest.approx(221.81, abs=0.01)
    assert np.var(printed) == pytest.approx(369, abs=0.5)
    data = read({"weight": before * 5000})
    masked = AddNoise(columns=["weight"], alpha=0.1).apply(data, source=Seeded(10))
    assert np.var(masked.get_numbers("weight") - data.get_numbers("weight")) == pytest.approx(22.2, rel=0.05)


@pytest.mark.parametrize(
    ("step", "code"),
    [
        (lambda: AddNoise(columns=["a"], alpha=0), "core.not_positive"),
        (lambda: MultiplyNoise(columns=["a"], alpha=-1), "core.not_positive"),
        (lambda: AddNoise(columns=["c"], alpha=0.1), "anonymity.column_not_numeric"),
        (
            lambda: AddNoise(columns=["a", "b"], alpha=0.1, correlated=True),
            "anonymity_masking.too_few_complete_records",
        ),
        (lambda: AddNoise(columns=["d"], alpha=0.1), "anonymity_masking.too_few_complete_records"),
    ],
)
def test_bad_input_is_refused(step: Any, code: str) -> None:
    data = read({"a": [1.0, None, 2.0], "b": [None, 2.0, 1.0], "c": list("xyz"), "d": [None, 5.0, None]})
    with pytest.raises(CelosiaError) as caught:
        step().apply(data)
    assert caught.value.code == code
