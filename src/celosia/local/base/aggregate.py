"""Aggregate of the server: integer counts of reports, from which estimates are computed.

An aggregate has named integer arrays, the number of reports in them, and the number of rejected reports, which no
client can have sent. Two aggregates add up, in any order: a thousand machines give the bits of a single one. Scaling
happens in ``estimate``, never before.
"""

import dataclasses
import math
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, cast

import numpy as np

from celosia.core.errors import FormatError, ParameterError
from celosia.local.base.reports import column_names, is_sound, read_payloads
from celosia.local.base.values import read_candidates

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from celosia.local.base.protocol import Protocol, State

E_co = TypeVar("E_co", covariant=True)

_CHUNK_REPORTS = 1 << 16
_PROTOCOL, _VERSION, _COUNTS = b"celosia.protocol", b"celosia.aggregate", b"celosia.counts"
_AGGREGATE_VERSION = b"1"


class Aggregate(Generic[E_co]):
    """Sums of the reports of one protocol.

    >>> from celosia.local import DirectEncoding
    >>> from celosia.noise import Seeded
    >>> protocol = DirectEncoding(domain=3, epsilon=2)
    >>> aggregate = protocol.aggregate().absorb(protocol.privatize([0] * 600 + [2] * 400, source=Seeded(7)))
    >>> aggregate
    Aggregate(DirectEncoding(epsilon=2, domain=3), reports=1000, rejected=0)
    >>> aggregate.estimate().counts.round().tolist()
    [608.0, -21.0, 414.0]
    """

    __slots__ = ("protocol", "rejected", "reports", "state")

    def __init__(self, protocol: "Protocol[E_co]") -> None:
        self.protocol = protocol
        self.reports = 0
        self.rejected = 0
        self.state: State = _empty(protocol)

    def absorb(self, reports: Any) -> Self:
        """Add reports: a ``Reports``, an Arrow record batch or table of them, or single records as bytes.

        Reports of another protocol or version, of the wrong length, or that no client can have sent are dropped and
        counted in ``rejected``.

        >>> from celosia.local import DirectEncoding
        >>> protocol = DirectEncoding(domain=3, epsilon=2)
        >>> protocol.aggregate().absorb([protocol.report(1), b"nonsense"])
        Aggregate(DirectEncoding(epsilon=2, domain=3), reports=1, rejected=1)
        """
        payload, dropped = read_payloads(reports, self.protocol)
        for first in range(0, len(payload), _CHUNK_REPORTS):
            chunk = payload[first : first + _CHUNK_REPORTS]
            valid = self.protocol.is_valid(chunk)
            if not valid.all():
                dropped += int((~valid).sum())
                chunk = chunk[valid]
            self.protocol.accumulate(self.state, chunk)
            self.reports += len(chunk)
        self.rejected += dropped
        return self

    def absorb_all(self, batches: Iterable[Any]) -> Self:
        """Add all batches of an iterable, one after the other.

        >>> from celosia.local import DirectEncoding
        >>> protocol = DirectEncoding(domain=3, epsilon=2)
        >>> protocol.aggregate().absorb_all(protocol.batches([0, 1, 2, 1], size=2)).reports
        4
        """
        for batch in batches:
            self.absorb(batch)
        return self

    def merge(self, other: "Aggregate[Any]") -> Self:
        """Add another aggregate of the same protocol, which stays unchanged.

        >>> from celosia.local import DirectEncoding
        >>> protocol = DirectEncoding(domain=3, epsilon=2)
        >>> one, two = (protocol.aggregate().absorb(protocol.privatize([0, 1])) for _ in range(2))
        >>> one.merge(two).reports
        4
        """
        if type(other) is not type(self) or other.protocol != self.protocol:
            raise ParameterError("local.aggregates_not_mergeable")
        if not _fits(self, other):
            raise ParameterError("local.aggregate_sum_overflow")
        for name in self.state:
            self.state[name] += other.state[name]
        self.reports += other.reports
        self.rejected += other.rejected
        return self

    def estimate(self, candidates: Any = None, *, postprocess: str | None = None) -> E_co:
        """Return the protocol's estimate, with standard errors.

        ``candidates`` are the values to estimate; the default of protocols over a known domain is the whole domain.
        ``postprocess`` is ``"clip"`` or ``"norm-sub"``; without it, estimates are unbiased and may be negative. Over a
        known domain ``"norm-sub"`` normalizes all its values, whichever are the candidates; over an open domain it
        assumes that the candidates are all values that occur.

        >>> from celosia.local import DirectEncoding
        >>> protocol = DirectEncoding(domain=3, epsilon=2)
        >>> protocol.aggregate().absorb(protocol.privatize([0, 1])).estimate([2]).candidates
        [2]
        """
        protocol: Any = self.protocol
        if postprocess != "norm-sub" or candidates is None or protocol.known_domain is None:
            return cast("E_co", protocol.estimate(self, candidates, postprocess))
        places, _ = read_candidates(candidates, protocol.known_domain)
        part = protocol.estimate(self, candidates, None)
        everything = protocol.estimate(self, None, postprocess)
        return cast("E_co", dataclasses.replace(part, counts=everything.counts[places], postprocess=postprocess))

    def to_arrow(self) -> "pa.Table":
        """Return the aggregate as an Arrow table of one row.

        >>> from celosia.local import DirectEncoding
        >>> aggregate = DirectEncoding(domain=3, epsilon=2).aggregate()
        >>> Aggregate.from_arrow(aggregate.to_arrow()) == aggregate
        True
        """
        import pyarrow as pa

        columns = {
            name: pa.LargeListArray.from_arrays(pa.array([0, array.size], type=pa.int64()), pa.array(array.reshape(-1)))
            for name, array in self.state.items()
        }
        metadata = {
            _VERSION: _AGGREGATE_VERSION,
            _PROTOCOL: self.protocol.to_json().encode(),
            _COUNTS: f"{self.reports} {self.rejected}".encode(),
        }
        return pa.table(columns).replace_schema_metadata(metadata)

    @classmethod
    def from_arrow(cls, table: "pa.Table") -> "Aggregate[Any]":
        """Read an aggregate back, or raise ``FormatError``.

        >>> from celosia.local import DirectEncoding
        >>> table = DirectEncoding(domain=3, epsilon=2).aggregate().to_arrow()
        >>> Aggregate.from_arrow(table).reports
        0
        """
        import pyarrow as pa

        from celosia.local.base.protocol import Protocol

        if not isinstance(table, pa.Table):
            raise FormatError("local.aggregate_not_from_arrow", kind=type(table).__name__)
        metadata = table.schema.metadata or {}
        counts = metadata.get(_COUNTS, b"").split()
        well_formed = len(counts) == 2 and all(count.isdigit() and len(count) < 20 for count in counts)
        if metadata.get(_VERSION) != _AGGREGATE_VERSION or not well_formed:
            raise FormatError("local.not_an_aggregate")
        protocol: Protocol[Any] = Protocol.from_json(metadata.get(_PROTOCOL, b"").decode("utf-8", "replace"))
        shapes = protocol.state_shapes
        if sorted(column_names(table)) != sorted(shapes):
            raise FormatError("local.wrong_aggregate_columns", protocol=type(protocol).__name__)
        # Read before an aggregate is made: its state might not fit in memory.
        state = {name: _read_state(table, name, shape) for name, shape in shapes.items()}
        least, most = (int(counts[0]) * step for step in protocol.increment_bounds)
        within = all(least <= int(array.min()) and int(array.max()) <= most for array in state.values())
        if not within or not protocol.is_reachable(state, int(counts[0])):
            raise FormatError("local.impossible_aggregate", reports=int(counts[0]))
        aggregate = cls(protocol)
        aggregate.state, aggregate.reports, aggregate.rejected = state, int(counts[0]), int(counts[1])
        return aggregate

    def save(self, path: str | Path) -> None:
        """Write the aggregate to an Arrow file, atomically.

        >>> import pathlib, tempfile
        >>> from celosia.local import DirectEncoding
        >>> aggregate = DirectEncoding(domain=3, epsilon=2).aggregate()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     aggregate.save(pathlib.Path(folder) / "aggregate.arrow")
        ...     Aggregate.load(pathlib.Path(folder) / "aggregate.arrow") == aggregate
        True
        """
        import pyarrow as pa

        path = Path(path)
        table = self.to_arrow()
        partial = path.with_name(f"{path.name}.partial")
        try:
            with pa.OSFile(str(partial), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
                writer.write_table(table)
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)

    @classmethod
    def load(cls, path: str | Path) -> "Aggregate[Any]":
        """Read a file that ``save`` wrote.

        >>> Aggregate.load("no such file")
        Traceback (most recent call last):
        ...
        FileNotFoundError: [Errno 2] No such file or directory: 'no such file'
        """
        import pyarrow as pa

        data = Path(path).read_bytes()
        try:
            table = pa.ipc.open_file(pa.BufferReader(data)).read_all()
        except (pa.ArrowException, OSError) as error:
            raise FormatError("local.file_without_arrow_table") from error
        return cls.from_arrow(table)

    def __copy__(self) -> "Aggregate[E_co]":
        return Aggregate(self.protocol).merge(self)  # a copy must not share its arrays

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Aggregate):
            return NotImplemented
        return (
            (self.protocol, self.reports, self.rejected) == (other.protocol, other.reports, other.rejected)
            and self.state.keys() == other.state.keys()
            and all(np.array_equal(array, other.state[name]) for name, array in self.state.items())
        )

    __hash__ = None  # type: ignore[assignment]  # mutable

    def __repr__(self) -> str:
        return f"Aggregate({self.protocol!r}, reports={self.reports}, rejected={self.rejected})"


