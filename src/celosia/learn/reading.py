"""Data in: arrays and frames as scikit-learn takes them, refused in words that never quote what is in them.

scikit-learn checks shapes, types and feature names; its messages are passed on where they speak of shapes and types
alone. Where they might repeat a value, ours take their place. Everything is looked at before anything is paid for.
"""

import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d, validate_data

from celosia.core.errors import InputError, ParameterError, UnboundedDataError
from celosia.core.exact import quote

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["InputTypeError", "public_classes", "read_features", "read_labels", "read_target", "read_values"]

_QUOTES: Final = re.compile(r"could not convert|invalid literal|Unknown label type|cannot convert", re.IGNORECASE)


class InputTypeError(InputError, TypeError):
    """What was given is of a type that cannot be read, such as a sparse matrix.

    >>> issubclass(InputTypeError, TypeError) and issubclass(InputTypeError, ValueError)
    True
    """


def read_features(estimator: Any, X: Any, *, reset: bool, least: int = 1) -> NDArray[np.float64]:  # noqa: ANN401, N803 - scikit-learn's
    """Return the features as doubles, rows by columns; ``reset`` remembers their number and names.

    >>> from sklearn.base import BaseEstimator
    >>> read_features(BaseEstimator(), [[1, 2], [3, 4]], reset=True).shape
    (2, 2)
    >>> read_features(BaseEstimator(), [[1, float("nan")]], reset=True)
    Traceback (most recent call last):
    ...
    celosia.core.errors.InputError: Input X contains NaN. Impute or drop what is missing before: ...
    """
    found: NDArray[np.float64] = _quietly(
        lambda: validate_data(
            estimator, X, reset=reset, dtype=np.float64, ensure_all_finite=True, ensure_min_samples=least
        ),
        type(X).__name__,
    )
    return found


def read_values(estimator: Any, X: Any, *, reset: bool) -> NDArray[Any]:  # noqa: ANN401, N803 - scikit-learn's
    """Return the features as they are, numbers, texts or both, rows by columns; like ``read_features`` otherwise.

    >>> from sklearn.base import BaseEstimator
    >>> read_values(BaseEstimator(), [["F", 1], ["M", 2]], reset=True).shape
    (2, 2)
    """
    found: NDArray[Any] = _quietly(
        lambda: validate_data(estimator, X, reset=reset, dtype=None, ensure_all_finite=True), type(X).__name__
    )
    return found


def read_target(y: Any, rows: int, estimator: Any = None) -> NDArray[np.float64]:  # noqa: ANN401 - scikit-learn's
    """Return a target of numbers, one for each row.

    >>> read_target([1, 2], 2).tolist()
    [1.0, 2.0]
    """
    _there(y, estimator)

    def read() -> NDArray[np.float64]:
        column = column_or_1d(_as_column(y), dtype=None, warn=True)
        found: NDArray[np.float64] = check_array(
            column, dtype=np.float64, ensure_2d=False, ensure_all_finite=True, input_name="y"
        )
        return found

    values = _quietly(read, type(y).__name__)
    _same_length(values, rows)
    return values


def read_labels(y: Any, rows: int, estimator: Any = None) -> NDArray[Any]:  # noqa: ANN401 - scikit-learn's
    """Return labels, one for each row: numbers, texts or truth values.

    >>> read_labels(["no", "yes"], 2).tolist()
    ['no', 'yes']
    """
    _there(y, estimator)

    def read() -> NDArray[Any]:
        column = column_or_1d(_as_column(y), warn=True)
        if column.dtype.kind == "f" and not np.isfinite(column).all():
            message = "Input y contains NaN or infinity."
            raise ValueError(message)
        check_classification_targets(column)
        found: NDArray[Any] = np.asarray(column)
        return found

    labels = _quietly(read, type(y).__name__)
    _same_length(labels, rows)
    return labels


