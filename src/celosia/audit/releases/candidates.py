"""The records of a released file that fit each person of a register, and what they say of a column."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from celosia.anonymity import Hierarchy, Microdata
from celosia.anonymity.coding import Coded, encode_columns, group_rows
from celosia.anonymity.hierarchies.categories import write_values
from celosia.audit.releases.labels import match_labels
from celosia.audit.releases.search import sum_fitting
from celosia.core.errors import InputError, ParameterError
from celosia.core.exact import safe_repr
from celosia.data.sources.frames import to_arrow

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

_CELLS: Final = 1 << 22  # of persons and values at a time


@dataclass(frozen=True, slots=True, eq=False)
class Register:
    """Persons whose identity an attacker knows, with some of their quasi-identifiers."""

    identities: tuple[str, ...]
    table: "pa.Table" = field(repr=False)

    def __len__(self) -> int:
        return len(self.identities)

    def find(self, identity: str) -> int:
        """Return the place of a person."""
        if identity not in self.identities:
            raise ParameterError("audit.unknown_identity")
        return self.identities.index(identity)


def read_register(frame: object, identity: str) -> Register:
    """Return the persons of a frame, named by a column whose values are different."""
    table = to_arrow(frame)
    if identity not in table.column_names:
        known = ", ".join(map(safe_repr, table.column_names))
        raise ParameterError("anonymity.unknown_column", name=safe_repr(identity), known=known)
    names = tuple(map(str, table.column(identity).to_pylist()))
    if not names:
        raise InputError("audit.register_empty")
    if len(set(names)) < len(names):
        raise InputError("audit.identity_repeated", name=safe_repr(identity))
    return Register(names, table.drop_columns([identity]))


def choose_shared(released: Microdata, register: Register, on: Iterable[str] | None) -> tuple[str, ...]:
    """Return the columns to join on: those given, or the quasi-identifiers that the register has."""
    columns = register.table.column_names
    if on is None:
        shared = tuple(name for name in released.roles.quasi_identifiers if name in columns)
        if not shared:
            raise ParameterError("audit.nothing_shared", known=", ".join(map(safe_repr, columns)))
        return shared
    chosen = tuple(on)
    for name in chosen:
        if name not in columns or name not in released.table.column_names:
            known = ", ".join(safe_repr(one) for one in columns if one in released.table.column_names)
            raise ParameterError("anonymity.unknown_column", name=safe_repr(name), known=known)
    if not chosen:
        raise ParameterError("audit.nothing_shared", known=", ".join(map(safe_repr, columns)))
    return chosen


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """How many records with each value of a column fit each person.

    ``kinds`` has the place in ``counts`` of each person: those who look the same share a line. Column 0 of ``counts``
    counts records without a value, column ``i + 1`` those with ``labels[i]``.
    """

    kinds: "NDArray[np.int32]"
    counts: "NDArray[np.float64]"
    labels: tuple[str, ...]


def count_candidates(
    released: Microdata,
    register: Register,
    on: Sequence[str],
    column: str | None,
    hierarchies: Mapping[str, Hierarchy],
) -> Candidates:
    """Return how many records fit each person, by value of a column, or in all if no column is named."""
    keys = released.encode(on)
    known = encode_columns(register.table, on)
    people, classes = group_rows(known, rows=len(register)), group_rows(keys)
    fits = [
        _match_column(released, name, one, other, hierarchies.get(name))
        for name, one, other in zip(on, known, keys, strict=True)
    ]
    persons, released_classes = _take_codes(known, people.find_examples()), _take_codes(keys, classes.find_examples())
    if column is None:
        told = Coded(np.zeros(len(released), dtype=np.int32), _empty())
    else:
        (told,) = released.encode([column])
    size = len(told.labels) + 1
    cells, sums = np.unique(classes.ids.astype(np.int64) * size + told.codes + 1, return_counts=True)
    starts = np.searchsorted(cells, np.arange(classes.count + 1) * size)
    widths = np.array([fit.shape[1] for fit in fits], dtype=np.int64)
    offsets = np.concatenate([[0], np.cumsum([fit.size for fit in fits])[:-1]]).astype(np.int64)
    flat = np.concatenate([fit.ravel() for fit in fits]).astype(np.uint8)
    parts = [
        sum_fitting(part, released_classes, flat, offsets, widths, starts, cells % size, sums.astype(np.float64), size)
        for part in _split(persons, size)
    ]
    return Candidates(people.ids, np.concatenate(parts), tuple(write_values(told.labels)))


def _split(persons: "NDArray[np.int32]", size: int) -> "Iterator[NDArray[np.int32]]":
    step = max(1, _CELLS // size)
    for start in range(0, len(persons), step):
        yield persons[start : start + step]


def _take_codes(columns: Sequence[Coded], rows: "NDArray[np.int64]") -> "NDArray[np.int32]":
    """Return the codes of some rows, from 1; null is 0."""
    return np.ascontiguousarray(np.column_stack([column.codes[rows] + 1 for column in columns]).astype(np.int32))


def _match_column(
    released: Microdata, name: str, known: Coded, key: Coded, hierarchy: Hierarchy | None
) -> "NDArray[np.bool_]":
    """Return which values of the register, null first, fit which labels of the file, null first.

    What the register does not know fits all. A null of the file fits all if it is a wildcard, and else nothing known.
    """
    fits = np.zeros((len(known.labels) + 1, len(key.labels) + 1), dtype=np.bool_)
    fits[0] = True
    fits[:, 0] |= released.roles.nulls == "wildcard"
    fits[1:, 1:] = match_labels(known.labels, key.labels, hierarchy, name)
    return fits


def _empty() -> "pa.Array":
    import pyarrow as pa

    return pa.array(["record"])
