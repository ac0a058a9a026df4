"""Values as JSON: what goes in comes out, and nothing else gets in."""

from __future__ import annotations

import base64
import json
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

import celosia as cl
from celosia.core import AddRemove, ReplaceOne
from celosia.core.errors import FormatError, ParameterError
from celosia.learn import Ball, Box, Simplex
from celosia.learn.io.stored_values import decode, encode

PLAIN: list[Any] = [
    None,
    True,
    3,
    -(2**63),
    0.1,
    math.inf,
    -math.inf,
    "text",
    "ε\n",
    Fraction(1, 3),
    Decimal("0.1"),
    AddRemove,
    ReplaceOne,
    cl.Schema(age=cl.Integer(0, 120), sex=cl.Category("F", "M")),
    cl.Real("0.1", 3, grid="0.1"),
    cl.PureDP(epsilon="0.1"),
    cl.mechanisms.Laplace(epsilon=1, sensitivity=3).event,
    Ball(2),
    Box([0, 0], [1, 2]),
    Simplex(1),
    (),
    [],
    (1, (2, [3.5, None])),
    {"table": "deaths", "more": [1, {"x": 0.5}]},
]


def through(value: object) -> Any:
    return decode(json.loads(json.dumps(encode(value, "x"), allow_nan=False)), "x")


def test_what_goes_in_comes_out() -> None:
    for value in PLAIN:
        found = through(value)
        assert found == value
        assert type(found) is type(value)


def test_numbers_of_numpy_become_pythons() -> None:
    assert through(np.float64(0.5)) == 0.5
    assert type(through(np.int32(7))) is int
    assert through(2**70) == 2**70
    assert math.isnan(through(math.nan))


DTYPES = ["bool", "float32", "float64", "int8", "int32", "int64", "uint64"]


@given(
    st.sampled_from(DTYPES).flatmap(
        lambda dtype: arrays(dtype, array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
    )
)
def test_arrays_keep_their_bits(array: Any) -> None:
    found = through(array)
    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    assert found.tobytes() == np.ascontiguousarray(array).tobytes()
    assert found.flags.writeable


def test_arrays_in_any_order() -> None:
    array = np.arange(12, dtype=np.float64).reshape(3, 4)
    for view in (array.T, array[::2, ::-1], np.asfortranarray(array)):
        assert np.array_equal(through(view), view)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"])), max_size=5))
def test_texts_keep_their_letters(texts: list[str]) -> None:
    named = np.array(texts, dtype=object)
    assert through(named).tolist() == texts
    assert through(named).dtype == object
    assert through(np.array(["F", "M"])).dtype.kind == "U"


def test_what_is_no_value_is_refused_by_its_name() -> None:
    cases: list[object] = [print, object(), {1: 2}, np.array([object()]), np.array([1j]), {1, 2}, b"x", Fraction]
    for value in cases:
        with pytest.raises(ParameterError, match=r"^projection: an? .* cannot be stored"):
            encode(value, "projection")


def arrow(column: Any, *, name: str = "values", options: Any = None, batches: int = 1) -> str:
    batch = pa.record_batch({name: column})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
        for _ in range(batches):
            writer.write_batch(batch)
    return base64.b64encode(sink.getvalue()).decode()


NUMBERS = pa.array([1.0, 2.0])


def array_of(**changed: Any) -> dict[str, Any]:
    return {"array": {"type": "float64", "shape": [2], "arrow": arrow(NUMBERS)} | changed}


def test_the_array_that_is_changed_below_is_sound() -> None:
    assert decode(array_of(), "x").tolist() == [1.0, 2.0]


HOSTILE: list[Any] = [
    array_of(shape=[3]),
    array_of(shape=[2, 2**40]),
    array_of(shape=[-2]),
    array_of(shape=[True, 2]),
    array_of(shape="2"),
    array_of(shape=[1] * 40 + [2]),
    array_of(type="complex128"),
    array_of(type="object"),
    array_of(type="float32"),
    array_of(type=["float64"]),
    array_of(arrow="???"),
    array_of(arrow=7),
    array_of(arrow=""),
    array_of(arrow=base64.b64encode(b"ARROW1").decode()),
    array_of(arrow=arrow(NUMBERS)[:-40]),
    array_of(arrow=arrow(NUMBERS)[:200]),
    array_of(arrow=arrow(NUMBERS, name="other")),
    array_of(arrow=arrow(NUMBERS, batches=2), shape=[4]),
    array_of(arrow=arrow(pa.array([1.0, None]))),
    array_of(arrow=arrow(pa.array([1, 2]))),
    array_of(arrow=arrow(NUMBERS, options=pa.ipc.IpcWriteOptions(compression="zstd"))),
    array_of(arrow=arrow(NUMBERS, options=pa.ipc.IpcWriteOptions(compression="lz4"))),
    {"array": {"type": "float64"}},
    {"array": None},
    {"fraction": "1/0"},
    {"fraction": 0.5},
    {"fraction": "1e999999999"},
    {"fraction": "1" * 3000},
    {"decimal": "NaN"},
    {"decimal": "x"},
    {"decimal": 1},
    {"float": "1"},
    {"float": []},
    {"tuple": 3},
    {"mapping": []},
    {"adjacency": "close"},
    {"schema": 3},
    {"schema": "[columns.x]"},
    {"kind": '[columns.x]\nkind = "text"\n[columns.y]\nkind = "text"\n'},
    {"record": {"kind": "PureDP"}},
    {"record": 3},
    {"value": {"is": "Popen", "of": {}}},
    {"value": {"is": "Ball", "of": {}}},
    {"value": {"is": "Ball", "of": {"radius": "many"}}},
    {"value": {"is": ["Ball"], "of": {}}},
    {"value": "Ball"},
    {"call": "exit"},
    {"tuple": [], "float": "NaN"},
    {},
]


def test_what_was_made_up_is_refused() -> None:
    for value in HOSTILE:
        with pytest.raises(FormatError, match=r"^coef_: "):
            decode(value, "coef_")


def test_nesting_ends() -> None:
    deep: Any = 1
    for _ in range(50):
        deep = {"tuple": [deep]}
    with pytest.raises(FormatError, match="deeply"):
        decode(deep, "x")


@given(st.binary(max_size=400), st.integers(0, 2000))
def test_bytes_in_the_place_of_arrow_are_refused(data: bytes, place: int) -> None:
    stream = bytearray(base64.b64decode(arrow(NUMBERS)))
    stream[place : place + len(data)] = data
    changed = array_of(arrow=base64.b64encode(bytes(stream)).decode())
    try:
        found = decode(changed, "x")
    except FormatError:
        return
    assert found.shape == (2,)
