"""Reports on their way: Arrow and back, records with headers, and whatever hostile clients send."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from celosia.core import FormatError
from celosia.local import DirectEncoding, Reports
from celosia.local.base.reports import COLUMN, HEADER, WIRE_VERSION, read_payloads
from celosia.local.frequency.hadamard_response import HadamardResponse
from celosia.local.frequency.local_hashing import LocalHashing
from celosia.local.frequency.optimized_unary import OptimizedUnary
from celosia.local.frequency.subset_selection import SubsetSelection
from celosia.noise import Seeded

PROTOCOLS = [
    DirectEncoding(domain=5, epsilon=1),
    OptimizedUnary(domain=21, epsilon=1),
    SubsetSelection(domain=21, epsilon=1),
    HadamardResponse(domain=300, epsilon=2),
    LocalHashing(domain=5, epsilon=1),
    LocalHashing(domain=5, epsilon=1, hashes=100),
]
ALL = pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: f"{type(protocol).__name__}-{protocol.bits}")


def made(protocol: Any, count: int = 200) -> Reports:
    reports: Reports = protocol.privatize(np.arange(count) % 5, source=Seeded(1))
    return reports


def test_batches_come_back() -> None:
    for protocol in PROTOCOLS:
        reports = made(protocol)
        batch = reports.to_arrow()
        back = Reports.from_arrow(batch)
        assert back.protocol == protocol
        assert back.seeded
        assert (back.payload == reports.payload).all()
        assert batch.schema.names == [COLUMN]
        whole = protocol.aggregate().absorb(reports)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        stored = pa.ipc.open_stream(sink.getvalue()).read_all()
        parts = pa.Table.from_batches([batch.slice(0, 70), batch.slice(70, 0), batch.slice(70)])
        for form in (batch, stored, parts, parts.combine_chunks(), pa.Table.from_batches([batch])):
            assert protocol.aggregate().absorb(form) == whole
        halves = protocol.aggregate().absorb(batch.slice(0, 33)).absorb(batch.slice(33))
        assert halves == whole
        assert (Reports.from_arrow(batch.slice(33, 50)).payload == reports.payload[33:83]).all()


def test_records_come_back() -> None:
    for protocol in PROTOCOLS:
        reports = made(protocol)
        records = reports.records()
        assert {len(record) for record in records} == {HEADER + protocol.bytes_per_report}
        assert {record[0] for record in records} == {WIRE_VERSION}
        whole = protocol.aggregate().absorb(reports)
        fixed = pa.binary(HEADER + protocol.bytes_per_report)
        forms: list[Any] = [
            records,
            tuple(records),
            pa.array(records, type=pa.binary()),
            pa.array([b"x", *records], type=pa.large_binary()).slice(1),
            pa.array(records, type=fixed),
            pa.chunked_array([records[:9], records[9:]], type=pa.binary()),
        ]
        for form in forms:
            assert protocol.aggregate().absorb(form) == whole


def test_an_empty_batch_is_a_batch() -> None:
    protocol = PROTOCOLS[0]
    reports = protocol.privatize([])
    assert len(reports) == 0
    assert reports.records() == []
    assert len(Reports.from_arrow(reports.to_arrow())) == 0
    assert protocol.aggregate().absorb(reports.to_arrow()).absorb([]) == protocol.aggregate()


@ALL
@settings(max_examples=40)
@given(data=st.data())
def test_noise_is_counted_and_nothing_else(protocol: Any, data: st.DataObject) -> None:
    """Random bytes, cut and lengthened records, other headers, no bytes at all: dropped, and the rest counted."""
    good = made(protocol, 3).records()
    junk = st.binary(max_size=HEADER + protocol.bytes_per_report + 3)
    torn = st.sampled_from(good).flatmap(lambda record: st.integers(0, len(record) - 1).map(lambda end: record[:end]))
    other = st.sampled_from(good).flatmap(
        lambda record: st.tuples(st.integers(0, 3), st.integers(1, 255)).map(lambda place: _flipped(record, *place))
    )
    anything = (
        st.none() | st.integers() | st.text(max_size=3) | junk | torn | other | torn.map(lambda cut: cut + bytes(99))
    )
    sent = data.draw(st.lists(anything, max_size=12))
    wrong = [record for record in sent if not _genuine(record, protocol)]
    aggregate = protocol.aggregate().absorb([*sent, *good])
    assert aggregate.rejected >= len(wrong)
    assert aggregate.reports + aggregate.rejected == len(sent) + 3
    if len(wrong) == len(sent):
        expected = protocol.aggregate().absorb(good)
        assert all((aggregate.state[name] == expected.state[name]).all() for name in expected.state)


def _flipped(record: bytes, place: int, by: int) -> bytes:
    return record[:place] + bytes([record[place] ^ by]) + record[place + 1 :]


def _genuine(record: object, protocol: Any) -> bool:
    size = HEADER + protocol.bytes_per_report
    return isinstance(record, bytes) and len(record) == size and record[:HEADER] == protocol.header


@ALL
@settings(max_examples=40)
@given(rows=st.integers(0, 30), seed=st.integers(0, 2**32))
def test_random_payloads_leave_a_sound_state(protocol: Any, rows: int, seed: int) -> None:
    payload = np.random.default_rng(seed).integers(0, 256, (rows, protocol.bytes_per_report), dtype=np.uint8)
    aggregate = protocol.aggregate().absorb(Reports(protocol=protocol, payload=payload))
    assert aggregate.reports + aggregate.rejected == rows
    assert all((array >= 0).all() and (array <= rows).all() for array in aggregate.state.values())
    valid = payload[protocol.is_valid(payload)] if rows else payload
    assert aggregate == _with_rejected(protocol.aggregate().absorb(Reports(protocol=protocol, payload=valid)), rows)
    assert np.isfinite(protocol.log_masses(3, valid)).all()


def _with_rejected(aggregate: Any, rows: int) -> Any:
    aggregate.rejected = rows - aggregate.reports
    return aggregate


def test_batches_of_another_make_are_dropped() -> None:
    protocol = PROTOCOLS[0]
    batch = made(protocol, 20).to_arrow()
    column = batch.column(0)
    wider = pa.array([b"ab"] * 20, type=pa.binary(2))
    hostile: list[Any] = [
        batch.replace_schema_metadata(None),
        batch.replace_schema_metadata({**batch.schema.metadata, b"celosia.version": b"2"}),
        batch.replace_schema_metadata({**batch.schema.metadata, b"celosia.protocol": b"{}"}),
        batch.replace_schema_metadata({**batch.schema.metadata, b"celosia.protocol": b"\xff\xfe"}),
        pa.RecordBatch.from_arrays([column], names=["reports"]).replace_schema_metadata(batch.schema.metadata),
        pa.RecordBatch.from_arrays([column, column], names=[COLUMN, "time"]).replace_schema_metadata(
            batch.schema.metadata
        ),
        pa.RecordBatch.from_arrays([wider], names=[COLUMN]).replace_schema_metadata(batch.schema.metadata),
        pa.RecordBatch.from_arrays([pa.array(["a"] * 20)], names=[COLUMN]).replace_schema_metadata(
            batch.schema.metadata
        ),
    ]
    for form in hostile:
        for sent in (form, pa.Table.from_batches([form])):
            aggregate = protocol.aggregate().absorb(sent)
            assert (aggregate.reports, aggregate.rejected) == (0, 20)
        with pytest.raises(FormatError):
            Reports.from_arrow(form)
    for other in (DirectEncoding(domain=6, epsilon=1), DirectEncoding(domain=5, epsilon=2)):
        reports = made(other, 20)
        assert Reports.from_arrow(reports.to_arrow()).protocol == other
        for form in (reports, reports.to_arrow(), reports.records()):
            assert protocol.aggregate().absorb(form).rejected == 20


def test_nulls_in_a_batch_are_dropped() -> None:
    protocol = PROTOCOLS[0]
    batch = made(protocol, 3).to_arrow()
    rows = pa.array([b"\x01", None, b"\x02", None], type=pa.binary(1))
    holed = pa.RecordBatch.from_arrays([rows], schema=pa.schema([pa.field(COLUMN, rows.type)], batch.schema.metadata))
    aggregate = protocol.aggregate().absorb(holed).absorb(holed.slice(1, 2))
    assert (aggregate.reports, aggregate.rejected) == (3, 3)
    with pytest.raises(FormatError, match="without nulls"):
        Reports.from_arrow(holed)


@given(place=st.integers(0, 10**6), by=st.integers(1, 255), cut=st.integers(0, 50))
def test_damaged_streams_raise_nothing_of_ours(place: int, by: int, cut: int) -> None:
    """What Arrow still reads from damaged bytes is absorbed or dropped; Arrow may refuse the rest."""
    protocol = PROTOCOLS[1]
    sink = pa.BufferOutputStream()
    batch = made(protocol, 20).to_arrow()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    damaged = bytearray(sink.getvalue().to_pybytes())
    damaged[place % len(damaged)] ^= by
    try:
        items = pa.ipc.open_stream(bytes(damaged[: len(damaged) - cut])).read_all()
    except (pa.ArrowException, OSError, EOFError, ValueError):
        return
    aggregate = protocol.aggregate().absorb(items)
    assert aggregate.reports + aggregate.rejected == items.num_rows
    assert aggregate.reports <= 20


def test_batches_that_claim_more_rows_than_they_have_are_dropped_one_by_one_and_together() -> None:
    protocol, claimed = PROTOCOLS[1], 50_000_000
    sink = pa.BufferOutputStream()
    batch = made(protocol, 1234).to_arrow()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
        writer.write_batch(batch)
    told, real = claimed.to_bytes(8, "little"), (1234).to_bytes(8, "little")
    items = list(pa.ipc.open_stream(sink.getvalue().to_pybytes().replace(real, told)))
    assert [part.num_rows for part in items] == [claimed] * 2
    for sent in (items[0], pa.Table.from_batches(items), pa.chunked_array([part.column(0) for part in items])):
        aggregate = protocol.aggregate().absorb(sent)
        assert (aggregate.reports, aggregate.rejected) == (0, len(sent))


def test_columns_whose_names_are_no_text_are_dropped() -> None:
    protocol, sink = PROTOCOLS[1], pa.BufferOutputStream()
    batch = made(protocol, 20).to_arrow()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    items = pa.ipc.open_stream(sink.getvalue().to_pybytes().replace(b"report\0", b"rep\xf3rt\0")).read_all()
    assert protocol.aggregate().absorb(items).rejected == 20
    with pytest.raises(FormatError):
        Reports.from_arrow(items)


def test_what_is_no_batch_is_not_read_as_one() -> None:
    cases: list[Any] = [7, None, b"bytes", [b"record"]]
    for bad in cases:
        with pytest.raises(FormatError, match="Reports are read from an Arrow record batch"):
            Reports.from_arrow(bad)


def test_reports_of_the_wrong_shape_or_type_are_dropped() -> None:
    protocol = PROTOCOLS[0]
    for payload in (np.zeros((4, 2), dtype=np.uint8), np.zeros((4, 1)), np.zeros((4, 1, 1), dtype=np.uint8)):
        payload_, dropped = read_payloads(Reports(protocol=protocol, payload=payload), protocol)  # type: ignore[arg-type]
        assert (len(payload_), dropped) == (0, 4)


def test_arrays_of_other_types_are_dropped() -> None:
    protocol = PROTOCOLS[0]
    for array in (pa.array(["text", "more"]), pa.array([1, 2]), pa.array([None, None]), pa.array([[1], [2]])):
        assert protocol.aggregate().absorb(array).rejected == 2


def test_what_is_no_collection_of_reports_is_an_error_of_the_caller() -> None:
    cases: list[Any] = [b"record", "record", 7, None, object(), {"a": 1}]
    for sent in cases:
        aggregate = PROTOCOLS[0].aggregate()
        with pytest.raises(FormatError, match="Reports must be Reports"):
            aggregate.absorb(sent)
        assert aggregate == PROTOCOLS[0].aggregate()


def test_the_repr_tells_sizes_only() -> None:
    assert repr(made(PROTOCOLS[1], 3)) == "Reports(3 of OptimizedUnary, 3 bytes each, seeded=True)"
