"""One measure of risk and one of loss that any two masked files can be compared by, private synthetic ones too.

Class sizes say nothing about a file with noise, and no record of a synthetic file belongs to anyone. So the risk is an
attack that runs against all of them: somebody knows the quasi-identifiers of a person, looks for the records nearest to
them, and guesses the sensitive value that is most frequent there. The loss is the error of the tables that an analyst
would make: the total variation of two-way tables, after spreading each generalized value over what it stands for.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy import sparse

from celosia.anonymity.coding import Coded, encode, group_rows
from celosia.anonymity.microdata import Microdata
from celosia.core.errors import SchemaError
from celosia.core.exact import safe_repr

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

_BINS: Final = 20  # of a numeric column with more different values
_NAMES: Final = 200  # of a column of names with more different ones
_MOST_PERSONS: Final = 2_000  # whom the attacker looks for
_FEWEST_PERSONS: Final = 200
_MOST_DISTANCES: Final = 2**28  # of all persons, so that large files take seconds
_CHUNK: Final = 2**22  # distances at a time
_SAME: Final = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class GuessRisk:
    """How often an attacker guesses a sensitive value: with the file, and without it."""

    success: float
    baseline: float


def measure_guesses(original: Microdata, masked: Microdata, *, column: str) -> GuessRisk:
    """Return how often somebody who knows the quasi-identifiers of a person guesses a sensitive value.

    The attacker knows how values were generalized, takes the records of the masked file that are nearest to the person,
    and guesses the most frequent value there. Numbers are guessed to a twentieth of the file; rare names count as one.

    >>> import pyarrow as pa
    >>> from celosia.anonymity import Mondrian, Roles, read_microdata
    >>> frame = pa.table({"age": [30, 31, 58, 60], "illness": ["flu", "none", "flu", "flu"]})
    >>> data = read_microdata(frame, roles=Roles(quasi_identifiers=["age"], sensitive=["illness"]))
    >>> measure_guesses(data, data, column="illness").success
    1.0
    >>> measure_guesses(data, Mondrian(k=4).apply(data), column="illness").success
    0.75
    """
    if column not in original.roles.sensitive:
        raise SchemaError("anonymity.column_not_sensitive", name=safe_repr(column))
    if column not in masked.table.column_names:
        baseline = _find_baseline(encode(original.get_column(column), name=column))
        return GuessRisk(success=baseline, baseline=baseline)
    truth, seen = _bin_together(original.get_column(column), masked.get_column(column), column)
    known, released = _align_quasi_identifiers(original, masked)
    groups = group_rows(released, rows=len(masked))
    persons = _choose_persons(original, most=max(_FEWEST_PERSONS, _MOST_DISTANCES // groups.count))
    counts = _count_values(groups.ids, seen, groups.count)
    examples = groups.find_examples()
    keys = [one.codes[examples] for one in released]
    numeric = [_is_numeric(original, masked, name) for name in _list_shared(original, masked)]
    guesses = np.empty(len(persons), dtype=np.int64)
    step = max(1, _CHUNK // max(1, len(examples)))
    for start in range(0, len(persons), step):
        some = persons[start : start + step]
        distances = _measure_distances(
            [one.codes[some] for one in known], keys, numeric, released, (len(some), len(examples))
        )
        nearest = distances <= distances.min(axis=1, keepdims=True) + _SAME
        guesses[start : start + step] = (nearest @ counts).argmax(axis=1)
    values = truth.codes[persons] + 1
    return GuessRisk(success=float((guesses == values).mean()), baseline=_find_baseline(truth))


def _find_baseline(truth: Coded) -> float:
    """Return how often the most frequent value is right."""
    return float(np.bincount(truth.codes + 1).max() / len(truth.codes))


def _list_shared(original: Microdata, masked: Microdata) -> list[str]:
    """Return the quasi-identifiers that the masked file has; a synthetic one may lack some."""
    return [name for name in original.roles.quasi_identifiers if name in masked.table.column_names]


def _choose_persons(original: Microdata, *, most: int) -> "NDArray[np.int64]":
    """Return the persons whom the attacker looks for: all, or evenly many over the sorted file."""
    names = (*original.roles.quasi_identifiers, *original.roles.sensitive)
    order = np.lexsort([one.codes for one in original.encode(names)])
    places = np.linspace(0, len(order) - 1, min(_MOST_PERSONS, most, len(order))).round().astype(np.int64)
    chosen: NDArray[np.int64] = order[places]
    return chosen


def _count_values(ids: "NDArray[np.int32]", seen: Coded, groups: int) -> "NDArray[np.float64]":
    width = len(seen.labels) + 1
    flat = np.bincount(ids.astype(np.int64) * width + seen.codes + 1, minlength=groups * width)
    return flat.reshape(groups, width).astype(np.float64)


def _is_numeric(original: Microdata, masked: Microdata, name: str) -> bool:
    import pyarrow as pa

    kinds = original.table.schema.field(name).type, masked.table.schema.field(name).type
    return all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in kinds)


def _align_quasi_identifiers(original: Microdata, masked: Microdata) -> tuple[list[Coded], list[Coded]]:
    """Return what the attacker knows, and what the file shows, in common codes.

    Of a generalized column the attacker knows what the value has become. A person who was dropped, or whose value a
    synthetic file does not have, matches nothing there.
    """
    known, released = [], []
    for name in _list_shared(original, masked):
        shown = masked.get_column(name)
        if _is_generalized(original, masked, name):
            seen = encode(shown, name=name)
            codes = np.full(len(original), len(seen.labels), dtype=np.int32)
            codes[masked.rows] = seen.codes
            known.append(Coded(codes, seen.labels))
            released.append(seen)
        else:
            one, two = _encode_together(original.get_column(name), shown, name)
            known.append(one)
            released.append(two)
    return known, released


def _is_generalized(original: Microdata, masked: Microdata, name: str) -> bool:
    """Whether the values of a column have become labels of their own; those of synthetic records are like the true."""
    if masked.is_synthetic:
        return False
    return name in masked.spreads or original.get_column(name).type != masked.get_column(name).type


def _encode_together(left: "pa.Array", right: "pa.Array", name: str) -> tuple[Coded, Coded]:
    import pyarrow as pa

    both = encode(pa.chunked_array([left, right.cast(left.type, safe=False)]), name=name)
    return Coded(both.codes[: len(left)], both.labels), Coded(both.codes[len(left) :], both.labels)


def _measure_distances(
    known: "Sequence[NDArray[np.int32]]",
    keys: "Sequence[NDArray[np.int32]]",
    numeric: Sequence[bool],
    released: Sequence[Coded],
    shape: tuple[int, int],
) -> "NDArray[np.float64]":
    """Return Gower's distances between persons and different records of the file."""
    total = np.zeros(shape)
    for person, key, is_number, column in zip(known, keys, numeric, released, strict=True):
        if is_number and len(column.labels):
            values = np.append(column.labels.to_numpy(zero_copy_only=False).astype(np.float64), np.nan)
            values[np.isinf(values)] = np.nan  # an infinite number is near no other
            width = float(np.nanmax(values) - np.nanmin(values)) if np.isfinite(values).any() else 0.0
            one, two = values[person] / (width or 1.0), values[key] / (width or 1.0)
            gap = np.abs(np.subtract.outer(one, two))
            if np.isnan(one).any() or np.isnan(two).any():
                gap = np.where(np.isnan(gap), person[:, None] != key[None, :], gap)
            total += gap
        else:
            total += person[:, None] != key[None, :]
    return total


