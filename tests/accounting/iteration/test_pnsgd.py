"""PNSGD: closed forms against the general optimiser, exact divergences of small runs, and why means must be of exps."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import special, stats

from celosia.accounting.iteration.allocation import gaussian_rho
from celosia.accounting.iteration.pnsgd import pnsgd_curve, pnsgd_rho, record_rhos
from celosia.core import ParameterError
from celosia.core.iterations import PNSGDEvent, Run

Array = NDArray[np.float64]


def _event(**changes: Any) -> PNSGDEvent:
    given = {"records": 10, "step_size": 1, "lipschitz": 1, "smoothness": 1, "variance": 1}
    return PNSGDEvent(**(given | changes))


# ---- theorem 5.4 and restarts


def test_one_epoch_is_theorem_5_4() -> None:
    for n in (1, 2, 10, 1000):
        event = _event(records=n, lipschitz=3, variance=7, step_size="0.25")
        places = np.unique([1, (n + 1) // 2, n])
        np.testing.assert_allclose(record_rhos(event, places), 2 * 9 / (7 * (n + 1 - places)), rtol=1e-11)
        assert pnsgd_rho(event) == pytest.approx(18 / 7, rel=1e-11)
        np.testing.assert_allclose(pnsgd_curve(event, np.array([1.5, 4.0])), [1.5 * 18 / 7, 4 * 18 / 7], rtol=1e-11)


def _brute(event: PNSGDEvent, place: int) -> Fraction:
    """The least rho over restarts after any step at all, each with the best allocation: by the general optimiser."""
    n, total = event.records, event.records * event.epochs
    shift, noise = 2 * event.step_size * event.lipschitz, event.step_size**2 * event.variance
    steps: list[Run] = [(shift if t % n == (place - 1) % n else Fraction(0), noise, 1) for t in range(total)]
    rhos = [gaussian_rho(steps)]
    if event.diameter is not None:
        rhos += [gaussian_rho(steps[tau:], event.diameter) for tau in range(total)]
    return min(rhos)


@settings(max_examples=60)
@given(
    st.integers(1, 5),
    st.integers(1, 5),
    st.none() | st.fractions("1/20", 12, max_denominator=20),
    st.fractions("1/5", 2, max_denominator=10),
    st.data(),
)
def test_restarts_are_the_best_of_all(
    n: int, epochs: int, diameter: Fraction | None, step_size: Fraction, data: st.DataObject
) -> None:
    event = _event(records=n, epochs=epochs, diameter=diameter, step_size=step_size, variance=3)
    place = data.draw(st.integers(1, n))
    exact = _brute(event, place)
    found = float(record_rhos(event, [place])[0])
    assert found == pytest.approx(float(exact), rel=1e-10)
    assert found >= exact, "rounded upwards"
    assert pnsgd_rho(event) == pytest.approx(float(_brute(event, n)), rel=1e-10)


def test_long_runs_in_a_small_set_stop_costing_more() -> None:
    """Full gradients (one record): 4 width, in units of one step, however long the run (Altschuler and Talwar 2022)."""
    short, long, endless = (
        pnsgd_rho(_event(records=1, epochs=epochs, diameter=200)) for epochs in (50, 10_000, 10**12)
    )
    assert short == pytest.approx(50 * 2)
    assert long == pytest.approx(endless, rel=1e-3)
    assert endless == pytest.approx(400 * 2, rel=1e-3)


@given(st.integers(1, 1000), st.integers(1, 50), st.none() | st.fractions("0.01", 100))
def test_the_last_record_of_a_fixed_order_never_gets_below_one_noise(
    n: int, epochs: int, diameter: Fraction | None
) -> None:
    event = _event(records=n, epochs=epochs, diameter=diameter)
    assert pnsgd_rho(event) >= 2
    rhos = record_rhos(event, np.unique(np.linspace(1, n, 20).astype(int)))
    assert (np.diff(rhos) >= -1e-12).all()
    assert pnsgd_rho(event) <= 2 * epochs * (1 + 1e-11), "never worse than plain composition over the epochs"


# ---- exact runs


def _run(xs: list[float], eta: float, sigma: float, cells: int = 400) -> Array:
    """The law of w after steps on the losses (w - x)^2 / 2 in [-1, 1], on a fine grid whose ends carry atoms."""
    grid = np.linspace(-1, 1, cells + 1)
    edges = (grid[1:] + grid[:-1]) / 2
    law = np.zeros(cells + 1)
    law[cells // 2] = 1.0
    for x in xs:
        below = stats.norm.cdf(edges[None, :], loc=(grid - eta * (grid - x))[:, None], scale=eta * sigma)
        law = law @ np.diff(np.pad(below, ((0, 0), (1, 1)), constant_values=((0, 0), (0, 1))), axis=1)
    return law


def _renyi(alpha: float, p: Array, q: Array) -> float:
    kept = p > 0
    return float(special.logsumexp(alpha * np.log(p[kept]) + (1 - alpha) * np.log(q[kept])) / (alpha - 1))


@pytest.mark.parametrize("epochs", [1, 3])
@pytest.mark.parametrize("eta", [0.25, 1.0])
@pytest.mark.sampled(3)
def test_runs_with_projection_are_within_the_bounds(epochs: int, eta: float) -> None:
    xs, sigma, alpha = [0.5, -1.0, 1.0, 0.0], 2.0, 3.0
    event = _event(records=4, step_size=eta, lipschitz=2, variance=4, epochs=epochs, diameter=2)
    for place in range(1, 5):
        other = xs.copy()
        xs[place - 1], other[place - 1] = 1.0, -1.0
        exact = _renyi(alpha, _run(xs * epochs, eta, sigma), _run(other * epochs, eta, sigma))
        assert -1e-9 < exact <= alpha * record_rhos(event, [place])[0]


# ---- secrets


def _mixture(alpha: float, sigma: float) -> float:
    """The exact divergence for linear losses -x w, two records, the second x = -1, stopped after one step or two."""

    y = np.linspace(-40, 40, 400_001)  # smooth and gone at both ends: the trapezium rule has all digits

    def log_density(x: float) -> Array:
        near, far = stats.norm.logpdf(y, x, sigma), stats.norm.logpdf(y, x - 1, sigma * math.sqrt(2))
        return np.logaddexp(near, far) - math.log(2)

    terms = alpha * log_density(1.0) + (1 - alpha) * log_density(-1.0)
    return float(special.logsumexp(terms) + math.log(y[1] - y[0])) / (alpha - 1)


def test_the_mean_of_the_divergences_is_no_bound_but_ours_is() -> None:
    alpha, sigma = 1.5, 0.25
    event = _event(records=2, smoothness=0, variance="1/16", stop="secret uniform")
    exact = _mixture(alpha, sigma)
    arithmetic = alpha * (32 + 16) / 2
    assert arithmetic < exact - 3, "a mutant that takes the mean of the divergences would be caught here"
    ours = float(pnsgd_curve(event, np.array([alpha]))[0])
    assert exact <= ours
    assert ours == pytest.approx(math.log((math.exp(0.5 * 1.5 * 32) + math.exp(0.5 * 1.5 * 16)) / 2) / 0.5)


def test_a_secret_stop_is_within_the_bound(*, thorough: bool) -> None:
    alpha_cases: list[float] = [1.01, 1.5, 2.0, 3.0, 6.0]
    sigma_cases: list[float] = [0.5, 1.0, 2.0]
    for alpha in alpha_cases if thorough else alpha_cases[::2]:
        for sigma in sigma_cases if thorough else sigma_cases[::2]:
            event = _event(records=2, smoothness=0, variance=Fraction(sigma) ** 2, stop="secret uniform")
            assert _mixture(alpha, sigma) <= pnsgd_curve(event, np.array([alpha]))[0] * (1 + 1e-9)


def _sum(n: int, alpha: float, rho: float, *, both: bool) -> float:
    k = np.arange(1, n + 1)
    weights = (n + 1 - k) / n**2 if both else np.full(n, 1 / n)
    exponents = (alpha - 1) * alpha * rho / k
    if exponents[0] < 500:
        return float(np.log1p(weights @ np.expm1(exponents))) / (alpha - 1)
    return float(special.logsumexp(np.append(exponents, 0.0), b=np.append(weights, 1 - weights.sum()))) / (alpha - 1)


def test_blocks_are_above_the_sum_and_close_to_it(*, thorough: bool) -> None:
    n_cases: list[int] = [1, 3, 4096, 4097, 100_000, *([2_000_000] if thorough else [])]
    alpha_cases: list[float] = [1.001, 2.0, 40.0, 3000.0]
    for n in n_cases:
        for alpha in alpha_cases:
            orders = np.array([alpha])
            one = [
                pnsgd_curve(_event(records=n, variance=4, **secret), orders)[0]
                for secret in ({"order": "secret permutation"}, {"stop": "secret uniform"})
            ]
            assert one[0] == one[1]
            exact = _sum(n, alpha, 0.5, both=False)
            assert exact <= one[0] <= exact * (1 + 1e-6)
            both = pnsgd_curve(
                _event(records=n, variance=4, order="secret permutation", stop="secret uniform"), orders
            )[0]
            exact = _sum(n, alpha, 0.5, both=True)
            assert exact <= both <= exact * (1 + 5e-3)
            assert both <= one[0]


def test_a_permutation_over_epochs_is_the_mixture_of_its_places() -> None:
    n, alpha = 6000, 4.0
    event = _event(records=n, epochs=5, diameter=3, variance=4, step_size="0.5", order="secret permutation")
    fixed = _event(records=n, epochs=5, diameter=3, variance=4, step_size="0.5")
    exponents = (alpha - 1) * alpha * record_rhos(fixed, np.arange(1, n + 1))
    exact = math.log1p(np.expm1(exponents).mean()) / (alpha - 1)
    ours = pnsgd_curve(event, np.array([alpha]))[0]
    assert exact * (1 - 1e-9) <= ours <= exact * (1 + 1e-4)
    assert ours < pnsgd_curve(fixed, np.array([alpha]))[0]


def test_secrets_never_cost() -> None:
    orders = np.array([1.0001, 2, 64, 1e6])
    fixed = pnsgd_curve(_event(records=100), orders)
    for secret in ({"order": "secret permutation"}, {"stop": "secret uniform"}):
        assert (pnsgd_curve(_event(records=100, **secret), orders) <= fixed).all()


# ---- bad input


def test_positions_are_places_of_an_epoch() -> None:
    cases: list[Any] = [[], [0], [11], [1.0], [True], 3, [[1]], ["1"]]
    for positions in cases:
        with pytest.raises(ParameterError, match=r"^positions must be"):
            record_rhos(_event(), positions)


def test_what_is_beyond_the_doubles_is_refused() -> None:
    with pytest.raises(ParameterError, match="beyond the"):
        pnsgd_rho(_event(lipschitz=2**600, variance="1e-300"))
    with pytest.raises(ParameterError, match="beyond the"):
        pnsgd_curve(_event(variance="1e-300", order="secret permutation"), np.array([1e10]))


def test_a_set_too_wide_for_a_restart_is_as_no_set() -> None:
    wide = _event(epochs=3, diameter=2**900, step_size="1e-300")
    assert pnsgd_rho(wide) == pnsgd_rho(_event(epochs=3))