def public_classes(classes: Any, y: Any, labels: NDArray[Any]) -> NDArray[Any]:  # noqa: ANN401 - whatever the caller passed
    """Return the labels that there can be, sorted, from public knowledge; refuse a target with any other.

    ``classes`` is a list of them, or ``"public"``: then those that occur are declared to be known to everybody. Truth
    values and categories of a frame have theirs in their type.

    >>> public_classes(["yes", "no"], None, np.array(["no", "no"])).tolist()
    ['no', 'yes']
    >>> public_classes(None, None, np.array([0, 1]))
    Traceback (most recent call last):
    ...
    celosia.core.errors.UnboundedDataError: classes must be given, from public knowledge: classes=[...], or ...
    """
    known = _declared(classes, y, labels)
    if len(known) < 2:
        message = f"A classifier needs at least two classes; there is {len(known)} class."
        raise InputError(message)
    if not np.isin(labels, known).all():
        message = "y has a label that is not among classes: list every label, or leave such rows out."
        raise InputError(message)
    return known


def _declared(classes: Any, y: Any, labels: NDArray[Any]) -> NDArray[Any]:  # noqa: ANN401 - whatever the caller passed
    if isinstance(classes, str):
        if classes != "public":
            message = f'classes must be a list of labels, or "public", not {quote(classes)}.'
            raise ParameterError(message)
        return np.unique(labels)
    if classes is not None:
        listed = np.asarray(classes)
        if listed.ndim != 1 or listed.dtype.kind not in "biufUSO":
            message = f"classes must be a list of labels, not {quote(classes)}."
            raise ParameterError(message)
        found = np.unique(listed)
        if len(found) != len(listed):
            message = f"classes must be different labels, not {quote(classes)}."
            raise ParameterError(message)
        return found
    typed = _categories(y)
    if typed is None:
        message = (
            'classes must be given, from public knowledge: classes=[...], or classes="public" if everybody may know '
            "which labels occur in y."
        )
        raise UnboundedDataError(message)
    return np.unique(typed)


def _categories(y: Any) -> NDArray[Any] | None:  # noqa: ANN401 - whatever the caller passed
    """The labels that the type of a column tells."""
    kind = getattr(y, "dtype", None)
    if str(kind) in {"bool", "boolean", "Boolean"}:
        return np.array([False, True])
    categories = getattr(kind, "categories", None)  # pandas' Categorical, Polars' Enum
    return None if categories is None or not len(categories) else np.asarray(categories)


def _as_column(y: Any) -> Any:  # noqa: ANN401 - whatever the caller passed
    if type(y).__module__.partition(".")[0] == "pyarrow" and hasattr(y, "to_pylist"):
        return np.asarray(y.to_numpy(zero_copy_only=False) if hasattr(y, "is_valid") else y)
    return y.to_numpy() if hasattr(y, "to_numpy") and not isinstance(y, np.ndarray) and np.ndim(y) == 1 else y


def _there(y: object, estimator: object) -> None:
    if y is None:
        name = "The estimator" if estimator is None else type(estimator).__name__
        message = f"{name} requires y to be passed, but the target y is None."
        raise InputError(message)


def _same_length(column: NDArray[Any], rows: int) -> None:
    if len(column) != rows:
        message = f"Found input variables with inconsistent numbers of samples: [{rows}, {len(column)}]"
        raise InputError(message)


def _quietly(read: "Callable[[], NDArray[Any]]", kind: str) -> NDArray[Any]:
    """Read; what scikit-learn or NumPy says is passed on only where it cannot quote a value."""
    try:
        return read()
    except TypeError as error:
        said = str(error)
        message = said if "parse" in said or "dense" in said or "Sparse" in said else None
        if message is None:
            message = f"{kind} must hold numbers: each argument must be a string or a number that can be read as one."
        kind_of_error: type[InputError] = InputTypeError
    except ValueError as error:
        said, kind_of_error = str(error), InputError
        message = said
        if _QUOTES.search(said):
            message = (
                "Unknown label type: y must hold classes, not continuous numbers."
                if "label type" in said
                else f"{kind} could not be read as numbers: encode texts before, or leave the column out."
            )
        elif "NaN" in said or "infinity" in said:
            message = f"{said.splitlines()[0].rstrip('.')}. Impute or drop what is missing before: nothing was spent."
    raise kind_of_error(message)
