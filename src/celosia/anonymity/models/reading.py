"""Read a file into the classes and records that the models judge."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np

from celosia.anonymity.coding import Coded, encode, group_rows
from celosia.anonymity.coding.matching import match_keys
from celosia.anonymity.microdata import Microdata
from celosia.anonymity.microdata.files import read_file
from celosia.anonymity.models.classes import Classes, Link, Records
from celosia.anonymity.models.histograms import Sensitive
from celosia.anonymity.models.model import Model
from celosia.core.errors import CelosiaError, ParameterError, SchemaError
from celosia.core.exact import safe_repr
from celosia.data.sources.frames import to_arrow

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from celosia.anonymity.coding import Groups

Number = TypeVar("Number", np.int64, np.float64)

COUNT: Final = "count"
"""The column of a population that says how many people a line stands for."""


def read_classes(data: Microdata, models: Iterable[Model] = (), *, original: Microdata | None = None) -> Classes:
    """Return the classes of a file, with all its sensitive columns and what the models read."""
    columns, records = read_records(data, models, also=data.roles.sensitive, original=original)
    groups = group_rows(columns)
    return Classes(ids=groups.ids, count=groups.count, records=records, links=link_groups(data, columns, groups))


def link_groups(data: Microdata, columns: Sequence[Coded], groups: "Groups") -> tuple[Link, ...] | None:
    """Return which groups match where nulls are wildcards; None if each matches itself alone."""
    if data.roles.nulls == "category" or not any(column.has_nulls for column in columns):
        return None
    return tuple(Link(*pair) for pair in match_keys(columns, groups))


def read_records(
    data: Microdata, models: Iterable[Model], *, also: Iterable[str] = (), original: Microdata | None = None
) -> tuple[tuple[Coded, ...], Records]:
    """Return the codes of the quasi-identifiers, and the records; those of populations follow those of the file.

    They have the sensitive columns that the models read, and others that are asked for.
    """
    asked = tuple(models)
    given = [population for model in asked if (population := getattr(model, "population", None)) is not None]
    tables = [(population, _read_population(population, data)) for population in given]
    starts = np.cumsum([0, len(data), *(table.num_rows for _, table in tables)])
    columns = data.encode_quasi_identifiers()
    if tables:
        columns = tuple(_encode_all(name, data, tables) for name in data.roles.quasi_identifiers)
    wanted = {name: None for model in asked for name in model.columns} | dict.fromkeys(also)
    sensitive = {name: read_sensitive(data, name, original=original) for name in wanted}
    total = int(starts[-1])
    populations = [
        (population, _pad(_count_people(table), start, total))
        for (population, table), start in zip(tables, starts[1:-1], strict=True)
    ]
    records = Records(
        counts=_pad(np.ones(len(data)), 0, total) if tables else None,
        weights=_pad(data.weights, 0, total),
        codes={name: _pad(codes, 0, total, fill=-1) for name, (codes, _) in sensitive.items()},
        columns={name: column for name, (_, column) in sensitive.items()},
        populations=tuple(populations),
    )
    return columns, records


def read_sensitive(
    data: Microdata, name: str, *, original: Microdata | None = None
) -> "tuple[NDArray[np.int64], Sensitive]":
    """Return the codes of a sensitive column, and its distribution in the original file.

    A null is a value of its own, the first one, or unknown if nulls are wildcards. Where a step changed the type of the
    column, as a label for high numbers does, the original has no such values: the distribution is that of the file.
    """
    import pyarrow as pa

    column = data.get_column(name)
    if original is not None and original.get_column(name).type != column.type:
        original = None
    if original is None:
        coded = encode(column, name=name)
    else:
        coded = encode(pa.concat_arrays([column, original.get_column(name)]), name=name)
    shift = int(data.roles.nulls == "category" and coded.has_nulls)
    codes = coded.codes.astype(np.int64) + shift
    reference = codes[0 if original is None else len(column) :]
    counts = np.bincount(reference[reference >= 0], minlength=len(coded.labels) + shift)
    levels = _read_levels(data, name, coded, shift)
    shares = counts / max(int(counts.sum()), 1)
    return codes[: len(column)], Sensitive(name=name, shares=shares, labels=coded.labels, levels=levels)


def _read_levels(data: Microdata, name: str, coded: Coded, shift: int) -> "NDArray[np.int64] | None":
    """Return the codes of the values at each level; None without a hierarchy that has all of them."""
    hierarchy = data.hierarchies.get(name)
    if hierarchy is None:
        return None
    try:
        codes = hierarchy.generalize(coded.labels, name=name).codes.astype(np.int64)
    except CelosiaError:  # the column was recoded
        return None
    nulls = codes.max(axis=1, initial=-1, keepdims=True) + 1
    nulls[-1] = 0
    return np.hstack([nulls] * shift + [codes])


def _read_population(given: object, data: Microdata) -> "pa.Table":
    """Return a population, a frame or the path of a file, as a table with the types of the file."""
    table = read_file(given)[0] if isinstance(given, str | Path) else to_arrow(given)
    for name in data.roles.quasi_identifiers:
        if name not in table.column_names:
            known = ", ".join(map(safe_repr, table.column_names))
            raise ParameterError("anonymity.unknown_column", name=safe_repr(name), known=known)
    return table


def _encode_all(name: str, data: Microdata, tables: "Sequence[tuple[object, pa.Table]]") -> Coded:
    """Return the codes of a column of the file, then of the populations."""
    import pyarrow as pa

    column = data.get_column(name)
    try:
        rest = [chunk for _, table in tables for chunk in table.column(name).cast(column.type).chunks]
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise SchemaError("anonymity_models.other_type", name=safe_repr(name)) from None
    return encode(pa.concat_arrays([column, *rest]), name=name)


def _count_people(table: "pa.Table") -> "NDArray[np.float64]":
    """Return how many people each line of a population stands for."""
    if COUNT not in table.column_names:
        return np.ones(table.num_rows)
    counts: NDArray[np.float64] = table.column(COUNT).to_numpy().astype(np.float64)
    if not (counts >= 0).all():
        raise ParameterError("anonymity_models.count_not_positive", name=safe_repr(COUNT))
    return counts


def _pad(values: "NDArray[Number]", start: int, total: int, fill: int = 0) -> "NDArray[Number]":
    """Return values at their place in an array of all records."""
    if len(values) == total:
        return values
    padded = np.full(total, fill, dtype=values.dtype)
    padded[start : start + len(values)] = values
    return padded
