from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import stats

from celosia.accounting import PLDAccountant, PureAccountant, best
from celosia.accounting.charts import composition_growth, iteration, privacy_profile, renyi_budget, trade_off
from celosia.core import (
    ApproxDP,
    GaussianDP,
    GaussianEvent,
    LaplaceEvent,
    ParameterError,
    PureDP,
    RepeatedEvent,
    ReplaceOne,
)
from celosia.core.iterations import PNSGDEvent
from celosia.plots import save

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

COUNT = LaplaceEvent(scale=10, sensitivity=1)


def lines(chart: Any) -> dict[str, list[tuple[float, float]]]:
    spec = chart.to_dict()
    layer = spec["layer"][-1]
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in layer["encoding"]["color"]["scale"]["domain"]}
    for row in spec["datasets"][layer.get("data", spec.get("data"))["name"]]:
        found[row["name"]].append((row["x"], row["y"]))
    return found


def test_budgets_are_the_curves_of_the_figures() -> None:
    """The Rényi thesis, figures 5.1 to 5.3, by the formulas below its table 5.1."""
    alpha, p = 4.0, 0.75
    response = dict(lines(renyi_budget("randomized response", orders=[2, alpha]))["p = 0.75"])
    assert response[alpha] == pytest.approx(
        math.log(p**alpha * (1 - p) ** (1 - alpha) + (1 - p) ** alpha * p ** (1 - alpha)) / (alpha - 1)
    )
    laplace = dict(lines(renyi_budget("laplace", orders=[2, alpha]))["λ = 2"])
    assert laplace[alpha] == pytest.approx(
        math.log(
            alpha / (2 * alpha - 1) * math.exp((alpha - 1) / 2) + (alpha - 1) / (2 * alpha - 1) * math.exp(-alpha / 2)
        )
        / (alpha - 1)
    )
    gaussian = dict(lines(renyi_budget("gaussian", orders=[2, alpha]))["σ = 3"])
    assert gaussian[alpha] == pytest.approx(alpha / 18)


def test_budgets_rise_with_the_order_and_fall_with_the_noise() -> None:
    drawn = lines(renyi_budget("gaussian", ["1.5", 2]))
    assert list(drawn) == ["σ = 1.5", "σ = 2"]
    assert all(b[1] > a[1] for a, b in pairwise(drawn["σ = 2"]))
    assert all(a[1] > b[1] for a, b in zip(drawn["σ = 1.5"], drawn["σ = 2"], strict=True))


def test_budgets_without_meaning_are_refused() -> None:
    cases: list[Any] = [
        ("cauchy", None, "mechanism must be one of"),
        ("gaussian", [0], "greater than 0"),
        ("laplace", ["much"], "must be a number"),
        ("randomized response", [1], "less than 1"),
        ("laplace", [1, "1/2", "0.5"], "parameters must differ"),
        ("laplace", [], "parameters must be 1 to 7"),
        ("laplace", range(1, 9), "parameters must be 1 to 7"),
        ("laplace", 5, "parameters must be 1 to 7"),
    ]
    for mechanism, parameters, message in cases:
        with pytest.raises(ParameterError, match=message):
            renyi_budget(mechanism, parameters)


def test_a_profile_of_an_event_has_a_line_for_each_accountant_that_knows_it() -> None:
    counts = RepeatedEvent(event=COUNT, times=100)
    drawn = lines(privacy_profile(counts, deltas=[1e-9, 1e-5, 1e-3]))
    assert set(drawn) == {"optimal", "advanced", "zcdp", "renyi", "gdp", "pld"}
    answer = best(counts, 1e-5)
    assert {name: dict(points)[1e-5] for name, points in drawn.items()} == {
        name: epsilon for name, epsilon in answer.epsilons.items() if name != "basic"
    }
    assert all(b[1] <= a[1] for points in drawn.values() for a, b in pairwise(points))


def test_a_profile_leaves_out_what_does_not_apply() -> None:
    drawn = lines(privacy_profile(GaussianEvent(variance=4, sensitivity_squared=1), deltas=[1e-9, 1e-5]))
    assert set(drawn) == {"zcdp", "renyi", "gdp", "pld"}


def test_a_profile_of_accountants_has_their_names() -> None:
    named = {"five": PureAccountant().spend(COUNT, times=5), "six": PLDAccountant().spend(COUNT, times=6)}
    chart = privacy_profile(named, deltas=[1e-6, 1e-3], about="counts")
    assert list(lines(chart)) == ["five", "six"]
    assert chart.to_dict()["title"]["subtitle"] == ["counts"]


