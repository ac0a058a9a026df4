"""The sequence fragment puzzle: what a report gives away, which words are found, and that no others are."""

from __future__ import annotations

import itertools
import string
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc
import pytest
from scipy import stats

from celosia.accounting import PureAccountant
from celosia.core import InputError, ParameterError, PureDP, ReplaceOne
from celosia.data import generate
from celosia.local.base.aggregate import Aggregate
from celosia.local.base.protocol import Protocol
from celosia.local.discovery.sequence_fragment_puzzle import SequenceFragmentPuzzle
from celosia.noise import Seeded

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.local.discovery.base import Discovery

SKETCHES = {"hashes": 2, "width": 3, "fragment_hashes": 1, "fragment_width": 2}
TINY = SequenceFragmentPuzzle(epsilon=2, fragment_epsilon="3/2", alphabet="abc", length=4, seed=3, **SKETCHES)
WORDS = ["a", "ab", "abcb", "", "cc", "ccab"]
SMALL = SequenceFragmentPuzzle(epsilon=8, hashes=64, width=256, fragment_hashes=64, fragment_width=256, seed=1)


def masses(protocol: SequenceFragmentPuzzle, word: str) -> NDArray[np.float64]:
    outputs = protocol.outputs()
    assert outputs is not None
    return np.exp(protocol.log_masses(word, outputs))


def frequencies(protocol: SequenceFragmentPuzzle, payload: NDArray[np.uint8]) -> NDArray[np.int64]:
    outputs = protocol.outputs()
    assert outputs is not None
    weights = 256 ** np.arange(payload.shape[1])
    keys = outputs.astype(np.int64) @ weights
    order = np.argsort(keys)
    places = order[np.searchsorted(keys, payload.astype(np.int64) @ weights, sorter=order)]
    return np.bincount(places, minlength=len(outputs))


def found(aggregate: Aggregate[Any]) -> Discovery:
    protocol = aggregate.protocol
    assert isinstance(protocol, SequenceFragmentPuzzle)
    return protocol.discover(aggregate)


# ---------------------------------------------------------------- guarantee


def test_the_exact_law_is_private_and_no_better() -> None:
    cases: list[str | int] = ["1/2", 1, 2, 4]
    for epsilon in cases:
        protocol = SequenceFragmentPuzzle(epsilon=epsilon, alphabet="abc", length=4, seed=3, **SKETCHES)
        outputs = protocol.outputs()
        assert outputs is not None
        assert len(np.unique(outputs, axis=0)) == len(outputs) == 2 * 8 * 4 * 2
        assert protocol.is_valid(outputs).all()
        logs = np.array([protocol.log_masses(word, outputs) for word in WORDS])
        assert np.exp(logs).sum(axis=1) == pytest.approx(1, abs=1e-12)
        worst = max(float(np.abs(one - two).max()) for one, two in itertools.combinations(logs, 2))
        assert worst == pytest.approx(float(protocol.epsilon), abs=1e-12)


def test_what_is_drawn_has_the_exact_law() -> None:
    for word in ("ab", "ccab"):
        law = masses(TINY, word)
        drawn = frequencies(TINY, TINY.privatize([word] * 100_000, source=Seeded(5)).payload)
        assert stats.chisquare(drawn, law * drawn.sum()).pvalue > 1e-7
        source = Seeded(6)
        one_by_one = b"".join(TINY.report(word, source=source)[4:] for _ in range(1_000))
        told = frequencies(TINY, np.frombuffer(one_by_one, dtype=np.uint8).reshape(1_000, -1))
        assert stats.chisquare(told, law * told.sum()).pvalue > 1e-7


def test_a_client_that_is_off_is_seen() -> None:
    same: dict[str, Any] = {"alphabet": "abc", "length": 4, "seed": 3, **SKETCHES}
    wrong = [
        SequenceFragmentPuzzle(epsilon="2.1", fragment_epsilon="1.6", **same),  # too much is told
        SequenceFragmentPuzzle(epsilon=2, fragment_epsilon="1.4", **same),  # of one part at the cost of the other
        SequenceFragmentPuzzle(epsilon=2, fragment_epsilon="3/2", **{**same, "seed": 4}),  # other hashes
    ]
    for protocol in wrong:
        drawn = frequencies(TINY, protocol.privatize(["ccab"] * 400_000, source=Seeded(5)).payload)
        assert stats.chisquare(drawn, masses(TINY, "ccab") * drawn.sum()).pvalue < 1e-7


