"""Post-randomization (PRAM): each category becomes another with known probabilities.

Someone who finds a record cannot be sure of its category, and analysts who know the probabilities can correct for
them. Invariant PRAM chooses them so that the frequencies stay the same in expectation. The probabilities may bound what
one value reveals, but invariant ones follow from the data, and one column at a time protects no combination: it is
*not* differential privacy. See ``celosia.mechanisms.RandomizedResponse``. Gouweleeuw, Kooiman, Willenborg and De Wolf
1998.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from celosia.anonymity.coding import Coded, encode
from celosia.anonymity.masking.parts import check_names, split_rows
from celosia.anonymity.microdata import Microdata
from celosia.core.errors import ParameterError, SchemaError
from celosia.core.exact import exact_probability, safe_repr
from celosia.noise import categorical
from celosia.noise.source import source_or_system

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source

Matrix: TypeAlias = tuple[tuple[Fraction, ...], ...]
Weights: TypeAlias = list[list[int]]

_FINEST: Final = 10**9  # of probabilities: the sums of weights must stay 64-bit integers
_MAX_CATEGORIES: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Pram:
    """Replace categories at random, with exact probabilities, within strata. Nulls stay in place.

    Parameters
    ----------
    columns
        The columns.
    keep
        The probability that a category stays as it is; all others are equally likely.
    matrices
        Instead of ``keep``, for some columns: for each category, the probability of each that it may become. Numbers
        are meant as they are written in decimals, and those of a category must sum to 1.
    invariant
        Whether a second draw gives back the frequencies in expectation: the category that was drawn becomes each that
        it may come from, in proportion to how many come from there.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from celosia.anonymity.microdata import Roles, read_microdata
    >>> data = read_microdata(pa.table({"sex": list("FFFM")}), roles=Roles(quasi_identifiers=["sex"]))
    >>> pram = Pram(columns=["sex"], keep=0.8, invariant=True)
    >>> [[str(entry) for entry in row] for row in pram.compute_matrix(data, "sex")]
    [['75/91', '16/91'], ['48/91', '43/91']]
    >>> pram.apply(data).table.num_rows
    4
    """

    columns: Sequence[str]
    keep: float = 0.8
    matrices: Mapping[str, Mapping[str, Mapping[str, float]]] = field(default_factory=dict)
    invariant: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", check_names(self.columns, name="columns"))
        exact_probability(self.keep, name="keep")
        if unknown := [name for name in self.matrices if name not in self.columns]:
            raise ParameterError("anonymity_masking.matrix_of_other_column", name=safe_repr(unknown[0]))
        for name, matrix in self.matrices.items():
            for row in matrix.values():
                numbers = [Fraction(str(number)) for number in row.values()]
                if sum(numbers) != 1 or min(numbers) < 0 or not row.keys() <= matrix.keys():
                    raise ParameterError("anonymity_masking.matrix_not_stochastic", name=safe_repr(name))
        given = [
            self.keep,
            *(number for matrix in self.matrices.values() for row in matrix.values() for number in row.values()),
        ]
        if any(Fraction(str(number)).denominator > _FINEST for number in given):
            raise ParameterError("anonymity_masking.probability_too_fine")

    def compute_matrix(self, data: Microdata, name: str, *, stratum: int = 0) -> Matrix:
        """Return the exact probability that each category becomes each other one, in one stratum.

        Rows and columns follow the sorted categories; strata are numbered in the order of their values.
        """
        coded = encode(data.get_column(name), name=name)
        weights = self._weigh(name, coded)
        rows = split_rows(data, [name])[stratum]
        first = [[Fraction(weight, sum(row)) for weight in row] for row in weights]
        if not self.invariant:
            return tuple(map(tuple, first))
        second = [
            [Fraction(weight, sum(row) or 1) for weight in row] for row in _turn_back(weights, _count(coded, rows))
        ]
        return tuple(
            tuple(sum((p * back[j] for p, back in zip(row, second, strict=True)), Fraction(0)) for j in range(len(row)))
            for row in first
        )

    def apply(self, data: Microdata, *, source: "Source | None" = None) -> Microdata:
        """Return the file with randomized categories."""
        drawn = source_or_system(source)
        changed = {}
        for name in self.columns:
            coded = encode(data.get_column(name), name=name)
            weights = self._weigh(name, coded)
            codes = coded.codes.copy()
            for rows in split_rows(data, [name]):
                found = _draw(weights, codes[rows], drawn)
                if self.invariant:
                    found = _draw(_turn_back(weights, _count(coded, rows)), found, drawn)
                codes[rows] = found
            changed[name] = Coded(codes, coded.labels).decode()
        return data.replace_columns(changed)

    def _weigh(self, name: str, coded: Coded) -> Weights:
        """Return integer weights of what each category becomes; all rows have the same sum."""
        size = len(coded.labels)
        if size > _MAX_CATEGORIES:
            raise SchemaError("anonymity_masking.too_many_categories", name=safe_repr(name), most=_MAX_CATEGORIES)
        if name not in self.matrices:
            keep = Fraction(str(self.keep)) if size > 1 else Fraction(1)
            stay, move = keep.numerator * max(size - 1, 1), keep.denominator - keep.numerator
            return [[stay if i == j else move for j in range(size)] for i in range(size)]
        matrix, labels = self.matrices[name], list(map(str, coded.labels.to_pylist()))
        if any(label not in labels for label in matrix) or any(label not in matrix for label in labels):
            raise SchemaError("anonymity_masking.matrix_of_other_categories", name=safe_repr(name))
        numbers = [[Fraction(str(matrix[row].get(column, 0))) for column in labels] for row in labels]
        common = lcm(*(number.denominator for row in numbers for number in row))
        return [[int(number * common) for number in row] for row in numbers]


def _turn_back(weights: Weights, counts: "NDArray[np.int64]") -> Weights:
    """Return the weights of where each drawn category came from: ``counts[i] * weights[i][j]`` for ``j`` from ``i``."""
    return [[int(count) * row[j] for count, row in zip(counts, weights, strict=True)] for j in range(len(weights))]


def _count(coded: Coded, rows: "NDArray[np.int64]") -> "NDArray[np.int64]":
    codes = coded.codes[rows]
    return np.bincount(codes[codes >= 0], minlength=len(coded.labels))


def _draw(weights: Weights, codes: "NDArray[np.int32]", source: "Source") -> "NDArray[np.int32]":
    """Return what each category became; nulls stay."""
    found = codes.copy()
    for code, places in _list_places(codes):
        found[places] = categorical(weights[code], places.size, source)
    return found


def _list_places(codes: "NDArray[np.int32]") -> "Iterator[tuple[int, NDArray[np.int64]]]":
    """Yield each category that occurs, with its places."""
    order = np.argsort(codes, kind="stable")
    found, starts = np.unique(codes[order], return_index=True)
    for code, places in zip(found.tolist(), np.split(order, starts[1:]), strict=True):
        if code >= 0:
            yield code, places
