"""Count, sums and sums of squares of every column, class by class, in one joint mechanism.

A column is centred to z between -r and r. With its sum goes the sum of r^2 - z^2, not of z^2: near the ends, where z is
large, that is small, and with the right weights one row's two numbers together are never longer than its first alone
could be. The second moments are learned for no more noise than the first. The count of a class is summed once for all
columns. The proof is in ``proofs/class-moments.md``; the idea is that of ``proofs/moments.md`` (Dwork and Roth 2014 for
noisy sums over noisy counts).
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from celosia.core.adjacency import AddRemove
from celosia.data.schema.axis import Axis
from celosia.data.schema.columns import Real
from celosia.learn.base.fit_spec import FitSpec
from celosia.learn.privacy.parameters import axis_of
from celosia.statistics.base.noise import RowSensitivity
from celosia.statistics.base.products import Products, SolvedSums
from celosia.statistics.base.summary_request import Part, SummaryRequest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.statistics.base.noise import Noise
    from celosia.statistics.base.target import Target

UNIT: Final = 2**34
"""About how long one column of one row is, in integers: whole weights then come within a third of the best."""


@dataclass(frozen=True, slots=True)
class ClassMoments(SolvedSums):
    """The count, the sums of centred columns, and the sums of what their squares are short of the largest square.

    ``norm`` is the noise that the weights suit best: ``"l1"`` for Laplace, ``"l2"`` for Gaussian noise. ``crowd`` is
    the weight of the count, in ``UNIT``s for 1; by default the fourth root of half the number of columns.
    """

    columns: tuple[Axis, ...]
    norm: Literal["l1", "l2"] = "l1"
    crowd: int | None = None

    @property
    def products(self) -> Products:
        """How columns are centred and stretched."""
        return Products(self.columns, ())

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes of the columns, of at most 2^16 steps each."""
        return self.products.axes

    @property
    def width(self) -> int:
        """A count, and two numbers for every column."""
        return 1 + 2 * len(self.columns)

    @property
    def weights(self) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
        """By what the count, each z and each r^2 - z^2 are multiplied.

        With ``first * r <= UNIT`` and ``second * r <= first`` (half of that for the L1 norm) a row's two numbers are
        never longer than ``first * r``.
        """
        reaches = self.products.reaches
        part = 2 if self.norm == "l1" else 1
        crowd = math.isqrt(math.isqrt(UNIT**4 * len(reaches) // 2)) if self.crowd is None else self.crowd
        return crowd, tuple(UNIT // r for r in reaches), tuple(UNIT // (part * r * r) for r in reaches)

    @property
    def lengths(self) -> tuple[int, ...]:
        """How far each column of a row can be from an absent one, in the norm that the weights are for."""
        _, firsts, _ = self.weights
        return tuple(first * r for first, r in zip(firsts, self.products.reaches, strict=True))

    @property
    def reach(self) -> tuple[tuple[int, int], ...]:
        """The least and the largest of each feature."""
        crowd, _, seconds = self.weights
        tops = [second * r * r for second, r in zip(seconds, self.products.reaches, strict=True)]
        return ((0, crowd), *((-length, length) for length in self.lengths), *((0, top) for top in tops))

    @property
    def row_sensitivity(self) -> RowSensitivity:
        """How far a row can be from none, and from another of its class or none."""
        return self.row_sensitivity_of(1)

    def row_sensitivity_of(self, classes: int) -> RowSensitivity:
        """Return the row sensitivity of sums class by class, where a replaced row can change its class."""
        crowd, lengths = self.weights[0], self.lengths
        # Weights for the L2 norm reach further in L1: at most 5/4 from none, 9/4 across.
        quarters = (4, 8) if self.norm == "l1" else (5, 9)
        far, wide = (sum(-(-length * part // 4) for length in lengths) for part in quarters)
        squares = sum(length**2 for length in lengths)
        moves = 2 if classes > 1 else 1  # to another class, or away
        return RowSensitivity(
            l1=crowd + far,
            l2_squared=crowd**2 + squares,
            replace_l1=max(wide, moves * (crowd + far)),
            replace_l2_squared=max(4 * squares, moves * (crowd**2 + squares)),
        )

    def features(self, *k: Any) -> tuple[Any, ...]:
        """Return the integers of a row at these steps."""
        products = self.products
        centred = [
            (step + step - axis.steps) * factor
            for step, axis, factor in zip(k, products.axes, products.multipliers, strict=True)
        ]
        crowd, firsts, seconds = self.weights
        return (
            crowd,
            *(z * first for z, first in zip(centred, firsts, strict=True)),
            *((r * r - z * z) * second for z, r, second in zip(centred, products.reaches, seconds, strict=True)),
        )

    def weigh(self, powers: "NDArray[np.int64]") -> "NDArray[Any]":
        """Return the exact sums from sums of 1, z and z^2, class by class: integers of any size."""
        crowd, firsts, seconds = (np.array(weight, dtype=object) for weight in self.weights)
        squared = np.array([r * r for r in self.products.reaches], dtype=object)
        exact = powers.astype(object)
        count, z, squares = exact[:, :1], exact[:, 1 : 1 + len(firsts)], exact[:, 1 + len(firsts) :]
        found: NDArray[Any] = np.hstack([count * crowd, z * firsts, (count * squared - squares) * seconds])
        return found

    def read(self, noisy: "NDArray[np.int64]", noise: "Noise") -> "NoisyMoments":
        """Return what noisy sums, class after class, say in units of rows and of half ranges."""
        crowd, firsts, seconds = self.weights
        table, deviation, d = noisy.reshape(-1, self.width).astype(np.float64), math.sqrt(noise.variance), len(firsts)
        lengths = np.array(self.lengths, dtype=np.float64)
        tops = np.array([second * r * r for second, r in zip(seconds, self.products.reaches, strict=True)], np.float64)
        return NoisyMoments(
            counts=table[:, 0] / crowd,
            sums=table[:, 1 : 1 + d] / lengths,
            shortfalls=table[:, 1 + d :] / tops,
            count_noise=deviation / crowd,
            sum_noise=deviation / lengths,
            shortfall_noise=deviation / tops,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NoisyMoments:
    """Noisy numbers of rows, sums of z and sums of 1 - z^2, classes by columns, with the deviations of their noise.

    z is a column counted from the middle of its range, in half ranges: between -1 and 1.
    """

    counts: "NDArray[np.float64]"
    sums: "NDArray[np.float64]"
    shortfalls: "NDArray[np.float64]"
    count_noise: float
    sum_noise: "NDArray[np.float64]"
    shortfall_noise: "NDArray[np.float64]"


def moments_request(spec: FitSpec) -> SummaryRequest:
    """Return the request for moments of all columns, by class, with whichever noise leaves the columns clearer."""
    axes = tuple(axis_of(kind) for kind in spec.features)
    classes = 1 if spec.classes is None else len(spec.classes)
    norms: tuple[Literal["l1", "l2"], ...] = ("l2",)
    if spec.privacy.kind in ("pure", "approximate"):
        norms = ("l1",) if spec.privacy.kind == "pure" else ("l2", "l1")  # the first of equals is taken
    found = []
    for norm in norms:
        moments = ClassMoments(axes, norm)
        if _count_is_free(spec, classes):
            moments = ClassMoments(axes, norm, _free_crowd(moments))
        part = Part(measure=moments, columns=tuple(range(len(axes))), by_class=spec.classes is not None)
        found.append(spec.request((part,), moments.row_sensitivity_of(classes)))
    return min(found, key=lambda request: request.noise.variance)


def moments_of(request: SummaryRequest) -> ClassMoments:
    """Return the moments of a request from ``moments_request``."""
    moments = request.parts[0].measure
    assert isinstance(moments, ClassMoments)  # noqa: S101 - for the type checker: it was made here
    return moments


def expect_mean_error(rows: int, privacy: "Target", features: int, classes: int | None = None) -> tuple[float, float]:
    """Return the expected error of a mean, as a part of the feature's range, and the noise of a sum in half ranges.

    Classes are supposed to have the same size.
    """
    kinds = (Real(-1, 1),) * features  # the noise in half ranges is the same for all
    labels = None if classes is None else tuple(range(classes))
    request = moments_request(FitSpec(features=kinds, privacy=privacy, bounding=privacy.bounding, classes=labels))
    noisy = moments_of(request).read(np.zeros(request.width, dtype=np.int64), request.noise)
    scale = float(noisy.sum_noise[0])
    size = max(rows if classes is None else rows / classes, 1.0)
    return min(float(np.hypot(scale, noisy.count_noise / 3**0.5)) / size, 1.0) / 2, scale


def _count_is_free(spec: FitSpec, classes: int) -> bool:
    """Tell whether a replaced row leaves the count as it is: then the count may weigh more, for nothing."""
    bounding = spec.bounding
    alone = bounding.rows * bounding.groups == 1 and bounding.unit == "row"
    return classes == 1 and alone and bounding.adjacency is not AddRemove


def _free_crowd(moments: ClassMoments) -> int:
    """The largest weight of the count, up to 4, that keeps a row nearer to none than two rows can be to each other."""
    lengths = moments.lengths
    most = sum(lengths) if moments.norm == "l1" else math.isqrt(3 * sum(length**2 for length in lengths))
    return min(most, 4 * UNIT)
