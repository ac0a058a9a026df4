"""How far one record moves the coefficients of the two classic losses: exact integers, by formula.

Columns are integers from 0 to their reach; an intercept is a column that always is at its reach. What is noised
are products of columns: the entries of X'X and X'y for least squares, and for the logistic loss the coefficients of
its Taylor polynomial at 0 (Zhang et al. 2012). The formulas are proved in ``proofs/functional.md``, and compared with
all corners of the box in the tests.
"""

from collections.abc import Sequence

from celosia.statistics.base.noise import RowSensitivity


def linear_row_sensitivity(reaches: Sequence[int], target: int, intercept: int | None = None) -> RowSensitivity:
    """Return the row sensitivity of the products of columns, each pair once, and of every column with the target.

    The square of the intercept is the same for every record, so no two records differ in it.
    """
    columns = [*([] if intercept is None else [intercept]), *reaches]
    largest = [a * b for place, a in enumerate(columns) for b in columns[place:]]
    largest += [column * target for column in columns]
    constant = 0 if intercept is None else intercept**2
    l1, l2_squared = sum(largest), sum(size * size for size in largest)
    return RowSensitivity(
        l1=l1, l2_squared=l2_squared, replace_l1=l1 - constant, replace_l2_squared=l2_squared - constant * constant
    )


def logistic_row_sensitivity(reaches: Sequence[int], unit: int) -> RowSensitivity:
    """Return the row sensitivity of the logistic loss's coefficients times 8, for a label of two classes.

    They are 4u(1 - 2y)v for a column v, v v for its square and 2 v v' for a product, u being the ``unit`` that no reach
    exceeds. An intercept is one of the columns, with the unit as its reach.
    """
    along = sum(reaches)
    l1 = along * along + 4 * unit * along
    both = min(along, 2 * unit)  # what two records of different labels share, at its worst
    l2_squared = 16 * unit**2 * sum(reach**2 for reach in reaches) + _squares(reaches)
    return RowSensitivity(
        l1=l1,
        l2_squared=l2_squared,
        replace_l1=l1 + 4 * unit * both - both * both,
        replace_l2_squared=l2_squared + _gain(49 * unit**2, sum(reach**2 for reach in reaches)),
    )


def softmax_row_sensitivity(reaches: Sequence[int], unit: int, classes: int, *, fit_intercept: bool) -> RowSensitivity:
    """Return the row sensitivity of the coefficients for more than two classes, times twice their number.

    They are 2Ku v in the record's own class (2Ku u for an intercept), v v for the square of a column, and 2 v v' for a
    product.
    """
    along, weight = sum(reaches), 2 * classes * unit
    ones = unit if fit_intercept else 0
    both = min(along, classes * unit)
    squared = sum(reach**2 for reach in reaches)
    l1 = along * along + weight * (along + ones)
    l2_squared = weight**2 * (squared + ones**2) + _squares(reaches)
    return RowSensitivity(
        l1=l1,
        l2_squared=l2_squared,
        replace_l1=l1 + weight * ones + weight * both - both * both,
        replace_l2_squared=l2_squared + (weight * ones) ** 2 + _gain(weight**2 + unit**2, squared),
    )


def _squares(reaches: Sequence[int]) -> int:
    """Return the sum of the squares of v v and of 2 v v' at the far corner."""
    squares = [reach**2 for reach in reaches]
    return 2 * sum(squares) ** 2 - sum(square**2 for square in squares)


def _gain(slope: int, most: int) -> int:
    """Return at least the largest value of slope p - 2 p^2 for p between 0 and ``most``."""
    if 4 * most <= slope:
        return slope * most - 2 * most * most
    return -(-slope * slope // 8)
