"""What a law must be: complete, within epsilon, no richer than its event, and that of both samplers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import stats

from celosia.core import ConformanceError
from celosia.local import DBitFlip, DirectEncoding, OptimizedUnary
from celosia.noise import Seeded
from celosia.testing.protocols.law import (
    Law,
    check_event,
    check_law,
    check_memoised,
    check_sampler,
    check_scalar,
    read_law,
    row_keys,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.local.base.packing import Bytes

GRR = DirectEncoding(domain=3, epsilon=1)


def law_of(masses: list[list[float]]) -> Law:
    outputs = GRR.outputs()
    assert outputs is not None
    with np.errstate(divide="ignore"):
        return Law(values=[0, 1, 2][: len(masses)], outputs=outputs, logs=np.log(np.array(masses)))


def test_randomized_response_uses_all_of_its_epsilon() -> None:
    law = read_law(GRR, [0, 1, 2])
    assert law is not None
    e = math.e
    assert np.exp(law.logs[0]).tolist() == pytest.approx([e / (e + 2), 1 / (e + 2), 1 / (e + 2)])
    words, reached = check_law(GRR, law)
    assert reached == pytest.approx(1, abs=1e-12)
    assert words.endswith("100 % of the guarantee")


def test_what_is_possible_for_one_value_only_is_found() -> None:
    with pytest.raises(ConformanceError, match="reach inf times"):
        check_law(GRR, law_of([[0.5, 0.5, 0.0], [0.25, 0.25, 0.5]]))


def test_what_is_possible_for_none_is_no_matter() -> None:
    assert check_law(GRR, law_of([[0.5, 0.5, 0.0], [0.4, 0.6, 0.0]]))[1] == pytest.approx(math.log(1.25))


def test_probabilities_must_add_up() -> None:
    cases: list[float] = [1e-3, 1e-6, -1e-6]
    for missing in cases:
        with pytest.raises(ConformanceError, match="add up to"):
            check_law(GRR, law_of([[0.5, 0.25, 0.25 - missing], [0.4, 0.3, 0.3]]))


class Shapeless(DirectEncoding):
    __slots__ = ()

    def outputs(self) -> Bytes | None:
        return np.zeros((3, 2), dtype=np.uint8)


class NotANumber(DirectEncoding):
    __slots__ = ()

    def log_masses(self, value: Any, payload: Bytes) -> NDArray[np.float64]:  # noqa: ARG002 - any value
        return np.full(len(payload), np.nan)


def test_a_law_has_a_shape() -> None:
    cases: list[tuple[type[DirectEncoding], str]] = [(Shapeless, "rows of 1 bytes"), (NotANumber, "no NaN")]
    for kind, words in cases:
        with pytest.raises(ConformanceError, match=words):
            read_law(kind(domain=3, epsilon=1), [0, 1])


def test_the_event_of_binary_response_dominates_every_law_within_epsilon() -> None:
    protocol = OptimizedUnary(domain=2, epsilon=1)
    assert check_event(protocol, read_law(protocol, [0, 1])).startswith("GuaranteedEvent, 9")
    assert check_event(protocol, None) == "GuaranteedEvent, priced at 1"


def test_the_smallest_p_value_is_that_of_a_chi_square() -> None:
    protocol = DirectEncoding(domain=2, epsilon=1)
    law = read_law(protocol, [0, 1])
    assert law is not None
    samples, source = 5_000, Seeded(3)
    truth = math.e / (math.e + 1)
    kept = [protocol.privatize(np.full(samples, value), source=source).payload[:, 0] == value for value in (0, 1)]
    each = [
        stats.chisquare([k.sum(), samples - k.sum()], [samples * truth, samples * (1 - truth)]).pvalue for k in kept
    ]
    both = sum(int(k.sum()) for k in kept)
    pooled = stats.chisquare([both, 2 * samples - both], [2 * samples * truth, 2 * samples * (1 - truth)]).pvalue
    found = check_sampler(protocol, law, samples, Seeded(3), 1e-6)
    assert found == f"5000 reports of each value, smallest p-value {min(*each, pooled):.2g}"


class Surprising(DirectEncoding):
    """Draws a report that it does not list."""

    __slots__ = ()

    def outputs(self) -> Bytes | None:
        return np.array([[0], [1]], dtype=np.uint8)

    def log_masses(self, value: Any, payload: Bytes) -> NDArray[np.float64]:  # noqa: ARG002 - any value
        return np.full(len(payload), math.log(0.5))


class Impossible(DirectEncoding):
    """Draws a report that it says is impossible."""

    __slots__ = ()

    def log_masses(self, value: Any, payload: Bytes) -> NDArray[np.float64]:  # noqa: ARG002 - any value
        return np.where(payload[:, 0] == 2, -np.inf, math.log(0.5))


@pytest.mark.parametrize(("kind", "words"), [(Surprising, "does not list"), (Impossible, "probability is zero")])
def test_reports_outside_the_law_are_found(kind: type[DirectEncoding], words: str) -> None:
    protocol = kind(domain=3, epsilon=1)
    law = read_law(protocol, [0, 1])
    assert law is not None
    for check in (check_sampler, check_scalar):
        with pytest.raises(ConformanceError, match=words):
            check(protocol, law, 4_000, Seeded(1), 1e-6)


class Headless(DirectEncoding):
    __slots__ = ()

    def report(self, value: Any, *, source: Any = None) -> bytes:
        return b"\x02" + super().report(value, source=source)[1:]


def test_a_record_must_have_the_header() -> None:
    protocol = Headless(domain=3, epsilon=1)
    law = read_law(protocol, [0, 1])
    assert law is not None
    with pytest.raises(ConformanceError, match="header"):
        check_scalar(protocol, law, 1_000, Seeded(1), 1e-6)


class Remembers(DBitFlip):
    """Clients with secrets tell the truth."""

    __slots__ = ()

    def sample_memoised(self, items: NDArray[np.int64], secrets: NDArray[np.uint8], source: Any) -> Bytes:
        true = DBitFlip(buckets=self.buckets, d=self.d, epsilon=50, seed=self.seed)
        return true.sample_memoised(items, secrets, source)


def test_clients_with_secrets_follow_the_law() -> None:
    for kind, passes in ((DBitFlip, True), (Remembers, False)):
        protocol = kind(buckets=3, d=3, epsilon=1)
        law = read_law(protocol, [0, 1, 2])
        assert law is not None
        if passes:
            assert check_memoised(protocol, law, 3_000, Seeded(1), 1e-6).startswith("3000 secrets")
        else:
            with pytest.raises(ConformanceError, match=r"memoised: .* p-value"):
                check_memoised(protocol, law, 3_000, Seeded(1), 1e-6)


def test_keys_tell_rows_apart() -> None:
    rows = np.random.default_rng(1).integers(0, 256, (1_000, 9), dtype=np.uint8)
    assert len(np.unique(row_keys(rows))) == len(np.unique(rows, axis=0))
    assert (row_keys(rows[::-1]) == row_keys(rows)[::-1]).all()
