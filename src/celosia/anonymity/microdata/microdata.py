"""A file of records with the role of each column, and what was done to it.

The rows stay in the order of the original, so that measures can compare the two. ``to_frame`` gives the file to
publish: without identifiers, and in an order drawn by lot.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.anonymity.coding import Coded, encode, group_rows
from celosia.anonymity.hierarchies import Hierarchy
from celosia.anonymity.microdata.csv_files import check_names
from celosia.anonymity.microdata.files import FileLabels, read_file, write_file
from celosia.anonymity.microdata.released import strip_table
from celosia.anonymity.microdata.roles import Roles
from celosia.core.errors import InputError, ParameterError, SchemaError
from celosia.core.exact import safe_repr
from celosia.data.sources.frames import to_arrow, to_pandas, to_polars
from celosia.noise import permutation

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Microdata:
    """Records about people: a table, the role of each column, and hierarchies. ``read_microdata`` makes one.

    ``rows`` are the places of the records in the original, which a method may have dropped some of, and -1 for
    synthetic records; they are never released. ``spreads`` has for each generalized column, and each record, the part
    of the column's domain that its value stands for: 0 for an exact value, 1 for a suppressed one.

    >>> import pyarrow as pa
    >>> data = read_microdata(pa.table({"age": [30, 40, 50]}), roles=Roles(quasi_identifiers=["age"]))
    >>> len(data), data.keep_rows(np.array([2])).rows.tolist()
    (3, [2])
    """

    table: "pa.Table" = field(repr=False)
    roles: Roles
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict, repr=False)
    rows: "NDArray[np.int64]" = field(repr=False)
    spreads: "Mapping[str, NDArray[np.float64]]" = field(default_factory=dict, repr=False)
    library: str = "pyarrow"
    labels: FileLabels = field(default_factory=FileLabels, repr=False)

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @property
    def is_synthetic(self) -> bool:
        """Whether records are nobody's."""
        return bool((self.rows < 0).any())

    def encode(self, names: Iterable[str]) -> tuple[Coded, ...]:
        """Return the codes of some columns."""
        return tuple(encode(self.get_column(name), name=name) for name in names)

    def encode_quasi_identifiers(self) -> tuple[Coded, ...]:
        """Return the codes of the quasi-identifiers; there must be one."""
        if not self.roles.quasi_identifiers:
            raise SchemaError("anonymity.no_quasi_identifier")
        return self.encode(self.roles.quasi_identifiers)

    def get_column(self, name: str) -> "pa.Array":
        """Return a column in one piece."""
        import pyarrow as pa

        if name not in self.table.column_names:
            known = ", ".join(map(safe_repr, self.table.column_names))
            raise ParameterError("anonymity.unknown_column", name=safe_repr(name), known=known)
        column = self.table.column(name)
        return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)

    def get_numbers(self, name: str) -> "NDArray[np.float64]":
        """Return a numeric column as floats; nulls are NaN."""
        import pyarrow as pa

        column = self.get_column(name)
        kind = column.type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
            raise SchemaError("anonymity.column_not_numeric", name=safe_repr(name), type=str(kind))
        numbers = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False).astype(np.float64)
        return np.where(np.isinf(numbers), np.nan, numbers) if np.isinf(numbers).any() else numbers

    @property
    def weights(self) -> "NDArray[np.float64]":
        """The sampling weights; ones if there is no such column."""
        return np.ones(len(self)) if self.roles.weight is None else self.get_numbers(self.roles.weight)

    @property
    def strata(self) -> "NDArray[np.int32]":
        """The stratum of each record, as a number from 0; one stratum if no column is declared."""
        names = () if self.roles.stratum is None else (self.roles.stratum,)
        return group_rows(self.encode(names), rows=len(self)).ids

    @property
    def households(self) -> "NDArray[np.int32]":
        """The household of each record, as a number from 0; a record without one, or without the column, is its own."""
        if self.roles.household is None:
            return np.arange(len(self), dtype=np.int32)
        (column,) = self.encode([self.roles.household])
        groups, alone = group_rows([column]), column.codes < 0
        # Nulls sort first, so that they are group 0.
        return np.where(alone, groups.count - 2 + np.cumsum(alone), groups.ids - alone.any()).astype(np.int32)

    def replace_columns(
        self,
        columns: "Mapping[str, pa.Array]",
        *,
        spreads: "Mapping[str, NDArray[np.float64]] | None" = None,
        hierarchies: Mapping[str, Hierarchy | None] | None = None,
    ) -> "Microdata":
        """Return the file with other values in some columns, and the spreads and hierarchies of these values.

        A hierarchy is for the values of a column. Where these become others it is replaced, or dropped by None; where
        their type changes it is dropped.
        """
        table, given = self.table, dict(hierarchies or {})
        for name, column in columns.items():
            place = table.column_names.index(name)
            if table.schema.field(place).type != column.type:
                given.setdefault(name, None)
            table = table.set_column(place, name, column)
        kept = {name: one for name, one in {**self.hierarchies, **given}.items() if one is not None}
        return dataclasses.replace(self, table=table, spreads={**self.spreads, **(spreads or {})}, hierarchies=kept)

    def keep_rows(self, kept: "NDArray[np.bool_] | NDArray[np.int64]") -> "Microdata":
        """Return the file with some of its records, chosen by a mask or by places."""
        import pyarrow as pa

        places = np.flatnonzero(kept) if kept.dtype == np.bool_ else kept
        spreads = {name: spread[places] for name, spread in self.spreads.items()}
        table = self.table.take(pa.array(places))
        return dataclasses.replace(self, table=table, rows=self.rows[places], spreads=spreads)

    def to_frame(self, source: "Source | None" = None) -> Any:
        """Return the file to publish, in the library of the frame that was read.

        Identifiers are left out, households get random numbers, and the order of the records is drawn by lot.
        """
        table = self.to_release(source)
        match self.library:
            case "pandas":
                return to_pandas(table)
            case "polars":
                return to_polars(table)
            case _:
                return table

    def write(self, path: str | Path, *, source: "Source | None" = None) -> Path:
        """Write the file to publish: as CSV, Parquet, SPSS, Stata or SAS transport, by the ending of its name."""
        return write_file(self.to_release(source), path, self.labels)

    def to_release(self, source: "Source | None" = None) -> "pa.Table":
        """Return the file to publish as an Arrow table."""
        import pyarrow as pa

        order = permutation(len(self), source)
        table = self.table.drop_columns(list(self.roles.identifiers))
        if self.roles.household is not None:
            homes = self.households
            numbers = permutation(int(homes.max(initial=-1)) + 1, source)
            place = table.column_names.index(self.roles.household)
            table = table.set_column(place, self.roles.household, pa.array(numbers[homes] + 1))
        return strip_table(table.take(pa.array(order)))