def measure_table_error(original: Microdata, masked: Microdata) -> float:
    """Return the mean total variation of the two-way tables of a masked file, from 0 to 1.

    All pairs of quasi-identifiers and sensitive columns count. A generalized value is spread evenly over the values
    that it stands for, a suppressed one over all. Numbers are in twentieths of the original, rare names are pooled.

    >>> import pyarrow as pa
    >>> from celosia.anonymity import Roles, read_microdata
    >>> frame = pa.table({"age": [30, 31, 58, 60], "illness": ["flu", "flu", "none", "none"]})
    >>> data = read_microdata(frame, roles=Roles(quasi_identifiers=["age"], sensitive=["illness"]))
    >>> measure_table_error(data, data)
    0.0
    """
    named = (*original.roles.quasi_identifiers, *original.roles.sensitive)
    names = [name for name in named if name in masked.table.column_names]
    columns = [_spread_column(original, masked, name) for name in names]
    errors = [_compare_tables(one, two, len(original), len(masked)) for one, two in _list_pairs(columns)]
    return float(np.mean(errors)) if errors else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class _SpreadColumn:
    """A column of both files: its bins in the original, its labels in the masked one, and the bins of each label."""

    true: "NDArray[np.int32]"
    shown: "NDArray[np.int32]"
    weights: "NDArray[np.float64]"


