"""Shuffling, held against all outcomes of small crowds, written out."""

import itertools
import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from celosia.accounting.prices import shuffling
from celosia.accounting.prices.shuffling import shuffled_atoms, shuffled_closed_form, shuffled_epsilon, shuffled_profile
from celosia.core import ParameterError

Law = dict[tuple[int, ...], float]
EPSILONS = [0.0, 1e-6, 0.05, 0.2, 0.5, 1.0, 1.7]


def shuffled(randomizers: Sequence[Sequence[float]]) -> Law:
    """The law of the multiset of reports, for one row of answer probabilities for each person."""
    law: Law = {tuple([0] * len(randomizers[0])): 1.0}
    for row in randomizers:
        following: Law = defaultdict(float)
        for counts, mass in law.items():
            for answer, probability in enumerate(row):
                key = tuple(count + (i == answer) for i, count in enumerate(counts))
                following[key] += mass * probability
        law = following
    return law


def hockey_stick(p: Law, q: Law, epsilon: float) -> float:
    return math.fsum(max(mass - math.exp(epsilon) * q.get(key, 0.0), 0.0) for key, mass in p.items())


def response(epsilon0: float, categories: int) -> list[list[float]]:
    total = math.exp(epsilon0) + categories - 1
    return [[(math.exp(epsilon0) if i == x else 1.0) / total for i in range(categories)] for x in range(categories)]


def worst(table: Sequence[Sequence[float]], reports: int) -> np.ndarray:
    """The largest divergences of all neighbouring crowds, with nothing assumed about which are worst."""
    found = np.zeros(len(EPSILONS))
    values = range(len(table))
    for others in itertools.combinations_with_replacement(values, reports - 1):
        laws = [shuffled([table[x], *(table[z] for z in others)]) for x in values]
        for p, q in itertools.permutations(laws, 2):
            found = np.maximum(found, [hockey_stick(p, q, epsilon) for epsilon in EPSILONS])
    return found


def test_no_small_crowd_of_coins_is_easier_to_tell_apart() -> None:
    reports_cases: list[int] = [1, 2, 3, 6]
    epsilon0_cases: list[float] = [0.1, 1.0, 2.5]
    for reports in reports_cases:
        for epsilon0 in epsilon0_cases:
            exact = worst(response(epsilon0, 2), reports)
            general = shuffled_profile(epsilon0, reports, EPSILONS)
            sharper = shuffled_profile(epsilon0, reports, EPSILONS, categories=2)
            assert (exact <= sharper + 1e-14).all()
            assert (sharper <= general * (1 + 2e-9)).all()


def test_no_small_crowd_with_more_answers_is() -> None:
    reports_cases: list[int] = [1, 2, 4]
    epsilon0_cases: list[float] = [0.3, 1.5]
    categories_cases: list[int] = [3, 4]
    for reports in reports_cases:
        for epsilon0 in epsilon0_cases:
            for categories in categories_cases:
                exact = worst(response(epsilon0, categories), reports)
                assert (exact <= shuffled_profile(epsilon0, reports, EPSILONS) + 1e-14).all()
                assert (exact <= shuffled_profile(epsilon0, reports, EPSILONS, categories=categories) + 1e-14).all()


def test_no_small_crowd_of_any_randomizer_is() -> None:
    for seed in range(12):
        generator = np.random.default_rng(seed)
        table = generator.uniform(0.2, 1.0, size=(3, int(generator.integers(2, 5))))
        table /= table.sum(axis=1, keepdims=True)
        epsilon0 = float(np.log(table.max(axis=0) / table.min(axis=0)).max())
        reports = int(generator.integers(2, 5))
        exact = worst(table.tolist(), reports)
        assert (exact <= shuffled_profile(epsilon0, reports, EPSILONS) + 1e-14).all()


def counters(epsilon0: float, reports: int, epsilon: float, clone: float) -> float:
    """The divergence of the two counters by its definition, with thirty digits."""
    mp = mpmath.mp.clone()
    mp.dps = 30
    u = mp.exp(epsilon0) / (1 + mp.exp(epsilon0))
    total = mp.mpf(0)
    for clones in range(reports):
        weight = mp.binomial(reports - 1, clones) * mp.mpf(clone) ** clones
        weight *= (1 - mp.mpf(clone)) ** (reports - 1 - clones)
        half = [mp.binomial(clones, a) / mp.mpf(2) ** clones for a in range(clones + 1)]
        for a in range(clones + 2):
            one, other = (half[a - 1] if a else 0), (half[a] if a <= clones else 0)
            p, q = u * one + (1 - u) * other, (1 - u) * one + u * other
            total += weight * max(p - mp.exp(epsilon) * q, 0)
    return float(total)


