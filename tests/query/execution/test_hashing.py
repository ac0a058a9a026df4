"""The order of a person's cells: fair, keyed, without ties, and the same in Python and in an engine's 64 bits."""

from __future__ import annotations

import itertools
import math
import re
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from celosia.query.execution import hashing
from celosia.query.execution.dialect import PRIME
from celosia.query.execution.hashing import KeyedOrder
from celosia.query.planning.cells import MAX_CELLS
from tests.query.computed import all_computed, computed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Int64 = NDArray[np.int64]

SECRET = (108, 2, 3, 2**64 - 1)
ALARM = 1e-6
MANY = 100_000
PERSONS = {
    "consecutive": np.arange(MANY),
    "round": np.arange(MANY) * 1000,
    "negative": -np.arange(MANY) * 7 - 2**62,
    "anything": np.random.default_rng(7).integers(-(2**63), 2**63 - 1, MANY),
}
CELLS = [(0, 1), (0, 1, 2, 3), (10, 20, 30, 40), (3, 17, 400, MAX_CELLS - 1)]
EXTREMES = [-(2**63), -(2**63) + 1, -(2**32), -PRIME, -1, 0, 1, PRIME, 2**31, 2**32, 2**63 - 1]

secrets = st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=4).map(tuple)
wide = st.integers(-(2**63), 2**63 - 1)


def ranks_of(order: KeyedOrder, persons: Int64, cells: tuple[int, ...]) -> Int64:
    """The ranks of some cells (rows) of persons (columns)."""
    return np.stack([order.rank(np.int64(cell), order.fold(persons)) for cell in cells])


def unfairness(persons: Int64, cells: tuple[int, ...], *, secret: tuple[int, ...] = SECRET) -> float:
    """The p-value of Pearson's test that all orders of the cells are equally frequent."""
    orders = ranks_of(KeyedOrder(secret), persons, cells).argsort(axis=0)
    codes = np.zeros(persons.size, dtype=np.int64)
    for places in orders:
        codes = codes * len(cells) + places
    counts = np.unique(codes, return_counts=True)[1]
    never = math.factorial(len(cells)) - counts.size
    return float(stats.chisquare(np.append(counts, [0] * never)).pvalue)


# -------------------------------------------------------------------------------------------------------- fairness


def test_every_order_of_the_cells_is_as_likely() -> None:
    for cells, persons in product(CELLS, PERSONS):
        assert unfairness(PERSONS[persons], cells) > ALARM


@pytest.mark.parametrize("persons", PERSONS)
def test_cells_of_one_person_are_chosen_alike_over_secrets(persons: str) -> None:
    """The order is fair to each person when the secret changes."""
    person = int(PERSONS[persons][-1])
    first = [min(range(5), key=lambda cell: _rank(secret, person, cell)) for secret in range(2000)]
    assert stats.chisquare(np.bincount(first, minlength=5)).pvalue > ALARM


def _rank(secret: int, person: int, cell: int) -> int:
    order = KeyedOrder((secret,))
    return int(order.rank(cell, order.fold(person)))


