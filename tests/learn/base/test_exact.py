"""Exact sums in memory: block by block, class by class, and never stored."""

import copy
import math
import pickle
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from celosia.core import InputError
from celosia.data.schema.columns import Boolean, Category, Date, Integer, Kind, Real
from celosia.learn.base import exact
from celosia.learn.base.exact import ExactSums, stepping_of
from celosia.learn.privacy.parameters import axis_of, ends_of
from celosia.statistics import (
    Bins,
    ContributionBounds,
    Noise,
    Part,
    Products,
    SummaryRequest,
    moments_up_to,
    unit_sensitivity,
)
from celosia.statistics.base.products import REACH

REAL = Real(-3, 3)


def build_request(parts: tuple[Part, ...], classes: tuple[int, ...] | None = None) -> SummaryRequest:
    row_sensitivity = parts[0].measure.row_sensitivity
    width = sum(p.measure.width * (len(classes or ()) if p.by_class else 1) for p in parts)
    noise = Noise.laplace(1, unit_sensitivity(row_sensitivity, ContributionBounds()), 1, width, ContributionBounds())
    return SummaryRequest(
        parts=parts, row_sensitivity=row_sensitivity, bounding=ContributionBounds(), noise=noise, event=noise.event,
        guarantee=noise.guarantee, classes=classes,
    )  # fmt: skip


def _rows(n: int = 1000) -> NDArray[np.float64]:
    return np.random.default_rng(7).normal(size=(n, 3))


def _centred(values: NDArray[np.float64]) -> list[list[int]]:
    measure = Products((REAL.axis,) * 3, moments_up_to(1, 3))
    return exact.stepping_of([REAL] * 3, measure).centre(values).astype(int).tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("by_class", [False, True])
def test_sums_are_those_of_python_integers(degree: int, by_class: bool) -> None:  # noqa: FBT001 - a case
    measure = Products((REAL.axis,) * 3, moments_up_to(degree, 3))
    classes, codes = (0, 1, 2), np.random.default_rng(1).integers(0, 3, 1000)
    held = ExactSums(
        build_request((Part(measure=measure, columns=(0, 1, 2), by_class=by_class),), classes), (REAL,) * 3
    )
    values = _rows()
    held.add(values, codes)
    rows = _centred(values)
    expected: list[int] = []
    for cell in classes if by_class else (None,):
        for monomial in measure.monomials:
            products = [
                int(np.prod([row[p] for p in monomial], dtype=object)) if monomial else 1
                for row, code in zip(rows, codes.tolist(), strict=True)
                if cell is None or code == cell
            ]
            expected.append(sum(products))
    assert held.combine().tolist() == expected


def test_chunks_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    request = build_request((Part(measure=Products((REAL.axis,) * 3, moments_up_to(2, 3)), columns=(0, 1, 2)),))
    whole, parts, small = (ExactSums(request, (REAL,) * 3) for _ in range(3))
    values = _rows()
    whole.add(values)
    parts.add(values[:1])
    parts.add(values[1:1])
    parts.add(values[1:])
    monkeypatch.setattr(exact, "_BLOCK", 7)
    small.add(values)
    assert whole.combine().tolist() == parts.combine().tolist() == small.combine().tolist()
    assert (whole.rows, parts.rows) == (1000, 1000)


def test_weights_multiply_and_columns_are_picked() -> None:
    measure = Products((REAL.axis,), ((), (0,)), (5, 2))
    held = ExactSums(build_request((Part(measure=measure, columns=(1,)),)), (REAL,) * 3)
    values = _rows(10)
    held.add(values)
    assert held.combine().tolist() == [50, 2 * sum(row[1] for row in _centred(values))]


def test_products_of_a_block_are_exact_doubles() -> None:
    assert exact._BLOCK * REACH**2 <= 2**53


def test_sums_that_could_overflow_are_refused_before() -> None:
    """A sum that left 64 bits at one end would come back at the other, and one row would move it by 2^64."""
    request = build_request((Part(measure=Products((REAL.axis,), ((), (0,))), columns=(0,)),))
    heavy = Products((REAL.axis,), ((), (0,)), (2**59, 1))
    held = ExactSums(replace(request, parts=(Part(measure=heavy, columns=(0,)),)), (REAL,))
    held.add(np.zeros((7, 1)))
    assert held.combine().tolist() == [7 * 2**59, 0]
    with pytest.raises(InputError, match="At most 8 rows"):
        held.add(np.zeros((1, 1)))
    assert held.rows == 7