def _list_pairs(columns: Sequence[_SpreadColumn]) -> Iterator[tuple[_SpreadColumn, _SpreadColumn]]:
    if len(columns) == 1:
        nothing = _SpreadColumn(
            np.zeros_like(columns[0].true), np.zeros_like(columns[0].shown), np.ones((1, 1), dtype=np.float64)
        )
        return iter([(columns[0], nothing)])
    return itertools.combinations(columns, 2)


def _spread_column(original: Microdata, masked: Microdata, name: str) -> _SpreadColumn:
    before, after = original.get_column(name), masked.get_column(name)
    if not _is_generalized(original, masked, name):
        true, shown = _bin_together(before, after, name)
        return _SpreadColumn(true.codes + 1, shown.codes + 1, np.eye(len(true.labels) + 1))
    true, _ = _bin_together(before, before, name)
    labels = encode(after, name=name)
    shown_codes, bins = labels.codes + 1, true.codes[masked.rows] + 1
    weights = np.zeros((len(labels.labels) + 1, len(true.labels) + 1))
    weights[shown_codes, bins] = 1.0
    hidden = masked.spreads[name] >= 1 if name in masked.spreads else labels.codes < 0
    weights[np.ix_(np.unique(shown_codes[hidden]), np.unique(true.codes + 1))] = 1.0  # stands for any value
    weights /= np.maximum(weights.sum(axis=1, keepdims=True), 1.0)
    return _SpreadColumn(true.codes + 1, shown_codes, weights)


def _compare_tables(one: _SpreadColumn, two: _SpreadColumn, rows: int, shown: int) -> float:
    true = _cross(one.true, two.true, one.weights.shape[1], two.weights.shape[1]) / rows
    # There may be as many labels as records, of which few go together.
    shape = one.weights.shape[0], two.weights.shape[0]
    found = sparse.csr_array((np.full(shown, 1 / max(shown, 1)), (one.shown, two.shown)), shape=shape)
    return float(np.abs(one.weights.T @ (found @ two.weights) - true).sum() / 2)


def _cross(one: "NDArray[np.int32]", two: "NDArray[np.int32]", height: int, width: int) -> "NDArray[np.float64]":
    table = np.bincount(one.astype(np.int64) * width + two, minlength=height * width)
    return table.reshape(height, width).astype(np.float64)


def _bin_together(original: "pa.Array", masked: "pa.Array", name: str) -> tuple[Coded, Coded]:
    """Return both columns in common codes, of which there are not many.

    Numbers are cut into twentieths of the original. Of names the most frequent ones stay, and all others are one.
    """
    import pyarrow as pa

    one, two = _encode_together(original, masked, name)
    number = pa.types.is_integer(original.type) or pa.types.is_floating(original.type)
    present = one.codes[one.codes >= 0]
    if not number and len(one.labels) > _NAMES:
        return _pool_rare(one, present), _pool_rare(two, present)
    if not number or len(np.unique(present)) <= _BINS:
        return one, two
    cuts = np.unique(np.quantile(present, np.linspace(0, 1, _BINS + 1)[1:-1]).round().astype(np.int64))
    labels = pa.array(range(len(cuts) + 1))
    return Coded(_cut(one.codes, cuts), labels), Coded(_cut(two.codes, cuts), labels)


def _pool_rare(column: Coded, present: "NDArray[np.int32]") -> Coded:
    """Return codes for the most frequent labels of the original, and one code for all others."""
    import pyarrow as pa

    counts = np.bincount(present, minlength=len(column.labels))
    places = np.full(len(counts), _NAMES - 1, dtype=np.int32)
    places[np.argsort(-counts, kind="stable")[: _NAMES - 1]] = np.arange(_NAMES - 1, dtype=np.int32)
    codes = np.where(column.codes < 0, np.int32(-1), places[column.codes])
    return Coded(codes, pa.array(range(_NAMES)))


def _cut(codes: "NDArray[np.int32]", cuts: "NDArray[np.int64]") -> "NDArray[np.int32]":
    return np.where(codes < 0, -1, np.searchsorted(cuts, codes, side="right")).astype(np.int32)
