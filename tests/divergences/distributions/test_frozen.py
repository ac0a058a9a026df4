"""SciPy's distributions by integration and summation: against closed forms, and where the answer is infinite."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

from celosia.core import InputError
from celosia.divergences import Laplace, Normal, kl, max_divergence, renyi
from celosia.divergences.distributions.frozen import Countable, Densities


def test_closed_forms_are_met() -> None:
    order_cases: list[float] = [0, 0.3, 1 - 1e-7, 1, 1 + 1e-7, 1.3, 2, 5, 50, 300]
    p_cases: list[tuple[Normal | Laplace, Normal | Laplace]] = [
        (Normal(0, 1), Normal(1, 1)),
        (Normal(0, 1), Normal(-3, 4)),
        (Normal(1e5, 1), Normal(1e5 + 1, 1)),
        (Normal(0, 4), Normal(1, 1)),
        (Laplace(0, 1), Laplace(1, 1)),
        (Laplace(0, 1), Laplace(1, 3)),
        (Laplace(0, 3), Laplace(1, 1)),
        (Laplace(0, 1e-6), Laplace(1e-6, 1e-6)),
    ]
    for order in order_cases:
        for p, q in p_cases:
            assert renyi(p.frozen(), q.frozen(), order) == pytest.approx(renyi(p, q, order), rel=1e-8, abs=1e-10)


def test_exponential_and_gamma() -> None:
    # Gil, Alajaji and Linder 2013: exponential distributions of rates a and b.
    a, b, order = 2.0, 0.5, 1.6
    exact = math.log(a / b) + math.log(a / (order * a + (1 - order) * b)) / (order - 1)
    assert renyi(stats.expon(scale=1 / a), stats.expon(scale=1 / b), order) == pytest.approx(exact, rel=1e-9)
    assert renyi(stats.expon(scale=2), stats.expon(scale=0.5), 2) == math.inf
    shape = kl(stats.gamma(0.5), stats.gamma(0.7))
    exact = (0.5 - 0.7) * special.digamma(0.5) - special.gammaln(0.5) + special.gammaln(0.7)
    assert shape == pytest.approx(exact, rel=1e-8)


def test_singular_ends() -> None:
    # Next to 1 doubles are 1e-16 apart, and this density has 1e-8 of its mass there.
    beta = kl(stats.beta(0.5, 0.5), stats.uniform())
    assert beta == pytest.approx(-float(stats.beta(0.5, 0.5).entropy()), rel=1e-6)


def test_heavy_tails() -> None:
    # Nielsen and Okamura 2019 give log(1 + 1/4) for Cauchy distributions one scale apart.
    assert kl(stats.cauchy(), stats.cauchy(1)) == pytest.approx(math.log(1.25), rel=1e-9)
    assert kl(stats.cauchy(), stats.norm()) == math.inf
    assert kl(stats.norm(), stats.cauchy()) == pytest.approx(0.259244532488, rel=1e-9)


def test_supports() -> None:
    wide, narrow = stats.uniform(0, 2), stats.uniform(0, 1)
    assert renyi(narrow, wide, 3) == pytest.approx(math.log(2))
    assert renyi(wide, narrow, 3) == math.inf
    assert renyi(wide, narrow, 0.5) == pytest.approx(math.log(2))
    assert renyi(narrow, wide, 0) == pytest.approx(math.log(2))
    assert renyi(stats.uniform(0, 1), stats.uniform(2, 1), 0.5) == math.inf
    assert kl(stats.expon(), stats.norm()) < math.inf
    assert kl(stats.norm(), stats.expon()) == math.inf


def test_poisson() -> None:
    for m, n, order in ((2, 3, 2), (3, 2, 0.5), (1000, 1, 2), (5, 5.5, 30)):
        exact = (m**order * n ** (1 - order) - order * m - (1 - order) * n) / (order - 1)
        assert renyi(stats.poisson(m), stats.poisson(n), order) == pytest.approx(exact, rel=1e-8)


def test_geometric_and_discrete_laplace() -> None:
    assert kl(stats.geom(0.5), stats.geom(0.1)) == pytest.approx(2 * (0.5 * math.log(5) + 0.5 * math.log(0.5 / 0.9)))
    assert renyi(stats.geom(0.1), stats.geom(0.5), 2) == math.inf
    # One step of discrete Laplace is randomized response (spec): p = e / (1 + e).
    p = special.expit(1.0)
    exact = math.log(p**5 * (1 - p) ** -4 + (1 - p) ** 5 * p**-4) / 4
    assert renyi(stats.dlaplace(1), stats.dlaplace(1, loc=1), 5) == pytest.approx(exact, rel=1e-9)
    assert renyi(stats.dlaplace(0.5), stats.dlaplace(1), 2.5) == math.inf


def test_max_divergence_by_search() -> None:
    cases: list[tuple[Any, Any, float]] = [
        (stats.laplace(0, 1), stats.laplace(1, 1), 1.0),
        (stats.norm(0, 1), stats.norm(1, 2), math.log(2) + 1 / 6),
        (stats.norm(0, 1), stats.norm(1, 1), math.inf),
        (stats.logistic(0), stats.logistic(1), 1.0),
        (stats.expon(), stats.uniform(), math.inf),
        (stats.uniform(), stats.expon(), 1.0),
        (stats.dlaplace(0.7), stats.dlaplace(0.7, loc=3), 2.1),
        (stats.geom(0.5), stats.geom(0.25), math.log(2)),
        (stats.poisson(2), stats.poisson(1), math.inf),
    ]
    for p, q, expected in cases:
        assert max_divergence(p, q) == pytest.approx(expected, rel=1e-6)


def test_underflow_is_an_error_and_not_an_answer() -> None:
    with pytest.raises(InputError, match="lost"):
        renyi(stats.hypsecant(scale=2), stats.hypsecant(), 1.5)


def test_too_many_whole_numbers() -> None:
    with pytest.raises(InputError, match="integers"):
        kl(stats.randint(0, 10**9), stats.randint(0, 2 * 10**9))


def test_heavy_tails_on_whole_numbers() -> None:
    with pytest.raises(InputError, match="integers"):
        kl(stats.zipf(2), stats.zipf(3))
    assert kl(stats.zipf(2), stats.geom(0.5)) == math.inf  # the mean of zipf(2) is infinite
    assert kl(stats.geom(0.5), stats.zipf(2)) == pytest.approx(
        sum(
            float(stats.geom(0.5).pmf(k) * (stats.geom(0.5).logpmf(k) - stats.zipf(2).logpmf(k))) for k in range(1, 90)
        ),
        rel=1e-9,
    )


def test_degenerate_parameters_are_refused() -> None:
    with pytest.raises(InputError, match="quartiles"):
        kl(stats.norm(0, math.nan), stats.norm())


def test_both_integrate_to_one() -> None:
    for pair in (Densities(stats.t(3), stats.lognorm(1)), Countable(stats.nbinom(5, 0.2), stats.binom(9, 0.3))):
        assert pair.log_integral(lambda log_p, _: log_p) == pytest.approx(0, abs=1e-9)
        assert pair.log_integral(lambda _, log_q: np.asarray(log_q)) == pytest.approx(0, abs=1e-9)


def test_atoms_between_the_whole_numbers_are_refused() -> None:
    halves = stats.rv_discrete(values=([0.5, 1.5], [0.5, 0.5]))()
    for order in (0, 0.5, 1, 2, math.inf):
        with pytest.raises(InputError, match=r"^p must have its mass on integers"):
            renyi(halves, stats.poisson(3), order)
        with pytest.raises(InputError, match=r"^q must have its mass on integers"):
            renyi(stats.poisson(3), stats.poisson(3, loc=0.5), order)
