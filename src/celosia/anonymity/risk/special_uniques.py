"""Special uniques: records that few of their values already tell apart (SUDA2).

A minimal sample unique of a record is a set of columns on which no other record matches it, while on each smaller set
some other does. The fewer columns it needs, and the more such sets a record has, the likelier is it that the person is
unique in the population too. A set of ``s`` of ``m`` columns scores ``(m - s)!``; the score of a record is the sum over
its sets. DIS-SUDA turns scores into probabilities that a match is right, so that their mean odds are those that the
numbers of uniques and pairs say (Skinner and Elliot 2002). Scores rank records; they are not probabilities of a model.
Elliot, Manning, Mayes, Gurd and Bane 2005; Manning, Haglin and Keane 2008. Scores are those of sdcMicro's ``suda2``.

The search goes through sets of columns, and not through values: it leaves out records once they are unique, because
they match no other in larger sets. It is made for up to about twelve columns, or sets of few columns.
"""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from celosia.anonymity.coding import Coded, count_matches, group_rows
from celosia.anonymity.microdata import Microdata
from celosia.anonymity.microdata.figures import Figure, is_number, write_figures, write_number, write_percent
from celosia.anonymity.risk.classes import count_class
from celosia.core.errors import ParameterError
from celosia.core.exact import exact_integer, safe_repr
from celosia.core.messages.message import Message

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MAX_SETS: Final = 20_000
_USUAL_FRACTION: Final = 0.1
_NEUTRAL_COLUMNS: Final = 8  # of DIS-SUDA: with so many columns, the score itself is scaled
_EXPONENT_STEP: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SpecialUniques:
    """The minimal sample uniques of a file, and the scores of its records. ``find_special_uniques`` makes one.

    Attributes
    ----------
    columns
        The columns that were searched.
    max_size
        The largest number of columns of a set.
    scores
        The SUDA score of each record; 0 if it has no set.
    dis_scores
        The DIS-SUDA score of each record, between 0 and 1.
    sizes
        The number of columns of the smallest set of each record; 0 if it has none.
    contributions
        The part of the score of each record, and each column, that comes from sets with this column.
    """

    columns: tuple[str, ...]
    max_size: int
    scores: "NDArray[np.float64]" = field(repr=False)
    dis_scores: "NDArray[np.float64]" = field(repr=False)
    sizes: "NDArray[np.int8]" = field(repr=False)
    contributions: "NDArray[np.float64]" = field(repr=False)
    sets: "tuple[tuple[int, ...], ...]" = field(repr=False)
    members: "tuple[NDArray[np.int64], ...]" = field(repr=False)
    coded: tuple[Coded, ...] = field(repr=False)

    @property
    def column_contributions(self) -> Mapping[str, float]:
        """The part of the score of the file that comes from sets with each column; they sum to more than 1."""
        total = self.scores.sum()
        parts = (self.contributions * self.scores[:, None]).sum(axis=0) / (total or 1.0)
        return dict(zip(self.columns, parts.tolist(), strict=True))

    def measure_values(self, column: str) -> "tuple[tuple[object, ...], NDArray[np.float64]]":
        """Return the values of a column, and the part of its contribution that comes from records with each value."""
        if column not in self.columns:
            known = ", ".join(map(safe_repr, self.columns))
            raise ParameterError("anonymity.unknown_column", name=safe_repr(column), known=known)
        place = self.columns.index(column)
        coded = self.coded[place]
        amounts = np.bincount(
            coded.codes + 1, weights=self.contributions[:, place] * self.scores, minlength=len(coded.labels) + 1
        )
        return (None, *coded.labels.to_pylist()), amounts / (amounts.sum() or 1.0)

    def get_sets(self, record: int) -> tuple[tuple[str, ...], ...]:
        """Return the minimal sets of columns on which a record is unique."""
        found = [
            chosen
            for chosen, members in zip(self.sets, self.members, strict=True)
            if (place := np.searchsorted(members, record)) < len(members) and members[place] == record
        ]
        return tuple(tuple(self.columns[place] for place in chosen) for chosen in found)

    @property
    def figures(self) -> tuple[Figure, ...]:
        """What the table shows: the name of each figure, and its value."""
        counts = np.bincount(self.sizes, minlength=self.max_size + 1)
        return (
            (Message("anonymity_risk.records"), write_number(len(self.scores))),
            *(
                (Message("anonymity_risk.special_uniques", size=size), write_number(int(counts[size])))
                for size in range(1, self.max_size + 1)
            ),
            (Message("anonymity_risk.highest_dis"), write_percent(float(self.dis_scores.max()))),
            *(
                (Message("anonymity_risk.contribution", column=name), write_percent(part))
                for name, part in self.column_contributions.items()
            ),
        )

    def describe(self, language: str = "en") -> str:
        """Return the table in a language."""
        return write_figures(self.figures, language)

    def __str__(self) -> str:
        return self.describe()


