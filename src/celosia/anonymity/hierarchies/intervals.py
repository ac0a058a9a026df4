"""Intervals of numbers, wider from level to level."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from celosia.anonymity.hierarchies.levels import Levels, make_levels
from celosia.core.errors import ParameterError, SchemaError
from celosia.core.exact import safe_repr

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True, init=False)
class Intervals:
    """A hierarchy of intervals between cuts. An interval has its lower cut and not its upper one; the last has both.

    Parameters
    ----------
    cuts
        The cuts of level 1, or a list of cuts for each level; those of a level are among those of the level before.
    names
        The name of each interval, by level as ``cuts``. By default ``20-29`` for integers and ``[20, 30)`` for others.

    Examples
    --------
    >>> import pyarrow as pa
    >>> ages = Intervals([0, 18, 35, 65, 99], names=["minor", "young", "adult", "retired"])
    >>> ages.generalize(pa.array([17, 18, 99]), name="age").labels[1].to_pylist()
    ['minor', 'retired', 'young']
    >>> Intervals.of_widths(0, 100, [5, 10]).generalize(pa.array([17, 18]), name="age").labels[2].to_pylist()
    ['10-19']
    """

    cuts: tuple[tuple[float, ...], ...]
    names: tuple[tuple[str, ...], ...]

    def __init__(
        self,
        cuts: Sequence[float] | Sequence[Sequence[float]],
        *,
        names: Sequence[str] | Sequence[Sequence[str]] = (),
    ) -> None:
        levels = tuple(map(_check_cuts, _list_levels(cuts)))
        if not levels or any(not set(coarse) <= set(fine) for fine, coarse in itertools.pairwise(levels)):
            raise ParameterError("anonymity.cuts_not_nested")
        if any((line[0], line[-1]) != (levels[0][0], levels[0][-1]) for line in levels):
            raise ParameterError("anonymity.cuts_of_other_ends")
        called = tuple(tuple(map(str, line)) for line in _list_levels(names))
        if called and [len(line) + 1 for line in called] != [len(line) for line in levels]:
            raise ParameterError("anonymity.interval_names_missing")
        object.__setattr__(self, "cuts", levels)
        object.__setattr__(self, "names", called)

    @classmethod
    def of_widths(cls, low: float, high: float, widths: Sequence[float]) -> "Intervals":
        """Return intervals of equal widths from ``low``; the last one of a level ends at ``high``.

        >>> Intervals.of_widths(0, 10, [2, 4]).cuts
        ((0.0, 2.0, 4.0, 6.0, 8.0, 10.0), (0.0, 4.0, 8.0, 10.0))
        """
        if not all(width > 0 for width in widths) or not low < high:
            raise ParameterError("anonymity.widths_not_positive")
        counts = [math.ceil((high - low) / width) for width in widths]
        return cls(
            [
                [*(low + width * place for place in range(count)), high]
                for width, count in zip(widths, counts, strict=True)
            ]
        )

    @property
    def height(self) -> int:
        """The number of levels, with the values themselves and ``*``."""
        return len(self.cuts) + 2

    def generalize(self, values: "pa.Array", *, name: str) -> Levels:
        """Return values at every level; each must be a number between the first and the last cut."""
        import pyarrow as pa

        if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
            raise SchemaError("anonymity.intervals_need_numbers", name=safe_repr(name), type=str(values.type))
        numbers = values.to_numpy(zero_copy_only=False).astype(np.float64)
        low, high = self.cuts[0][0], self.cuts[0][-1]
        if len(numbers) and not low <= numbers.min() <= numbers.max() <= high:
            raise SchemaError("anonymity.value_outside_cuts", name=safe_repr(name), low=low, high=high)
        whole = pa.types.is_integer(values.type) and all(cut.is_integer() for cut in self.cuts[0])
        point = 1 / (high - low + 1) if whole else 0.0
        texts: list[list[str]] = []
        sizes: list[ArrayLike] = [np.full(len(numbers), point)]
        for level, cuts in enumerate(self.cuts):
            places = np.clip(np.searchsorted(cuts, numbers, side="right") - 1, 0, len(cuts) - 2)
            labels = self.names[level] if self.names else write_intervals(cuts, whole=whole)
            texts.append([labels[place] for place in places])
            sizes.append(_measure_widths(np.array(cuts), whole=whole)[places])
        return make_levels(values, texts, [*sizes, np.ones(len(numbers))])


def write_intervals(cuts: Sequence[float], *, whole: bool) -> tuple[str, ...]:
    """Return the names of the intervals between cuts; those of whole numbers say their first and last number."""
    last = len(cuts) - 2
    if not whole:
        return tuple(
            f"[{_write_cut(low)}, {_write_cut(high)}{']' if place == last else ')'}"
            for place, (low, high) in enumerate(itertools.pairwise(cuts))
        )
    ends = [(int(low), int(high) - (place < last)) for place, (low, high) in enumerate(itertools.pairwise(cuts))]
    return tuple(f"{low}-{high}" if low < high else str(low) for low, high in ends)


def _write_cut(cut: float) -> str:
    """Return a cut with all its digits: intervals of one name would be one."""
    short = f"{cut:g}"
    return short if float(short) == cut else repr(cut)


def _measure_widths(cuts: "NDArray[np.float64]", *, whole: bool) -> "NDArray[np.float64]":
    """Return the part of the domain in each interval; whole numbers are counted."""
    widths = np.diff(cuts)
    if whole:
        widths[-1] += 1
    shares: NDArray[np.float64] = widths / widths.sum()
    return shares


def _list_levels(given: Sequence[object]) -> list[tuple[object, ...]]:
    """Return a list for each level, also of one list for level 1."""
    if any(isinstance(one, str) or not isinstance(one, Sequence) for one in given):
        return [tuple(given)]
    return [tuple(one) for one in given if isinstance(one, Sequence)]


def _check_cuts(given: tuple[object, ...]) -> tuple[float, ...]:
    numbers = tuple(float(cut) for cut in given if isinstance(cut, int | float) and not isinstance(cut, bool))
    rising = all(low < high for low, high in itertools.pairwise(numbers))
    if len(numbers) < 2 or len(numbers) < len(given) or not rising or not all(map(math.isfinite, numbers)):
        raise ParameterError("anonymity.cuts_not_rising", cuts=safe_repr(list(given)))
    return numbers