def test_growth_goes_through_the_numbers_once() -> None:
    seen = []

    def watched() -> Iterator[int]:
        for number in (1, 10, 100):
            seen.append(number)
            yield number

    drawn = lines(composition_growth(COUNT, delta="1e-5", times=watched()))
    assert seen == [1, 10, 100]
    assert [round(y, 9) for _, y in drawn["basic"]] == [0.1, 1, 10]
    assert drawn["pld"][-1] == (100, best(RepeatedEvent(event=COUNT, times=100), "1e-5").epsilons["pld"])


def test_growth_needs_whole_numbers() -> None:
    with pytest.raises(ParameterError, match="times must be at least 1"):
        composition_growth(COUNT, delta="1e-5", times=[0, 1])
    with pytest.raises(ParameterError, match="delta must be greater than 0 and less than 1"):
        composition_growth(COUNT, delta=1, times=[1, 2])


def test_trade_offs_pass_through_their_corners() -> None:
    drawn = lines(trade_off({"pure": PureDP(epsilon=1), "some delta": ApproxDP(epsilon=2, delta="0.1")}))
    corner = 1 / (1 + math.e)
    assert min(abs(x - corner) + abs(y - corner) for x, y in drawn["pure"]) < 1e-9
    corner = 0.9 / (1 + math.exp(2))
    assert min(abs(x - corner) + abs(y - corner) for x, y in drawn["some delta"]) < 1e-9


def test_trade_offs_are_those_of_normal_distributions_and_never_above_a_coin() -> None:
    drawn = lines(trade_off({"Gaussian": GaussianDP(mu=1), "counts": PLDAccountant().spend(COUNT, times=100)}))
    x, y = np.transpose(drawn["Gaussian"])
    np.testing.assert_allclose(y, stats.norm.cdf(stats.norm.ppf(1 - x) - 1), atol=1e-9)
    assert all(y <= 1 - x + 1e-12 for points in drawn.values() for x, y in points)


def test_iteration_costs_the_first_record_least() -> None:
    event = PNSGDEvent(records=50, step_size="0.1", lipschitz=1, smoothness=1, variance=4)
    drawn = lines(iteration(event, delta="1e-6"))
    by_place = drawn["last weights only"]
    assert (by_place[0][0], by_place[-1][0]) == (1, 50)
    assert all(b[1] > a[1] for a, b in pairwise(by_place))
    secret, released = drawn["last weights, secret order"], drawn["every step released, on a grid"]
    assert by_place[0][1] < secret[0][1] < by_place[-1][1]
    # Without amplification the last record pays for one noisy step, as if it were released.
    assert released[0][1] == pytest.approx(by_place[-1][1], rel=1e-2)


def test_iteration_of_a_secret_stop_says_so() -> None:
    event = PNSGDEvent(records=50, step_size="0.1", lipschitz=1, smoothness=1, variance=4, stop="secret uniform")
    assert event.adjacency is ReplaceOne
    chart = iteration(event, delta="1e-6")
    assert "last weights, secret stop" in lines(chart)
    assert "real-valued noise" in chart.to_dict()["title"]["subtitle"][0]


def test_a_single_record_can_be_drawn_only_beside_itself() -> None:
    event = PNSGDEvent(records=1, step_size="0.1", lipschitz=1, smoothness=1, variance=4)
    with pytest.raises(ParameterError, match="records must be at least 2"):
        iteration(event, delta="1e-6")


def test_charts_are_drawn(tmp_path: Path) -> None:
    file = save(composition_growth(COUNT, delta="1e-5", times=[1, 1000]), tmp_path / "growth.svg")
    assert "Epsilon under composition, at δ = 1e-5" in file.read_text(encoding="utf-8")


def test_charts_of_nothing_are_refused_by_name() -> None:
    cases: list[tuple[Callable[[], object], str]] = [
        (lambda: privacy_profile(5), "accountants must be 1 to 7"),  # type: ignore[arg-type]
        (lambda: privacy_profile({}), "accountants must be 1 to 7"),
        (lambda: privacy_profile(COUNT, deltas=[1e-5]), "deltas must be two or more"),
        (lambda: privacy_profile(COUNT, deltas=["a", "b"]), "deltas must be numbers"),
        (lambda: renyi_budget("laplace", orders="x"), "orders must be numbers"),
        (lambda: composition_growth(COUNT, delta="1e-6", times=[7]), "times must be two numbers or more"),
        (lambda: trade_off({}), "guarantees must be 1 to 7"),
        (lambda: trade_off(PureDP(epsilon=1)), "guarantees must be 1 to 7"),  # type: ignore[arg-type]
        (lambda: iteration(COUNT, delta="1e-6"), "event must be a PNSGDEvent"),  # type: ignore[arg-type]
    ]
    for draw, message in cases:
        with pytest.raises(ParameterError, match=message):
            draw()
