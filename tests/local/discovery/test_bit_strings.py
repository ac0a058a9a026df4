from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core import InputError, ParameterError
from celosia.local.discovery.bit_strings import BitStrings

TEXTS = BitStrings(alphabet="abcde", length=4)


@given(st.lists(st.text("abcde", max_size=4), min_size=1))
def test_a_text_is_the_bits_of_its_letters(texts: list[str]) -> None:
    expected = [int("".join(f"{'-abcde'.index(letter):03b}" for letter in text.ljust(4, "-")), 2) for text in texts]
    assert TEXTS.read(texts).tolist() == expected
    assert TEXTS.labels(np.array(expected)) == texts
    assert TEXTS.is_prefix(np.array(expected), TEXTS.bits).all()


@given(st.integers(2, 2**62), st.data())
def test_a_number_is_its_bits(domain: int, data: st.DataObject) -> None:
    strings = BitStrings(domain=domain)
    value = data.draw(st.integers(0, domain - 1))
    assert strings.read([value]).tolist() == [value] == strings.labels(np.array([value]))
    assert strings.bits == (domain - 1).bit_length()


def test_prefixes_of_texts_are_those_of_some_text() -> None:
    for length in range(1, 13):
        numbers = np.arange(2**12)
        whole = numbers[TEXTS.is_prefix(numbers, 12)]
        assert sorted(TEXTS.labels(whole)) == sorted(set(TEXTS.labels(whole)))
        assert len(whole) == sum(5**size for size in range(5))
        prefixes = np.arange(2**length)
        kept = set(prefixes[TEXTS.is_prefix(prefixes, length)].tolist())
        assert set((whole >> (12 - length)).tolist()) <= kept
        if length % 3 == 0:
            assert set((whole >> (12 - length)).tolist()) == kept


def test_prefixes_of_numbers_are_those_of_some_number() -> None:
    for domain in (2, 5, 8, 1000):
        strings = BitStrings(domain=domain)
        for length in range(1, strings.bits + 1):
            prefixes = np.arange(2**length)
            kept = set(prefixes[strings.is_prefix(prefixes, length)].tolist())
            assert kept == {value >> (strings.bits - length) for value in range(domain)}


def test_values_that_are_no_numbers_of_the_domain_are_refused() -> None:
    cases: list[object] = [[-1], [1000], [2**62], ["1"], [1.0], [b"1"], 5, None]
    for values in cases:
        with pytest.raises(InputError):
            BitStrings(domain=1000).read(values)


def test_what_is_no_set_of_values_is_refused() -> None:
    cases: list[dict[str, object]] = [
        {},
        {"domain": 1},
        {"domain": 2**62 + 1},
        {"domain": 5.5},
        {"domain": True},
        {"domain": 5, "alphabet": "ab", "length": 3},
        {"alphabet": "ab"},
        {"length": 3},
        {"alphabet": "ab", "length": 0},
        {"alphabet": "ab", "length": 32},
        {"alphabet": "ab", "length": "3"},
    ]
    for given_ in cases:
        with pytest.raises(ParameterError):
            BitStrings(**given_)  # type: ignore[arg-type]
