"""Forms of reports: rows of bytes in memory, Arrow record batches between processes, single records from devices.

A batch has the header once, in the schema's metadata; a record that travels alone begins with it. A batch holds nothing
else: no time, no address, no meaningful order.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core.errors import FormatError
from celosia.local.base.packing import Bytes

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from celosia.local.base.protocol import Protocol

WIRE_VERSION = 1
"""The version of the wire format: the first byte of a record."""

HEADER = 4
"""The bytes before a report that travels alone: the version, and three of the protocol's fingerprint."""

COLUMN = "report"
"""The one column of a batch."""

_PROTOCOL, _VERSION, _SEEDED = b"celosia.protocol", b"celosia.version", b"celosia.seeded"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Reports:
    """Reports of one protocol, one in each row of ``payload``.

    >>> from celosia.local import DirectEncoding
    >>> from celosia.noise import Seeded
    >>> DirectEncoding(domain=4, epsilon=1).privatize([0, 3, 3], source=Seeded(7))
    Reports(3 of DirectEncoding, 1 byte each, seeded=True)
    """

    protocol: "Protocol[Any]"
    payload: Bytes
    seeded: bool = False

    def __len__(self) -> int:
        return len(self.payload)

    def to_arrow(self) -> "pa.RecordBatch":
        """Return the reports as an Arrow record batch, with their protocol in the metadata.

        >>> from celosia.local import DirectEncoding
        >>> batch = DirectEncoding(domain=4, epsilon=1).privatize([0, 3]).to_arrow()
        >>> batch.num_rows, str(batch.schema.field("report").type)
        (2, 'fixed_size_binary[1]')
        """
        import pyarrow as pa

        kind = pa.binary(self.protocol.bytes_per_report)
        data = pa.py_buffer(np.ascontiguousarray(self.payload))
        column = pa.FixedSizeBinaryArray.from_buffers(kind, len(self), [None, data])
        metadata = {
            _VERSION: str(WIRE_VERSION).encode(),
            _PROTOCOL: self.protocol.to_json().encode(),
            _SEEDED: b"true" if self.seeded else b"false",
        }
        schema = pa.schema([pa.field(COLUMN, kind, nullable=False)], metadata=metadata)
        return pa.RecordBatch.from_arrays([column], schema=schema)

    @classmethod
    def from_arrow(cls, batch: "pa.RecordBatch") -> "Reports":
        """Read a batch back, or raise ``FormatError``.

        >>> from celosia.local import DirectEncoding
        >>> Reports.from_arrow(DirectEncoding(domain=4, epsilon=1).privatize([0, 3]).to_arrow())
        Reports(2 of DirectEncoding, 1 byte each)
        """
        import pyarrow as pa

        from celosia.local.base.protocol import Protocol

        if not isinstance(batch, pa.RecordBatch | pa.Table):
            raise FormatError("local.reports_not_from_arrow", kind=type(batch).__name__)
        metadata = batch.schema.metadata or {}
        if metadata.get(_VERSION) != str(WIRE_VERSION).encode():
            raise FormatError("local.unknown_report_version", wanted=WIRE_VERSION)
        protocol: Protocol[Any] = Protocol.from_json(metadata.get(_PROTOCOL, b"").decode("utf-8", "replace"))
        payload, dropped = _from_batch(batch, protocol)
        if dropped:
            raise FormatError("local.report_column_missing", column=repr(COLUMN), length=protocol.bytes_per_report)
        return cls(protocol=protocol, payload=payload, seeded=metadata.get(_SEEDED) != b"false")

    def records(self) -> list[bytes]:
        """Return the reports as single records, each with its header.

        >>> from celosia.local import DirectEncoding
        >>> [len(record) for record in DirectEncoding(domain=4, epsilon=1).privatize([0, 3]).records()]
        [5, 5]
        """
        header = self.protocol.header
        return [header + row.tobytes() for row in self.payload]

    def __repr__(self) -> str:
        size = self.protocol.bytes_per_report
        marks = ", seeded=True" if self.seeded else ""
        return f"Reports({len(self)} of {type(self.protocol).__name__}, {size} byte{'s'[: size != 1]} each{marks})"