def find_special_uniques(data: Microdata, *, max_size: int = 3, fraction: float | None = None) -> SpecialUniques:
    """Return the minimal sample uniques among the quasi-identifiers, and the scores of the records.

    Parameters
    ----------
    data
        The file. A null that is a value can be in a set; a null that is a wildcard cannot, for it matches all.
    max_size
        The largest number of columns of a set. Scores grow with it; sdcMicro's has all columns.
    fraction
        The part of the population that is in the file. By default, the number of records over the sum of the weights,
        or a tenth if there are none.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from celosia.anonymity import Roles, read_microdata
    >>> frame = pa.table({"sex": list("MMFF"), "age": [40, 40, 40, 60], "job": list("aaab")})
    >>> found = find_special_uniques(read_microdata(frame, roles=Roles(quasi_identifiers=["sex", "age", "job"])))
    >>> found.get_sets(2), found.get_sets(3), found.scores.tolist()
    ((('sex', 'age'), ('sex', 'job')), (('age',), ('job',)), [0.0, 0.0, 2.0, 4.0])
    """
    keys, names = data.encode_quasi_identifiers(), data.roles.quasi_identifiers
    largest = min(exact_integer(max_size, name="max_size"), len(keys))
    if sum(math.comb(len(keys), size) for size in range(1, largest + 1)) > _MAX_SETS:
        raise ParameterError("anonymity_risk.too_many_sets", columns=len(keys), size=largest, most=_MAX_SETS)
    part = _choose_fraction(data, fraction)
    wild = data.roles.nulls == "wildcard" and any(key.has_nulls for key in keys)
    unique = dict(_find_uniques(keys, len(data), largest, wild=wild))
    found = {chosen: rows for chosen in sorted(unique, key=_by_size) if len(rows := _find_minimal(unique, chosen))}
    scores, sizes, contributions = _score(found, len(keys), len(data))
    return SpecialUniques(
        columns=names,
        max_size=largest,
        scores=scores,
        dis_scores=_scale_scores(scores, count_class(data, keys), part, len(keys)),
        sizes=sizes,
        contributions=contributions,
        sets=tuple(found),
        members=tuple(found.values()),
        coded=keys,
    )


def _by_size(chosen: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    return len(chosen), chosen


def _choose_fraction(data: Microdata, fraction: float | None) -> float:
    if fraction is None:
        return _USUAL_FRACTION if data.roles.weight is None else min(len(data) / float(data.weights.sum()), 1.0)
    if not is_number(fraction) or not 0 < fraction <= 1:
        raise ParameterError("anonymity_risk.not_a_fraction", name="fraction", value=safe_repr(fraction))
    return float(fraction)


def _find_uniques(
    keys: Sequence[Coded], records: int, largest: int, *, wild: bool
) -> "Iterator[tuple[tuple[int, ...], NDArray[np.int64]]]":
    """Yield each set of columns, with the records that are unique on it and were not on its first columns.

    A record that is unique on a set matches no other on larger ones, so that larger ones go on without it.
    """

    def descend(
        chosen: tuple[int, ...], rows: "NDArray[np.int64]", ids: "NDArray[np.int32] | None"
    ) -> "Iterator[tuple[tuple[int, ...], NDArray[np.int64]]]":
        for place in range(chosen[-1] + 1 if chosen else 0, len(keys)):
            larger = (*chosen, place)
            alone, next_ids = _split(keys, larger, rows, ids, wild=wild)
            yield larger, rows[alone]
            if len(larger) < largest and not alone.all():
                yield from descend(larger, rows[~alone], None if next_ids is None else next_ids[~alone])

    yield from descend((), np.arange(records), None)


def _split(
    keys: Sequence[Coded],
    chosen: tuple[int, ...],
    rows: "NDArray[np.int64]",
    ids: "NDArray[np.int32] | None",
    *,
    wild: bool,
) -> "tuple[NDArray[np.bool_], NDArray[np.int32] | None]":
    """Return which rows are alone on the columns, and the groups of the rows if null is a value.

    ``ids`` are the groups of the rows on the columns but the last.
    """
    if wild:
        return count_matches([keys[place].take(rows) for place in chosen]) == 1, None
    last = keys[chosen[-1]].take(rows)
    groups = group_rows([last] if ids is None else [_as_column(ids), last])
    return groups.sizes[groups.ids] == 1, groups.ids


def _as_column(ids: "NDArray[np.int32]") -> Coded:
    """Return groups as a column; only the number of its labels is read."""
    import pyarrow as pa

    return Coded(ids, pa.nulls(int(ids.max(initial=-1)) + 1))


def _find_minimal(
    unique: "Mapping[tuple[int, ...], NDArray[np.int64]]", chosen: tuple[int, ...]
) -> "NDArray[np.int64]":
    """Return the records that are unique on a set of columns, and on no smaller one."""
    rows = unique.get(chosen, np.array([], dtype=np.int64))
    for size in range(1, len(chosen)):
        for smaller in itertools.combinations(chosen, size):
            if not len(rows):
                return rows
            if len(others := unique.get(smaller, rows[:0])):
                rows = np.setdiff1d(rows, others, assume_unique=True)
    return rows


def _score(
    found: "Mapping[tuple[int, ...], NDArray[np.int64]]", columns: int, records: int
) -> "tuple[NDArray[np.float64], NDArray[np.int8], NDArray[np.float64]]":
    """Return the scores of records, the sizes of their smallest sets, and the contributions of columns."""
    scores, parts = np.zeros(records), np.zeros((records, columns))
    sizes = np.zeros(records, dtype=np.int8)
    for chosen, rows in found.items():  # smaller sets come first
        amount = float(math.factorial(columns - len(chosen)))
        scores[rows] += amount
        sizes[rows] = np.where(sizes[rows] == 0, len(chosen), sizes[rows])
        for place in chosen:
            parts[rows, place] += amount
    return scores, sizes, parts / np.where(scores > 0, scores, 1.0)[:, None]


def _scale_scores(
    scores: "NDArray[np.float64]", frequencies: "NDArray[np.float64]", fraction: float, columns: int
) -> "NDArray[np.float64]":
    """Return DIS-SUDA scores: the odds against a match are the file's, scaled by a power of the score."""
    scaled = np.zeros(len(scores))
    scored = scores > 0
    powers = scores[scored] ** (1 + (_NEUTRAL_COLUMNS - columns) / _EXPONENT_STEP)
    against = float((frequencies == 2).sum()) * (1 - fraction) / fraction
    scaled[scored] = 1 / (1 + against / (powers * (1 / powers).sum()))
    return scaled
