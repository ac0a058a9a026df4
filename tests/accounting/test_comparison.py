"""The comparison of the thesis on Rényi privacy: its propositions hold, its table and curves are computed.

Its table 5.1 loses the zeta of the group's (alpha / 2^c, 3^c zeta), and cites proposition 4.1.1 for the composition
of 4.1.2. Its conclusion sees a straight line in figure 5.1; the straight line is 5.3, the Gaussian's. The proof of
corollary 4.2.1 prints log(log(1/delta)) where log(1/delta) is meant. The statements themselves hold, as tested here.
"""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.accounting.comparison import (
    Row,
    as_markdown,
    as_text,
    budget_curves,
    comparison_table,
    renyi_advanced,
    renyi_probability,
)
from celosia.accounting.prices import closed_forms
from celosia.accounting.prices.trade_off import gaussian_profile
from celosia.core import ApproxDP, ParameterError, PureDP, RenyiDP


def test_advanced_composition_by_its_formula() -> None:
    assert renyi_advanced("0.1", 100, "1e-6") == pytest.approx(4 * 0.1 * math.sqrt(200 * math.log(1e6)), rel=1e-11)


def exact_delta(epsilon0: float, count: int, epsilon: float) -> float:
    """Delta of so many randomized responses, the worst of all mechanisms, summed over the number of truths."""
    truths = np.arange(count + 1)
    log = np.array([math.lgamma(count + 1) - math.lgamma(k + 1) - math.lgamma(count - k + 1) for k in truths])
    log_p = log + truths * epsilon0 - count * math.log1p(math.exp(epsilon0))
    loss = (2 * truths - count) * epsilon0
    return float(np.sum(np.exp(log_p) * -np.expm1(np.minimum(epsilon - loss, 0))))


@given(st.floats(0.001, 1), st.integers(1, 300), st.floats(1e-12, 0.5))
def test_advanced_composition_is_a_bound(epsilon: float, count: int, delta: float) -> None:
    if math.log(1 / delta) < epsilon**2 * count * (1 + 1e-9):
        with pytest.raises(ParameterError, match="ln"):
            renyi_advanced(epsilon, count, delta)
    else:
        assert exact_delta(epsilon, count, renyi_advanced(epsilon, count, delta)) <= delta


@given(st.floats(0.001, 2), st.integers(1, 60), st.integers(0, 60))
def test_the_probability_bound_holds_for_the_worst_events(epsilon: float, count: int, least: int) -> None:
    # The event: at least so many of the answers are of the first kind; it is as unlike as can be for neighbours.
    truths = np.arange(min(least, count), count + 1)
    log = np.array([math.lgamma(count + 1) - math.lgamma(k + 1) - math.lgamma(count - k + 1) for k in truths])
    total = count * math.log1p(math.exp(epsilon))
    p, q = (float(np.exp(log + k * epsilon - total).sum()) for k in (truths, count - truths))
    assert p <= renyi_probability(epsilon, count, min(q, 1.0)) * (1 + 1e-9)


def test_probabilities_at_the_ends() -> None:
    assert renyi_probability(1, 5, 0) == 0
    assert renyi_probability(1, 5, 1) == 1
    assert renyi_probability(1, 5, "0.9") == 1


def test_the_table() -> None:
    rows = comparison_table(4, epsilon="0.5", delta="1e-5", probability="0.01", doublings=1)
    by_name = {row.name: row for row in rows}
    assert len(by_name) == len(rows) == 7
    curve = closed_forms.pure("0.5", [4])[0]

    def renyi(name: str) -> float:
        entry = by_name[name].renyi
        assert isinstance(entry, RenyiDP)
        return float(entry.epsilons[0])

    assert by_name["probability, from 0.01"].differential == pytest.approx(0.01 * math.exp(0.5))
    assert by_name["probability, from 0.01"].renyi == pytest.approx((math.exp(curve) * 0.01) ** 0.75)
    assert by_name["post-processing"].differential == PureDP(epsilon="0.5")
    assert renyi("post-processing") == curve
    assert by_name["two mechanisms"].differential == PureDP(epsilon=1)
    assert renyi("two mechanisms") == pytest.approx(2 * curve)
    assert by_name["a group of 2"].differential == PureDP(epsilon=1)
    assert by_name["a group of 2"].renyi == RenyiDP(orders=(4,), epsilons=(float(curve),)).group(2)
    assert renyi("randomized response") == curve
    assert renyi("Laplace") == closed_forms.laplace(2, [4])[0]
    assert by_name["Gaussian"].differential == ApproxDP(epsilon="0.5", delta="1e-5")
    mu = math.sqrt(renyi("Gaussian") / 2)  # the curve is 4 mu^2 / 2
    assert gaussian_profile(mu, [0.5])[0] == pytest.approx(1e-5, rel=1e-6)


