"""Aggregation of reports on a Spark cluster: the same integers as on one machine.

Each partition absorbs its reports into its own aggregate (``mapInArrow``), and the aggregates are merged in a tree,
some dozens at a time. They are integers that add up, so neither the partitions nor the order of the tree changes a bit.
Reports are private before Spark sees them.
"""

import sys
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from celosia.core.errors import EngineError, InputError, ParameterError
from celosia.core.exact import safe_repr
from celosia.core.extras import require
from celosia.local.base.aggregate import Aggregate
from celosia.local.base.protocol import Protocol
from celosia.local.base.reports import COLUMN, HEADER, Reports

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame

E = TypeVar("E")

_MERGE_WIDTH = 32  # aggregates that one task merges
_DEFAULT_PARTITIONS = _MERGE_WIDTH**2  # if Spark does not report their number
_STATE = "aggregate"
_NO_PYTHON = (
    'java.io.IOException: Cannot run program "',
    "[PYTHON_VERSION_MISMATCH]",
    "ModuleNotFoundError: No module named 'celosia'",
)
"""What Spark writes if its workers have no Python, another version, or one without Celosía."""


def aggregate(frame: "DataFrame", protocol: Protocol[E], column: str = COLUMN) -> Aggregate[E]:
    """Absorb a column of a Spark data frame, and return the aggregate of all its reports.

    The column is binary. A cell holds a report of a batch, or a single record with its header; anything else counts in
    ``rejected``. The workers of the cluster must have Celosía installed: set ``PYSPARK_PYTHON`` to their Python.

    >>> frame = spark.createDataFrame([(record,) for record in reports.records()], "report binary")  # doctest: +SKIP
    >>> aggregate(frame, protocol).estimate()  # doctest: +SKIP
    """
    require("pyspark", extra="spark")
    _check(frame, protocol, column)

    def absorb(batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        yield _serialize(absorb_batches((batch.column(0) for batch in batches), protocol))

    def merge(batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        merged = protocol.aggregate()
        for batch in batches:
            for cell in batch.column(0):
                merged.merge(_deserialize(cell.as_py()))
        yield _serialize(merged)

    form = f"{_STATE} binary"
    partial = frame.select(frame[column]).mapInArrow(absorb, form)
    parts = _partitions(frame)
    while parts > 1:
        parts = -(-parts // _MERGE_WIDTH)
        partial = partial.repartition(parts).mapInArrow(merge, form)
    whole: Aggregate[E] = protocol.aggregate()
    try:
        for row in partial.toLocalIterator():
            whole.merge(_deserialize(bytes(row[0])))
    except Exception as error:
        if not any(sign in str(error) for sign in _NO_PYTHON):
            raise
        version = ".".join(map(str, sys.version_info[:2]))
        raise EngineError("local.spark_workers_without_python", version=version) from None
    return whole


def absorb_batches(columns: "Iterable[pa.Array]", protocol: Protocol[E]) -> Aggregate[E]:
    """Absorb binary columns of reports, with or without their headers, as each partition does."""
    import pyarrow as pa
    import pyarrow.compute as pc

    whole = protocol.aggregate()
    size = protocol.bytes_per_report
    for column in columns:
        bare = pc.fill_null(pc.equal(pc.binary_length(column), size), fill_value=False)
        payloads = column.filter(bare).cast(pa.large_binary())
        whole.absorb(column.filter(pc.invert(bare)))
        if len(payloads):
            whole.absorb(Reports(protocol=protocol, payload=_rows(payloads, size)))
    return whole


def _rows(payloads: "pa.Array", size: int) -> "np.ndarray[Any, np.dtype[np.uint8]]":
    _, offsets, data = payloads.buffers()
    first = int(np.frombuffer(offsets, dtype="<i8")[payloads.offset])
    return np.frombuffer(data, dtype=np.uint8, count=first + len(payloads) * size)[first:].reshape(-1, size)


def _serialize(whole: Aggregate[Any]) -> "pa.RecordBatch":
    import pyarrow as pa

    table = whole.to_arrow()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return pa.RecordBatch.from_arrays([pa.array([sink.getvalue().to_pybytes()], type=pa.binary())], names=[_STATE])


def _deserialize(data: bytes) -> Aggregate[Any]:
    import pyarrow as pa

    return Aggregate.from_arrow(pa.ipc.open_stream(data).read_all())


def _partitions(frame: "DataFrame") -> int:
    try:
        return int(frame.rdd.getNumPartitions())
    except Exception:  # noqa: BLE001 - a session over Spark Connect has no RDDs, and raises its own error
        return _DEFAULT_PARTITIONS


def _check(frame: "DataFrame", protocol: Protocol[Any], column: str) -> None:
    if not isinstance(protocol, Protocol):
        raise ParameterError("local.not_a_protocol", value=safe_repr(protocol))
    kinds = dict(getattr(frame, "dtypes", []))
    if column not in kinds:
        raise ParameterError("local.unknown_frame_column", value=safe_repr(column))
    if kinds[column] != "binary":
        raise InputError(
            "local.column_not_binary",
            column=safe_repr(column),
            report_bytes=protocol.bytes_per_report,
            record_bytes=HEADER + protocol.bytes_per_report,
            found=kinds[column],
        )
