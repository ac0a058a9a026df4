"""Aggregates: they add up in any order, are stored and read back, and refuse what is no aggregate."""

from __future__ import annotations

import copy
import pickle
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from celosia.core import FormatError, ParameterError
from celosia.local import Aggregate, DirectEncoding, Duchi, PrefixExtension
from celosia.noise import Seeded
from tests.local.base.test_reports import PROTOCOLS, made

if TYPE_CHECKING:
    from pathlib import Path

ALL = pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: f"{type(protocol).__name__}-{protocol.bits}")


def absorbed(protocol: Any, count: int, seed: int) -> Any:
    reports = protocol.privatize(np.arange(count) % 3, source=Seeded(seed))
    return protocol.aggregate().absorb(reports).absorb([b"junk"] * (seed % 3))


@ALL
@settings(max_examples=25)
@given(counts=st.tuples(*[st.integers(0, 20)] * 3))
def test_merging_is_addition(protocol: Any, counts: tuple[int, int, int]) -> None:
    def parts() -> list[Any]:
        return [absorbed(protocol, count, seed) for seed, count in enumerate(counts)]

    a, b, c = parts()
    left = a.merge(b).merge(c)
    a, b, c = parts()
    right = a.merge(b.merge(c))
    a, b, c = parts()
    turned = c.merge(a).merge(b)
    assert left == right == turned
    assert (left.reports, left.rejected) == (sum(counts), 3)
    a, b, c = parts()
    before = absorbed(protocol, counts[1], 1)
    a.merge(b)
    assert b == before  # the other one stays as it is
    assert absorbed(protocol, counts[0], 0).merge(protocol.aggregate()) == absorbed(protocol, counts[0], 0)


