"""The compiled loops against the same in exact fractions."""

import math
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from celosia.data.schema.columns import Real
from celosia.learn.base import kernels
from celosia.learn.base.exact import stepping_of
from celosia.statistics import Products, moments_up_to

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
    found = stepping_of(KINDS, measure).centred(values)
    assert found.tolist() == [[float(_exactly(v, k)) for v, k in zip(row, KINDS, strict=True)] for row in rows]


@given(st.lists(st.tuples(st.floats(-1, 2), st.integers(0, 2)), max_size=20))
def test_powers_by_class(rows: list[tuple[float, int]]) -> None:
    kind: Real = Real(0, 1)
    measure = Products((kind.axis,), moments_up_to(2, 1))
    reading = stepping_of([kind], measure).reading
    values, codes = np.array([[v] for v, _ in rows]).reshape(-1, 1), np.array([c for _, c in rows], dtype=np.int64)
    table = np.zeros((3, 3), dtype=np.int64)
    kernels.add_powers(values, codes, reading, table)
    for cell in range(3):
        steps = [_exactly(v, kind) for v, c in rows if c == cell]
        assert table[cell].tolist() == [len(steps), sum(steps), sum(z * z for z in steps)]


def test_whatever_the_value_it_stays_within_reach() -> None:
    for kind in (Real(0, 1), Real("-0.1", "0.3"), Real(10**6, 10**6 + 1)):
        measure = Products((kind.axis,), ((0,),))
        extreme = np.array([[-1e308], [1e308], [0.0], [float(kind.low)], [float(kind.high)], [5e-324]])
        found = np.abs(stepping_of([kind], measure).centred(extreme))
        assert found.max() <= measure.reaches[0]