def test_no_value_is_further_out_than_is_stated() -> None:
    cases: list[Kind] = [
        Real(0, 1),
        Real(-1e-12, 1e-12),
        Real(1e12, 1e12 + 1),
        Real(-1e29, 1e30),
        Real(0, 1, grid="1/3"),
        Boolean(),
        Real(0.1, 0.3),
        Integer(5, 5),
        Integer(0, 2),
        Integer(-(2**52), 2**52),
        Real(0, 32769, grid=1),
        Date("2021-01-01", "2021-12-31"),
    ]
    for kind in cases:
        measure = Products((axis_of(kind),), ((0,),))
        low, high = ends_of(kind)
        values = np.array(
            [low, high, (low + high) / 2, -1e308, 1e308, 0.0, np.nextafter(low, -1), np.nextafter(high, 1e308)]
        )
        found = exact.stepping_of([kind], measure).centre(values[:, None])
        assert np.abs(found).max() <= measure.reaches[0]
        assert np.abs(found[:2]).max() >= 0.999 * measure.reaches[0]
        assert (found == np.rint(found)).all()
        assert found[[3, 4]].tolist() == found[[0, 1]].tolist()


def test_categories_are_counted_by_class() -> None:
    kinds: tuple[Kind, ...] = (Category("a", "b", "c"),)
    held = ExactSums(build_request((Part(measure=Bins(3), columns=(0,), by_class=True),), (0, 1)), kinds)
    held.add(np.array([[0.0], [2.0], [2.0], [1.0]]), np.array([0, 1, 1, 0]))
    assert held.combine().tolist() == [1, 1, 0, 0, 0, 2]


def test_exact_sums_are_neither_stored_nor_shown() -> None:
    cases: list[Any] = [pickle.dumps, copy.deepcopy, copy.copy]
    for store in cases:
        held = ExactSums(build_request((Part(measure=Products((REAL.axis,), ((0,),)), columns=(0,)),)), (REAL,))
        held.add(np.array([[1.25]]))
        with pytest.raises(InputError, match="exact sums"):
            store(held)
        assert not any(character.isdigit() for character in repr(held))


# ---- the compiled loops against the same in exact fractions

KINDS = [Real(0, 1), Real(-5, 300, grid="0.1"), Real(-7, 7), Real(0, 120, grid=1)]


def _exactly(value: float, kind: Real) -> int:
    """Where a value lies, centred, by the rules of the engines: doubles are divided, everything else is exact."""
    low, high = float(kind.low), float(kind.high)
    fine = kind.axis
    step = math.floor(min(max(value, low), high) / float(fine.grid) + 0.5)
    step = min(max(step, fine.lowest), fine.highest)
    measure = Products((fine,), ((0,),))
    (axis,), (multiplier,) = measure.axes, measure.multipliers
    factor = axis.grid / fine.grid
    if factor > 1:
        step = math.floor(Fraction(step) / factor + Fraction(1, 2))
    return multiplier * (2 * (step - axis.lowest) - axis.steps)


@given(st.lists(st.tuples(*[st.floats(-400, 400) for _ in KINDS]), min_size=1, max_size=20))
def test_centred_steps(rows: list[tuple[float, ...]]) -> None:
    values = np.array(rows)
    measure = Products(tuple(kind.axis for kind in KINDS), moments_up_to(1, len(KINDS)))
    found = stepping_of(KINDS, measure).centre(values)
    assert found.tolist() == [[float(_exactly(v, k)) for v, k in zip(row, KINDS, strict=True)] for row in rows]


@given(st.lists(st.tuples(st.floats(-1, 2), st.integers(0, 2)), max_size=20))
def test_powers_by_class(rows: list[tuple[float, int]]) -> None:
    kind: Real = Real(0, 1)
    measure = Products((kind.axis,), moments_up_to(2, 1))
    reading = stepping_of([kind], measure).reading
    values, codes = np.array([[v] for v, _ in rows]).reshape(-1, 1), np.array([c for _, c in rows], dtype=np.int64)
    table = np.zeros((3, 3), dtype=np.int64)
    exact._fill_powers(values, codes, reading, table)
    for cell in range(3):
        steps = [_exactly(v, kind) for v, c in rows if c == cell]
        assert table[cell].tolist() == [len(steps), sum(steps), sum(z * z for z in steps)]


def test_whatever_the_value_it_stays_within_reach() -> None:
    for kind in (Real(0, 1), Real("-0.1", "0.3"), Real(10**6, 10**6 + 1)):
        measure = Products((kind.axis,), ((0,),))
        extreme = np.array([[-1e308], [1e308], [0.0], [float(kind.low)], [float(kind.high)], [5e-324]])
        found = np.abs(stepping_of([kind], measure).centre(extreme))
        assert found.max() <= measure.reaches[0]
