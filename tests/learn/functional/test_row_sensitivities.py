"""The formulas against all records of small boxes, corners and between: a formula below the truth is a privacy bug."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from celosia.learn.functional.row_sensitivities import (
    linear_row_sensitivity,
    logistic_row_sensitivity,
    softmax_row_sensitivity,
)
from celosia.statistics.base.noise import RowSensitivity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

UNIT = 4
reaches = st.lists(st.integers(1, UNIT), min_size=1, max_size=2)


def records(sizes: Sequence[int], *, corners: bool = False) -> NDArray[np.int64]:
    return np.array(list(itertools.product(*([0, size] if corners else range(size + 1) for size in sizes))))


def with_ones(x: NDArray[np.int64], ones: int | None) -> NDArray[np.int64]:
    return x if ones is None else np.column_stack([np.full(len(x), ones), x])


def products(x: NDArray[np.int64], twice: int) -> list[NDArray[np.int64]]:
    pairs = itertools.combinations_with_replacement(range(x.shape[1]), 2)
    return [x[:, i] * x[:, j] * (1 if i == j else twice) for i, j in pairs]


def linear(sizes: Sequence[int], ones: int | None, **how: Any) -> NDArray[np.int64]:
    both = records([*sizes, UNIT], **how)
    x, y = with_ones(both[:, :-1], ones), both[:, -1]
    return np.column_stack([*products(x, 1), *(column * y for column in x.T)])


def logistic(sizes: Sequence[int], ones: int | None, unit: int = UNIT, **how: Any) -> NDArray[np.int64]:
    x = with_ones(records(sizes, **how), ones)
    return np.vstack([np.column_stack([4 * unit * sign * x, *products(x, 2)]) for sign in (1, -1)])


def softmax(sizes: Sequence[int], ones: int | None, classes: int) -> NDArray[np.int64]:
    x = records(sizes)
    z = with_ones(x, ones)
    found = []
    for label in range(classes):
        apart = np.zeros((len(x), classes, z.shape[1]), dtype=np.int64)
        apart[:, label] = 2 * classes * UNIT * z
        found.append(np.column_stack([apart.reshape(len(x), -1), *products(x, 2)]))
    return np.vstack(found)


def truth(vectors: NDArray[np.int64]) -> RowSensitivity:
    across = [np.abs(vectors - vector) for vector in vectors]
    return RowSensitivity(
        l1=int(np.abs(vectors).sum(axis=1).max()),
        l2_squared=int((vectors**2).sum(axis=1).max()),
        replace_l1=max(int(apart.sum(axis=1).max()) for apart in across),
        replace_l2_squared=max(int((apart**2).sum(axis=1).max()) for apart in across),
    )


def check(claimed: RowSensitivity, real: RowSensitivity) -> None:
    assert (claimed.l1, claimed.l2_squared, claimed.replace_l1) == (real.l1, real.l2_squared, real.replace_l1)
    assert real.replace_l2_squared <= claimed.replace_l2_squared <= 1.02 * real.replace_l2_squared


@given(reaches, st.booleans())
@settings(max_examples=30, deadline=None)
def test_least_squares(sizes: list[int], ones: bool) -> None:  # noqa: FBT001 - drawn
    unit = UNIT if ones else None
    check(linear_row_sensitivity(sizes, UNIT, unit), truth(linear(sizes, unit)))


@given(st.lists(st.integers(1, UNIT), min_size=1, max_size=3), st.booleans())
@settings(max_examples=40, deadline=None)
def test_logistic_loss(sizes: list[int], ones: bool) -> None:  # noqa: FBT001 - drawn
    unit = UNIT if ones else None
    check(logistic_row_sensitivity([*([UNIT] if ones else []), *sizes], UNIT), truth(logistic(sizes, unit)))


@given(reaches, st.booleans(), st.integers(3, 4))
@settings(max_examples=30, deadline=None)
def test_several_classes(sizes: list[int], ones: bool, classes: int) -> None:  # noqa: FBT001 - drawn
    unit = UNIT if ones else None
    check(softmax_row_sensitivity(sizes, UNIT, classes, fit_intercept=ones), truth(softmax(sizes, unit, classes)))


def test_published_forms() -> None:
    """In exact fractions, on [0, 1]: the formulas that the documentation gives, and all corners."""
    for features in (1, 2, 3, 4, 5, 6):
        d = features
        plain, with_intercept = linear_row_sensitivity([1] * d, 1), linear_row_sensitivity([1] * d, 1, 1)
        assert plain.replace_l1 == plain.l1 == d * (d + 1) // 2 + d
        assert with_intercept.replace_l1 == d * (d + 1) // 2 + 2 * d + 1
        assert with_intercept.l1 == with_intercept.replace_l1 + 1  # the number of records is private by itself
        tight = 1 if d == 1 else Fraction(d * d, 8) + Fraction(d, 2) + Fraction(1, 2)
        assert Fraction(logistic_row_sensitivity([1] * d, 1).replace_l1, 8) == tight
        assert Fraction(logistic_row_sensitivity([1] * d, 1).l1, 8) == Fraction(d * d, 8) + Fraction(d, 2)
        more = Fraction((d + 1) ** 2, 8) + Fraction(d + 1, 2) + Fraction(1, 2)
        assert Fraction(logistic_row_sensitivity([1] * (d + 1), 1).replace_l1, 8) == more
        check(logistic_row_sensitivity([1] * d, 1), truth(logistic([1] * d, None, 1, corners=True)))
        check(logistic_row_sensitivity([1] * (d + 1), 1), truth(logistic([1] * d, 1, 1, corners=True)))


@pytest.mark.parametrize("ones", [0, 1])
def test_the_source_documents_constants_are_never_below_the_truth(ones: int, *, thorough: bool) -> None:
    for d in range(1, 351) if thorough else (*range(1, 30), *range(30, 351, 32), 350):
        squares = linear_row_sensitivity([1] * d, 2, 1 if ones else None)  # products with the target count twice there
        logits = logistic_row_sensitivity([1] * (d + ones), 1)
        assert 2 * (d + 1) ** 2 >= max(squares.l1, squares.replace_l1)
        assert 8 * (Fraction(d * d, 4) + 3 * d) >= max(logits.l1, logits.replace_l1)


def test_formulas_that_forget_something_are_caught() -> None:
    real = truth(logistic([1, 1], None, 1, corners=True))
    right = logistic_row_sensitivity([1, 1], 1)
    check(right, real)
    wrong = [
        replace(right, replace_l1=right.replace_l1 * 9 // 10),
        replace(right, replace_l1=right.l1),  # the half that records of different labels add
        replace(right, replace_l2_squared=right.l2_squared),
        logistic_row_sensitivity([1], 1),  # a column
        linear_row_sensitivity([1, 1], 1),  # the other loss
    ]
    for claimed in wrong:
        with pytest.raises(AssertionError):
            check(claimed, real)
    with pytest.raises(AssertionError):
        check(
            linear_row_sensitivity([1, 1], UNIT), truth(linear([1, 1], 1, corners=True))
        )  # the intercept's own products