def test_the_guarantee_is_the_sum_of_both_parts() -> None:
    assert SMALL.guarantee == PureDP(epsilon=8, adjacency=ReplaceOne, unit="person")
    assert float(SMALL.texts.epsilon) == 2
    assert float(SMALL.fragments.epsilon) == 6
    assert PureAccountant().spend(SMALL.event).guarantee() == SMALL.guarantee


# ---------------------------------------------------------------- what is found


def words(seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    rare = ["".join(letters) for letters in rng.choice(list(string.ascii_lowercase), (3_000, 7)).tolist()]
    return ["sunshine"] * 5_000 + ["rain"] * 4_000 + ["thunderstorms"] * 3_000 + ["fog"] * 20 + rare


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(4))
def test_frequent_words_are_found_and_counted_and_no_others(seed: int) -> None:
    protocol = SequenceFragmentPuzzle(
        epsilon=8, hashes=64, width=256, fragment_hashes=64, fragment_width=256, seed=seed
    )
    discovery = found(protocol.aggregate().absorb(protocol.privatize(words(seed), source=Seeded(seed))))
    assert discovery.candidates == ["sunshine", "rain", "thundersto"]
    off = (discovery.raw - [5_000, 4_000, 3_000]) / discovery.standard_errors
    assert np.abs(off).max() < 4.5
    assert discovery.surfaces < 3_000


@pytest.mark.thorough  # quickly, words of a few lengths are found above
@pytest.mark.parametrize(("name", "seed"), [("anglicismo_50k", 0), ("anglicismo_1M", 2)])
def test_words_at_twelve_standard_errors_are_found_and_no_false_ones(name: str, seed: int) -> None:
    values = generate(name, seed=seed)["value"]
    true = {row["values"].as_py(): row["counts"].as_py() for row in pc.value_counts(values)}
    protocol = SequenceFragmentPuzzle(epsilon=8, fragment_epsilon=6, seed=seed)
    aggregate = protocol.aggregate().absorb_all(protocol.batches(values, source=Seeded(seed)))
    discovery = found(aggregate)
    expected = {word for word, count in true.items() if count >= 12 * discovery.null_error}
    assert len(expected) == (13 if name.endswith("1M") else 3)
    assert expected <= set(discovery.candidates) <= set(true)
    assert {word for word, count in true.items() if count >= discovery.surfaces} <= set(discovery.candidates)
    off = (discovery.raw - [true[word] for word in discovery.candidates]) / discovery.standard_errors
    assert np.abs(off).max() < 4.5


def test_people_who_all_differ_give_no_words() -> None:
    rng = np.random.default_rng(3)
    texts = ["".join(letters) for letters in rng.choice(list("abcdefgh"), (20_000, 8)).tolist()]
    aggregate = SMALL.aggregate().absorb(SMALL.privatize(texts, source=Seeded(3)))
    for top in (10, 500):
        discovery = SMALL.discover(aggregate, top=top)
        assert discovery.candidates == []
    assert discovery.tested > 10  # or there was nothing to be tempted by


def test_few_people_give_hardly_any_words() -> None:
    values = generate("anglicismo_750")["value"]
    discovery = found(SMALL.aggregate().absorb(SMALL.privatize(values, source=Seeded(3))))
    assert set(discovery.candidates) <= {"chat"}  # which has a sixth of them


def test_a_place_is_estimated_from_its_own_reports() -> None:
    reports = SMALL.privatize(["sunshine"] * 10_000 + ["rain"] * 10_000, source=Seeded(7))
    place = SMALL._split(reports.payload)[2]
    kept = (place != 1) | (np.arange(20_000) % 10 == 0)  # nine of ten reports about the second place are lost
    payload = reports.payload[kept]
    aggregate = SMALL.aggregate().absorb([SMALL.header + row.tobytes() for row in payload])
    part = SMALL._fragment_sketch(aggregate, 1)
    assert part.reports == int((kept & (place == 1)).sum())
    items = SMALL.encode(["sunshine"])
    number = SMALL.pieces.numbers(items["letters"], items["tag"], np.array([1]))
    estimate = part.estimate(number)
    true = int((kept & (place == 1) & (np.arange(20_000) < 10_000)).sum())
    assert abs(estimate.raw[0] - true) < 4.5 * estimate.standard_errors[0]
    # With all reports in place of those of this place, the expected noise of reports that are not there is taken off.
    part.reports = aggregate.reports // 5
    wrong = part.estimate(number)
    assert abs(wrong.raw[0] - true) > 6 * estimate.standard_errors[0]


