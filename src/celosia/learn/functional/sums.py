"""Linear and logistic regression by the functional mechanism, from sums that any engine can make.

A loss that is a polynomial in the weights is known by its coefficients, and these are sums over records: each distinct
one is noised once, and the noisy polynomial is minimised (Zhang, Zhang, Xiao, Yang and Winslett 2012). Columns run from
0 to 1 between their public bounds. How far a record moves the sums is known by formula, for the box of all possible
records (``row_sensitivities``, ``proofs/functional.md``). ``sensitivity="published"`` takes the constants 2(d + 1)^2
and d^2/4 + 3d of Ortiz Rosas 2025, which are sound but looser.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr
from celosia.learn.base.fit_spec import read_spec
from celosia.learn.functional.row_sensitivities import (
    linear_row_sensitivity,
    logistic_row_sensitivity,
    softmax_row_sensitivity,
)
from celosia.learn.functional.stretched import Stretched, times
from celosia.learn.optimize.minimise import stationary_point, trimmed_minimum
from celosia.statistics.base.noise import RowSensitivity
from celosia.statistics.base.products import Monomial, Products, moments_up_to
from celosia.statistics.base.summary_request import Part, SummaryRequest

if TYPE_CHECKING:
    from celosia.learn.base.fit_spec import FitSpec

Sense: TypeAlias = Literal["tight", "published"]

_FURTHEST = 2**51  # beyond, the rows of one unit could not be averaged exactly in doubles


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Line:
    """What was learned, in the caller's units.

    And the standard deviation of the noise of one normalised coefficient.
    """

    coef: NDArray[np.float64]
    intercept: Any
    noise_scale: float


def linear_request(spec: "FitSpec", *, fit_intercept: bool, sensitivity: Sense = "tight") -> SummaryRequest:
    """Return what least squares sums: the products of the columns, each pair once, and of each with the target."""
    columns, features = _columns(spec, fit_intercept, sensitivity), len(spec.features)
    monomials = tuple(m for m in moments_up_to(2, features + 1) if m != (features, features))
    *inputs, target = columns.affine
    rows = [times(a, b) for place, a in enumerate(inputs) for b in inputs[place:]]
    weight = _target_weight(sensitivity)
    rows += [times(column, times(target, {(): weight})) for column in inputs]
    ones = columns.unit if columns.ones else None
    row_sensitivity = linear_row_sensitivity(columns.reaches[:-1], weight * columns.reaches[-1], ones)
    if sensitivity == "published":
        row_sensitivity = _at_least(row_sensitivity, columns.unit**2 * 2 * (features + 1) ** 2)
    part = Part(measure=Products(columns.axes, monomials), columns=tuple(range(features + 1)))
    return spec.request([part], row_sensitivity, combination=_matrix(rows, list(monomials)))


def solve_linear(
    noisy: NDArray[np.int64], request: SummaryRequest, *, fit_intercept: bool, sensitivity: Sense = "tight"
) -> Line:
    """Return the line that the noisy sums of ``linear_request`` speak for: ``coef`` has one number for each feature.

    The diagonal is raised by four standard deviations of the noise, and what still bends downwards is trimmed. With
    ``sensitivity="published"`` nothing is repaired, as in the publication: the gradient is 0 there, and that is all.
    """
    columns = _columns(read_spec(request), fit_intercept, sensitivity)
    sizes, count = columns.sizes[:-1], len(columns.sizes) - 1
    pairs = count * (count + 1) // 2
    matrix = _symmetric(noisy[:pairs], sizes)
    products = noisy[pairs:] / (sizes * columns.sizes[-1] * _target_weight(sensitivity))
    scale = math.sqrt(request.noise.variance) / columns.unit**2
    if not fit_intercept and columns.ones:
        products = products + columns.shifts[-1] * matrix[0]
        matrix, products = columns.through_origin(matrix, products)
    weights = _minimum(
        matrix, -2 * products, columns.swollen(scale, fit_intercept=fit_intercept), fit_intercept, sensitivity
    )
    slopes = weights[int(fit_intercept) :] * columns.widths[-1] / columns.widths[:-1]
    start = 0.0
    if fit_intercept:
        start = columns.lows[-1] + columns.widths[-1] * weights[0] - float(slopes @ columns.lows[:-1])
    return Line(coef=slopes, intercept=start, noise_scale=scale)


def logistic_request(spec: "FitSpec", *, fit_intercept: bool, sensitivity: Sense = "tight") -> SummaryRequest:
    """Return what the Taylor polynomial of the logistic loss sums: columns class by class, products of all records.

    Of two classes the difference of the columns is noised, of more the columns of every class.
    """
    columns, features = _columns(spec, fit_intercept, sensitivity), len(spec.features)
    classes = _class_count(spec, sensitivity)
    apart, together = moments_up_to(1, features), moments_up_to(2, features)
    parts = [
        Part(measure=Products(columns.axes, apart), columns=tuple(range(features)), by_class=True),
        Part(measure=Products(columns.axes, together), columns=tuple(range(features))),
    ]
    if classes == 2:
        row_sensitivity = logistic_row_sensitivity([int(size) for size in columns.sizes], columns.unit)
    else:
        row_sensitivity = softmax_row_sensitivity(columns.reaches, columns.unit, classes, fit_intercept=columns.ones)
    if sensitivity == "published":
        row_sensitivity = _at_least(row_sensitivity, columns.unit**2 * (2 * features**2 + 24 * features))
    if row_sensitivity.l1 > _FURTHEST:
        raise ParameterError("learn.too_many_classes_and_features", classes=classes, features=features)
    return spec.request(parts, row_sensitivity, combination=_logistic_matrix(columns, classes, apart, together))


def solve_logistic(
    noisy: NDArray[np.int64], request: SummaryRequest, *, fit_intercept: bool, sensitivity: Sense = "tight"
) -> Line:
    """Return the weights that the noisy sums of ``logistic_request`` speak for, as scikit-learn shapes them.

    ``coef`` has one row for two classes, for the second of them, and one for each of more than two; ``intercept``
    likewise has one number for each row. The polynomial is repaired as in ``solve_linear``.
    """
    spec = read_spec(request)
    columns = _columns(spec, fit_intercept, sensitivity)
    classes = _class_count(spec, sensitivity)
    slopes, matrix = _binary(noisy, columns) if classes == 2 else _several(noisy, columns, classes)
    scale = math.sqrt(request.noise.variance) / (columns.unit**2 * (8 if classes == 2 else 2 * classes))
    if not fit_intercept and columns.ones:
        matrix, slopes = columns.through_origin(matrix, slopes)
    raised = columns.swollen(scale, fit_intercept=fit_intercept)
    weights = np.stack([_minimum(matrix, a, raised, fit_intercept, sensitivity) for a in np.atleast_2d(slopes.T)])
    coef = weights[:, int(fit_intercept) :] / columns.widths
    start = weights[:, 0] - coef @ columns.lows if fit_intercept else np.zeros(len(weights))
    return Line(coef=coef, intercept=start, noise_scale=scale)


def _binary(noisy: NDArray[np.int64], columns: Stretched) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the vector and the matrix of the polynomial a'w + w'Mw of two classes."""
    sizes = columns.sizes
    slopes = noisy[: len(sizes)] / (8 * columns.unit * sizes)
    matrix = _symmetric(noisy[len(sizes) :], sizes, twice=True) / 8
    return slopes, matrix