def check_microdata(data: object) -> None:
    """Refuse a frame where a file with roles is needed."""
    if not isinstance(data, Microdata):
        raise ParameterError("anonymity.not_microdata", value=type(data).__name__)


def read_microdata(frame: object, *, roles: Roles, hierarchies: Mapping[str, Hierarchy] | None = None) -> Microdata:
    """Return a file of records with its roles.

    Parameters
    ----------
    frame
        A pandas, Polars or Arrow table, any other that Narwhals knows, or the path of a file: CSV, Parquet, SPSS, Stata
        or SAS.
    roles
        The role of every column.
    hierarchies
        The hierarchy of columns that may be generalized.

    Examples
    --------
    >>> import pyarrow as pa
    >>> frame = pa.table({"name": ["Ana", "Luis"], "age": [41, 68], "illness": ["flu", "asthma"]})
    >>> roles = Roles(identifiers=["name"], quasi_identifiers=["age"], sensitive=["illness"])
    >>> data = read_microdata(frame, roles=roles)
    >>> len(data), data.to_frame().column_names
    (2, ['age', 'illness'])
    """
    if not isinstance(frame, str | Path):
        check_names(tuple(getattr(frame, "column_names", getattr(frame, "columns", ()))))
    table, labels = read_file(frame) if isinstance(frame, str | Path) else (to_arrow(frame), FileLabels())
    check_names(tuple(table.column_names))
    roles.check_columns(table.column_names)
    given = dict(hierarchies or {})
    if unknown := [name for name in given if name not in table.column_names]:
        known = ", ".join(map(safe_repr, table.column_names))
        raise ParameterError("anonymity.unknown_column", name=safe_repr(unknown[0]), known=known)
    if not table.num_rows:
        raise InputError("anonymity.no_records")
    data = Microdata(
        table=table,
        roles=roles,
        hierarchies=given,
        rows=np.arange(table.num_rows),
        library=type(frame).__module__.partition(".")[0],
        labels=labels,
    )
    _check_weights(data)
    return data


def _check_weights(data: Microdata) -> None:
    """Raise unless each record stands for someone."""
    name = data.roles.weight
    if name is not None and not (data.get_numbers(name) > 0).all():
        raise SchemaError("anonymity.weight_not_positive", name=safe_repr(name))
