"""Categories of features: declared by the caller, and looked up in the records.

Which categories there are is public, and never read from the data: a category that occurs only once would tell of one
person. Values are turned into their places in the declared list, the same in memory and in a database.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core.errors import ParameterError, UnboundedDataError
from celosia.core.exact import safe_repr
from celosia.data.schema.columns import Category, Kind
from celosia.learn.base.reading import InputTypeError
from celosia.learn.privacy.parameters import feature_kinds

if TYPE_CHECKING:
    from numpy.typing import NDArray


def category_kinds(
    categories: object, bounds: object, count: int, names: "Sequence[str] | None" = None
) -> tuple[Kind, ...]:
    """Return the kind of each of ``count`` features from lists of categories, one number for all, or a schema."""
    if categories is None and bounds is None:
        raise UnboundedDataError("learn.missing_categories")
    if categories is None:
        if not isinstance(bounds, Mapping):
            raise ParameterError("learn.bounds_without_categories", value=safe_repr(bounds))
        return tuple(_category(kind) for kind in feature_kinds(bounds, count, names))
    if bounds is not None:
        raise ParameterError("learn.both_categories_and_bounds")
    everywhere = isinstance(categories, int | np.integer) and not isinstance(categories, bool)
    return _category_kinds([categories] * count if everywhere else categories, count)


def _category_kinds(categories: Any, count: int) -> tuple[Kind, ...]:
    if isinstance(categories, str | Mapping) or not isinstance(categories, Sequence | np.ndarray):
        raise ParameterError("learn.categories_not_a_list", value=safe_repr(categories))
    if len(categories) != count:
        raise ParameterError("learn.categories_feature_mismatch", wanted=count, found=len(categories))
    return tuple(_one_listed(given) for given in categories)


def _one_listed(given: Any) -> Kind:
    plain = given.tolist() if isinstance(given, np.generic | np.ndarray) else given
    if isinstance(plain, int) and not isinstance(plain, bool) and plain > 0:
        return Category(range(plain))
    if isinstance(plain, str | int | float) or not isinstance(plain, Sequence):
        raise ParameterError("learn.malformed_feature_categories", value=safe_repr(given))
    return Category(list(plain))


def _category(kind: Kind) -> Kind:
    domain = kind.domain()
    if domain is None or not all(isinstance(value, str | int) for value in domain):
        raise ParameterError("learn.feature_not_a_category", kind=repr(kind))
    return Category([int(value) if isinstance(value, bool) else value for value in domain])  # type: ignore[misc] # looked at above


def places_in(values: "NDArray[Any]", domains: "Sequence[Sequence[Any] | None]") -> "NDArray[np.float64]":
    """Return where in its domain each value is, column by column, as doubles; -1 outside it.

    Without a domain, or where it is a list of texts and the values are numbers, they are places already.
    """
    numeric = values.dtype.kind in "biuf"
    if numeric and all(_is_counted(domain) for domain in domains):
        most = np.array([np.inf if domain is None else len(domain) - 1 for domain in domains])
        given = values.astype(np.float64)
        wrong = (given < 0) | (given > most)
        if values.dtype.kind == "f":
            wrong |= given != np.floor(given)
        given[wrong] = -1.0
        return given
    out = np.empty(values.shape)
    for j, domain in enumerate(domains):
        column = values[:, j]
        if domain is not None and not (_is_counted(domain) and numeric):
            out[:, j] = _looked_up(column, domain)
        else:
            out[:, j] = places_in(_numbers(column)[:, None], [domain])[:, 0]
    return out


def _is_counted(domain: "Sequence[Any] | None") -> bool:
    """Tell whether numbers are places already: there is no list, or one of texts, or one of 0, 1, and so on."""
    if domain is None or all(isinstance(value, str) for value in domain):
        return True
    return list(domain) == list(range(len(domain)))


def _looked_up(column: "NDArray[Any]", domain: "Sequence[Any]") -> "NDArray[np.int64]":
    texts = any(isinstance(value, str) for value in domain)
    known = np.array(domain, dtype=str if texts else np.float64)
    given = column.astype(str) if texts else _numbers(column)
    order = np.argsort(known)
    places = np.minimum(np.searchsorted(known[order], given), len(known) - 1)
    found: NDArray[np.int64] = np.where(known[order][places] == given, order[places], -1)
    return found


def _numbers(column: "NDArray[Any]") -> "NDArray[np.float64]":
    try:
        return column.astype(np.float64)
    except (TypeError, ValueError):
        pass
    raise InputTypeError("learn.category_not_a_number")
