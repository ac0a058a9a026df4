"""The rows that a method works on: in an order that follows from the values, and separately within strata."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.anonymity.coding import Coded, encode, group_rows
from celosia.anonymity.microdata import Microdata
from celosia.core.errors import InputError, ParameterError, SchemaError
from celosia.core.exact import safe_repr

if TYPE_CHECKING:
    from numpy.typing import NDArray


def check_names(value: Any, *, name: str, least: int = 1) -> tuple[str, ...]:
    """Return a list of at least so many different column names."""
    names = tuple(value) if isinstance(value, Iterable) and not isinstance(value, str) else None
    if names is None or not all(isinstance(each, str) for each in names) or not least <= len(set(names)) == len(names):
        raise ParameterError("anonymity_masking.not_column_names", name=name, value=safe_repr(value), least=least)
    return names


def check_choice(value: object, known: Sequence[str], *, name: str) -> None:
    """Raise unless a value is one of the known names."""
    if value not in known:
        raise ParameterError(
            "anonymity_masking.unknown_choice",
            name=name,
            value=safe_repr(value),
            known=", ".join(map(safe_repr, known)),
        )


def order_rows(data: Microdata, columns: Sequence[str]) -> "NDArray[np.int64]":
    """Return the order of the rows by some columns; rows that are equal there follow by the other columns.

    Only rows that are equal in all columns can be exchanged, so that results do not depend on the order of the input.
    """
    import pyarrow as pa

    ranks = group_rows([], rows=len(data))
    others = [name for name in data.table.column_names if name not in columns]
    for name in (*columns, *others):
        if ranks.count == len(data):
            break
        try:
            coded = encode(data.get_column(name), name=name)
        except SchemaError:
            if name in columns:
                raise
            continue  # lists and the like: no order, and no part in the method
        ranks = group_rows([Coded(ranks.ids, pa.nulls(ranks.count)), coded])
    return np.argsort(ranks.ids, kind="stable")


def split_rows(
    data: Microdata, columns: Sequence[str], *, within: Sequence[str] = (), least: int = 0
) -> "list[NDArray[np.int64]]":
    """Return the rows of each part of the file, in the order of ``order_rows``.

    Parts are the strata, divided further by the columns ``within``; each must have ``least`` records.
    """
    names = list(dict.fromkeys([*([data.roles.stratum] if data.roles.stratum else []), *within]))
    groups = group_rows(data.encode(names), rows=len(data))
    if int(groups.sizes.min(initial=least)) < least:
        if not names:
            raise InputError("anonymity_masking.too_few_records", least=least)
        raise InputError("anonymity_masking.part_too_small", columns=", ".join(map(safe_repr, names)), least=least)
    order = order_rows(data, columns)
    if groups.count == 1:
        return [order]
    sorted_rows = order[np.argsort(groups.ids[order], kind="stable")]
    return np.split(sorted_rows, np.cumsum(groups.sizes)[:-1])


def get_complete_numbers(data: Microdata, name: str) -> "NDArray[np.float64]":
    """Return a numeric column that must have no null."""
    numbers = data.get_numbers(name)
    if np.isnan(numbers).any():
        raise SchemaError("anonymity_masking.null_in_column", name=safe_repr(name))
    return numbers


def get_complete_codes(data: Microdata, name: str) -> Coded:
    """Return the codes of a column that must have no null."""
    coded = encode(data.get_column(name), name=name)
    if coded.has_nulls:
        raise SchemaError("anonymity_masking.null_in_column", name=safe_repr(name))
    return coded
