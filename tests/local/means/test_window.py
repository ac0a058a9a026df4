"""The piecewise law on a grid: private whatever the window, a mean that is linear exactly, the published variances."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from celosia.core.errors import ParameterError
from celosia.local.means.interval import PART_BITS
from celosia.local.means.window import Window, exact_width, least_width, published_width
from celosia.noise import Seeded

LAWS = st.builds(
    lambda steps, width, epsilon: Window(epsilon=Fraction(epsilon), steps=steps, width=1 + (width - 1) % steps),
    st.integers(1, 24),
    st.integers(1, 24),
    st.sampled_from(["1/4", "1", "2", "4", "9"]),
)


def exact_masses(steps: int, width: int, ratio: Fraction, position: int) -> list[Fraction]:
    """The law in fractions, where e^epsilon is any rational number."""
    inside = ratio / (width * ratio + steps)
    return [inside if position <= said < position + width else inside / ratio for said in range(steps + width)]


@given(st.integers(1, 12), st.integers(1, 12), st.fractions(Fraction(11, 10), 50, max_denominator=20))
def test_the_mean_of_a_report_is_linear_in_the_position_exactly(steps: int, width: int, ratio: Fraction) -> None:
    means = []
    for position in range(steps + 1):
        masses = exact_masses(steps, width, ratio, position)
        assert sum(masses) == 1
        means.append(sum(said * mass for said, mass in enumerate(masses)))
    inside = ratio / (width * ratio + steps)
    slope = width * (inside - inside / ratio)
    middle = Fraction(steps + width - 1, 2)
    assert means == [middle + slope * (position - Fraction(steps, 2)) for position in range(steps + 1)]


@given(LAWS)
def test_every_pair_of_positions_is_within_epsilon(law: Window) -> None:
    said = np.arange(law.size)
    logs = [law.log_masses(position << PART_BITS, said) for position in range(law.steps + 1)]
    assert [float(np.exp(log).sum()) for log in logs] == pytest.approx([1.0] * len(logs))
    worst = max(float(np.abs(one - two).max()) for one, two in itertools.combinations(logs, 2))
    assert worst == pytest.approx(float(law.epsilon))


@given(LAWS, st.floats(0, 1))
def test_moments_are_those_of_the_law(law: Window, place: float) -> None:
    part = round(place * (law.steps << PART_BITS))
    masses, said = np.exp(law.log_masses(part, np.arange(law.size))), np.arange(law.size)
    half = law.steps / 2
    number = part / (half * 2**PART_BITS) - 1
    told = (said - (law.size - 1) / 2) / law.slope / half
    assert float(masses @ told) == pytest.approx(number, abs=1e-9)
    rest = part % (1 << PART_BITS) / (1 << PART_BITS)
    variance = float(masses @ told**2) - number**2
    assert law.variance_at(number**2, rest * (1 - rest)) == pytest.approx(variance, rel=1e-6)
    assert variance <= law.worst * (1 + 1e-9)


@given(LAWS)
def test_the_worst_variance_is_reached(law: Window) -> None:
    places = np.linspace(0, 1, 481) * law.steps
    rest = places % 1
    numbers = places / (law.steps / 2) - 1
    found = max(law.variance_at(x**2, r * (1 - r)) for x, r in zip(numbers.tolist(), rest.tolist(), strict=True))
    assert found == pytest.approx(law.worst, rel=5e-3)


def test_the_variance_is_the_published_one() -> None:
    for epsilon, published in ((1, 5.22), (2, 1.23), (4, 0.241)):
        steps = 1 << 20
        law = Window(epsilon=Fraction(epsilon), steps=steps, width=published_width(Fraction(epsilon), steps))
        assert law.worst == pytest.approx(published, rel=5e-3)
        # The continuous mechanism at the bounds, in the closed form of Wang et al. 2019, with root e^(epsilon/2).
        root = math.exp(epsilon / 2)
        assert law.worst == pytest.approx(1 / (root - 1) + (root + 3) / (3 * (root - 1) ** 2), rel=1e-4)


def test_the_least_width_is_better_than_the_published_one_everywhere() -> None:
    for epsilon in ("1/4", "1", "2", "4", "8"):
        steps, rate = 500, Fraction(epsilon)
        laws = [Window(epsilon=rate, steps=steps, width=width) for width in range(1, steps + 1)]
        chosen = Window(epsilon=rate, steps=steps, width=least_width(rate, steps))
        assert chosen.variance_at(1 / 3) <= min(law.variance_at(1 / 3) for law in laws) * (1 + 1e-4)
        published = Window(epsilon=rate, steps=steps, width=published_width(rate, steps))
        assert all(chosen.variance_at(square) < published.variance_at(square) for square in (0.0, 0.3, 0.7, 1.0))


def test_a_width_is_a_number_or_a_word() -> None:
    assert exact_width(7, Fraction(1), 8) == 7
    for wrong in ("best", 0, 9, 1.5, None, True):
        with pytest.raises(ParameterError, match="width"):
            exact_width(wrong, Fraction(1), 8)  # type: ignore[arg-type]  # that is what is tested
    assert least_width(Fraction(1000), 8) >= 1


def test_draws_follow_the_law() -> None:
    law = Window(epsilon=Fraction(2), steps=6, width=2)
    part = (3 << PART_BITS) + (1 << PART_BITS) // 3
    expected = np.exp(law.log_masses(part, np.arange(law.size)))
    many = np.bincount(law.sample(np.full(200_000, part), Seeded(1)), minlength=law.size)
    source = Seeded(2)
    few = np.bincount([law.sample_one(part, source) for _ in range(8000)], minlength=law.size)
    for counts in (many, few):
        assert stats.chisquare(counts, counts.sum() * expected).pvalue > 1e-4
    # A window coin that is a few percent off is seen with so many.
    wrong = Window(epsilon=Fraction("1.9"), steps=6, width=2)
    off = np.exp(wrong.log_masses(part, np.arange(law.size)))
    assert stats.chisquare(many, many.sum() * off).pvalue < 1e-12


def test_sums_of_the_largest_reports_do_not_overflow() -> None:
    law = Window(epsilon=Fraction(1), steps=1 << 30, width=1 << 30)
    state = {"sum": np.zeros(1, dtype=np.int64), "squares": np.zeros(2, dtype=np.int64)}
    said = np.full(1 << 16, law.size - 1, dtype=np.uint64)
    for _ in range(3):
        law.add(state, said)
    count = 3 << 16
    low, high = state["squares"].tolist()
    assert int(state["sum"][0]) == count * (law.size - 1)
    assert low + (high << 32) == count * (law.size - 1) ** 2
    assert state["squares"].max() < count << 32
    mean, square = law.moments(state, count)
    assert mean > 1
    assert square == 1.0
