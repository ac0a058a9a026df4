"""The facts that charts need of a fitted model: its bounds, its predictions, and its guarantee.

Pictures run between public bounds. Those of records are taken only where there is no guarantee anyway.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from celosia.core.errors import InputError, ParameterError
from celosia.core.exact import safe_repr
from celosia.learn.linear_model.least_squares import Moments
from celosia.learn.privacy.parameters import axis_of, feature_kinds
from celosia.plots import Labels

Numbers = NDArray[np.float64]

_PLACES = 25  # at which a band is computed


def band_of(model: Any, grid: Numbers, level: float) -> tuple[Numbers, Numbers, Numbers] | None:
    """Return between what a line is at some places, with probability ``level`` at each; None if unknown.

    The ends are those of confidence intervals, with sampling error and noise in them. Between the places they bend
    away from the line, so that straight pieces between them hold too much rather than too little.
    """
    if getattr(model, "guarantee_", None) is None or not hasattr(model, "noisy_moments_"):
        return None
    from celosia.learn.linear_model.coefficient_intervals import coefficient_intervals

    values, variance, carried = model.noisy_moments_
    moments = Moments(values=values, variance=variance, carried=float(carried[1, 1]), noise=model.noise_kind_)
    (middle, half), (height, rise) = model.column_ranges_
    places = np.linspace(grid[0], grid[-1], _PLACES)
    along, start, through = (places - middle) / half, 0.0, None
    rows = np.column_stack([np.ones(_PLACES), along])
    if not model.fit_intercept:  # slopes alone, from the caller's origin
        through = np.array([-middle / half, -height / rise])
        rows, start = (along - through[0])[:, None], float(through[1])
    kept = np.abs(rows).max(axis=1) > 0
    ends = np.full((2, _PLACES), start)
    ends[:, kept] = np.asarray(coefficient_intervals(moments, rows[kept], level, through=through)) + start
    if not np.isfinite(ends).all():
        return None
    line = height_of(model, places)
    low, high = height + rise * ends
    return places, np.minimum(low, line), np.maximum(high, line)


def height_of(model: Any, grid: Numbers) -> Numbers:
    """Return a model's output along one feature: its prediction, or the probability of the second of two classes."""
    if not hasattr(model, "classes_"):
        return np.asarray(model.predict(grid[:, None]), dtype=np.float64)
    if len(model.classes_) != 2:
        raise ParameterError("learn.curve_needs_two_classes", found=len(model.classes_))
    return np.asarray(model.predict_proba(grid[:, None])[:, 1], dtype=np.float64)


def belonging(model: Any, places: Numbers) -> tuple[list[int], Numbers]:
    """Return the cluster of each place and how strongly it belongs to it, from 0 to 1."""
    if hasattr(model, "predict_membership"):
        shares = np.asarray(model.predict_membership(places))
        return np.argmax(shares, axis=1).tolist(), shares.max(axis=1)
    return np.asarray(model.predict(places)).tolist(), np.full(len(places), 0.5)


def check_fitted(model: Any, attribute: str, features: int | None = None) -> None:
    """Refuse what is not fitted, has no such attribute, or has another number of features."""
    if not hasattr(model, attribute) or not hasattr(model, "n_features_in_"):
        raise ParameterError("learn.chart_needs_fitted_model", attribute=attribute, model=safe_repr(model))
    if features is not None and model.n_features_in_ != features:
        raise ParameterError("learn.chart_feature_mismatch", wanted=features, found=model.n_features_in_)


def drawn_bounds(model: Any, X: Any) -> tuple[Numbers, Numbers]:  # noqa: N803 - a model and records
    """Return the public bounds of the features; without any, those of the records, as there is no guarantee then."""
    count = int(model.n_features_in_)
    if getattr(model, "bounds", None) is not None:
        axes = [axis_of(kind) for kind in feature_kinds(model.bounds, count, getattr(model, "feature_names_in_", None))]
        return np.array([float(axis.low) for axis in axes]), np.array([float(axis.high) for axis in axes])
    if getattr(model, "guarantee_", None) is not None or X is None:
        raise ParameterError("learn.chart_without_bounds")
    values = records_of(X, count)
    return values.min(axis=0), values.max(axis=0)


def records_of(X: Any, features: int) -> Numbers:  # noqa: N803 - scikit-learn's
    """Return the records to draw."""
    values = None if X is None else np.asarray(X, dtype=np.float64)
    if values is None or values.ndim != 2 or values.shape[1] != features or not len(values):
        raise InputError("learn.no_points_to_show", features=features)
    return values


def targets_of(y: Any, rows: int, classes: Any) -> Numbers:
    """Return the target as numbers: for classes, their places."""
    values = None if y is None else np.asarray(y)
    if values is None or values.shape != (rows,):
        raise InputError("learn.points_without_target")
    if classes is None:
        return values.astype(np.float64)
    if not np.isin(values, classes).all():
        raise InputError("learn.label_unknown_to_model")
    return np.searchsorted(classes, values).astype(np.float64)


def two_places(columns: Any, count: int) -> list[int]:
    """Return the two columns that a picture shows."""
    if count < 2 or len(set(columns)) != 2 or not all(place in range(count) for place in columns):
        raise ParameterError("learn.not_two_columns", count=count, columns=safe_repr(columns))
    return [int(place) for place in columns]


def axis_titles(model: Any, both: list[int], labels: Labels | None) -> tuple[str, str]:
    """Return the names of two axes: those given, else those of the features."""
    given = ("", "") if labels is None else (labels.x, labels.y)
    return given[0] or feature_name(model, both[0]), given[1] or feature_name(model, both[1])


def feature_name(model: Any, place: int) -> str:
    """Return the name of a feature, or its number."""
    names = getattr(model, "feature_names_in_", None)
    return f"Feature {place + 1}" if names is None else str(names[place])


def describe_guarantee(model: Any, *, records: bool = False) -> str:
    """Return the guarantee of a model as text; of a chart with records, also that these are not private."""
    guarantee = getattr(model, "guarantee_", None)
    stated = "Without privacy" if guarantee is None else repr(guarantee)
    return stated + ("; the dots are records, and not private" if records else "")