def test_the_sum_is_that_of_the_counters(*, thorough: bool) -> None:
    reports_cases: list[int] = [1, 2, 7, 40 if thorough else 20]
    epsilon0_cases: list[float] = [0.01, 1.0, 3.0]
    for reports in reports_cases:
        for epsilon0 in epsilon0_cases:
            epsilons = [0.0, 0.001, epsilon0 / 3, epsilon0 * 0.9]
            ours = shuffled_profile(epsilon0, reports, epsilons)
            for epsilon, value in zip(epsilons, ours, strict=True):
                exact = counters(epsilon0, reports, epsilon, math.exp(-epsilon0))
                assert exact <= value <= exact * (1 + 1e-8) + 1e-32


def test_coarse_cells_are_above_fine_ones_and_near(monkeypatch: pytest.MonkeyPatch) -> None:
    epsilons = [0.0, 0.01, 0.02, 0.03]
    coarse = shuffled_profile(1, 10**5, epsilons)
    monkeypatch.setattr(shuffling, "_CELLS", 10**6)
    fine = shuffled_profile(1, 10**5, epsilons)
    assert (fine <= coarse).all()
    assert (coarse <= fine * 1.01).all()


LOCAL = st.floats(0.05, 6)
CROWD = st.integers(1, 10**6)


@settings(deadline=None, max_examples=40)
@given(LOCAL, CROWD, st.floats(0, 2), st.floats(1, 1.5), st.integers(1, 1000))
def test_the_profile_falls_with_epsilon_and_reports_and_grows_with_epsilon0(
    epsilon0: float, reports: int, epsilon: float, factor: float, more: int
) -> None:
    # Cells differ between the two sides, which moves a bound by less than this part of it.
    near = 1.05
    here, further = shuffled_profile(epsilon0, reports, [epsilon, epsilon * factor + 0.01])
    assert further <= here
    assert shuffled_profile(epsilon0, reports + more, [epsilon])[0] <= here * near + 1e-30
    assert shuffled_profile(epsilon0 * factor, reports, [epsilon])[0] >= here / near - 1e-30
    assert shuffled_profile(epsilon0, reports, [epsilon0])[0] == 0
    alone = max(0.0, (math.exp(epsilon0) - math.exp(epsilon)) / (1 + math.exp(epsilon0)))
    assert here <= alone * (1 + 1e-8) + 1e-30


@settings(deadline=None, max_examples=20)
@given(st.floats(0.05, 3), st.integers(2000, 10**6), st.floats(1e-10, 1e-3))
def test_the_closed_form_is_above_the_sum(epsilon0: float, reports: int, delta: float) -> None:
    numeric = shuffled_epsilon(epsilon0, reports, delta)
    assert shuffled_profile(epsilon0, reports, [numeric])[0] <= delta
    assert numeric <= epsilon0
    if epsilon0 <= math.log(reports / (16 * math.log(2 / delta))) - 1e-9:
        closed = shuffled_closed_form(epsilon0, reports, delta)
        odds = (math.exp(epsilon0) - 1) / (math.exp(epsilon0) + 1)
        inner = 8 * math.sqrt(math.exp(epsilon0) * math.log(4 / delta) / reports) + 8 * math.exp(epsilon0) / reports
        assert closed == pytest.approx(min(epsilon0, math.log(1 + odds * inner)), rel=1e-9)
        assert numeric <= closed


def test_between_the_bounds_of_the_authors_program() -> None:
    """What the program beside the paper (apple/ml-shuffling-amplification, numerical analysis) prints, both bounds."""
    cases: list[tuple[int, float, float, float, float]] = [
        (1000, 1.0, 1e-6, 0.182067, 0.185425),
        (2000, 0.5, 1e-5, 0.039733, 0.042359),
        (10**4, 2.0, 1e-6, 0.154418, 0.156373),
    ]
    for reports, epsilon0, delta, low, high in cases:
        assert low <= shuffled_epsilon(epsilon0, reports, delta) <= high


def test_the_closed_form_holds_up_to_its_edge() -> None:
    delta_cases: list[float] = [0.5, 1e-2, 1e-8, 1e-25]
    reports_cases: list[int] = [2000, 10**5]
    part_cases: list[float] = [0.1, 0.8, 1 - 1e-9]
    for delta in delta_cases:
        for reports in reports_cases:
            for part in part_cases:
                epsilon0 = part * math.log(reports / (16 * math.log(2 / delta)))
                closed = shuffled_closed_form(epsilon0, reports, delta)
                assert shuffled_profile(epsilon0, reports, [closed])[0] <= 0.02 * delta


def test_the_found_epsilon_is_the_smallest() -> None:
    epsilon = shuffled_epsilon(1, 10**4, "1e-6")
    assert shuffled_profile(1, 10**4, [epsilon])[0] <= 1e-6 < shuffled_profile(1, 10**4, [epsilon * (1 - 1e-6)])[0]


