"""The laws of Rényi divergences, with the statements and numbers of the theses."""

import itertools
import math
from itertools import product
from typing import TYPE_CHECKING, Any

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from celosia.core import InputError, ParameterError
from celosia.divergences import Bernoulli, Discrete, Laplace, Normal, Samples, hockey_stick, kl, max_divergence, renyi
from tests.divergences.laws import Four, Three, Two, fours, kernels, threes, twos

if TYPE_CHECKING:
    from numpy.typing import NDArray

ORDERS = st.one_of(st.sampled_from([0.0, 0.5, 1.0, 2.0, math.inf]), st.floats(0.01, 200))
ABOVE_ONE = st.floats(1.05, 50)

P, Q = [0.1] * 10, [0.1] * 8 + [0.11, 0.09]


def by_definition(p: "NDArray[np.float64]", q: "NDArray[np.float64]", order: float) -> float:
    """The sum as it is written, in fifty digits."""
    mp = mpmath.mp.clone()
    mp.dps = 50
    sums = [mp.fsum(mp.mpf(float(mass)) for mass in side) for side in (p, q)]  # ten tenths are not quite one
    pairs = [(mp.mpf(float(a)) / sums[0], mp.mpf(float(b)) / sums[1]) for a, b in zip(p, q, strict=True) if a > 0]
    if order == 0:
        return float(-mp.log(mp.fsum(b for _, b in pairs)))
    if order >= 1 and any(b == 0 for _, b in pairs):
        return math.inf
    if order == math.inf:
        return float(max(mp.log(a / b) for a, b in pairs))
    if order == 1:
        return float(mp.fsum(a * mp.log(a / b) for a, b in pairs))
    total = mp.fsum(a ** mp.mpf(order) * b ** (1 - mp.mpf(order)) for a, b in pairs if b > 0)
    return math.inf if total == 0 else float(mp.log(total) / (mp.mpf(order) - 1))


@given(twos(), ORDERS)
def test_it_is_the_sum(pair: Two, order: float) -> None:
    exact = by_definition(*pair, order)
    assert renyi(*pair, order) == pytest.approx(exact, rel=1e-9, abs=1e-9)


def test_example_3_1_of_seed_001() -> None:
    p, q = np.array(P), np.array(Q)
    for order in (0.5, 1, 2, 5, 10, 50, math.inf):
        assert renyi(p, q, order) == pytest.approx(by_definition(p, q, order), rel=1e-9)
    # Figure 3.1: increasing in the order, from kl = 0.001005 towards log(10/9).
    assert kl(P, Q) == pytest.approx(0.1 * math.log(0.1 / 0.11) + 0.1 * math.log(0.1 / 0.09), rel=1e-9)
    assert renyi(P, Q, math.inf) == pytest.approx(math.log(10 / 9), rel=1e-12)
    values = [renyi(P, Q, order) for order in np.linspace(0, 60, 61)]
    assert all(low < high for low, high in itertools.pairwise(values))


def test_a_wrong_factor_would_be_seen() -> None:
    for order in (0.5, 2.0):
        assert renyi(P, Q, order) * 1.1 != pytest.approx(by_definition(np.array(P), np.array(Q), order), rel=1e-2)


@given(twos(), ORDERS)
def test_it_is_never_negative_and_zero_only_between_equals(pair: Two, order: float) -> None:
    value = renyi(*pair, order)
    assert value >= 0
    assert renyi(pair[0], pair[0], order) == pytest.approx(0, abs=1e-12)
    if order > 0.01 and np.abs(pair[0] - pair[1]).max() > 1e-3:
        assert value > 0