def read_payloads(reports: Any, protocol: "Protocol[Any]") -> tuple[Bytes, int]:
    """Return the payloads of well-formed reports of a protocol, and the number of others.

    ``reports`` is a ``Reports``, an Arrow record batch or table of them, or single records (a list of bytes, or an
    Arrow binary array). A bad report is only counted; it never stops a batch.
    """
    import pyarrow as pa

    if isinstance(reports, Reports):
        payload = reports.payload
        same = reports.protocol == protocol and payload.shape[1:] == (protocol.bytes_per_report,)
        return (payload, 0) if same and payload.dtype == np.uint8 else (_empty_payload(protocol), len(reports))
    if isinstance(reports, pa.RecordBatch | pa.Table):
        return _from_batch(reports, protocol)
    if not isinstance(reports, pa.Array | pa.ChunkedArray):
        reports = _as_binary(reports)
    if not is_sound(reports):
        return _empty_payload(protocol), len(reports)
    return _from_records(_one_chunk(reports), protocol)


def column_names(table: "pa.RecordBatch | pa.Table") -> list[str]:
    """Return the names of the columns, or none if they are not UTF-8: received data may hold any bytes."""
    try:
        return list(table.schema.names)
    except UnicodeDecodeError:
        return []


def is_sound(column: "pa.Array | pa.ChunkedArray") -> bool:
    """Return whether a column's buffers are valid: a received column may point outside of them."""
    import pyarrow as pa

    try:
        column.validate(full=True)
    except pa.ArrowException:
        return False
    return True


def _one_chunk(column: "pa.Array | pa.ChunkedArray") -> "pa.Array":
    """Return a valid column in one piece: copying an invalid one would read outside of its buffers."""
    import pyarrow as pa

    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _empty_payload(protocol: "Protocol[Any]") -> Bytes:
    return np.empty((0, protocol.bytes_per_report), dtype=np.uint8)


def _from_batch(batch: "pa.RecordBatch | pa.Table", protocol: "Protocol[Any]") -> tuple[Bytes, int]:
    import pyarrow as pa

    metadata = batch.schema.metadata or {}
    size = protocol.bytes_per_report
    same = metadata.get(_PROTOCOL) == protocol.to_json().encode()
    if metadata.get(_VERSION) != str(WIRE_VERSION).encode() or not same or column_names(batch) != [COLUMN]:
        return _empty_payload(protocol), batch.num_rows
    column = batch.column(0)
    if column.type != pa.binary(size) or not is_sound(column):
        return _empty_payload(protocol), batch.num_rows
    column = _one_chunk(column)
    dropped = column.null_count
    column = column.drop_null() if dropped else column
    if not len(column):
        return _empty_payload(protocol), dropped
    rows = np.frombuffer(column.buffers()[1], dtype=np.uint8, count=(column.offset + len(column)) * size)
    return rows.reshape(-1, size)[column.offset :], dropped


def _as_binary(records: Sequence[object]) -> "pa.Array":
    import pyarrow as pa

    if isinstance(records, bytes | str) or not isinstance(records, Sequence):
        raise FormatError("local.not_reports")
    # Anything but bytes becomes a null, which counts as rejected.
    return pa.array([record if isinstance(record, bytes) else None for record in records], type=pa.large_binary())


def _from_records(records: "pa.Array", protocol: "Protocol[Any]") -> tuple[Bytes, int]:
    import pyarrow as pa
    import pyarrow.compute as pc

    total, size = len(records), HEADER + protocol.bytes_per_report
    if not pa.types.is_large_binary(records.type):
        if not (pa.types.is_binary(records.type) or pa.types.is_fixed_size_binary(records.type)):
            return _empty_payload(protocol), total
        records = records.cast(pa.large_binary())
    fitting = records.filter(pc.fill_null(pc.equal(pc.binary_length(records), size), False))  # noqa: FBT003 - Arrow's
    if not len(fitting):
        return _empty_payload(protocol), total
    _, offsets, data = fitting.buffers()
    first = int(np.frombuffer(offsets, dtype="<i8")[fitting.offset])
    rows: NDArray[np.uint8] = np.frombuffer(data, dtype=np.uint8, count=first + len(fitting) * size)[first:]
    rows = rows.reshape(-1, size)
    known = (rows[:, :HEADER] == np.frombuffer(protocol.header, dtype=np.uint8)).all(axis=1)
    payload = np.ascontiguousarray(rows[known, HEADER:])
    return payload, total - len(payload)
