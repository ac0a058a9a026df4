"""Data in: arrays and frames as scikit-learn takes them, validated with errors that never quote their contents.

scikit-learn checks shapes, types and feature names; its messages are passed on where they speak of types, names and the
number of features alone. Where they might repeat a value or tell how many rows there are, ours take their place.
Everything is looked at before anything is paid for. So no error may depend on the number of rows where a budget pays:
an estimator with a budget also reads arrays without any row.
"""

import re
from collections.abc import Sized
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d, validate_data

from celosia.core.adjacency import AddRemove
from celosia.core.errors import CelosiaError, InputError, ParameterError, UnboundedDataError
from celosia.core.exact import safe_repr
from celosia.core.messages.message import Message
from celosia.ledger.budget_account import as_account

if TYPE_CHECKING:
    from collections.abc import Callable

_RAGGED: Final = "setting an array element with a sequence"
_HARMLESS: Final = re.compile(
    r"Expected |Found array with|Complex data|Input ([Xy] )?contains|y should be|X has \d+ feature|The feature names"
    r"|Feature names"
    rf"|{_RAGGED}"
)
"""How those messages begin that speak of shapes, types and names alone; any other might quote a value."""

_ROW_COUNT: Final = re.compile(r"(?<=shape=\()[1-9]\d*(?=, 0\))")
"""The number of rows in such a message, of an array without columns."""

_QUOTED: Final = re.compile(r":?\s*\narray=.*(?=Reshape your data)|(?<=Complex data not supported)\n.*", re.DOTALL)
"""Where such a message shows the array all the same."""


class InputTypeError(InputError, TypeError):
    """What was given is of a type that cannot be read, such as a sparse matrix."""


def read_features(estimator: Any, X: Any, *, reset: bool, least: int = 1) -> NDArray[np.float64]:  # noqa: N803 - scikit-learn's
    """Return the features as doubles, rows by columns; ``reset`` remembers their number and names."""
    rows = _min_rows(estimator, least, reset=reset)
    found: NDArray[np.float64] = _hide_values(
        lambda: validate_data(
            estimator, X, reset=reset, dtype=np.float64, ensure_all_finite=True, ensure_min_samples=rows
        ),
        f"X ({type(X).__name__})",
    )
    return found


def _min_rows(estimator: object, least: int, *, reset: bool) -> int:
    """Return how many rows are needed: none where a budget pays, because an error for too few would tell their number.

    Where a budget is for ``ReplaceOne`` the number is public. A party of a federation may have its budget elsewhere.
    """
    budget, learning = getattr(estimator, "budget", None), reset or "guarantee_" not in vars(estimator)
    hidden = budget is not None and as_account(budget).budget.adjacency is AddRemove
    return 0 if learning and (hidden or getattr(estimator, "hides_number", False)) else least


def read_values(estimator: Any, X: Any, *, reset: bool) -> NDArray[Any]:  # noqa: N803 - scikit-learn's
    """Return the features as they are, numbers, texts or both, rows by columns; like ``read_features`` otherwise."""
    found: NDArray[Any] = _hide_values(
        lambda: validate_data(
            estimator,
            X,
            reset=reset,
            dtype=None,
            ensure_all_finite=True,
            ensure_min_samples=_min_rows(estimator, 1, reset=reset),
        ),
        f"X ({type(X).__name__})",
    )
    return found


def read_target(y: Any, rows: int, estimator: Any = None) -> NDArray[np.float64]:
    """Return a target of numbers, one for each row."""
    _check_given(y, estimator)

    def read() -> NDArray[np.float64]:
        column = column_or_1d(_as_column(y), dtype=None, warn=True)
        found: NDArray[np.float64] = check_array(
            column, dtype=np.float64, ensure_2d=False, ensure_all_finite=True, ensure_min_samples=0, input_name="y"
        )
        return found

    values = _hide_values(read, f"y ({type(y).__name__})")
    _check_length(values, rows)
    return values


def read_labels(y: Any, rows: int, estimator: Any = None) -> NDArray[Any]:
    """Return labels, one for each row: numbers, texts or booleans."""
    _check_given(y, estimator)

    def read() -> NDArray[Any]:
        column = column_or_1d(_as_column(y), warn=True)
        if column.dtype.kind == "f" and not np.isfinite(column).all():
            raise ValueError("Input y contains NaN or infinity.")
        try:
            check_classification_targets(column)
        except TypeError:  # labels are sorted to see which there are
            raise ValueError("Input y contains NaN, or labels of several types.") from None
        found: NDArray[Any] = np.asarray(column)
        return found

    labels = _hide_values(read, f"y ({type(y).__name__})")
    _check_length(labels, rows)
    return labels


