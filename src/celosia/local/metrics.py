"""Errors of estimated counts against true ones, for experiments with known truth.

Counts are compared key by key, in any order; a key that is missing on one side counts as 0 there. No single number is
enough: the largest errors dominate squares, means hide them, and a correlation ignores size. So errors are also given
for groups of keys by their frequency.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core.errors import InputError
from celosia.core.exact import exact_integer

if TYPE_CHECKING:
    from numpy.typing import NDArray

_GROUPS = 10
_MAX_COUNT = 1e100  # its square does not overflow


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The errors of a tenth of the keys, by their true frequency; group 1 has the most frequent."""

    rank: int
    keys: int
    mean_count: float
    mean_error: float
    relative_error: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """Errors of estimated counts.

    ``total_error`` is the sum of the absolute errors, ``mean_error`` that for each key, ``percent_error`` the mean in
    percent of the number of people. ``range`` is from the least to the largest true count. ``normalized_mse`` is the
    mean squared error divided by it, ``normalized_rmse`` the root of the mean squared error divided by it, and
    ``root_normalized_mse`` the root of the former: publications print the one and define the other. A field without a
    value, such as a correlation with constant counts, is None.

    >>> metrics = compare({"a": 90, "b": 10}, {"b": 12, "a": 80})
    >>> metrics.total_error, metrics.mean_error, metrics.percent_error, round(metrics.rmse, 3), metrics.pearson
    (12.0, 6.0, 6.0, 7.211, 1.0)
    """

    keys: int
    people: int
    total_error: float
    mean_error: float
    percent_error: float
    largest_error: float
    mse: float
    rmse: float
    range: float
    normalized_mse: float | None
    normalized_rmse: float | None
    root_normalized_mse: float | None
    pearson: float | None
    groups: tuple[Group, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain values, for JSON.

        >>> compare({"a": 1}, {"a": 2}).to_dict()["total_error"]
        1.0
        """
        return asdict(self)


def compare(true: Mapping[Any, float], estimated: Mapping[Any, float], *, people: int | None = None) -> Metrics:
    """Compare counts key by key; ``people`` is their number, by default the sum of the true counts.

    >>> compare({"a": 3, "b": 1}, {"b": 1, "a": 3, "c": -2}).mean_error
    0.6666666666666666
    """
    keys = list({**true, **estimated})
    if not keys:
        raise InputError("local.metrics_without_keys")
    counts, guesses = (np.array([float(side.get(key, 0)) for key in keys]) for side in (true, estimated))
    if not (np.abs(counts) <= _MAX_COUNT).all() or not (np.abs(guesses) <= _MAX_COUNT).all():
        raise InputError("local.metrics_not_finite")
    total = round(float(counts.sum())) if people is None else exact_integer(people, name="people", least=0)
    errors = np.abs(guesses - counts)
    mse, span = float((errors**2).mean()), float(counts.max() - counts.min())
    return Metrics(
        keys=len(keys),
        people=total,
        total_error=float(errors.sum()),
        mean_error=float(errors.mean()),
        percent_error=100 * float(errors.mean()) / max(total, 1),
        largest_error=float(errors.max()),
        mse=mse,
        rmse=math.sqrt(mse),
        range=span,
        normalized_mse=mse / span if span else None,
        normalized_rmse=math.sqrt(mse) / span if span else None,
        root_normalized_mse=math.sqrt(mse / span) if span else None,
        pearson=_correlation(counts, guesses),
        groups=_groups(counts, errors),
    )


def _correlation(counts: "NDArray[np.float64]", guesses: "NDArray[np.float64]") -> float | None:
    here, there = counts - counts.mean(), guesses - guesses.mean()
    scale = math.sqrt(float(here @ here)) * math.sqrt(float(there @ there))
    return min(max(float(here @ there) / scale, -1.0), 1.0) if scale else None


def _groups(counts: "NDArray[np.float64]", errors: "NDArray[np.float64]") -> tuple[Group, ...]:
    order = np.argsort(-counts, kind="stable")
    groups = []
    for rank, places in enumerate(np.array_split(order, min(_GROUPS, order.size)), start=1):
        count, error = float(counts[places].mean()), float(errors[places].mean())
        relative = error / count if count > 0 else None
        groups.append(Group(rank=rank, keys=places.size, mean_count=count, mean_error=error, relative_error=relative))
    return tuple(groups)
