"""What stays: keys from secrets, the same bits one by one and all at once, and what a life costs without them."""

from __future__ import annotations

import hashlib
import hmac
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core import (
    Event,
    GuaranteedEvent,
    GuaranteeMismatchError,
    InputError,
    ParameterError,
    PureDP,
    RepeatedEvent,
    ReplaceOne,
    SameChanges,
)
from celosia.ledger.budget_account import InMemoryBudget
from celosia.local.base.memoised import Memoised, flip_words, reduce_words
from celosia.local.longitudinal.d_bit_flip import DBitFlip
from celosia.local.longitudinal.loloha import LOLOHA
from celosia.local.longitudinal.one_bit_mean import OneBitMean
from celosia.local.longitudinal.rappor import Rappor
from celosia.noise import Seeded
from celosia.noise.bernoulli import flip
from celosia.noise.decide import ratio_enclosure
from celosia.noise.keyed import Keyed, keyed_words
from celosia.noise.uniform import integer_below

ALL: list[tuple[Memoised[Any], list[Any]]] = [
    (DBitFlip(buckets=10, d=4, epsilon=1), [0, 3, 9]),
    (LOLOHA(domain=10, epsilon=1, epsilon_infinity=2, functions=50), [0, 3, 9]),
    (OneBitMean(low=0, high=10, epsilon=1), [0, 3.5, 10]),
    (Rappor(bits=20, hashes=2, cohorts=3, f=0.5, p=0, q=1), ["sun", "rain", "snow"]),
]
REPLAYED = [(protocol, values) for protocol, values in ALL if not isinstance(protocol, LOLOHA)]  # its reports are fresh


def secrets(count: int, seed: int = 5) -> np.ndarray[Any, np.dtype[np.uint8]]:
    return np.random.default_rng(seed).integers(0, 256, (count, 32), dtype=np.uint8)


@given(numerator=st.integers(0, 97), key=st.binary(min_size=32, max_size=32))
def test_coins_are_those_of_flip(numerator: int, key: bytes) -> None:
    words = keyed_words(np.frombuffer(key, dtype=np.uint8)[None], 20)
    shown, tied = flip_words(words, ratio_enclosure(Fraction(numerator, 97)))
    source = Keyed(key)
    assert shown[0].tolist() == [flip(Fraction(numerator, 97), source) for _ in range(20)]
    assert not tied.any()


def test_a_word_that_is_the_probabilitys_own_digits_is_a_tie() -> None:
    third = 2**64 // 3
    words = np.array([third - 1, third, third + 1], dtype=np.uint64)
    shown, tied = flip_words(words, ratio_enclosure(Fraction(1, 3)))
    assert (shown.tolist(), tied.tolist()) == ([True, False, False], [False, True, False])
    shown, tied = flip_words(np.array([2**62 - 1, 2**62], dtype=np.uint64), ratio_enclosure(Fraction(1, 4)))
    assert (shown.tolist(), tied.tolist()) == ([True, False], [False, False])


@given(bound=st.integers(1, 2**52), key=st.binary(min_size=32, max_size=32))
def test_numbers_are_those_of_integer_below(bound: int, key: bytes) -> None:
    words = keyed_words(np.frombuffer(key, dtype=np.uint8)[None], 5)
    numbers, rejected = reduce_words(words, bound)
    if not rejected.any():
        source = Keyed(key)
        assert numbers[0].tolist() == [integer_below(bound, source) for _ in range(5)]


def test_what_would_bias_a_remainder_is_rejected() -> None:
    words = np.array([2**64 - 1, 2**64 - 2, 0], dtype=np.uint64)
    assert reduce_words(words, 3)[1].tolist() == [True, False, False]  # 2^64 is 1 mod 3
    assert not reduce_words(words, 4)[1].any()


def check_keys_are_hmacs_of_the_protocol_and_the_number(protocol: Memoised[Any], values: list[Any]) -> None:
    del values
    secret = bytes(range(32))
    kind = f"celosia/{type(protocol).__name__}/value/1/".encode()
    message = kind + hashlib.sha256(protocol.to_json().encode()).digest() + (300).to_bytes(8, "little")
    key = hmac.digest(secret, message, "sha256")
    assert protocol.open_memo(secret)("value", 300).word() == Keyed(key).word()
    keys = protocol.derive_keys(np.frombuffer(secret, dtype=np.uint8)[None], "value", 300)
    assert keys.tobytes() == key


def test_keys_are_hmacs_of_the_protocol_and_the_number() -> None:
    for protocol, values in ALL:
        check_keys_are_hmacs_of_the_protocol_and_the_number(protocol, values)


def test_the_same_client_and_value_answer_alike_and_others_do_not() -> None:
    for protocol, values in REPLAYED:
        many, clients = values * 40, np.repeat(secrets(40), len(values), axis=0)
        first, second = (protocol.privatize(many, secrets=clients, source=Seeded(seed)).payload for seed in (1, 2))
        assert (first == second).all()
        assert (protocol.privatize(many, secrets=secrets(len(many), 6)).payload != first).any()
        assert len(np.unique(first, axis=0)) > 1


