"""What every protocol of the local model is: a frozen description that client and server share.

The client turns a value into a report (``privatize`` for many at once, ``report`` for one, as a device does it); the
server's ``Aggregate`` absorbs reports and estimates. A report alone keeps the stated promise, against everybody: it is
a pure guarantee under replace-one, for the person who sends it. Subclasses say how they draw and what they count; the
chunks, the wire format and the bookkeeping are here.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from celosia.core.adjacency import ReplaceOne
from celosia.core.events import Event, RandomizedResponseEvent
from celosia.core.exact import exact_integer
from celosia.core.guarantees import PureDP
from celosia.core.record import Record
from celosia.core.structure import GuaranteedEvent, RepeatedEvent, ShuffledEvent
from celosia.local.base.aggregate import Aggregate
from celosia.local.base.packing import Bytes, clear_padding
from celosia.local.base.reports import HEADER, WIRE_VERSION, Reports
from celosia.local.base.values import Domain
from celosia.noise.source import source_or_system

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source

PERSON = "person"
"""The privacy unit of all protocols: who sends the report."""

CHUNK = 1 << 16
"""How many reports are worked on at once, of long ones fewer: memory stays flat, and what is drawn in the cache."""

_CHUNK_BYTES = 1 << 22

State = dict[str, "NDArray[np.int64]"]
"""What an aggregate counts: named arrays of integers, which add up when aggregates are merged."""

E_co = TypeVar("E_co", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class Protocol(Record, ABC, Generic[E_co]):
    """A local protocol: how a value becomes a report, and what a server learns from many.

    >>> from celosia.local import DirectEncoding
    >>> protocol = DirectEncoding(domain=4, epsilon=1)
    >>> Protocol.from_json(protocol.to_json()) == protocol
    True
    """

    epsilon: Fraction

    # ---------------------------------------------------------------- what is promised

    @property
    def guarantee(self) -> PureDP:
        """What one report promises to the person who sends it.

        >>> from celosia.local import DirectEncoding
        >>> DirectEncoding(domain=4, epsilon=1).guarantee
        PureDP(epsilon=1, adjacency=ReplaceOne, unit='person')
        """
        return PureDP(epsilon=self.epsilon, adjacency=ReplaceOne, unit=PERSON)

    @property
    def event(self) -> Event:
        """What one report runs, for a ledger.

        It is a ``RandomizedResponseEvent`` only where the report is exactly such an answer, if need be with an index
        that the client drew: shuffled reports are then priced by a sharper count, which holds for nothing else.

        >>> from celosia.local import DirectEncoding
        >>> DirectEncoding(domain=4, epsilon=1).event
        RandomizedResponseEvent(epsilon=1, categories=4, adjacency=ReplaceOne, unit='person')
        """
        return GuaranteedEvent(guarantee=self.guarantee)

    def lifetime(self, reports: int) -> Event:
        """What so many reports of one person run together, each drawn anew. Memoised protocols cost less: see theirs.

        >>> from celosia.local import DirectEncoding
        >>> DirectEncoding(domain=4, epsilon=1).lifetime(30).times
        30
        """
        return RepeatedEvent(event=self.event, times=exact_integer(reports, name="reports"))

    def shuffled(self, reports: int) -> ShuffledEvent:
        """What a batch of so many people's reports runs once it was shuffled: the adversary sees them without order.

        It holds where everything in a report was drawn by its client. An index that the server assigned splits the
        crowd: count then only the reports with the same index. Answers of randomized response are priced as such, also
        with an index (proofs/hadamard-count-mean-sketch.md); of other reports nothing but the guarantee is used.

        >>> from celosia.local import DirectEncoding
        >>> DirectEncoding(domain=4, epsilon=1).shuffled(10_000).reports
        10000
        """
        answer = self.event
        local = answer if isinstance(answer, RandomizedResponseEvent) else GuaranteedEvent(guarantee=self.guarantee)
        return ShuffledEvent(event=local, reports=exact_integer(reports, name="reports"))

    # ---------------------------------------------------------------- sizes

    @property
    @abstractmethod
    def bits(self) -> int:
        """How many bits a report has.

        >>> from celosia.local import DirectEncoding
        >>> DirectEncoding(domain=1000, epsilon=1).bits
        10
        """

    @property
    def bytes_per_report(self) -> int:
        """How many bytes a report has in a batch; sent by itself it has a header of four more.

        >>> from celosia.local import DirectEncoding
        >>> DirectEncoding(domain=1000, epsilon=1).bytes_per_report
        2
        """
        return -(-self.bits // 8)

    @property
    def memory(self) -> int:
        """How many bytes the state of an aggregate has.

        >>> from celosia.local import DirectEncoding
        >>> DirectEncoding(domain=1000, epsilon=1).memory
        8000
        """
        return sum(8 * int(np.prod(shape, dtype=np.int64)) for shape in self._shapes().values())

    @property
    def fingerprint(self) -> bytes:
        """Three bytes by which a server knows that a report was made for exactly this protocol.

        >>> from celosia.local import DirectEncoding
        >>> len(DirectEncoding(domain=4, epsilon=1).fingerprint)
        3
        """
        return _fingerprint(self)

    # ---------------------------------------------------------------- client

    def privatize(self, values: Any, *, source: "Source | None" = None) -> Reports:
        """Return one report for each value, all independent.

        ``values`` is a list, a NumPy or Arrow array, or a column of any data frame. Values that the protocol cannot
        take raise ``InputError``, and nothing is drawn.

        >>> from celosia.local import DirectEncoding
        >>> len(DirectEncoding(domain=4, epsilon=1).privatize([0, 3, 3]))
        3
        """
        source = source_or_system(source)
        read = self._read(values)
        payload = np.empty((len(read), self.bytes_per_report), dtype=np.uint8)
        step = self._chunk
        for first in range(0, len(read), step):
            payload[first : first + step] = self._draw(read[first : first + step], source)
        return Reports(protocol=self, payload=payload, seeded=source.seeded)

    def batches(
        self,
        values: Any,
        *,
        source: "Source | None" = None,
        size: int | None = None,
    ) -> Iterator[Reports]:
        """Yield the reports of many values in batches of ``size``, so that not all are in memory at once.

        Without ``size`` a batch has 65,536 reports, and of long reports so many as have four mebibytes.

        >>> from celosia.local import DirectEncoding
        >>> [len(batch) for batch in DirectEncoding(domain=4, epsilon=1).batches([0, 3, 3], size=2)]
        [2, 1]
        """
        source, size = source_or_system(source), self._chunk if size is None else exact_integer(size, name="size")
        read = self._read(values)
        for first in range(0, len(read), size):
            payload = self._draw(read[first : first + size], source)
            yield Reports(protocol=self, payload=payload, seeded=source.seeded)

    @property
    def _chunk(self) -> int:
        return max(1, min(CHUNK, _CHUNK_BYTES // self.bytes_per_report))

    def report(self, value: Any, *, source: "Source | None" = None) -> bytes:
        """Return the report of one value as it travels: a header of four bytes, and its bits.

        This is the device's way, word by word from the source, as clients in other languages do it; the bytes for a
        given stream are part of the wire format. ``privatize`` draws many at once, with the same probabilities.

        >>> from celosia.local import DirectEncoding
        >>> len(DirectEncoding(domain=4, epsilon=1).report(2))
        5
        """
        source = source_or_system(source)
        read = self._read([value])
        return self.header + self._draw_one(read[0], source).to_bytes(self.bytes_per_report, "little")

    @property
    def header(self) -> bytes:
        """The four bytes before a report that travels by itself: the version of the format, and the fingerprint.

        >>> from celosia.local import DirectEncoding
        >>> DirectEncoding(domain=4, epsilon=1).header[0]
        1
        """
        header = bytes([WIRE_VERSION]) + self.fingerprint
        assert len(header) == HEADER  # noqa: S101 - a constant of the format
        return header

    # ---------------------------------------------------------------- server

    def aggregate(self) -> "Aggregate[E_co]":
        """Return an empty aggregate, which absorbs reports of this protocol.

        >>> from celosia.local import DirectEncoding
        >>> DirectEncoding(domain=4, epsilon=1).aggregate()
        Aggregate(DirectEncoding(epsilon=1, domain=4), reports=0, rejected=0)
        """
        return Aggregate(self)

    # ---------------------------------------------------------------- the exact law

    @abstractmethod
    def outputs(self) -> Bytes | None:
        """Return all reports that can occur, one in each row, or None where they are too many to list.

        >>> from celosia.local import DirectEncoding
        >>> DirectEncoding(domain=3, epsilon=1).outputs().tolist()
        [[0], [1], [2]]
        """

    @abstractmethod
    def log_masses(self, value: Any, payload: Bytes) -> "NDArray[np.float64]":
        """Return the natural logarithm of the probability of each report, given the value: the client's exact law.

        >>> from celosia.local import DirectEncoding
        >>> protocol = DirectEncoding(domain=3, epsilon=1)
        >>> np.exp(protocol.log_masses(2, protocol.outputs())).round(3).tolist()
        [0.212, 0.212, 0.576]
        """

    # ---------------------------------------------------------------- what a subclass says

    @abstractmethod
    def _read(self, values: Any) -> "NDArray[Any]":
        """Return what the client draws from, one item for each value, or raise ``InputError``."""

    @abstractmethod
    def _draw(self, read: "NDArray[Any]", source: "Source") -> Bytes:
        """Return one report for each item, drawn all at once."""

    @abstractmethod
    def _draw_one(self, read: Any, source: "Source") -> int:
        """Return one report as the number whose binary digits are its bits, drawn word by word."""

    def _whole(self) -> Domain | None:
        """Return the known domain, all of which is estimated where no candidates are given."""
        return None

    @abstractmethod
    def _shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the state's arrays."""

    def _reach(self) -> tuple[int, int]:
        """Return the least and the most that one report adds to a number of the state."""
        return 0, 1

    def _possible(self, state: State, reports: int) -> bool:  # noqa: ARG002 - what others look at
        """Tell whether so many valid reports can add up to a state, each of whose numbers is within ``_reach``."""
        return True

    def _valid(self, payload: Bytes) -> "NDArray[np.bool_]":
        """Tell which reports could have come from a client."""
        return clear_padding(payload, self.bits)

    @abstractmethod
    def _absorb(self, state: State, payload: Bytes) -> None:
        """Add valid reports to a state."""

    @abstractmethod
    def _estimate(self, aggregate: "Aggregate[Any]", candidates: Any, postprocess: str | None) -> E_co:
        """Return what the state says."""


@lru_cache(maxsize=256)
def _fingerprint(protocol: Protocol[Any]) -> bytes:
    return hashlib.sha256(protocol.to_json().encode()).digest()[:3]
