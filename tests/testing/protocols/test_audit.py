"""Reports too many to list are still held to what they state, and to epsilon without believing it."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from celosia.core import ConformanceError
from celosia.local import CountMeanSketch, DirectEncoding, LocalHashing
from celosia.local.base.packing import pack, unpack
from celosia.noise import Seeded
from celosia.noise.bernoulli import bernoulli
from celosia.noise.uniform import uniform_below
from celosia.testing.protocols.audit import check_reports, check_stated

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core import Source
    from celosia.local.base.packing import Bytes

MANY = 1 << 17


class Tells(DirectEncoding):
    """Keeps the truth half of the time, whatever epsilon is, and states the law of its epsilon."""

    __slots__ = ()

    def sample(self, items: NDArray[np.int64], source: Source) -> Bytes:
        kept = bernoulli(Fraction(1, 2), items.size, source)
        others = uniform_below(self.size - 1, items.size, source)
        return pack([(np.where(kept, items, others + (others >= items)), self.bits)])


class States(DirectEncoding):
    """States a truth that it does not tell as often."""

    __slots__ = ()

    def log_masses(self, value: Any, payload: Bytes) -> NDArray[np.float64]:
        (said,) = unpack(payload, [self.bits])
        return np.where(said == self.encode([value])[0], math.log(0.9), math.log(0.1 / (self.size - 1)))


def test_long_and_hashed_reports_pass() -> None:
    for protocol in (CountMeanSketch(epsilon=3, hashes=4, width=512), LocalHashing(domain=50, epsilon=3)):
        values = [0, 1, 2]
        assert "no drawn report" in check_stated(protocol, values, 3_000, Seeded(1), 1e-6)
        words, bound = check_reports(protocol, values, 6_000, Seeded(1), 1e-6)
        assert 1 < bound <= 3
        assert words.startswith(f"epsilon >= {bound:.4g} shown by 6000 reports")


def test_a_sampler_that_tells_too_much_is_found_without_believing_its_law() -> None:
    with pytest.raises(ConformanceError, match=r"audit: .* is claimed, but epsilon >="):
        check_reports(Tells(domain=MANY, epsilon=2), [0, 1], 5_000, Seeded(1), 1e-6)


def test_a_law_beyond_epsilon_is_found_on_a_drawn_report() -> None:
    with pytest.raises(ConformanceError, match="more than epsilon"):
        check_stated(States(domain=MANY, epsilon=12), [0, 1], 2_000, Seeded(1), 1e-6)


def test_a_law_that_is_not_the_samplers_shows_in_the_average_ratio() -> None:
    with pytest.raises(ConformanceError, match="ratios of probabilities average"):
        check_stated(Tells(domain=4, epsilon=3), [0, 1], 20_000, Seeded(1), 1e-6)
