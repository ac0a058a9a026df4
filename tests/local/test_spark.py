"""Spark gives the bits of one process, however the reports are spread, and drops what is no report."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from celosia.core.errors import EngineError, InputError, ParameterError
from celosia.local.frequency.count_mean_sketch import CountMeanSketch
from celosia.local.frequency.direct_encoding import DirectEncoding
from celosia.local.spark import _MERGE_WIDTH, _partitions, absorb_batches, aggregate
from celosia.noise import Seeded

if TYPE_CHECKING:
    from collections.abc import Iterator
PROTOCOL = CountMeanSketch(epsilon=2, hashes=16, width=32, seed=7)
HOSTILE = [b"", b"nonsense", None, bytes(9), PROTOCOL.report(1)[:-1], b"\x02" + PROTOCOL.report(1)[1:]]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
        yield


def records(count: int) -> list[bytes]:
    return PROTOCOL.privatize(np.arange(count) % 50, source=Seeded(3)).records()


def test_partitions_absorb_reports_with_and_without_headers() -> None:
    sent = records(200)
    whole = PROTOCOL.aggregate().absorb(sent)
    mixed: list[Any] = [record[4:] if index % 3 else record for index, record in enumerate(sent)]
    column = pa.array([*mixed[:100], *HOSTILE, *mixed[100:]], type=pa.binary())
    found = absorb_batches([column.slice(0, 31), column.slice(31), column.slice(0, 0)], PROTOCOL)
    assert found.reports == 200
    assert found.rejected == len(HOSTILE)
    assert all(np.array_equal(array, whole.state[name]) for name, array in found.state.items())


@pytest.mark.needs_java
@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize(
    ("parts", "width"), [(3, 2), pytest.param(_MERGE_WIDTH + 1, _MERGE_WIDTH, marks=pytest.mark.thorough)]
)
def test_spark_gives_the_bits_of_one_process(
    spark: Any, parts: int, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("celosia.local.spark._MERGE_WIDTH", width)  # more parts than one task merges
    sent = records(500)
    # An Arrow table goes straight to Java; a list would start a Python of its own first.
    rows = pa.table({"report": pa.array([*sent, *HOSTILE], type=pa.binary())})
    frame = spark.createDataFrame(rows).repartition(parts)
    found = aggregate(frame, PROTOCOL)
    whole = PROTOCOL.aggregate().absorb([*sent, *HOSTILE])
    assert found == whole
    assert {name: array.tobytes() for name, array in found.state.items()} == {
        name: array.tobytes() for name, array in whole.state.items()
    }
    assert found.estimate([1, 2]).counts.tolist() == whole.estimate([1, 2]).counts.tolist()


@pytest.mark.needs_java
@pytest.mark.xdist_group("spark")
def test_an_empty_frame_gives_an_empty_aggregate(spark: Any) -> None:
    protocol = DirectEncoding(domain=4, epsilon=1)
    frame = spark.createDataFrame([], "answer binary")
    assert aggregate(frame, protocol, column="answer") == protocol.aggregate()


@pytest.mark.needs_java
@pytest.mark.xdist_group("spark")
def test_what_cannot_be_absorbed_is_refused(spark: Any) -> None:
    frame = spark.createDataFrame([("a",)], "report string")
    with pytest.raises(InputError, match=r"must be binary, with reports of 5 bytes or records of 9; it is string"):
        aggregate(frame, PROTOCOL)
    with pytest.raises(ParameterError, match="column must be one of the frame's, not 'other'"):
        aggregate(frame, PROTOCOL, column="other")
    with pytest.raises(ParameterError, match="protocol must be a protocol"):
        aggregate(frame, "cms")  # type: ignore[arg-type]  # on purpose


@pytest.mark.needs_java
@pytest.mark.xdist_group("spark")
def test_workers_without_python_are_one_sentence(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = spark.createDataFrame(pa.table({"report": pa.array(records(3), type=pa.binary())}))
    for name, value in (("pythonExec", "/nowhere/python"), ("pythonVer", "3.1")):
        with monkeypatch.context() as patch:
            patch.setattr(spark.sparkContext, name, value)
            with pytest.raises(EngineError, match=r"set PYSPARK_PYTHON to a Python 3\.\d+ in which") as caught:
                aggregate(frame, PROTOCOL)
        assert caught.value.__cause__ is None
    with pytest.raises(Exception, match="no memory") as other:
        aggregate(spark.sql("SELECT CAST(raise_error('no memory') AS BINARY) AS report"), PROTOCOL)
    assert not isinstance(other.value, EngineError)


class Remote:
    """A data frame of a session over Spark Connect, as far as it is asked: it has no RDDs."""

    @property
    def rdd(self) -> Any:
        raise NotImplementedError


def test_a_frame_that_does_not_tell_its_partitions_gets_a_tree_for_many() -> None:
    assert _partitions(Remote()) == _MERGE_WIDTH**2  # type: ignore[arg-type]  # it has what is asked
