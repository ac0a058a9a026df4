"""Base class of the protocols of the local model: a frozen description that client and server share.

The client turns a value into a report (``privatize`` for many at once, ``report`` for one, as a device does it). The
server's ``Aggregate`` absorbs reports and estimates. Each report satisfies a pure guarantee under replace-one, for the
person who sends it, against every observer. A subclass implements ``bits``, ``outputs``, ``log_masses``, ``encode``,
``sample``, ``sample_one``, ``state_shapes``, ``accumulate`` and ``estimate``. The chunks, the wire format and the
counting of reports are here.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import numpy as np

from celosia.core.adjacency import ReplaceOne
from celosia.core.events import Event, RandomizedResponseEvent
from celosia.core.exact import exact_integer
from celosia.core.guarantees import PureDP
from celosia.core.record import Record
from celosia.core.structure import GuaranteedEvent, RepeatedEvent, ShuffledEvent
from celosia.local.base.aggregate import Aggregate
from celosia.local.base.packing import Bytes, has_clear_padding
from celosia.local.base.plugins import load_plugins
from celosia.local.base.reports import HEADER, WIRE_VERSION, Reports
from celosia.local.base.values import Domain
from celosia.noise.source import source_or_system

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source

PERSON = "person"
"""The privacy unit of all protocols: the person who sends the report."""

CHUNK = 1 << 16
"""Reports per chunk, fewer if they are long: memory stays flat, and the draws stay in the cache."""

MAX_OUTPUTS = 1 << 16
"""The most reports that ``outputs`` of the protocols here lists."""

_CHUNK_BYTES = 1 << 22

State = dict[str, "NDArray[np.int64]"]
"""State of an aggregate: named arrays of integers, which add up when aggregates are merged."""

E_co = TypeVar("E_co", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class Protocol(Record, ABC, Generic[E_co]):
    """A local protocol: the client's randomizer and the server's estimator.

    A protocol of another package is a frozen dataclass that derives from this class. Its entry point in the group
    ``celosia.protocols`` makes it known to ``from_json`` and to the command line.

    >>> from celosia.local import DirectEncoding
    >>> protocol = DirectEncoding(domain=4, epsilon=1)
    >>> Protocol.from_json(protocol.to_json()) == protocol
    True
    """

    epsilon: Fraction

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a protocol back, also one that another package defines (see ``celosia.local.base.plugins``).

        >>> from celosia.local import DirectEncoding
        >>> Protocol.from_json(DirectEncoding(domain=4, epsilon=1).to_json())
        DirectEncoding(epsilon=1, domain=4)
        """
        load_plugins()
        return super(Protocol, cls).from_json(text)

    # ---------------------------------------------------------------- guarantee

    @property
    def guarantee(self) -> PureDP:
        """The guarantee of one report to the person who sends it.

        >>> from celosia.local import DirectEncoding
        >>> DirectEncoding(domain=4, epsilon=1).guarantee
        PureDP(epsilon=1, adjacency=ReplaceOne, unit='person')
        """
        return PureDP(epsilon=self.epsilon, adjacency=ReplaceOne, unit=PERSON)

    @property
    def event(self) -> Event:
        """The event of one report, for a ledger.

        It is a ``RandomizedResponseEvent`` only if the report is exactly such an answer, perhaps with an index that
        the client drew. Shuffled reports then get a sharper price, which holds for no other report.

        >>> from celosia.local import DirectEncoding
        >>> DirectEncoding(domain=4, epsilon=1).event
        RandomizedResponseEvent(epsilon=1, categories=4, adjacency=ReplaceOne, unit='person')
        """
        return GuaranteedEvent(guarantee=self.guarantee)

    def lifetime(self, reports: int) -> Event:
        """Return the event of ``reports`` independent reports of one person; memoised protocols cost less.

        >>> from celosia.local import DirectEncoding
        >>> DirectEncoding(domain=4, epsilon=1).lifetime(30).times
        30
        """
        return RepeatedEvent(event=self.event, times=exact_integer(reports, name="reports"))

    def shuffled_event(self, reports: int) -> ShuffledEvent:
        """Return the event of a shuffled batch of ``reports`` people's reports: the adversary sees them without order.

        It holds if each client draws everything in its report. An index that the server assigns splits the crowd:
        then count only the reports with the same index. Answers of randomized response are priced as such, also with
        an index (proofs/hadamard-count-mean-sketch.md); for other reports only the guarantee is used.

        >>> from celosia.local import DirectEncoding
        >>> DirectEncoding(domain=4, epsilon=1).shuffled_event(10_000).reports
        10000
        """
        answer = self.event
        local = answer if isinstance(answer, RandomizedResponseEvent) else GuaranteedEvent(guarantee=self.guarantee)
        return ShuffledEvent(event=local, reports=exact_integer(reports, name="reports"))

    # ---------------------------------------------------------------- sizes

    @property
    @abstractmethod
    def bits(self) -> int:
        """The number of bits of a report.

        >>> from celosia.local import DirectEncoding
        >>> DirectEncoding(domain=1000, epsilon=1).bits
        10
        """

    @property
    def bytes_per_report(self) -> int:
        """The number of bytes of a report in a batch; a record that travels alone has a header of four more.

        >>> from celosia.local import DirectEncoding
        >>> DirectEncoding(domain=1000, epsilon=1).bytes_per_report
        2
        """
        return -(-self.bits // 8)

    @property
    def memory(self) -> int:
        """The number of bytes of an aggregate's state.

        >>> from celosia.local import DirectEncoding
        >>> DirectEncoding(domain=1000, epsilon=1).memory
        8000
        """
        return sum(8 * int(np.prod(shape, dtype=np.int64)) for shape in self.state_shapes.values())

    @property
    def fingerprint(self) -> bytes:
        """Three bytes by which a server recognizes reports of exactly this protocol.

        >>> from celosia.local import DirectEncoding
        >>> len(DirectEncoding(domain=4, epsilon=1).fingerprint)
        3
        """
        return _fingerprint(self)

    # ---------------------------------------------------------------- client

    def privatize(self, values: Any, *, source: "Source | None" = None) -> Reports:
        """Return one report for each value, all independent.

        ``values`` is a list, a NumPy or Arrow array, or a column of any data frame. Values outside the
        protocol's domain raise ``InputError`` before any draw.

        >>> from celosia.local import DirectEncoding
        >>> len(DirectEncoding(domain=4, epsilon=1).privatize([0, 3, 3]))
        3
        """
        source = source_or_system(source)
        items = self.encode(values)
        payload = np.empty((len(items), self.bytes_per_report), dtype=np.uint8)
        step = self._chunk
        for first in range(0, len(items), step):
            payload[first : first + step] = self.sample(items[first : first + step], source)
        return Reports(protocol=self, payload=payload, seeded=source.seeded)

    def batches(
        self,
        values: Any,
        *,
        source: "Source | None" = None,
        size: int | None = None,
    ) -> Iterator[Reports]:
        """Yield the reports of many values in batches of ``size``: memory stays flat.

        The default ``size`` is 65,536 reports, or as many long reports as fit in four mebibytes.

        >>> from celosia.local import DirectEncoding
        >>> [len(batch) for batch in DirectEncoding(domain=4, epsilon=1).batches([0, 3, 3], size=2)]
        [2, 1]
        """
        source, size = source_or_system(source), self._chunk if size is None else exact_integer(size, name="size")
        items = self.encode(values)
        for first in range(0, len(items), size):
            payload = self.sample(items[first : first + size], source)
            yield Reports(protocol=self, payload=payload, seeded=source.seeded)

    @property
    def _chunk(self) -> int:
        return max(1, min(CHUNK, _CHUNK_BYTES // self.bytes_per_report))

    def report(self, value: Any, *, source: "Source | None" = None) -> bytes:
        """Return the record of one value: a header of four bytes, and the report.

        It draws word by word from the source, as clients in other languages do; the bytes for a given stream are part
        of the wire format. ``privatize`` draws many at once, with the same probabilities.

        >>> from celosia.local import DirectEncoding
        >>> len(DirectEncoding(domain=4, epsilon=1).report(2))
        5
        """
        source = source_or_system(source)
        (item,) = self.encode([value])
        return self.header + self.sample_one(item, source).to_bytes(self.bytes_per_report, "little")

    @property
    def header(self) -> bytes:
        """The four bytes before a report that travels alone: the version of the format, and the fingerprint.

        >>> from celosia.local import DirectEncoding
        >>> DirectEncoding(domain=4, epsilon=1).header[0]
        1
        """
        header = bytes([WIRE_VERSION]) + self.fingerprint
        assert len(header) == HEADER  # noqa: S101 - a constant of the format
        return header

    # ---------------------------------------------------------------- server

    def aggregate(self) -> "Aggregate[E_co]":
        """Return an empty aggregate for reports of this protocol.

        >>> from celosia.local import DirectEncoding
        >>> DirectEncoding(domain=4, epsilon=1).aggregate()
        Aggregate(DirectEncoding(epsilon=1, domain=4), reports=0, rejected=0)
        """
        return Aggregate(self)

    # ---------------------------------------------------------------- the exact law

    @abstractmethod
    def outputs(self) -> Bytes | None:
        """Return all possible reports, one in each row, or None if they are too many to list.

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

    # ---------------------------------------------------------------- extension points

    @abstractmethod
    def encode(self, values: Any) -> "NDArray[Any]":
        """Return the item that the client draws from for each value, or raise ``InputError``."""

    @abstractmethod
    def sample(self, items: "NDArray[Any]", source: "Source") -> Bytes:
        """Return one report for each item, drawn all at once."""

    @abstractmethod
    def sample_one(self, item: Any, source: "Source") -> int:
        """Return one report as the integer whose binary digits are its bits, drawn word by word.

        Use only ``integer_below`` and the ``flip`` functions: the order of the words is part of the wire format.
        """

    @property
    def known_domain(self) -> Domain | None:
        """The domain that is estimated if no candidates are given; None for an open domain."""
        return None

    @property
    @abstractmethod
    def state_shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the state's arrays, by name."""

    @property
    def increment_bounds(self) -> tuple[int, int]:
        """The least and the most that one report adds to an integer of the state."""
        return 0, 1

    def is_reachable(self, state: State, reports: int) -> bool:  # noqa: ARG002 - for subclasses
        """Return whether ``reports`` valid reports can add up to a state that keeps ``increment_bounds``."""
        return True

    def is_valid(self, payload: Bytes) -> "NDArray[np.bool_]":
        """Return for each report whether a client can have sent it."""
        return has_clear_padding(payload, self.bits)

    @abstractmethod
    def accumulate(self, state: State, payload: Bytes) -> None:
        """Add valid reports to a state, in place."""

    @abstractmethod
    def estimate(self, aggregate: "Aggregate[Any]", candidates: Any, postprocess: str | None) -> E_co:
        """Return the estimate for the state of an aggregate."""


@lru_cache(maxsize=256)
def _fingerprint(protocol: Protocol[Any]) -> bytes:
    return hashlib.sha256(protocol.to_json().encode()).digest()[:3]
