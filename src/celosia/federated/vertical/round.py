"""One round of masked products: all parties, the server that deals pads, and the sum that it receives.

Parties show each other hidden columns in messages that the server passes on and cannot read: it knows the pads. What a
party sends the server in the end is masked by streams that it shares with every other party, so that the server sees
the sum of all parties only, with their noise in it.
"""

import hashlib
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from celosia.federated.masking.masks import Words, add_masks, add_streams, to_signed
from celosia.federated.vertical.masked_products import (
    BLOCK,
    Pads,
    deal_pads,
    hide_columns,
    multiply_own,
    multiply_pads,
)
from celosia.noise.agreement import SEAL_BYTES, KeyAgreement, compute_public_key, seal, unseal
from celosia.noise.keyed import KEY_BYTES

if TYPE_CHECKING:
    from celosia.core import Source
    from celosia.federated.vertical.needed_sums import Factor, NeededSums

_BITS: Final = 64
_WORD: Final = 8


class ColumnParty:
    """One party: its columns, its secret key, and its parts of the sums."""

    def __init__(self, sums: "NeededSums", number: int, columns: Words, source: "Source") -> None:
        self.number, self.persons = number, len(columns)
        self._sums, self._columns = sums, columns
        self._secret = source.words(KEY_BYTES // 8).tobytes()
        self._pads: dict[int, Pads] = {}
        self._parts: dict[int, Words] = {}
        self._agreement: KeyAgreement | None = None
        self._publics: dict[int, bytes] = {}
        self._session = b""

    @property
    def width(self) -> int:
        """How many columns it multiplies."""
        return int(self._columns.shape[1])

    def send_key(self) -> bytes:
        """Return the public key."""
        return compute_public_key(self._secret)

    def receive_keys(self, publics: Mapping[int, bytes]) -> None:
        """Take the public keys of all parties."""
        self._publics = dict(publics)
        self._session = hashlib.sha256(b"".join(publics[number] for number in sorted(publics))).digest()
        self._agreement = KeyAgreement(self._secret, self._session)

    def receive_pads(self, other: int, pads: Pads) -> None:
        """Take what the server dealt for the products with another party."""
        self._pads[other], self._parts[other] = pads, pads.part

    def send_hidden(self, other: int, block: int) -> bytes:
        """Return a block of the columns, hidden, and sealed for another party."""
        rows = self._columns[block * BLOCK : (block + 1) * BLOCK]
        hidden = hide_columns(rows, self._pads[other].draw(block, rows.shape))
        return seal(self._derive(self.number, other, b"hidden", block), hidden.tobytes(), self._session)

    def receive_hidden(self, other: int, block: int, message: bytes) -> None:
        """Add the products with a block that another party shows to this party's part."""
        rows = self._columns[block * BLOCK : (block + 1) * BLOCK]
        opened = unseal(self._derive(other, self.number, b"hidden", block), message, self._session)
        assert opened is not None  # noqa: S101 - nobody changes messages within a process
        shown = np.frombuffer(opened, dtype=np.uint64).reshape(len(rows), -1)
        if self.number < other:
            self._parts[other] = self._parts[other] + multiply_own(rows, shown)
        else:
            self._parts[other] = self._parts[other] + multiply_pads(shown, self._pads[other].draw(block, rows.shape))

    def send_total(self, noise: NDArray[np.int64]) -> Words:
        """Return this party's part of the numbers, with its noise, masked."""
        numbers = self._sums.combine(self._add_parts()) + noise.view(np.uint64)
        others = sorted(set(self._publics) - {self.number})
        keys = {other: self._derive(min(self.number, other), max(self.number, other), b"total", 0) for other in others}
        above = add_streams([key for other, key in keys.items() if other > self.number], len(numbers))
        below = add_streams([key for other, key in keys.items() if other < self.number], len(numbers))
        none = np.zeros(len(numbers), dtype=np.uint64)
        return add_masks(numbers.view(np.int64), own=none, added=above, subtracted=below, bits=_BITS)

    def _add_parts(self) -> Words:
        """Return this party's part of each sum."""
        own = {factor: place for place, factor in enumerate(self._sums.list_factors(self.number))}
        squares = self._columns.T @ self._columns
        totals = self._columns.sum(axis=0, dtype=np.uint64)
        found = np.zeros(len(self._sums.factors), dtype=np.uint64)
        for place, factors in enumerate(self._sums.factors):
            owners = [self._sums.find_owner(factor) for factor in factors]
            if not factors:
                found[place] = self.persons if self.number == 0 else 0
            elif set(owners) == {self.number}:
                places = [own[factor] for factor in factors]
                found[place] = totals[places[0]] if len(places) == 1 else squares[places[0], places[1]]
            elif self.number in owners:
                found[place] = self._find_part(own, factors, owners)
        return found

    def _find_part(self, own: "Mapping[Factor, int]", factors: "Sequence[Factor]", owners: Sequence[int]) -> np.uint64:
        """Return this party's part of a product with a column of another party."""
        mine = owners.index(self.number)
        other = owners[1 - mine]
        theirs = self._sums.list_factors(other).index(factors[1 - mine])
        part, place = self._parts[other], own[factors[mine]]
        found: np.uint64 = part[place, theirs] if self.number < other else part[theirs, place]
        return found

    def _derive(self, one: int, other: int, purpose: bytes, block: int) -> bytes:
        """Return the key of a message from one party to the other."""
        assert self._agreement is not None  # noqa: S101 - set when keys were received
        public = self._publics[other if one == self.number else one]
        return self._agreement.derive_key(public, purpose=purpose + block.to_bytes(8, "little"), ends=(one, other))

    def __repr__(self) -> str:
        return f"ColumnParty({self.number})"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ProductTotal:
    """The sum of all parties, with their noise, and the bytes that all sent."""

    total: NDArray[np.int64]
    bytes_sent: int


def add_products(parties: Sequence[ColumnParty], noise: Sequence[NDArray[np.int64]], source: "Source") -> ProductTotal:
    """Run the round, and return what the server sees of it in the end; ``source`` is the server's."""
    publics = {party.number: party.send_key() for party in parties}
    sent = sum(map(len, publics.values()))
    for party in parties:
        party.receive_keys(publics)
    for one, other in itertools.combinations(parties, 2):
        sent += _multiply(one, other, source)
    totals = [party.send_total(own) for party, own in zip(parties, noise, strict=True)]
    added = np.asarray(np.sum(totals, axis=0, dtype=np.uint64))
    return ProductTotal(total=to_signed(added, _BITS), bytes_sent=sent + _WORD * added.size * len(totals))


def count_bytes(sums: "NeededSums", parties: int, persons: int, width: int) -> int:
    """Return how many bytes all parties send in a round, for so many persons."""
    blocks = -(-persons // BLOCK)
    columns = sum(len(sums.list_factors(number)) for number in range(parties))
    hidden = (parties - 1) * (_WORD * persons * columns + parties * blocks * SEAL_BYTES)
    return parties * (KEY_BYTES + _WORD * width) + hidden


def _multiply(one: ColumnParty, other: ColumnParty, source: "Source") -> int:
    """Let two parties multiply their columns, and return how many bytes they sent."""
    first, second = deal_pads(one.persons, (one.width, other.width), source)
    one.receive_pads(other.number, first)
    other.receive_pads(one.number, second)
    sent = 0
    for block in range(-(-one.persons // BLOCK)):
        messages = one.send_hidden(other.number, block), other.send_hidden(one.number, block)
        other.receive_hidden(one.number, block, messages[0])
        one.receive_hidden(other.number, block, messages[1])
        sent += sum(map(len, messages))
    return sent