@given(twos(), ORDERS, ORDERS)
def test_it_rises_with_the_order(pair: Two, one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert renyi(*pair, low) <= renyi(*pair, high) * (1 + 1e-9) + 1e-9


@given(twos(size=3), twos(size=3), ORDERS)
def test_it_adds_up_over_products(first: Two, second: Two, order: float) -> None:
    p, q = (np.outer(a, b).ravel() for a, b in zip(first, second, strict=True))
    assert renyi(p, q, order) == pytest.approx(renyi(*first, order) + renyi(*second, order), rel=1e-9, abs=1e-9)


@given(twos(), ORDERS, st.data())
def test_post_processing(pair: Two, order: float, data: st.DataObject) -> None:
    # Proposition 2.3.7 of the Rényi thesis, proposition 3.1 of Estrada Franco 2025.
    kernel = data.draw(kernels(len(pair[0])))
    assert renyi(pair[0] @ kernel, pair[1] @ kernel, order) <= renyi(*pair, order) * (1 + 1e-9) + 1e-9


@given(fours(), st.floats(0, 1), st.sampled_from([0.0, 0.3, 0.5, 1.0]))
def test_it_is_jointly_convex_up_to_order_one(four: Four, share: float, order: float) -> None:
    # Proposition 2.1.1 (2) of the Rényi thesis is order 1; van Erven and Harremoës 2014, theorem 11, the orders below.
    p1, q1, p2, q2 = four
    mixed = renyi(share * p1 + (1 - share) * p2, share * q1 + (1 - share) * q2, order)
    parts = [(share, renyi(p1, q1, order)), (1 - share, renyi(p2, q2, order))]
    assert mixed <= sum(weight * value for weight, value in parts if weight > 0) + 1e-9


@given(twos(least=1), ABOVE_ONE, st.data())
def test_probability_preservation(pair: Two, order: float, data: st.DataObject) -> None:
    # Proposition 2.3.4 of the Rényi thesis; the exponent is (alpha - 1) / alpha.
    event = np.array(data.draw(st.lists(st.booleans(), min_size=len(pair[0]), max_size=len(pair[0]))))
    p, q = pair[0][event].sum(), pair[1][event].sum()
    assert p <= (math.exp(renyi(*pair, order)) * q) ** ((order - 1) / order) * (1 + 1e-9)


@given(threes(least=1), ABOVE_ONE, st.floats(1.05, 20))
def test_weak_triangle_inequality(three: Three, order: float, p: float) -> None:
    # Proposition 2.3.5 of the Rényi thesis, and the three cases of its corollary 2.3.1.
    first, middle, last = three
    q = p / (p - 1)
    bounds = [
        (order - 1 / p) / (order - 1) * renyi(first, middle, p * order) + renyi(middle, last, q * (order - 1 / p)),
        (order - 0.5) / (order - 1) * renyi(first, middle, 2 * order) + renyi(middle, last, 2 * order - 1),
        order / (order - 1) * renyi(first, middle, math.inf) + renyi(middle, last, order),
        renyi(first, middle, order) + renyi(middle, last, math.inf),
    ]
    for bound in bounds:
        assert renyi(first, last, order) <= bound * (1 + 1e-9) + 1e-9


def test_there_is_no_triangle_inequality() -> None:
    p, r, q = Normal(0, 1), Normal(1, 1), Normal(2, 1)
    assert renyi(p, q, 2) > renyi(p, r, 2) + renyi(r, q, 2)


@given(twos())
def test_pinsker(pair: Two) -> None:
    assert kl(*pair) >= 2 * hockey_stick(*pair, 0) ** 2 - 1e-12


@given(twos(least=1), ABOVE_ONE)
def test_bounded_loss_bounds_every_order(pair: Two, order: float) -> None:
    # Lemma 2.3.3 of the Rényi thesis: at most 2 alpha zeta^2 (loose; the randomized response curve is tight).
    zeta = max(renyi(*pair, math.inf), renyi(*pair[::-1], math.inf))
    assert renyi(*pair, order) <= 2 * order * zeta**2 + 1e-9


@given(twos(), st.floats(0, 0.9))
def test_approximate_max_divergence_inverts_the_hockey_stick(pair: Two, delta: float) -> None:
    epsilon = max_divergence(*pair, delta)
    if epsilon < math.inf:
        assert hockey_stick(*pair, epsilon) <= delta + 1e-9
        if epsilon > 1e-6:
            assert hockey_stick(*pair, epsilon * (1 - 1e-6)) >= delta - 1e-5
    else:
        assert hockey_stick(*pair, 600) > delta


def test_approximate_max_divergence_of_families() -> None:
    for p, q in [(Normal(0, 1), Normal(1, 2)), (Laplace(0, 1), Laplace(1, 1)), (Laplace(0, 1), Normal(1, 1))]:
        epsilon = max_divergence(p, q, 0.01)
        assert hockey_stick(p, q, epsilon) == pytest.approx(0.01, rel=1e-6)
    assert max_divergence(Normal(0, 1), Normal(0, 1), 0.5) == 0
    assert max_divergence(stats.uniform(0, 2), stats.uniform(), 0.25) == math.inf


def test_orders_next_to_one() -> None:
    for offset in (1e-3, 1e-5, 1e-7, 1e-12):
        for order in (1 - offset, 1 + offset):
            exact = by_definition(np.array(P), np.array(Q), order)
            assert renyi(P, Q, order) == pytest.approx(exact, rel=1e-6)


def test_nearly_equal_distributions_keep_their_digits() -> None:
    for gap in (1e-2, 1e-4, 1e-6):
        p, q = np.array([0.5, 0.5]), np.array([0.5 + gap, 0.5 - gap])
        assert kl(p, q) == pytest.approx(by_definition(p, q, 1), rel=1e-8)
        assert renyi(p, q, 1 + 1e-7) == pytest.approx(by_definition(p, q, 1 + 1e-7), rel=1e-4)


def test_bernoulli_is_proposition_2_4_1_of_seed_004() -> None:
    p, q, order = 0.3, 0.6, 2.5
    by_hand = math.log(p**order * q ** (1 - order) + (1 - p) ** order * (1 - q) ** (1 - order)) / (order - 1)
    assert renyi(Bernoulli(p), Bernoulli(q), order) == pytest.approx(by_hand, rel=1e-12)
    assert kl(Bernoulli(p), Bernoulli(q)) == pytest.approx(p * math.log(p / q) + 0.7 * math.log(0.7 / 0.4))


def test_missing_mass_is_infinite_from_order_one_on() -> None:
    # Estrada Franco 2025 asks for Q << P below the definition of D_KL; what is needed is P << Q, as in definition 3.1.
    p, q = [0.5, 0.5], [1.0, 0.0]
    assert [renyi(p, q, order) for order in (1, 2, math.inf)] == [math.inf] * 3
    assert renyi(p, q, 0.5) == pytest.approx(math.log(2))
    assert renyi(q, p, 0) == pytest.approx(math.log(2))
    assert [renyi([1, 0], [0, 1], order) for order in (0, 0.5, 1, 2)] == [math.inf] * 4


def test_high_orders_neither_overflow_nor_vanish() -> None:
    p, q = [1e-300, 1 - 1e-300], [1e-10, 1 - 1e-10]
    assert renyi(q, p, 1000) == pytest.approx(math.log(1e290), rel=1e-2)
    assert 0 <= renyi(p, q, 1e6) < 1e-6


def test_bad_orders() -> None:
    cases: list[Any] = [-1, math.nan, True, "2", None]
    for order in cases:
        with pytest.raises(ParameterError, match="order"):
            renyi(P, Q, order)


def test_orders_beyond_the_doubles() -> None:
    with pytest.raises(ParameterError, match=r"at most 1e\+12 or infinite"):
        renyi(P, Q, 1e13)
    assert renyi(P, Q, 1e12) == pytest.approx(renyi(P, Q, math.inf), rel=1e-9)


def test_bad_deltas() -> None:
    cases: list[float] = [-0.1, 1, math.nan, True]
    for delta in cases:
        with pytest.raises(ParameterError, match="delta"):
            max_divergence(P, Q, delta)


def test_points_are_aligned() -> None:
    p = Discrete(points=np.array([1, 2]), probabilities=np.array([0.5, 0.5]))
    q = Discrete(points=np.array([2, 1]), probabilities=np.array([0.25, 0.75]))
    assert kl(p, q) == pytest.approx(kl([0.5, 0.5], [0.75, 0.25]))


def test_samples_estimate() -> None:
    generator = np.random.default_rng(7)
    x, y = generator.normal(0, 1, 4000), generator.normal(1, 1, 4000)
    assert kl(Samples(x, neighbours=10), Samples(y, neighbours=10)) == pytest.approx(0.5, abs=0.1)
    assert renyi(Samples(x, neighbours=10), Samples(y, neighbours=10), 0.5) == pytest.approx(0.25, abs=0.1)
    assert kl(Samples(x, bins=40), Samples(y, bins=40)) == pytest.approx(0.5, abs=0.1)
    dice = generator.integers(0, 6, 4000)
    assert kl(Samples(dice), Samples(generator.permutation(dice))) == 0


def test_what_cannot_be_resolved_is_an_error() -> None:
    with pytest.raises(InputError, match="lost"):
        renyi(stats.moyal(), stats.moyal(5), 2)


def test_just_below_order_one_a_gap_is_large_and_not_zero() -> None:
    cases: list[tuple[object, object]] = [
        ([0.5, 0.5], [1, 0]),
        (stats.uniform(0, 2), stats.uniform(0, 1)),
        (stats.randint(0, 4), stats.randint(0, 2)),
    ]
    order_cases: list[float] = [1 - 1e-5, 1 - 1e-6, 1 - 1e-9]
    for (p, q), order in product(cases, order_cases):
        assert renyi(p, q, order) == pytest.approx(math.log(2) * order / (1 - order), rel=1e-6)


def test_close_distributions_keep_their_digits_near_order_one() -> None:
    cases: list[float] = [0.95, 1 - 1e-7, 1 + 1e-12, 1 + 5e-6, 1.00002, 1.05]
    for order in cases:
        p, q = [0.25, 0.75], [0.25 + 1e-8, 0.75 - 1e-8]
        with mpmath.workdps(50):
            exact = [(mpmath.mpf(a), mpmath.mpf(b)) for a, b in zip(p, q, strict=True)]
            power = mpmath.fsum(a ** mpmath.mpf(order) * b ** (1 - mpmath.mpf(order)) for a, b in exact)
            truth = float(mpmath.log(power) / (mpmath.mpf(order) - 1))
        assert renyi(p, q, order) == pytest.approx(truth, rel=1e-6)


def test_what_q_lacks_is_not_level_with_what_it_nearly_lacks() -> None:
    assert max_divergence([0.5, 0.3, 0.2], [1e-320, 0, 1.0], 0.2) == math.inf


@pytest.mark.parametrize(("p", "q"), [(Normal(0, 1), Normal(2000, 1)), (stats.norm(0, 1), stats.norm(2000, 1))])
def test_a_large_epsilon_is_finite(p: object, q: object) -> None:
    epsilon = max_divergence(p, q, 1e-5)
    assert epsilon == pytest.approx(2000**2 / 2 + 2000 * stats.norm.isf(1e-5), rel=1e-6)