@pytest.mark.parametrize("squarings", [0, 1])
@pytest.mark.parametrize("persons", PERSONS)
def test_less_mixing_is_noticed(persons: str, squarings: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A linear hash only shifts the cells of one person against another's; one squaring prefers some orders."""
    monkeypatch.setattr(hashing, "_SQUARINGS", squarings)
    assert unfairness(PERSONS[persons], (0, 1, 2, 3)) < ALARM


def test_hashes_are_spread_over_their_range() -> None:
    hashes = KeyedOrder(SECRET).hash_integers(np.arange(MANY))
    assert stats.chisquare(np.bincount(hashes * 64 // PRIME, minlength=64)).pvalue > ALARM


# ------------------------------------------------------------------------------------------------------------ keys


def test_another_secret_gives_another_order() -> None:
    persons, cells = PERSONS["consecutive"], (0, 1, 2, 3)
    one, two = (ranks_of(KeyedOrder(secret), persons, cells).argmin(axis=0) for secret in (SECRET, (*SECRET[:-1], 5)))
    together = np.bincount(one * 4 + two, minlength=16)
    assert stats.chisquare(together).pvalue > ALARM, "the two choices are independent"


@given(secret=secrets, other=secrets)
def test_salts_are_keyed(secret: tuple[int, ...], other: tuple[int, ...]) -> None:
    assert (KeyedOrder(secret).salt == KeyedOrder(other).salt) == (secret == other)


def test_every_word_of_a_secret_matters() -> None:
    orders = [KeyedOrder(secret) for secret in ((1, 23), (12, 3), (123,), (1, 2, 3))]
    assert len({order.salt for order in orders}) == len({order.hash_integers(7) for order in orders}) == len(orders)


@given(secret=secrets, parts=st.lists(st.integers(0, 2**31 - 2), min_size=2, max_size=2, unique=True))
def test_the_order_of_parts_counts(secret: tuple[int, ...], parts: list[int]) -> None:
    order = KeyedOrder(secret)
    hashes = {order.hash_integers(*some) for some in ([], parts[:1], parts, [*parts, 0], [0, *parts])}
    assert len(hashes) == 5


# ---------------------------------------------------------------------------------------------------------- bounds


@given(secret=secrets, person=wide, cells=st.sets(st.integers(0, MAX_CELLS - 1), min_size=2, max_size=20))
def test_ranks_of_one_person_are_all_different(secret: tuple[int, ...], person: int, cells: set[int]) -> None:
    order = KeyedOrder(secret)
    assert len({order.rank(cell, order.fold(person)) for cell in cells}) == len(cells)


@given(cells=st.sets(st.integers(0, MAX_CELLS - 1), min_size=2, max_size=20))
def test_ranks_are_different_even_if_all_hashes_are_equal(cells: set[int]) -> None:
    class Equal(KeyedOrder):
        def hash_integers(self, *_: Any) -> Any:
            return PRIME - 1

    ranks = sorted(Equal(SECRET).rank(cell, 7) for cell in cells)
    assert len(set(ranks)) == len(cells)
    assert ranks[-1] < 2**63


def test_every_cell_has_room_below_its_hash() -> None:
    assert MAX_CELLS <= hashing._MAX_CELLS


@given(secret=secrets, person=wide)
def test_folded_numbers_are_small_and_congruent(secret: tuple[int, ...], person: int) -> None:
    folded = KeyedOrder(secret).fold(person)
    assert 0 <= folded <= 2**32
    assert (folded - person) % PRIME == 0


class Watched:
    """An integer that remembers how large anything got: Python's own never overflow."""

    def __init__(self, value: int) -> None:
        assert -(2**63) <= value < 2**63, "beyond 64 bits"
        self.value = value

    def __add__(self, other: int | Watched) -> Watched:
        return Watched(self.value + (other.value if isinstance(other, Watched) else other))

    __radd__ = __add__

    def __mul__(self, other: int | Watched) -> Watched:
        return Watched(self.value * (other.value if isinstance(other, Watched) else other))

    def __mod__(self, other: int) -> Watched:
        return Watched(int(math.fmod(self.value, other)) if abs(self.value) < 2**53 else _remainder(self.value, other))


def _remainder(value: int, divisor: int) -> int:
    """With the sign of the dividend, as SQL has it."""
    return abs(value) % divisor * (1 if value >= 0 else -1)


@given(secret=secrets, person=st.one_of(wide, st.sampled_from(EXTREMES)), part=st.integers(0, 2**32))
def test_nothing_on_the_way_leaves_64_bits(secret: tuple[int, ...], person: int, part: int) -> None:
    order = KeyedOrder(secret)
    found = order.rank(Watched(MAX_CELLS - 1), order.fold(Watched(person)), Watched(part))
    assert found.value == order.rank(MAX_CELLS - 1, order.fold(person), part), "a remainder's sign is of no account"


def test_the_largest_constants_leave_no_more_room_than_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KeyedOrder, "_constant", lambda _, __, least: 2 * least - 1)
    order = KeyedOrder(SECRET)
    for part, state in itertools.product([0, 2**32], repeat=2):
        order.rank(Watched(MAX_CELLS - 1), Watched(part), Watched(state))
    monkeypatch.setattr(KeyedOrder, "_constant", lambda _, __, least: 8 * least)
    with pytest.raises(AssertionError, match="64 bits"):
        order.rank(Watched(MAX_CELLS - 1), Watched(2**32))


# ---------------------------------------------------------------------------------------------------------- DuckDB


def test_duckdb_computes_the_same_without_overflow() -> None:
    rng = np.random.default_rng(3)
    persons = [*EXTREMES, *rng.integers(-(2**63), 2**63 - 1, 2000).tolist()]
    cells = [(MAX_CELLS - 1, 0)[place % 2] for place in range(len(persons))]
    rows = pa.table({"person": pa.array(persons, pa.int64()), "cell": pa.array(cells, pa.int64())})
    for secret in [SECRET, (0,), *((int(word),) for word in rng.integers(0, 2**62, 5))]:
        order = KeyedOrder(secret)
        found = all_computed(
            rows,
            lambda table, order=order: {  # type: ignore[misc]
                "rank": order.rank(table.cell, order.fold(table.person)),
                "mixed": order.hash_integers(order.fold(table.person), table.cell, table.cell),
            },
        )
        assert found["rank"].to_pylist() == [
            order.rank(cell, order.fold(person)) for person, cell in zip(persons, cells, strict=True)
        ]
        assert found["mixed"].to_pylist() == [
            order.hash_integers(order.fold(person), cell, cell) for person, cell in zip(persons, cells, strict=True)
        ]


def test_null_persons_have_no_rank() -> None:
    order = KeyedOrder(SECRET)
    rows = pa.table({"person": pa.array([None, 7], pa.int64())})
    assert computed(rows, lambda table: order.hash_integers(order.fold(table.person))).to_pylist() == [
        None,
        order.hash_integers(7),
    ]


def test_constants_have_64_bits_in_an_engine() -> None:
    for dialect in ("duckdb", "postgres"):
        import ibis

        table = ibis.table({"x": "int64"}, name="t")
        order = KeyedOrder((1, 2))
        made = table.select(
            a=order.fold(table.x), b=order.hash_integers(table.x, table.x), c=order.rank(table.x, table.x)
        )
        text = str(ibis.to_sql(made, dialect=dialect))
        bare = re.sub(r"CAST\(\d+ AS BIGINT\)", "", text)
        assert not re.search(r"(?<![\w\"])\d+", bare), bare