def _empty(protocol: "Protocol[Any]") -> "State":
    try:
        return {name: np.zeros(shape, dtype=np.int64) for name, shape in protocol.state_shapes.items()}
    except MemoryError:
        raise ParameterError(
            "local.aggregate_too_large", protocol=type(protocol).__name__, bytes_needed=protocol.memory
        ) from None


def _fits(one: Aggregate[Any], other: Aggregate[Any]) -> bool:
    """Return whether the sums of two states fit in 64 bits: NumPy would wrap around."""
    reach = max(map(abs, one.protocol.increment_bounds))
    if (one.reports + other.reports) * reach < 2**63:
        return True
    sums = [(array, other.state[name], array + other.state[name]) for name, array in one.state.items()]
    return not any((((left ^ both) & (right ^ both)) < 0).any() for left, right, both in sums)


def _read_state(table: "pa.Table", name: str, shape: tuple[int, ...]) -> "NDArray[np.int64]":
    import pyarrow as pa

    size, column = math.prod(shape), table.column(name)
    if table.num_rows == 1 and column.type == pa.large_list(pa.int64()) and is_sound(column):
        numbers = column.combine_chunks().flatten()
        if len(numbers) == size and not numbers.null_count:
            state: NDArray[np.int64] = numbers.to_numpy(zero_copy_only=False).reshape(shape).copy()
            return state
    raise FormatError("local.aggregate_column_missing", name=repr(name), size=size)