def test_one_by_one_is_bit_by_bit_what_all_at_once_is() -> None:
    for protocol, values in REPLAYED:
        rows = secrets(100)
        many = [values[i % len(values)] for i in range(100)]
        records = protocol.privatize(many, secrets=rows).records()
        assert records == [protocol.report(value, secret=bytes(row)) for value, row in zip(many, rows, strict=True)]
        assert records == protocol.privatize(many, secrets=[bytes(row) for row in rows]).records()


def test_another_protocol_has_other_answers() -> None:
    for protocol, values in ALL:
        # Keys that two protocols share would share noise: the difference of their answers would be the truth.
        rows = secrets(64)
        keys = {type(one).__name__: one.derive_keys(rows, "value", 0).tobytes() for one, _ in ALL}
        assert len(set(keys.values())) == len(ALL)
        seeded = DBitFlip(buckets=10, d=4, epsilon=1, seed=1)
        assert seeded.derive_keys(rows, "value", 0).tobytes() != keys["DBitFlip"]
        assert (protocol.derive_keys(rows, "client", 0) != protocol.derive_keys(rows, "value", 0)).any()
        assert len(values) == 3


def test_without_secrets_reports_add_up() -> None:
    for protocol, values in ALL:
        assert protocol.lifetime(30) == RepeatedEvent(event=protocol.event, times=30)
        assert len(protocol.report(values[0])) == 4 + protocol.bytes_per_report
        assert protocol.lifetime(5, values=9) == protocol.lifetime(5, values=5)
        bad: list[tuple[Any, Any]] = [(0, 1), (1, 0), (2.0, 1), (1, True), (1, -1)]
        for reports, count in bad:
            for life in (protocol.lifetime, protocol.plain_lifetime):
                with pytest.raises(ParameterError):
                    life(reports, values=count)


def test_what_holds_between_some_histories_is_no_plain_guarantee() -> None:
    for protocol, values in ALL:
        life = protocol.lifetime(30, values=len(values))
        assert isinstance(life, GuaranteedEvent)
        assert (life.adjacency, life.guarantee.adjacency, life.unit) == (SameChanges, SameChanges, "person")
        assert Event.from_json(life.to_json()) == life
        account = InMemoryBudget(PureDP(epsilon=10**6, adjacency=ReplaceOne, unit="person"))
        with pytest.raises(GuaranteeMismatchError, match="plain_lifetime"):
            account.reserve(life, question="A life")
        with pytest.raises(GuaranteeMismatchError, match="cannot be added"):
            _ = life.guarantee + protocol.guarantee
        with pytest.raises(GuaranteeMismatchError, match="SameChanges"):
            RepeatedEvent(event=life, times=2)
        assert account.remaining == account.budget


def test_a_value_that_stays_and_a_single_report_have_plain_guarantees() -> None:
    for protocol, values in ALL:
        assert protocol.plain_lifetime(1, values=len(values)).guarantee == protocol.guarantee  # type: ignore[attr-defined]
        stays = protocol.plain_lifetime(30, values=1)
        assert stays.guarantee == PureDP(  # type: ignore[attr-defined] # it states one
            epsilon=protocol.lifetime_epsilon(30, 1), adjacency=ReplaceOne, unit="person"
        )
        assert InMemoryBudget(PureDP(epsilon=100, adjacency=ReplaceOne, unit="person")).admits(stays)


def test_exact_replay_has_no_plain_guarantee_of_changes() -> None:
    for protocol, values in REPLAYED:
        assert protocol.plain_lifetime_epsilon(2, len(values)) is None
        with pytest.raises(ParameterError, match=r"2 memoised reports of 3 values have no finite epsilon"):
            protocol.plain_lifetime(2, values=len(values))


def test_fresh_noise_on_kept_answers_has_a_plain_guarantee_that_grows() -> None:
    for protocol in (
        LOLOHA(domain=10, epsilon=1, epsilon_infinity=2),
        Rappor(bits=16, f=0.5, p=0.5, q=0.75),
        Rappor(bits=16, f=0.5, p=0, q=0.75),
    ):
        spent = [protocol.plain_lifetime_epsilon(reports, 3) or 0 for reports in (1, 2, 10, 100, 1000)]
        assert spent == sorted(spent)
        assert all(spent[i] > protocol.lifetime_epsilon(reports, 3) for i, reports in enumerate((2, 10, 100, 1000), 1))
        for values in (1, 2, 3):
            assert (protocol.plain_lifetime_epsilon(100, values) or 0) <= (
                protocol.plain_lifetime_epsilon(100, values + 1) or 0
            )


def test_secrets_that_are_none_are_refused_without_being_told() -> None:
    for protocol, values in ALL:
        for given_ in (
            [b"short"] * 3,
            [bytes(32)] * 2,
            secrets(2),
            secrets(3).astype(np.int64),
            ["a" * 32] * 3,
            "secret",
        ):
            with pytest.raises(InputError, match="32 bytes for each value") as caught:
                protocol.privatize(values, secrets=given_)  # type: ignore[arg-type] # that is the point
            assert "short" not in str(caught.value)
            assert "secret'" not in str(caught.value)
        with pytest.raises(InputError):
            protocol.report(values[0], secret=b"short")
        assert len(protocol.privatize([], secrets=[])) == 0
