"""Checks of the behaviour of a local protocol, apart from its mathematics.

A protocol survives JSON; reports survive Arrow and single records; aggregates add up in any order, to the last bit;
reports that no client can have sent are counted and dropped, and do not change the counts; a seed makes reports
repeatable and is stated; invalid values raise errors that do not quote them.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from celosia.core import CelosiaError, ConformanceError, PureDP, ReplaceOne, Source
from celosia.local.base.aggregate import Aggregate
from celosia.local.base.packing import Bytes
from celosia.local.base.protocol import Protocol
from celosia.local.base.reports import COLUMN, HEADER, WIRE_VERSION, Reports
from celosia.noise import Seeded
from celosia.testing.protocols.law import Law, row_keys

_REPORTS = 300
_SEEDED = 4_096
_MAX_LISTED_BYTES = 2  # payloads up to this size are all tried
_PAYLOADS = 4_096
_SECRET = "Zq7-never-to-be-quoted"  # noqa: S105 - a value that an error must not repeat


def check_form(protocol: Protocol[Any]) -> str:
    """Check the guarantee, sizes, JSON and fingerprint of a protocol."""
    if not isinstance(protocol, Protocol):
        _fail("form", f"{type(protocol).__name__} must be a celosia.local.Protocol.")
    guarantee: object = protocol.guarantee
    if not isinstance(guarantee, PureDP) or guarantee.adjacency is not ReplaceOne:
        _fail("form", f"a report must guarantee PureDP under ReplaceOne, not {guarantee!r}.")
    again = _again(protocol)
    if again != protocol or again.fingerprint != protocol.fingerprint or again.to_json() != protocol.to_json():
        _fail("form", "the protocol does not come back equal from its own JSON.")
    for record in (protocol.event, protocol.guarantee, protocol.lifetime(2)):
        if type(record).from_json(record.to_json()) != record:
            _fail("form", f"{type(record).__name__} does not come back equal from its own JSON.")
    if protocol.header != bytes([WIRE_VERSION]) + protocol.fingerprint:
        _fail("form", "the header must be the version of the format and the fingerprint.")
    if hash(again) != hash(protocol):
        _fail("form", "equal protocols must have equal hashes.")
    size = protocol.bytes_per_report
    return f"{type(protocol).__name__}, {size} byte{'s'[: size != 1]} a report, {protocol.memory} bytes of state"


def check_merging(protocol: Protocol[Any], values: Sequence[Any], source: Source) -> str:
    """Check that aggregates merge in any order to the bits that one aggregate of all reports has."""
    payload = _reports(protocol, values, source).payload

    def part(first: int, last: int) -> Aggregate[Any]:
        return _aggregate_payload(protocol, payload[first:last])

    whole, reverse = part(0, _REPORTS), _aggregate_payload(protocol, payload[::-1])
    third, rest = _REPORTS // 3, 2 * _REPORTS // 3
    left = part(0, third).merge(part(third, rest)).merge(part(rest, _REPORTS))
    right = part(0, third).merge(part(third, rest).merge(part(rest, _REPORTS)))
    swapped = part(rest, _REPORTS).merge(part(0, third)).merge(part(third, rest))
    empty = protocol.aggregate().merge(whole)
    for name, other in (("order", reverse), ("left", left), ("right", right), ("swapped", swapped), ("empty", empty)):
        if not _same(whole, other):
            _fail("merging", f"an aggregate made in another way ({name}) has other bits.")
    kept = part(0, third)
    part(third, rest).merge(kept)
    if not _same(kept, part(0, third)):
        _fail("merging", "merge changed the aggregate that was merged in.")
    return f"{_REPORTS} reports in three parts, any order, the same bits"


def check_wire(protocol: Protocol[Any], values: Sequence[Any], source: Source) -> str:
    """Check that reports and aggregates come back from Arrow, from single records and from a file as they were."""
    import pyarrow as pa

    reports = _reports(protocol, values, source)
    whole = protocol.aggregate().absorb(reports)
    batch = reports.to_arrow()
    if not np.array_equal(Reports.from_arrow(batch).payload, reports.payload):
        _fail("wire", "reports do not come back from their Arrow batch.")
    stream = pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, batch.schema) as writer:
        writer.write_batch(batch)
    table = pa.ipc.open_stream(stream.getvalue()).read_all()
    records = reports.records()
    ways = {"a batch": batch, "a slice": [batch.slice(0, 7), batch.slice(7)], "a table": table, "records": records}
    for name, way in ways.items():
        aggregate = protocol.aggregate()
        for sent in way if name == "a slice" else [way]:
            aggregate.absorb(sent)
        if not _same(whole, aggregate):
            _fail("wire", f"reports absorbed from {name} give other bits.")
    if whole.rejected or whole.reports != _REPORTS:
        _fail("wire", "the server drops reports of the protocol's own client.")
    if not _same(whole, Aggregate.from_arrow(whole.to_arrow())):
        _fail("wire", "an aggregate does not come back from Arrow.")
    with tempfile.TemporaryDirectory() as folder:
        whole.save(Path(folder) / "aggregate.arrow")
        if not _same(whole, Aggregate.load(Path(folder) / "aggregate.arrow")):
            _fail("wire", "an aggregate does not come back from a file.")
    size = protocol.bytes_per_report
    return f"Arrow, records and a file; {size} byte{'s'[: size != 1]} in a batch, {HEADER + size} alone"


def check_hostile(protocol: Protocol[Any], values: Sequence[Any], law: Law | None, source: Source) -> str:
    """Check that reports which no client can have sent are counted and dropped, and change nothing."""
    reports = _reports(protocol, values, source)
    aggregate, honest = protocol.aggregate().absorb(reports), protocol.aggregate().absorb(reports)
    sent = _hostile(protocol, protocol.report(values[0], source=source), source)
    total = honest.rejected
    for name, (hostile, count) in sent.items():
        _absorb(aggregate, hostile, name)
        total += count
        if aggregate.rejected != total or not _same_state(aggregate, honest):
            _fail("hostile", f"{name} was not dropped and counted, or changed the aggregate.")
    payloads = _payloads(protocol, reports.payload, source)
    accepted = _accept_mask(protocol, payloads)
    if law is not None:
        known = np.isin(row_keys(payloads), row_keys(law.outputs))
        if (accepted & ~known).any():
            _fail("hostile", "the server accepts a report that outputs does not list.")
        if (known & ~accepted).any():
            _fail("hostile", "the server drops a report that outputs lists.")
    return f"{len(sent)} batches of hostile records dropped; of {len(payloads)} payloads {int(accepted.sum())} accepted"


def check_seeds(protocol: Protocol[Any], values: Sequence[Any]) -> str:
    """Check that a seed repeats the reports and is stated, and that the default source does not repeat."""
    column = [values[i % len(values)] for i in range(_SEEDED)]
    sources = Seeded(11), Seeded(11), Seeded(12), None, None
    runs = [protocol.privatize(column, source=source) for source in sources]
    for run, source in zip(runs, sources, strict=True):
        if run.seeded is not (source is not None):
            _fail("seeds", f"reports from source={source!r} must have seeded={source is not None}.")
    once, again, other, free, freer = (run.payload.tobytes() for run in runs)
    if once != again:
        _fail("seeds", "the same seed gave different reports: source is ignored, or not the only randomness.")
    if once == other or free == freer:
        _fail("seeds", "two seeds gave the same reports, or the default source repeats itself.")
    if protocol.report(values[0], source=Seeded(11)) != protocol.report(values[0], source=Seeded(11)):
        _fail("seeds", "the same seed gave two different records.")
    return f"{_SEEDED} reports repeat with a seed and not without"


def check_refusals(protocol: Protocol[Any]) -> str:
    """Check that the client refuses what it cannot take, with an error that does not quote it."""
    bad: list[Any] = [None, [None], [float("nan")], [float("inf")], [_SECRET, 1], [object()], 3, {_SECRET}]
    for values in bad:
        try:
            protocol.privatize(values, source=Seeded(1))
        except CelosiaError as error:
            if _SECRET in str(error):
                _fail("refusals", "an error of the client quotes the value.")
        except Exception as error:
            raise ConformanceError("testing.wrong_refusal_error", type=type(error).__name__) from error
        else:
            _fail("refusals", f"the client takes a {type(values).__name__} that is no column of its values.")
    return f"{len(bad)} kinds of values refused"


def _again(protocol: Protocol[Any]) -> Protocol[Any]:
    try:
        return Protocol.from_json(protocol.to_json())
    except CelosiaError as error:
        raise ConformanceError("testing.protocol_not_read_back", error=error) from error


def _reports(protocol: Protocol[Any], values: Sequence[Any], source: Source) -> Reports:
    return protocol.privatize([values[i % len(values)] for i in range(_REPORTS)], source=source)


def _aggregate_payload(protocol: Protocol[Any], payload: Bytes) -> Aggregate[Any]:
    return protocol.aggregate().absorb(Reports(protocol=protocol, payload=payload))


def _same(first: Aggregate[Any], second: Aggregate[Any]) -> bool:
    return first == second and _same_state(first, second)


def _same_state(first: Aggregate[Any], second: Aggregate[Any]) -> bool:
    return first.reports == second.reports and all(
        array.dtype == second.state[name].dtype and array.tobytes() == second.state[name].tobytes()
        for name, array in first.state.items()
    )


def _hostile(protocol: Protocol[Any], good: bytes, source: Source) -> dict[str, tuple[Any, int]]:
    """Return batches that must be dropped as a whole, with their numbers of reports."""
    import pyarrow as pa

    version, fingerprint, body = good[:1], good[1:HEADER], good[HEADER:]
    noise = source.words(64).tobytes()
    other = bytes(byte ^ 0xFF for byte in fingerprint)
    wrong: list[tuple[str, list[Any]]] = [
        ("random bytes", [noise[i : i + length] for i, length in enumerate((1, 2, 3, 5, 8, 13, 21))]),
        ("empty records", [b"", b""]),
        ("a truncated record", [good[:-1], good[:HEADER]]),
        ("a long record", [good + b"\x00"]),
        ("no header", [body, bytes(HEADER) + body]),
        ("another version", [bytes([version[0] ^ 1]) + good[1:], b"\x00" + good[1:], b"\xff" + good[1:]]),
        ("another fingerprint", [version + other + body, version + fingerprint[:2] + other[2:] + body]),
        ("records that are not bytes", [None, "text", 3, 1.5, bytearray(good), [good]]),
    ]
    sent: dict[str, tuple[Any, int]] = {name: (records, len(records)) for name, records in wrong}
    rows = pa.array([body, body], type=pa.binary(len(body)))
    payload = np.frombuffer(body, dtype=np.uint8).reshape(1, -1)
    schema = Reports(protocol=protocol, payload=payload).to_arrow().schema.metadata
    sent["a batch without metadata"] = pa.table({COLUMN: rows}), 2
    sent["a batch of other columns"] = pa.table({"other": rows}).replace_schema_metadata(schema), 2
    texts = pa.table({COLUMN: pa.array(["a", None])}).replace_schema_metadata(schema)
    sent["a batch of texts and nulls"] = texts, 2
    return sent


def _payloads(protocol: Protocol[Any], honest: Bytes, source: Source) -> Bytes:
    """Return all payloads if they are few; else random ones, and honest ones with one byte changed."""
    size = protocol.bytes_per_report
    if size <= _MAX_LISTED_BYTES:
        numbers = np.arange(1 << 8 * size, dtype="<u4")
        return np.ascontiguousarray(numbers.view(np.uint8).reshape(-1, 4)[:, :size])
    noise = source.words(-(-_PAYLOADS * size // 8)).astype("<u8").view(np.uint8)[: _PAYLOADS * size].reshape(-1, size)
    changed = np.resize(honest, noise.shape)
    rows = np.arange(_PAYLOADS)
    changed[rows, rows % size] = noise[rows, rows % size]
    return np.concatenate([noise, changed])


def _accept_mask(protocol: Protocol[Any], payloads: Bytes) -> np.ndarray[Any, np.dtype[np.bool_]]:
    aggregate = protocol.aggregate()
    _absorb(aggregate, Reports(protocol=protocol, payload=payloads), "a random payload")
    # Absorbing them one by one would take long: is_valid gives the mask, and the counts confirm it.
    accepted = protocol.is_valid(payloads)
    if (aggregate.reports, aggregate.rejected) != (int(accepted.sum()), int((~accepted).sum())):
        _fail("hostile", "reports and rejected do not add up to what was sent.")
    return accepted


def _absorb(aggregate: Aggregate[Any], hostile: Any, name: str) -> None:
    try:
        aggregate.absorb(hostile)
    except Exception as error:
        raise ConformanceError("testing.hostile_report_raised", name=name, type=type(error).__name__) from error


def _fail(check: str, what: str) -> None:
    raise ConformanceError("testing.conduct_check_failed", check=check, finding=what)