def test_batches_and_threads_give_what_one_gives() -> None:
    for protocol in PROTOCOLS:
        reports = made(protocol, 1000)
        whole = protocol.aggregate().absorb(reports)
        batch = reports.to_arrow()
        assert protocol.aggregate().absorb_all(batch.slice(i, 100) for i in range(0, 1000, 100)) == whole
        parts = [protocol.aggregate() for _ in range(4)]
        threads = [
            threading.Thread(target=part.absorb, args=(batch.slice(250 * i, 250),)) for i, part in enumerate(parts)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        merged = protocol.aggregate()
        for part in parts:
            merged.merge(part)
        assert merged == whole
        assert (merged.estimate().raw == whole.estimate().raw).all()


@ALL
def test_aggregates_are_stored_and_read_back(protocol: Any, tmp_path: Path) -> None:
    aggregate = absorbed(protocol, 500, 2)
    table = aggregate.to_arrow()
    back = Aggregate.from_arrow(table)
    assert back == aggregate
    assert (back.reports, back.rejected) == (500, 2)
    path = tmp_path / "aggregate.arrow"
    aggregate.save(path)
    aggregate.save(str(path))  # over the first
    loaded = Aggregate.load(path)
    assert loaded == aggregate
    assert [file.name for file in tmp_path.iterdir()] == ["aggregate.arrow"]
    # What was read can go on: its arrays are its own.
    assert loaded.merge(absorbed(protocol, 5, 1)) == aggregate.merge(absorbed(protocol, 5, 1))


def test_copies_are_aggregates_of_their_own() -> None:
    for protocol in PROTOCOLS:
        whole, again = absorbed(protocol, 20, 1), absorbed(protocol, 20, 1)
        for made_ in (copy.copy(whole), copy.deepcopy(whole), pickle.loads(pickle.dumps(whole))):
            assert made_ == whole
            made_.absorb(made(protocol, 5))
            assert whole == again


def test_different_protocols_do_not_merge() -> None:
    aggregate = DirectEncoding(domain=3, epsilon=1).aggregate()
    for other in (DirectEncoding(domain=4, epsilon=1).aggregate(), DirectEncoding(domain=3, epsilon=2).aggregate()):
        with pytest.raises(ParameterError, match="same protocol"):
            aggregate.merge(other)
    for bad in (None, 3, "aggregate"):
        with pytest.raises(ParameterError, match="same protocol"):
            aggregate.merge(bad)  # type: ignore[arg-type]
    assert aggregate == DirectEncoding(domain=3, epsilon=1).aggregate()


def _table(**changes: Any) -> pa.Table:
    table = absorbed(DirectEncoding(domain=3, epsilon=1), 10, 0).to_arrow()
    metadata = {**table.schema.metadata, **{name.replace("_", ".").encode(): text for name, text in changes.items()}}
    return table.replace_schema_metadata(metadata)


HUGE = DirectEncoding(domain=2**31, epsilon=1).to_json().encode()


def test_what_is_no_aggregate_is_refused() -> None:
    cases: list[pa.Table] = [
        pa.table({}),
        pa.table({"said": [[1, 2, 3]]}),
        _table().replace_schema_metadata(None),
        _table(celosia_aggregate=b"2"),
        _table(celosia_protocol=b"{}"),
        _table(celosia_protocol=b"\xff"),
        _table(celosia_protocol=b'{"kind": "PureDP", "version": 1}'),
        _table(celosia_protocol=HUGE),
        _table(celosia_counts=b""),
        _table(celosia_counts=b"10"),
        _table(celosia_counts=b"-1 0"),
        _table(celosia_counts=b"1.5 0"),
        _table(celosia_counts="٣ 0".encode()),
        _table(celosia_counts=b"1" * 5000 + b" 0"),
        _table(celosia_counts=b"1 2 3"),
        _table().append_column("more", pa.array([1])),
        _table().slice(0, 0),
        pa.concat_tables([_table(), _table()]),
        _table().rename_columns(["says"]),
        _table().set_column(0, "said", pa.array([[1, 2]], type=pa.large_list(pa.int64()))),
        _table().set_column(0, "said", pa.array([[1, 2, None]], type=pa.large_list(pa.int64()))),
        _table().set_column(0, "said", pa.array([None], type=pa.large_list(pa.int64()))),
        _table().set_column(0, "said", pa.array([[1, 2, 3]], type=pa.list_(pa.int64()))),
        _table().set_column(0, "said", pa.array([[1.0, 2.0, 3.0]], type=pa.large_list(pa.float64()))),
        _table().set_column(0, "said", pa.array(["abc"])),
        pa.Table.from_arrays(_table().columns * 2, ["said", "said"]).replace_schema_metadata(_table().schema.metadata),
        _table().set_column(0, "said", pa.array([[11, 0, 0]], type=pa.large_list(pa.int64()))),
        _table().set_column(0, "said", pa.array([[11, -1, 0]], type=pa.large_list(pa.int64()))),
        _table().set_column(0, "said", pa.array([[2**63 - 1, 0, 0]], type=pa.large_list(pa.int64()))),
        _table().to_batches()[0],
        7,
    ]
    for table in cases:
        with pytest.raises(FormatError):
            Aggregate.from_arrow(table)


@given(place=st.integers(0, 10**6), by=st.integers(1, 255), cut=st.integers(0, 100))
def test_damaged_files_are_refused_or_read(place: int, by: int, cut: int) -> None:
    table = absorbed(DirectEncoding(domain=3, epsilon=1), 10, 0).to_arrow()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    damaged = bytearray(sink.getvalue().to_pybytes())
    damaged[place % len(damaged)] ^= by
    _load(bytes(damaged[: len(damaged) - cut]))


def _load(content: bytes) -> None:
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "aggregate.arrow"
        path.write_bytes(content)
        try:
            aggregate = Aggregate.load(path)
        except FormatError:
            return
        assert aggregate.state["said"].shape == (aggregate.protocol.size,)  # type: ignore[attr-defined]


def test_lists_that_point_outside_of_their_numbers_are_refused(tmp_path: Path) -> None:
    cases: list[int] = [-1_000_000, 100_000_000, 2**62]
    for first in cases:
        table = absorbed(DirectEncoding(domain=3, epsilon=1), 10, 0).to_arrow()
        sink, path = pa.BufferOutputStream(), tmp_path / "aggregate.arrow"
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
        true, false = (np.array([start, start + 3], dtype="<i8").tobytes() for start in (0, first))
        assert true in sink.getvalue().to_pybytes()
        path.write_bytes(sink.getvalue().to_pybytes().replace(true, false))
        with pytest.raises(FormatError):
            Aggregate.load(path)


def check_sums_beyond_64_bits_are_refused(protocol: Any) -> None:
    def of(reports: int) -> Any:
        aggregate = protocol.aggregate()
        (array,) = aggregate.state.values()
        array[0], aggregate.reports = reports, reports
        return aggregate

    whole, again = of(2**63 - 10), of(2**63 - 10)
    with pytest.raises(ParameterError, match="overflow 64 bits"):
        whole.merge(of(10))
    assert whole == again
    assert whole.merge(of(9)) == of(2**63 - 1)
    assert Aggregate.from_arrow(whole.to_arrow()) == whole


def test_sums_beyond_64_bits_are_refused() -> None:
    cases: list[Any] = [DirectEncoding(domain=3, epsilon=1), Duchi(low=0, high=1, epsilon=1)]
    for protocol in cases:
        check_sums_beyond_64_bits_are_refused(protocol)


def test_columns_whose_names_are_no_text_are_refused(tmp_path: Path) -> None:
    table = absorbed(DirectEncoding(domain=3, epsilon=1), 10, 0).to_arrow()
    sink, path = pa.BufferOutputStream(), tmp_path / "aggregate.arrow"
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    path.write_bytes(sink.getvalue().to_pybytes().replace(b"said", b"s\xf3id"))
    with pytest.raises(FormatError):
        Aggregate.load(path)


def test_more_than_there_is_memory_is_refused() -> None:
    protocol = PrefixExtension(domain=2**62, step=1, hashes=2**20, epsilon=20)
    with pytest.raises(ParameterError, match="takes 34084860461056 bytes"):
        protocol.aggregate()


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    for content in (b"", b"no table", b"ARROW1\0\0" + bytes(50)):
        path.write_bytes(content)
        with pytest.raises(FormatError):
            Aggregate.load(path)


def test_an_aggregate_has_no_hash_and_tells_no_counts() -> None:
    aggregate = absorbed(DirectEncoding(domain=3, epsilon=1), 10, 1)
    with pytest.raises(TypeError):
        hash(aggregate)
    assert repr(aggregate) == "Aggregate(DirectEncoding(epsilon=1, domain=3), reports=10, rejected=1)"
    assert aggregate != "an aggregate"


def test_norm_sub_is_of_the_whole_domain_whichever_values_are_asked_about() -> None:
    protocol = DirectEncoding(domain=["red", "green", "blue", "grey"], epsilon=1)
    values = ["red"] * 500 + ["blue"] * 300
    aggregate = protocol.aggregate().absorb(protocol.privatize(values, source=Seeded(1)))
    everything, part = aggregate.estimate(postprocess="norm-sub"), aggregate.estimate(["blue"], postprocess="norm-sub")
    assert everything.counts.sum() == pytest.approx(800)
    assert part.counts.tolist() == everything.counts[2:3].tolist()
    assert part.raw.tolist() == everything.raw[2:3].tolist()
    assert part.postprocess == "norm-sub"