def test_words_can_be_asked_about_by_name() -> None:
    aggregate = SMALL.aggregate().absorb(SMALL.privatize(words(1), source=Seeded(1)))
    estimate = aggregate.estimate(["rain", "thunderstorms", "snow"])
    assert estimate.candidates == ["rain", "thundersto", "snow"]
    assert np.abs((estimate.raw - [4_000, 3_000, 0]) / estimate.standard_errors).max() < 4.5


def test_where_fragments_have_little_of_epsilon_words_surface_later() -> None:
    values = words(1)
    shares = []
    for part in (6, 4, 2):
        protocol = SequenceFragmentPuzzle(epsilon=2 + part, fragment_epsilon=part, fragment_hashes=16, seed=1)
        discovery = found(protocol.aggregate().absorb(protocol.privatize(values, source=Seeded(1))))
        shares.append(discovery.surfaces / discovery.null_error)
    assert shares == sorted(shares)
    assert shares[0] < 9 < shares[2]  # with equal parts, five times fewer reports weigh sqrt(5) times more


def test_bytes_are_found_alike() -> None:
    protocol = SequenceFragmentPuzzle(
        epsilon=8, alphabet=bytes(range(128, 140)), hashes=64, width=256, fragment_hashes=64, fragment_width=256
    )
    values = [bytes([130, 131, 139])] * 4_000 + [bytes([128] * 10)] * 4_000
    aggregate = protocol.aggregate().absorb(protocol.privatize(values, source=Seeded(1)))
    assert sorted(found(aggregate).candidates) == sorted(set(values))


# ---------------------------------------------------------------- conduct


def test_aggregates_merge_travel_and_reject() -> None:
    reports = SMALL.privatize(words(2), source=Seeded(2))
    whole = SMALL.aggregate().absorb(reports)
    records = reports.records()
    halves = [SMALL.aggregate().absorb(part) for part in (records[:7_000], records[7_000:])]
    assert halves[1].merge(halves[0]) == whole
    assert Aggregate.from_arrow(whole.to_arrow()) == whole
    assert Protocol.from_json(SMALL.to_json()) == SMALL
    good = records[0]
    bad = [
        good[:-1] + bytes([5]),  # no such place
        good[:-1] + bytes([good[-1] | 8]),  # bits after the last
        good[:-1],
        b"",
        b"\0" + good[1:],
    ]
    assert SMALL.aggregate().absorb([*bad, good]).rejected == len(bad)


def test_the_bytes_of_a_report_are_those_of_the_format() -> None:
    report = SMALL.report("rain", source=Seeded(4))
    assert len(report) == 4 + SMALL.bytes_per_report == 4 + 33 + 33 + 1
    assert report == SMALL.report("rain", source=Seeded(4))
    assert SMALL.aggregate().absorb([report]).reports == 1


def test_what_is_no_word_is_refused_by_the_client() -> None:
    cases: list[object] = ["Rain", "ra in", 7, b"rain", None, 1.5]
    for value in cases:
        with pytest.raises(InputError) as refused:
            SMALL.privatize(["sun", value])
        assert "Rain" not in str(refused.value)


def test_parameters_without_meaning_are_refused() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"epsilon": 2, "fragment_epsilon": 6}, "fragment_epsilon must be less than epsilon"),
        ({"epsilon": 2, "fragment_epsilon": 0}, "fragment_epsilon"),
        ({"epsilon": 2, "length": 9}, "fragment must divide length, which is 9"),
        ({"epsilon": 2, "length": 0}, "length"),
        ({"epsilon": 2, "fragment": 5}, "at most 2.32 fragments"),
        ({"epsilon": 2, "alphabet": "aa"}, "alphabet"),
        ({"epsilon": 2, "fragment_width": 1}, "fragment_width"),
        ({"epsilon": 2, "hashes": 0}, "hashes"),
        ({"epsilon": 2, "hashes": True}, "hashes"),
        ({"epsilon": 2, "seed": -1}, "seed"),
    ]
    for given, message in cases:
        with pytest.raises(ParameterError, match=message):
            SequenceFragmentPuzzle(**given)


def test_only_aggregates_of_the_same_protocol_are_looked_through() -> None:
    with pytest.raises(ParameterError, match="another protocol"):
        SMALL.discover(TINY.aggregate())
    with pytest.raises(ParameterError, match="top"):
        SMALL.discover(SMALL.aggregate(), top=0)
