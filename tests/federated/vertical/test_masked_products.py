"""Products of hidden columns: exact, and what one party or the server sees is the same whatever the columns are."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from celosia.federated.vertical import masked_products
from celosia.federated.vertical.masked_products import (
    Pads,
    count_rows,
    deal_pads,
    hide_columns,
    multiply_own,
    multiply_pads,
)
from celosia.noise import Seeded

SMALL = 4  # the modulus of what is enumerated


def word(number: int) -> Any:
    return np.array([[number]], dtype=np.uint64)


def reduce(words: Any) -> int:
    return int(words[0, 0]) % SMALL


def multiply(first: Any, second: Any, pads: tuple[Pads, Pads]) -> tuple[Any, Any]:
    """Return the parts that the two parties have in the end."""
    parts = [one.part for one in pads]
    start = 0
    for block, rows in enumerate(count_rows(len(first))):
        a, b = first[start : start + rows], second[start : start + rows]
        own = [one.draw(block, part.shape) for one, part in zip(pads, (a, b), strict=True)]
        parts[0] = parts[0] + multiply_own(a, hide_columns(b, own[1]))
        parts[1] = parts[1] + multiply_pads(hide_columns(a, own[0]), own[1])
        start += rows
    return parts[0], parts[1]


@given(st.integers(1, 40), st.integers(0, 3), st.integers(1, 3), st.integers(0, 2**32))
def test_the_parts_add_up_to_the_products(persons: int, left: int, right: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = (rng.integers(-(2**17), 2**17, (persons, width)) for width in (left, right))
    pads = deal_pads(persons, (left, right), Seeded(seed))
    parts = multiply(first.view(np.uint64), second.view(np.uint64), pads)
    assert np.array_equal((parts[0] + parts[1]).view(np.int64), first.T @ second)


def test_persons_come_in_blocks(monkeypatch: Any) -> None:
    monkeypatch.setattr(masked_products, "BLOCK", 7)
    assert list(count_rows(20)) == [7, 7, 6]
    rng = np.random.default_rng(3)
    first, second = rng.integers(-9, 9, (20, 2)), rng.integers(-9, 9, (20, 3))
    parts = multiply(first.view(np.uint64), second.view(np.uint64), deal_pads(20, (2, 3), Seeded(1)))
    assert np.array_equal((parts[0] + parts[1]).view(np.int64), first.T @ second)
    pads = deal_pads(20, (2, 3), Seeded(1))[0]
    drawn = np.concatenate([pads.draw(block, (7, 2)).ravel() for block in range(3)])
    assert len(set(drawn.tolist())) == drawn.size


def count_views(first: int, second: int, *, of: str) -> Counter[tuple[int, ...]]:
    """Return how often each view occurs, over all pads, parts and masks of a small modulus.

    The mask is what the parties' last messages hide behind: the first adds it, the second subtracts it.
    """
    found: Counter[tuple[int, ...]] = Counter()
    for a, b, part, mask in itertools.product(range(SMALL), repeat=4):
        other = (a * b - part) % SMALL
        shown = [reduce(hide_columns(word(x), word(pad))) for x, pad in ((first, a), (second, b))]
        ends = [
            reduce(word(part) + multiply_own(word(first), word(shown[1]))),
            reduce(word(other) + multiply_pads(word(shown[0]), word(b))),
        ]
        assert sum(ends) % SMALL == first * second % SMALL
        sent = [(ends[0] + mask) % SMALL, (ends[1] - mask) % SMALL]
        views = {
            "first": (a, part, shown[1], mask),
            "second": (b, other, shown[0], mask),
            "server": (a, b, part, other, *sent),
            "server without a mask": (a, b, part, other, *ends),
            "server and second": (a, b, part, other, shown[0]),
            "second with one part alone": (b, shown[0], part),
        }
        found[views[of]] += 1
    return found


def test_a_party_sees_the_same_whatever_the_others_columns_are() -> None:
    for own in range(SMALL):
        assert len({tuple(sorted(count_views(own, other, of="first").items())) for other in range(SMALL)}) == 1
        assert len({tuple(sorted(count_views(other, own, of="second").items())) for other in range(SMALL)}) == 1


def test_the_server_sees_the_product_only() -> None:
    views: dict[int, set[Any]] = {}
    for first, second in itertools.product(range(SMALL), repeat=2):
        view = tuple(sorted(count_views(first, second, of="server").items()))
        views.setdefault(first * second % SMALL, set()).add(view)
    assert {len(seen) for seen in views.values()} == {1}


def test_what_would_show_columns_is_noticed() -> None:
    """The masks at the end are needed, and so is a server that tells no party another's pads."""
    shown = [count_views(first, 1, of="server without a mask") for first in range(SMALL)]
    assert any(one != shown[0] for one in shown)
    together = [count_views(first, 1, of="server and second") for first in range(SMALL)]
    assert any(one != together[0] for one in together)


def test_parts_and_pads_are_uniform_words() -> None:
    first, second = deal_pads(3000, (2, 2), Seeded(5))
    for pads in (first, second):
        ones = np.unpackbits(pads.draw(0, (3000, 2)).view(np.uint8)).mean()
        assert abs(ones - 0.5) < 6 * 0.5 / np.sqrt(3000 * 2 * 64)
    assert first.key != second.key
    assert not np.array_equal(first.part, second.part)
    assert "key" not in repr(first)