def public_classes(classes: Any, y: Any, labels: NDArray[Any]) -> NDArray[Any]:
    """Return the labels that there can be, sorted, from public knowledge; refuse a target with any other.

    ``classes`` is a list of them, or ``"public"``: then those that occur are declared to be known to everybody. Truth
    values and categories of a frame have theirs in their type.
    """
    known = _find_classes(classes, y, labels)
    if len(known) < 2:
        raise InputError("learn.too_few_classes", found=len(known))
    if not np.isin(labels, known).all():
        raise InputError("learn.label_not_in_classes")
    return known


def _find_classes(classes: Any, y: Any, labels: NDArray[Any]) -> NDArray[Any]:
    if isinstance(classes, str):
        if classes != "public":
            raise ParameterError("learn.classes_not_labels_or_public", value=safe_repr(classes))
        return np.unique(labels)
    if classes is not None:
        listed = np.asarray(classes)
        if listed.ndim != 1 or listed.dtype.kind not in "biufUSO":
            raise ParameterError("learn.classes_not_a_list", value=safe_repr(classes))
        return _check_distinct(listed, classes)
    typed = _categories(y)
    if typed is None:
        raise UnboundedDataError("learn.missing_classes")
    return np.unique(typed)


def _check_distinct(listed: NDArray[Any], classes: object) -> NDArray[Any]:
    """Return listed labels, sorted; raise for duplicates or labels without an order."""
    try:
        found = np.unique(listed)
    except TypeError:
        found = listed[:0]
    if len(found) != len(listed) or (listed.dtype.kind == "f" and not np.isfinite(listed).all()):
        raise ParameterError("learn.classes_repeated_or_mixed", value=safe_repr(classes))
    return found


def _categories(y: Any) -> NDArray[Any] | None:
    """The labels that the type of a column declares."""
    arrow = _is_arrow(y)
    kind = getattr(y, "type" if arrow else "dtype", None)
    if str(kind) in {"bool", "boolean", "Boolean"}:
        return np.array([False, True])
    if arrow:
        return _dictionary(y)
    categories = getattr(kind, "categories", None)  # pandas' Categorical, Polars' Enum
    # Polars' Categorical has a pool of texts that were seen, which is no declaration.
    return np.asarray(categories) if isinstance(categories, Sized) and len(categories) else None


def _dictionary(y: Any) -> NDArray[Any] | None:
    """The labels in the dictionary of an Arrow column, if it has one."""
    if not hasattr(y.type, "index_type"):
        return None
    whole = y.combine_chunks() if hasattr(y, "chunks") else y
    known = whole.dictionary.to_pylist()
    return np.asarray(known) if known else None


def _is_arrow(y: object) -> bool:
    return type(y).__module__.partition(".")[0] == "pyarrow" and hasattr(y, "to_pylist")


def _as_column(y: Any) -> Any:
    if _is_arrow(y):
        return np.asarray(y.to_numpy(zero_copy_only=False) if hasattr(y, "is_valid") else y)
    return y.to_numpy() if hasattr(y, "to_numpy") and not isinstance(y, np.ndarray) and np.ndim(y) == 1 else y


def _check_given(y: object, estimator: object) -> None:
    if y is None:
        name = Message("learn.the_estimator") if estimator is None else type(estimator).__name__
        raise InputError("learn.missing_y", estimator=name)


def _check_length(column: NDArray[Any], rows: int) -> None:
    if len(column) != rows:
        # Not how many of each: row counts are private.
        raise InputError("learn.x_and_y_lengths_differ")


def _hide_values(read: "Callable[[], NDArray[Any]]", kind: str) -> NDArray[Any]:
    """Read, and pass on an error of scikit-learn or NumPy only if it cannot quote a value."""
    try:
        return read()
    except (Warning, CelosiaError):
        raise
    except Exception as error:  # noqa: BLE001 - whatever a library raises could quote the data
        said, wrong_type, too_large = str(error), isinstance(error, TypeError), isinstance(error, MemoryError)
    if too_large:
        message = f"{kind} does not fit into memory."  # NumPy would tell its shape
        raise MemoryError(message)
    if wrong_type:
        raise InputTypeError(_type_message(said, kind))
    raise InputError(_value_message(said, kind))


def _type_message(said: str, kind: str) -> str:
    if said.startswith(("Sparse", "A sparse", "Feature names", "np.matrix")):
        return said
    return Message("learn.not_numbers", data=kind)


def _value_message(said: str, kind: str) -> str:
    if said.startswith("Unknown label type"):
        return Message("learn.target_not_classes")
    if not _HARMLESS.match(said):
        return Message("learn.not_read_as_numbers", data=kind)
    if said.startswith("y should be"):
        return Message("learn.target_not_one_column")
    if said.startswith(_RAGGED):
        return Message("learn.rows_of_different_lengths", data=kind)
    if said.startswith("Input"):
        return Message("learn.values_missing", problem=said.splitlines()[0].rstrip("."))
    return _ROW_COUNT.sub(
        "", _QUOTED.sub(". ", said)
    ).rstrip()  # nothing in its place: check_estimator reads the sentence