def test_outside_of_the_theorem_the_closed_form_is_refused() -> None:
    with pytest.raises(ParameterError, match="16 ln"):
        shuffled_closed_form(8, 1000, "1e-6")
    assert shuffled_epsilon(8, 1000, "1e-6") <= 8


def test_a_hundred_million_reports() -> None:
    epsilon = shuffled_epsilon(4, 10**8, "1e-8")
    assert 0.001 < epsilon < 0.01 < shuffled_closed_form(4, 10**8, "1e-8")
    # So many that they are counted as fewer: no better than what was summed.
    assert shuffled_profile(1, 2**80, [1e-5])[0] == shuffled_profile(1, 2**31, [1e-5])[0]


def test_negative_epsilons_follow_from_the_symmetry() -> None:
    positive, negative = shuffled_profile(1, 5, [0.4, -0.4])
    assert negative == pytest.approx(1 - math.exp(-0.4) + math.exp(-0.4) * positive, rel=1e-8)


def test_a_local_epsilon_without_any_privacy_gets_none() -> None:
    assert shuffled_profile(100, 10**6, [1.0])[0] == pytest.approx(1)
    assert shuffled_profile(5000, 10, [4000.0, 5000.0]).tolist() == [1.0, 0.0]


def test_the_atoms_dominate() -> None:
    cases: list[tuple[float, int]] = [(0.5, 1), (1.0, 3), (1.0, 1000), (4.0, 10**5), (9.0, 50), (30.0, 10), (80.0, 10)]
    for epsilon0, reports in cases:
        atoms = shuffled_atoms(epsilon0, reports)
        reach = shuffled_epsilon(epsilon0, reports, "1e-15")
        epsilons = np.concatenate([np.linspace(-reach, reach, 83), np.linspace(0, epsilon0 * 1.1, 37)])
        exact = shuffled_profile(epsilon0, reports, epsilons)
        ours = atoms.profile(epsilons)
        assert (ours >= exact * (1 - 3e-9) - 1e-15).all()
        seen = exact > 1e-9
        assert (ours[seen] <= exact[seen] * 1.01).all()
        # The pair is its own mirror.
        np.testing.assert_allclose(atoms.swap().profile(epsilons), ours, rtol=1e-9, atol=1e-15)


def test_the_tails_of_scipy_are_as_right_as_the_slack_says() -> None:
    clones_cases: list[int] = [100, 10**4, 10**6, 10**8]
    deviations_cases: list[float] = [0.5, 5, 30]
    for clones in clones_cases:
        for deviations in deviations_cases:
            mp = mpmath.mp.clone()
            mp.dps = 40
            least = min(int(clones / 2 + deviations * math.sqrt(clones) / 2), clones)
            factorials = mp.loggamma(clones + 1) - mp.loggamma(least + 1) - mp.loggamma(clones - least + 1)
            steps = np.arange(min(clones - least, 60 * math.isqrt(clones)), dtype=np.longdouble)
            further = np.cumprod((clones - least - steps) / (least + 1 + steps))  # each mass over the first
            exact = mp.exp(factorials - clones * mp.log(2)) * (1 + mp.mpf(str(further[::-1].sum())))
            ours = special.betainc(float(least), clones - least + 1.0, 0.5)
            assert abs(float(ours / exact - 1)) <= (1e-13 + 1e-14 * math.sqrt(clones)) / 2


def test_fewer_clones_by_a_tenth_would_be_seen() -> None:
    exact = counters(1.0, 30, 0.2, math.exp(-1))
    assert not exact <= counters(1.0, 30, 0.2, 0.9 * math.exp(-1)) <= exact * (1 + 1e-8)


def test_local_epsilons_that_make_no_sense() -> None:
    cases: list[Any] = [0, -1, math.nan, math.inf, "much", True, None]
    for bad in cases:
        with pytest.raises(ParameterError, match="epsilon0"):
            shuffled_profile(bad, 10, [0.1])


def test_other_bad_input() -> None:
    with pytest.raises(ParameterError, match="reports"):
        shuffled_profile(1, 0, [0.1])
    with pytest.raises(ParameterError, match="reports"):
        shuffled_epsilon(1, 2.0, "1e-6")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="categories"):
        shuffled_profile(1, 10, [0.1], categories=1)
    for delta in (0, 1, 1.5, math.nan):
        with pytest.raises(ParameterError, match="delta"):
            shuffled_epsilon(1, 10, delta)
    for epsilons in ([math.nan], [math.inf], "0.1"):
        with pytest.raises(ParameterError, match="epsilons"):
            shuffled_profile(1, 10, epsilons)