def _several(
    noisy: NDArray[np.int64], columns: Stretched, classes: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the vectors, columns by classes, and the matrix that polynomials of more than two classes share."""
    sizes = columns.sizes
    sums = (noisy[: classes * len(sizes)].reshape(classes, -1) / (2 * classes * columns.unit * sizes)).T
    everyone = sums.sum(axis=1)
    matrix = _symmetric(noisy[sums.size :], np.array(columns.reaches, dtype=np.float64), twice=True)
    if columns.ones:  # an intercept times a column is the column, whose sum is known from the classes
        matrix = np.block([[everyone[:1, None], everyone[None, 1:]], [everyone[1:, None], matrix]])
    return everyone[:, None] / classes - sums, matrix / (2 * classes)


def _logistic_matrix(columns: Stretched, classes: int, apart: Sequence[Monomial], together: Sequence[Monomial]) -> Any:
    """Return how sums, class by class and then of all records, combine into the noised numbers."""
    weight = 4 if classes == 2 else 2 * classes
    rows: list[dict[Any, int]]
    names: list[Any] = [*((c, m) for c in range(classes) for m in apart), *together]
    scaled = [times(column, {(): weight * columns.unit}) for column in columns.affine]
    if classes == 2:
        rows = [{(c, m): number * (1 - 2 * c) for m, number in column.items() for c in (0, 1)} for column in scaled]
        inputs = columns.affine
    else:
        rows = [{(c, m): number for m, number in column.items()} for c in range(classes) for column in scaled]
        inputs = columns.affine[columns.ones :]
    for place, a in enumerate(inputs):
        for other, b in enumerate(inputs[place:]):
            rows.append(dict(times(a, times(b, {(): 2 if other else 1}))))
    return _matrix(rows, names)


def _target_weight(sensitivity: Sense) -> int:
    """Return how often products with the target count: the source document noises 2 X'y, as it stands in the loss."""
    return 2 if sensitivity == "published" else 1


def _minimum(
    matrix: NDArray[np.float64],
    vector: NDArray[np.float64],
    scale: float,
    free: bool,  # noqa: FBT001 - passed on
    sensitivity: Sense,
) -> NDArray[np.float64]:
    if sensitivity == "published":
        return stationary_point(matrix, vector)
    return trimmed_minimum(matrix, vector, scale, free=free)


def _symmetric(upper: NDArray[np.int64], sizes: NDArray[np.float64], *, twice: bool = False) -> NDArray[np.float64]:
    """Return the matrix whose upper triangle was noised; ``twice``: values off the diagonal are twice the entry."""
    first, second = np.triu_indices(len(sizes))
    matrix = np.zeros((len(sizes), len(sizes)))
    matrix[first, second] = upper / (sizes[first] * sizes[second])
    beside = np.triu(matrix, 1) / (2 if twice else 1)
    return np.diag(np.diag(matrix)) + beside + beside.T


def _matrix(rows: Sequence[Mapping[Any, int]], names: Sequence[Any]) -> Any:
    """Return the rows as a sparse matrix: each is made of a few sums, however many there are."""
    from scipy.sparse import csr_array

    places = {name: place for place, name in enumerate(names)}
    entries = [(at, places[name], number) for at, row in enumerate(rows) for name, number in row.items()]
    first, second, numbers = (np.array(side, dtype=np.int64) for side in zip(*entries, strict=True))
    return csr_array((numbers, (first, second)), shape=(len(rows), len(places)))


def _at_least(row_sensitivity: RowSensitivity, l1: int) -> RowSensitivity:
    """Return a row sensitivity that reaches this far: where it is not below the truth, noise is only larger."""
    return replace(row_sensitivity, l1=max(l1, row_sensitivity.l1), replace_l1=max(l1, row_sensitivity.replace_l1))


def _class_count(spec: "FitSpec", sensitivity: Sense) -> int:
    count = len(spec.classes or ())
    if sensitivity == "published" and count != 2:
        raise ParameterError("learn.published_needs_two_classes", found=count)
    return count


def _columns(spec: "FitSpec", fit_intercept: bool, sensitivity: Sense) -> Stretched:  # noqa: FBT001 - passed on
    if sensitivity not in ("tight", "published"):
        raise ParameterError("learn.unknown_sensitivity", value=safe_repr(sensitivity))
    if sensitivity == "published" and spec.privacy.kind != "pure":
        raise ParameterError("learn.published_noise_only_epsilon")
    return Stretched.of(spec.kinds, fit_intercept=fit_intercept)
