"""Laws of short histories: what they add up to, who keeps a lifetime's promise, and who is convicted."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from celosia.core import ConformanceError, GuaranteedEvent, PureDP, ReplaceOne
from celosia.local import LOLOHA, DBitFlip, OneBitMean, Rappor
from celosia.local.base.protocol import PERSON
from celosia.noise import Seeded
from celosia.testing import check_protocol
from celosia.testing.protocols.histories import check_histories, client_draws, history_law, history_log_masses
from tests.testing.third_party import Warner

if TYPE_CHECKING:
    from celosia.core import Event, Source
    from celosia.local.base.memoised import Memoised
    from celosia.local.base.packing import Bytes

KEPT: list[tuple[Memoised[Any], list[Any]]] = [
    (DBitFlip(buckets=3, d=3, epsilon=1), [0, 1, 2]),
    (DBitFlip(buckets=4, d=2, epsilon=2, seed=3), [0, 1, 2]),
    (DBitFlip(buckets=3, d=1, epsilon="1/2", seed=3), [0, 1, 2]),
    (LOLOHA(domain=4, epsilon=1, epsilon_infinity=2, g=2, functions=8), [0, 1, 2]),
    (LOLOHA(domain=4, epsilon=2, epsilon_infinity=3, g=4, functions=2), [0, 1, 2]),
    (OneBitMean(low=-1, high=1, epsilon=1), [-1, 0.25, 1]),
    (Rappor(bits=3, hashes=1, cohorts=2, f="1/4", p="1/4", q="3/4", seed=7), ["sun", "rain", "nieve"]),
    (Rappor(bits=3, hashes=2, cohorts=2, f="1/2", p=0, q="3/4", seed=7), ["sun", "rain", "nieve"]),
    (Rappor(bits=3, hashes=1, cohorts=2, f="1/2", p=0, q=1, seed=7), ["sun", "rain", "nieve"]),
    (Rappor(bits=3, hashes=1, cohorts=2, f=0, p="1/4", q="3/4", seed=7), ["sun", "rain", "nieve"]),
]
EACH = pytest.mark.parametrize(("protocol", "values"), KEPT, ids=lambda given: repr(given)[:70])


def losses(protocol: Memoised[Any], values: list[Any], reports: int) -> dict[tuple[Any, Any], float]:
    """The largest log ratio of each ordered pair of histories."""
    law = history_law(protocol, values, reports)
    assert law is not None
    with np.errstate(invalid="ignore"):
        return {
            (one, two): float(np.nanmax(here - there))  # both impossible: NaN
            for one, here in zip(law.values, law.logs, strict=True)
            for two, there in zip(law.values, law.logs, strict=True)
        }


@EACH
def test_every_protocol_keeps_its_lifetime(protocol: Memoised[Any], values: list[Any]) -> None:
    assert "within the plain one" in check_histories(protocol, values, 20_000, Seeded(1), 1e-6)


@EACH
def test_one_report_has_the_law_of_a_first_report(protocol: Memoised[Any], values: list[Any]) -> None:
    law = history_law(protocol, values, 1)
    assert law is not None
    for (value,), logs in zip(law.values, law.logs, strict=True):
        assert np.exp(logs) == pytest.approx(np.exp(protocol.log_masses(value, law.outputs)))


@EACH
@pytest.mark.parametrize("reports", [2, 3])
def test_no_plain_bound_is_stated_only_where_a_report_is_impossible(
    protocol: Memoised[Any], values: list[Any], reports: int
) -> None:
    found = losses(protocol, values[:2], reports)
    bound = protocol.plain_lifetime_epsilon(reports, 2)
    assert math.isinf(max(found.values())) == (bound is None)
    if bound is not None:
        assert max(found.values()) <= float(bound) * (1 + 1e-12)
        assert max(found.values()) > float(bound) / 8  # no bound is of another order


def test_the_claim_that_was_false() -> None:
    """Two reports of one value never differ; of two values they do, with the probability of the exact law."""
    protocol = DBitFlip(buckets=3, d=3, epsilon=1)
    law = history_law(protocol, [0, 1], 2)
    assert law is not None
    differ = law.outputs[:, 0] != law.outputs[:, 1]
    found = dict(zip(law.values, np.exp(law.logs)[:, differ].sum(axis=1).tolist(), strict=True))
    assert found[0, 0] == 0
    assert found[0, 1] == pytest.approx(0.883, abs=5e-4)
    assert protocol.lifetime(2, values=2).guarantee.adjacency is not ReplaceOne  # type: ignore[attr-defined]


def test_exchanged_histories_meet_the_lifetime_of_full_domains() -> None:
    protocol = DBitFlip(buckets=3, d=3, epsilon=1)
    assert losses(protocol, [0, 1], 2)[(0, 1), (1, 0)] == pytest.approx(2)
    assert losses(protocol, [0, 1], 2)[(0, 0), (1, 1)] == pytest.approx(1)


def alternating(protocol: LOLOHA, times: int) -> float:
    """The loss of alternating between two cells against staying in one, when told cells alternate too."""
    from celosia.local.longitudinal.loloha import second_epsilon

    g, first = protocol.g, float(protocol.epsilon_infinity)
    fresh = float(second_epsilon(protocol.epsilon, protocol.epsilon_infinity, g))
    half = times // 2
    kept = [first if same else 0.0 for same in (True, False)]

    def likelihood(cell: int, counts: dict[int, int]) -> float:
        logs = [(kept[0] if answer == cell else kept[1]) + fresh * counts.get(answer, 0) for answer in range(g)]
        return float(np.logaddexp.reduce(logs)) - math.log(math.exp(first) + g - 1)

    return likelihood(0, {0: half}) + likelihood(1, {1: half}) - likelihood(0, {0: half, 1: half})


@pytest.mark.parametrize(("times", "lost"), [(10, 7.4), (100, 78), (1000, 786)])
def test_alternating_is_seen_but_for_the_plain_bound(times: int, lost: float) -> None:
    protocol = LOLOHA(domain=100, epsilon=1, epsilon_infinity=2)
    found = alternating(protocol, times)
    assert found == pytest.approx(lost, rel=0.01)
    assert found > protocol.lifetime_epsilon(times, 2)
    assert found <= float(protocol.plain_lifetime_epsilon(times, 2))
    if times == 1000:
        assert found > 0.99 * float(protocol.plain_lifetime_epsilon(times, 2))


def test_long_histories_of_one_bit_are_within_the_plain_bound() -> None:
    """RAPPOR bit by bit: the worst sequence of reports for alternating and for staying, by counting."""
    f, p, q = Fraction(1, 2), Fraction(1, 4), Fraction(3, 5)
    protocol = Rappor(bits=4, hashes=1, cohorts=1, f=f, p=p, q=q)
    turned = float(f) / 2

    def bit(true: int, ones: int, zeros: int) -> float:
        high = 1 - turned if true else turned
        logs = [ones * math.log(chance) + zeros * math.log(1 - chance) for chance in (float(q), float(p))]
        return float(np.logaddexp(math.log(high) + logs[0], math.log(1 - high) + logs[1]))

    for times in (4, 40, 400):
        half, worst = times // 2, 0.0
        for ones, others in product(range(half + 1), repeat=2) if times < 400 else [(half, 0), (half, 200), (0, 0)]:
            apart = bit(0, ones, half - ones) + bit(0, others, half - others)
            worst = max(worst, abs(apart - bit(0, ones + others, times - ones - others)))
        bound = protocol.plain_lifetime_epsilon(times, 2)
        assert bound is not None
        assert 4 * worst <= float(bound)


class ClaimsAllHistories(DBitFlip):
    """States the lifetime of histories that change at the same times as if it held between any two."""

    __slots__ = ()

    def lifetime(self, reports: int, *, values: int | None = None) -> Event:
        if values is None:
            return super().lifetime(reports)
        epsilon = self.lifetime_epsilon(reports, values)
        return GuaranteedEvent(guarantee=PureDP(epsilon=epsilon, adjacency=ReplaceOne, unit=PERSON))


class SumsReports(LOLOHA):
    """States that memoised reports spend no more than as many reports that are drawn anew."""

    __slots__ = ()

    def plain_lifetime_epsilon(self, reports: int, values: int) -> Fraction:  # noqa: ARG002
        return reports * self.epsilon


class HalfLifetime(DBitFlip):
    """Forgets that a second value has an answer of its own."""

    __slots__ = ()

    def lifetime_epsilon(self, reports: int, values: int) -> Fraction:  # noqa: ARG002
        return self.guarantee.epsilon


class Forgets(DBitFlip):
    """Draws answers afresh although it is given secrets: they would average out."""

    __slots__ = ()

    def sample_memoised(self, items: Any, secrets: Any, source: Source) -> Bytes:  # noqa: ARG002
        return self.sample(items, source)


def test_mutants_are_convicted() -> None:
    cases: list[tuple[Any, str]] = [
        (ClaimsAllHistories(buckets=3, d=3, epsilon=1), "histories that change at no report and report 2 reach inf"),
        (
            SumsReports(domain=3, epsilon=1, epsilon_infinity="1.2", g=2, functions=8),
            "change at no report and report 2",
        ),
        (HalfLifetime(buckets=3, d=3, epsilon=1), "reach 2 times what PureDP"),
        (Forgets(buckets=3, d=3, epsilon=1), "stated probability is zero"),
    ]
    for mutant, words in cases:
        with pytest.raises(ConformanceError, match=f"histories: .*{words}"):
            check_protocol(mutant, [0, 1, 2], samples=2_000)


def test_what_cannot_be_listed_is_not_checked_and_an_unknown_protocol_is_asked_for_its_law() -> None:
    large = DBitFlip(buckets=40, d=20, epsilon=1)
    assert check_histories(large, [0, 1], 1000, Seeded(1), 1e-6).startswith("not checked")
    assert history_law(large, [0, 1], 2) is None
    payload = np.zeros((1, 1), dtype=np.uint8)
    for known in (lambda one: client_draws(one, payload), lambda one: history_log_masses(one, (0, 1), payload[None])):
        with pytest.raises(ConformanceError, match="no law of histories is known for Warner"):
            known(Warner(question="Is it so?", epsilon=Fraction(1)))
