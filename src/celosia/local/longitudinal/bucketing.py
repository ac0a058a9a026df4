"""Buckets of real counters, for dBitFlip, and bounds on the error of the whole histogram.

A counter (seconds of use, number of crashes) becomes the number of its bucket: equal parts of an interval, or parts
between given edges. The bucket is a function of the value alone, so the protocol's guarantee covers it. Two bounds hold
for all buckets together and all data, except with probability ``failure``: the published one, and a shorter one. Ding,
Kulkarni and Yekhanin 2017; Bernstein 1946.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core.errors import InputError, ParameterError
from celosia.core.exact import Exact, exact, exact_integer, exact_level, safe_repr
from celosia.core.record import Record
from celosia.local.longitudinal.d_bit_flip import DBitFlip
from celosia.local.means.interval import exact_bounds, read_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MAX_BUCKETS = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class Bucketing(Record):
    """Buckets between increasing ``edges``: bucket i holds the numbers from edge i up to, but not at, edge i + 1.

    The last bucket holds its upper edge too.

    Examples
    --------
    >>> hours = Bucketing.equal(0, 24, 6)
    >>> hours.codes([0, 3.9, 4, 24]).tolist()
    [0, 0, 1, 5]
    >>> Bucketing(edges=[0, 1, 10, 100]).codes([0.5, 50, 1000], clip=True).tolist()
    [0, 2, 2]
    """

    edges: tuple[Fraction, ...]

    def __init__(self, *, edges: Sequence[Exact]) -> None:
        if isinstance(edges, str | bytes) or not isinstance(edges, Sequence | np.ndarray):
            raise ParameterError("local.edges_not_increasing", value=safe_repr(edges))
        given = tuple(exact(edge, name="edges") for edge in edges)
        as_doubles = [float(edge) for edge in given]
        if not 3 <= len(given) <= _MAX_BUCKETS + 1 or any(np.diff(as_doubles) <= 0):
            raise ParameterError("local.too_few_edges", value=safe_repr(edges))
        self._set(edges=given)

    @classmethod
    def equal(cls, low: Exact, high: Exact, buckets: int) -> "Bucketing":
        """Return buckets of equal width between two bounds.

        >>> [float(edge) for edge in Bucketing.equal(0, 1, 4).edges]
        [0.0, 0.25, 0.5, 0.75, 1.0]
        """
        least, most = exact_bounds(low, high)
        count = exact_integer(buckets, name="buckets", least=2)
        if count > _MAX_BUCKETS:
            raise ParameterError("local.too_many_buckets", most=_MAX_BUCKETS, value=safe_repr(buckets))
        return cls(edges=[least + (most - least) * i / count for i in range(count + 1)])

    def __len__(self) -> int:
        return len(self.edges) - 1

    def codes(self, values: Any, *, clip: bool = False) -> "NDArray[np.int64]":
        """Return the bucket of each number; others raise an error, or with ``clip`` count in the outer buckets.

        >>> Bucketing.equal(0, 10, 5).codes([11])
        Traceback (most recent call last):
        ...
        celosia.core.errors.InputError: values must be numbers from 0.0 to 10.0: give clip=True to count others there.
        """
        numbers = read_numbers(values)
        edges = np.array([float(edge) for edge in self.edges])
        if not clip and numbers.size and not (numbers.min() >= edges[0] and numbers.max() <= edges[-1]):
            raise InputError("local.value_outside_buckets", low=edges[0], high=edges[-1])
        found = np.searchsorted(edges, numbers, side="right") - 1
        return np.clip(found, 0, len(self) - 1)

    @property
    def labels(self) -> list[str]:
        """The buckets as strings, for tables and charts.

        >>> Bucketing.equal(0, 1, 2).labels
        ['[0, 0.5)', '[0.5, 1]']
        """
        marks = [f"{float(edge):g}" for edge in self.edges]
        ends = [")"] * (len(self) - 1) + ["]"]
        return [f"[{low}, {high}{end}" for low, high, end in zip(marks[:-1], marks[1:], ends, strict=True)]


def published_error(protocol: DBitFlip, reports: int, failure: Exact = 0.05) -> float:
    """Return Ding et al.'s bound on the error of all buckets' shares, except with probability ``failure``.

    It is sqrt(5k/(nd)) (e^(epsilon/2) + 1)/(e^(epsilon/2) - 1) sqrt(ln(6k/failure)), four to five times the observed
    error. It holds from n = k/(4d) ln(6k/failure) reports on; for fewer it can fail, and ``ParameterError`` is raised.
    """
    n, miss = exact_integer(reports, name="reports"), exact_level(failure)
    share, logarithm = protocol.size / protocol.d, math.log(6 * protocol.size / miss)
    if 4 * n < share * logarithm:
        raise ParameterError("local.too_few_reports", least=math.ceil(share * logarithm / 4), value=safe_repr(reports))
    return math.sqrt(5 * share * logarithm / n) / math.tanh(float(protocol.epsilon) / 4)


def uniform_error(protocol: DBitFlip, reports: int, failure: Exact = 0.05) -> float:
    """Return Bernstein's bound on the error of all buckets' shares, except with probability ``failure``.

    It holds for every number of reports and all data.

    >>> round(uniform_error(DBitFlip(buckets=26, d=4, epsilon=1), 500_000), 4)
    0.0294
    """
    n, miss = exact_integer(reports, name="reports"), exact_level(failure)
    logarithm = math.log(2 * protocol.size / miss)
    largest = protocol.size / protocol.d / -math.expm1(-float(protocol.epsilon) / 2)
    scale = largest * logarithm / 3
    return (scale + math.sqrt(scale**2 + 2 * n * protocol.variance(1, 1.0) * logarithm)) / n