def test_an_order_too_small_for_the_group_has_no_entry() -> None:
    rows = comparison_table(3, epsilon=1, delta="1e-5", doublings=1)
    assert rows[3].renyi is None
    assert as_text(rows).splitlines()[4].split() == ["a", "group", "of", "2", "2-DP", "–"]
    assert comparison_table(3, epsilon=1, delta="1e-5", doublings=0)[3].renyi is not None


def test_renderings() -> None:
    rows = comparison_table(4, epsilon="0.5", delta="1e-5")
    markdown = as_markdown(rows).splitlines()
    assert len(markdown) == 9
    assert markdown[0].count("|") == markdown[-1].count("|") == 4
    assert markdown[-1] == "| Gaussian | (0.5, 1e-05)-DP | (4, 0.0404477)-RDP |"
    assert len(as_text(rows).splitlines()) == 8
    assert as_text([Row(name="a", differential=0.5, renyi=0.25)]).endswith("0.25")


def test_the_budget_curves_of_the_figures() -> None:
    """Figures 5.1 to 5.3: orders 1 to 10; p = 0.55, 0.75; scale 1, 2; sigma 2."""
    orders = np.linspace(1, 10, 19)
    fair, bold = budget_curves("randomized response", ["0.55", "0.75"], orders)
    assert bold.parameter == 0.75
    assert bold.epsilons[0] == pytest.approx(0.5 * math.log(3), rel=1e-11)  # (2p - 1) ln(p / (1 - p))
    assert bold.epsilons[-1] == pytest.approx(math.log(0.75**10 * 0.25**-9 + 0.25**10 * 0.75**-9) / 9, rel=1e-11)
    assert (fair.epsilons < bold.epsilons).all()
    narrow, wide = budget_curves("laplace", [1, 2], orders)
    assert narrow.epsilons[0] == pytest.approx(math.exp(-1), rel=1e-11)
    assert (wide.epsilons < narrow.epsilons).all()
    (line,) = budget_curves("gaussian", [2], orders)
    assert line.epsilons == pytest.approx(orders / 8, rel=1e-11)
    assert line.orders.tolist() == orders.tolist()


def test_a_lie_is_as_good_as_the_truth() -> None:
    lie, truth = budget_curves("randomized response", ["0.25", "0.75"], [2, 3])
    assert lie.epsilons.tolist() == truth.epsilons.tolist()
    assert budget_curves("randomized response", ["0.5"], [2, 3])[0].epsilons.tolist() == [0, 0]


def test_bad_input() -> None:
    with pytest.raises(ParameterError, match="mechanism must be one of"):
        budget_curves("cauchy", [1], [2])
    bad: list[Any] = [[], "12", 3]
    for parameters in bad:
        with pytest.raises(ParameterError, match="parameters"):
            budget_curves("laplace", parameters, [2])
    for truth in (0, 1, 1.5, "much"):
        with pytest.raises(ParameterError, match="parameters"):
            budget_curves("randomized response", [truth], [2])
    with pytest.raises(ParameterError, match="orders"):
        budget_curves("laplace", [1], [0.5])
    with pytest.raises(ParameterError, match="order"):
        comparison_table(1, epsilon=1, delta="1e-5")
    for delta in (0, 1, math.nan):
        with pytest.raises(ParameterError, match="delta"):
            renyi_advanced("0.1", 10, delta)
        with pytest.raises(ParameterError, match="delta"):
            comparison_table(2, epsilon=1, delta=delta)
    with pytest.raises(ParameterError, match="count"):
        renyi_advanced("0.1", 0, "1e-5")
    with pytest.raises(ParameterError, match="probability"):
        renyi_probability("0.1", 1, 2)
