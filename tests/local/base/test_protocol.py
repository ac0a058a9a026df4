"""What all protocols have: one description for client and server, chunks, headers, promises."""

from __future__ import annotations

import copy
import hashlib
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from celosia.core import FormatError, GuaranteedEvent, InputError, ParameterError, PureDP, ReplaceOne
from celosia.local import DirectEncoding, Protocol
from celosia.local.base import protocol as protocols
from celosia.local.frequency.optimized_unary import OptimizedUnary
from celosia.noise import Seeded, System
from tests.local.base.test_reports import PROTOCOLS, made

ALL = pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: f"{type(protocol).__name__}-{protocol.bits}")


def test_a_protocol_is_a_value() -> None:
    for protocol in PROTOCOLS:
        assert Protocol.from_json(protocol.to_json()) == protocol
        assert pickle.loads(pickle.dumps(protocol)) == copy.deepcopy(protocol) == protocol
        assert hash(copy.copy(protocol)) == hash(protocol)
        assert eval(repr(protocol), {type(protocol).__name__: type(protocol)}) == protocol
        with pytest.raises(AttributeError):
            protocol.epsilon = Fraction(2)  # type: ignore[misc]  # on purpose


def test_what_one_report_promises() -> None:
    every: list[Any] = PROTOCOLS
    for protocol in every:
        promise = PureDP(epsilon=protocol.epsilon, adjacency=ReplaceOne, unit="person")
        assert protocol.guarantee == promise
        assert (protocol.event.unit, protocol.event.adjacency) == ("person", ReplaceOne)
        life, crowd = protocol.lifetime(30), protocol.shuffled_event(1000)
        assert (life.times, life.event) == (30, protocol.event)
        assert (crowd.reports, crowd.unit) == (1000, "person")
        assert crowd.event in (protocol.event, GuaranteedEvent(guarantee=promise))
        for bad in (0, -1, 1.5, True):
            with pytest.raises(ParameterError, match="reports"):
                protocol.lifetime(bad)
            with pytest.raises(ParameterError, match="reports"):
                protocol.shuffled_event(bad)


def test_sizes_are_those_of_what_is_made() -> None:
    for protocol in PROTOCOLS:
        assert protocol.bytes_per_report == made(protocol).payload.shape[1] == -(-protocol.bits // 8)
        assert protocol.memory == sum(array.nbytes for array in protocol.aggregate().state.values())
        assert len(protocol.report(3)) == len(protocol.header) + protocol.bytes_per_report
        assert all(array.dtype == np.int64 for array in protocol.aggregate().state.values())


def test_every_parameter_has_its_fingerprint() -> None:
    known = {protocol.fingerprint for protocol in PROTOCOLS}
    known |= {DirectEncoding(domain=5, epsilon=epsilon).fingerprint for epsilon in ("0.1", "0.2", 2)}
    assert len(known) == len(PROTOCOLS) + 3
    # Fixed for ever: a device that was built today must be understood by a server of tomorrow.
    text = '{"domain": 4, "epsilon": "1", "kind": "DirectEncoding", "version": 1}'
    assert DirectEncoding(domain=4, epsilon=1).header == b"\1" + hashlib.sha256(text.encode()).digest()[:3]


def test_equal_streams_make_equal_reports() -> None:
    for protocol in PROTOCOLS:
        values = np.arange(100) % 5
        one, two = (protocol.privatize(values, source=Seeded(9)) for _ in range(2))
        assert (one.payload == two.payload).all()
        assert (one.payload != protocol.privatize(values, source=Seeded(10)).payload).any()
        assert protocol.report(3, source=Seeded(9)) == protocol.report(3, source=Seeded(9))
        assert one.seeded
        assert not protocol.privatize(values, source=System()).seeded
        assert not protocol.privatize(values).seeded


@ALL
def test_chunks_are_only_a_matter_of_memory(protocol: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocols, "CHUNK", 7)
    reports = protocol.privatize(np.arange(100) % 5, source=Seeded(1))
    assert len(reports) == 100
    batches = list(protocol.batches(np.arange(100) % 5, source=Seeded(1)))
    assert [len(batch) for batch in batches] == [7] * 14 + [2]
    assert (np.concatenate([batch.payload for batch in batches]) == reports.payload).all()
    assert protocol.aggregate().absorb_all(batches) == protocol.aggregate().absorb(reports)


def test_long_reports_come_in_smaller_batches() -> None:
    protocol = OptimizedUnary(domain=1 << 16, epsilon=1)
    sizes = [len(batch) for batch in protocol.batches(np.zeros(700, dtype=np.int64))]
    assert sizes == [512, 188]
    assert [len(batch) for batch in DirectEncoding(domain=3, epsilon=1).batches(np.zeros(70_000, dtype=int))] == [
        65_536,
        4_464,
    ]


def test_a_bad_batch_size_is_refused() -> None:
    cases: list[Any] = [0, -1, 1.5, True, "7"]
    for size in cases:
        with pytest.raises(ParameterError, match="size"):
            next(PROTOCOLS[0].batches([1, 2], size=size))


def test_a_bad_source_is_refused() -> None:
    cases: list[Any] = [7, "seed", object(), np.random.default_rng(1)]
    for source in cases:
        for ask in (PROTOCOLS[0].privatize, PROTOCOLS[0].report):
            with pytest.raises(ParameterError, match="source"):
                ask([1] if ask == PROTOCOLS[0].privatize else 1, source=source)


def test_a_bad_value_draws_nothing() -> None:
    source, fresh = Seeded(1), Seeded(1)
    for protocol in PROTOCOLS:
        with pytest.raises(InputError):
            protocol.privatize([1, 777], source=source)
        with pytest.raises(InputError):
            protocol.report(777, source=source)
    assert source.word() == fresh.word()


def test_what_is_no_protocol_is_refused() -> None:
    cases: list[str] = [
        "",
        "{}",
        "[]",
        "null",
        '{"kind": "DirectEncoding", "version": 1}',
        '{"kind": "DirectEncoding", "version": 2, "domain": 4, "epsilon": "1"}',
        '{"kind": "DirectEncoding", "version": 1, "domain": 1, "epsilon": "1"}',
        '{"kind": "DirectEncoding", "version": 1, "domain": "4", "epsilon": "1"}',
        '{"kind": "DirectEncoding", "version": 1, "domain": 4, "epsilon": 1}',
        '{"kind": "DirectEncoding", "version": 1, "domain": 4, "epsilon": "1", "more": 1}',
        '{"kind": "PureDP", "version": 1, "adjacency": "add-remove", "epsilon": "1", "unit": "row"}',
        '{"kind": "LocalHashing", "version": 1, "domain": 4, "epsilon": "1", "buckets": true, "hashes": 1, "seed": 0}',
    ]
    for text in cases:
        with pytest.raises(FormatError):
            Protocol.from_json(text)
