from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.local.discovery import fragments
from celosia.local.discovery.fragments import Pieces, tags
from celosia.local.discovery.spelling import spell
from celosia.sketches.hashing.digest import digest, digest_bytes
from celosia.sketches.hashing.family import HashFamily

PIECES = Pieces(alphabet="abc", length=6, fragment=2, seed=7)


def cut(texts: list[str], pieces: Pieces = PIECES) -> list[list[int]]:
    """The numbers of all pieces, place by place."""
    spelt = spell(texts, pieces.alphabet, pieces.length)
    tag = tags(spelt.cut, pieces.seed)
    return [pieces.numbers(spelt.letters, tag, np.full(len(texts), place)).tolist() for place in range(pieces.places)]


def test_a_tag_is_the_first_byte_of_the_digest() -> None:
    assert tags(["sun", "rain"], 5).tolist() == [digest_bytes(word, seed=5) >> 56 for word in (b"sun", b"rain")]


@given(st.lists(st.text("abc", max_size=6), min_size=1))
def test_a_piece_is_numbered_by_place_tag_and_letters(texts: list[str]) -> None:
    for place, numbers in enumerate(cut(texts)):
        for text, number in zip(texts, numbers, strict=True):
            first, second = ("-abc".index(letter) for letter in text.ljust(6, "-")[2 * place : 2 * place + 2])
            tag = digest_bytes(text.encode(), seed=7) >> 56
            assert number == ((place * 256 + tag) * 4 + first) * 4 + second
            assert place * PIECES.kinds <= number < (place + 1) * PIECES.kinds


@given(st.sets(st.text("abc", max_size=6), min_size=1, max_size=20))
def test_texts_are_put_together_from_their_pieces(texts: set[str]) -> None:
    found = PIECES.assemble([np.unique(numbers) for numbers in cut(sorted(texts))])
    assert texts <= set(found)
    assert len(found) == len(set(found))


@given(st.lists(st.tuples(st.integers(0, 255), st.integers(0, 15)), min_size=1, max_size=8), st.data())
def test_nothing_else_is_put_together_than_what_fits(first: list[tuple[int, int]], data: st.DataObject) -> None:
    chosen = [first, *(data.draw(st.lists(st.sampled_from(first), min_size=1, max_size=8)) for _ in range(2))]
    chosen = [list(dict.fromkeys(place)) for place in chosen]
    found = PIECES.assemble(
        [np.array([(place * 256 + tag) * 16 + letters for tag, letters in parts]) for place, parts in enumerate(chosen)]
    )
    expected = set()
    for parts in itertools.product(*chosen):
        text = "".join("-abc"[letters // 4] + "-abc"[letters % 4] for _, letters in parts)
        if len({tag for tag, _ in parts}) == 1 and "-" not in text.rstrip("-"):
            word = text.rstrip("-")
            if digest_bytes(word.encode(), seed=7) >> 56 == parts[0][0]:
                expected.add(word)
    assert set(found) == expected


def test_pieces_of_one_tag_only_cannot_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fragments, "_MAX_COMBINATIONS", 1000)
    pieces = Pieces(alphabet="abcdefghijklmnopqrstuvwxyz", length=10, fragment=2, seed=7)
    word = cut(["sunshine"], pieces)
    tag = word[0][0] // 27**2
    hostile = [
        np.array([word[place][0], *((place * 256 + tag) * 27**2 + np.arange(28, 428)).tolist()]) for place in range(5)
    ]
    found = pieces.assemble(hostile)
    assert "sunshine" in found  # the most frequent are kept
    assert len(found) <= 1000


@pytest.mark.parametrize("top", [1, 3, 10, 10**6])
def test_the_most_frequent_pieces_are_found_in_chunks_too(monkeypatch: pytest.MonkeyPatch, top: int) -> None:
    family = HashFamily(16, 64, seed=3)
    table = np.random.default_rng(3).integers(0, 1000, (16, 64))
    numbers = np.arange(PIECES.kinds, 2 * PIECES.kinds)
    counts = table[np.arange(16)[:, None], family.table(digest(numbers))].sum(axis=0)
    expected = numbers[np.argsort(-counts, kind="stable")][:top]
    assert PIECES.most_frequent(table, family, 1, top).tolist() == expected.tolist()
    monkeypatch.setattr(fragments, "_CHUNK", 100)
    assert PIECES.most_frequent(table, family, 1, top).tolist() == expected.tolist()


def test_no_pieces_make_no_texts() -> None:
    assert PIECES.assemble([np.empty(0, dtype=np.int64)] * 3) == []
