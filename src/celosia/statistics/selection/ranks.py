"""Quantiles, the median, the least and the greatest value: chosen on the axis by rank, never computed and then noised.

The utility of a value is minus the number of rows between it and the wanted rank; one row more or less moves that by at
most one row, however far the rows are apart. All quantiles are found together (``splitting``). A minimum is looked for
a few rows above the end, where the rows and not the empty stretch below them decide. Smith 2011; Kaplan, Schnapp and
Stemmer 2022; the proof is in ``proofs/quantiles.md``.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from celosia.core.adjacency import AddRemove
from celosia.core.errors import ParameterError
from celosia.core.exact import Exact, exact_integer, exact_level, exact_positive, exact_probability, safe_repr
from celosia.core.messages.message import Message, name_unit
from celosia.data.schema.axis import Axis
from celosia.statistics.base.choice import Choice, Selections, gap_at_most
from celosia.statistics.base.measure import Estimate
from celosia.statistics.selection.quantile_ends import LEVEL, choose_ends, rows_beyond
from celosia.statistics.selection.splitting import POINTS, Line, Problem, problems

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source
    from celosia.statistics.base.noise import ContributionBounds

_MAX_BINS = 2**16
_MAX_COUNTS = 2**22
_MAX_INT64_VALUE = 2**62
_MAX_QUANTILES = 1_000
_EMPTY_CHANCE = 0.01  # at most, that a minimum is searched where there are no rows


def bins_for(axis: Axis, cells: int = 1) -> int:
    """Return the number of bins of an axis: its points, unless they are too many for this number of cells.

    >>> bins_for(Axis(0, 120, Fraction(1))), bins_for(Axis(0, 2**30, Fraction(1)), cells=1000)
    (121, 4194)
    """
    return max(2, min(axis.steps + 1, _MAX_BINS, _MAX_COUNTS // exact_integer(cells, name="cells")))


_NAMED_QUANTILES: Final = {
    Fraction(0): "statistics.minimum_chosen",
    Fraction(1, 2): "statistics.median_chosen",
    Fraction(1): "statistics.maximum_chosen",
}


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class Quantiles(Choice):
    """The values below which given shares of the rows lie; 0 is the minimum, 1/2 the median, 1 the maximum.

    With ``interval=True`` answers have intervals. The ends of those of a median or another quantile are private
    choices too, and each costs as much as the quantile. An interval of a minimum or maximum reaches to the bound of the
    axis and costs nothing.

    >>> from celosia.statistics.base.noise import ContributionBounds
    >>> ages = Quantiles(axis=Axis(0, 120, Fraction(1)), quantiles=("1/4", "1/2", "3/4"))
    >>> ages.release(np.full((1, 121), 1000), 1, ContributionBounds()).value.tolist()
    [[30, 60, 90]]
    >>> median = Quantiles(axis=Axis(0, 120, Fraction(1)), quantiles=("1/2",), interval=True)
    >>> low, high = median.release(np.full((1, 121), 1000), 1, ContributionBounds()).interval(0.95)
    >>> low.tolist(), high.tolist()
    ([[60]], [[60]])
    """

    axis: Axis
    quantiles: tuple[Fraction, ...]
    bins: int
    interval: bool

    def __init__(
        self, *, axis: Axis, quantiles: "tuple[Exact, ...]", bins: int | None = None, interval: bool = False
    ) -> None:
        shares = tuple(exact_probability(share, name="quantiles") for share in quantiles)
        if not 1 <= len(shares) <= _MAX_QUANTILES:
            raise ParameterError("statistics.wrong_number_of_quantiles", most=_MAX_QUANTILES, found=len(shares))
        count = bins_for(axis) if bins is None else exact_integer(bins, name="bins", least=2)
        if count > _MAX_COUNTS:
            raise ParameterError("statistics.too_many_bins", most=_MAX_COUNTS, bins=safe_repr(bins))
        object.__setattr__(self, "axis", axis)
        object.__setattr__(self, "quantiles", shares)
        object.__setattr__(self, "bins", min(count, axis.steps + 1))
        object.__setattr__(self, "interval", interval)

    quantities: ClassVar[tuple[str, ...]] = ("quantiles",)
    _flips: ClassVar[bool] = False

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axis."""
        return (self.axis,)

    @property
    def bin_width(self) -> int:
        """How many points of the axis one bin holds: a row at step k is counted in bin ``k // bin_width``.

        >>> Quantiles(axis=Axis(0, 999, Fraction(1)), quantiles=("1/2",), bins=64).bin_width
        16
        """
        return -(-(self.axis.steps + 1) // self.bins)

    @property
    def width(self) -> int:
        """How many bins there are."""
        return -(-(self.axis.steps + 1) // self.bin_width)

    @property
    def bounds(self) -> "NDArray[np.int64] | NDArray[np.float64]":
        """The least and the greatest answer there can be.

        >>> Quantiles(axis=Axis(0, 999, Fraction(1)), quantiles=("1/2",), bins=64).bounds.tolist()
        [0, 999]
        """
        return self._values(np.array([0, self.axis.steps]))

    def parts(self, bounding: "ContributionBounds", *, pure: bool = True) -> int:  # noqa: ARG002 - the same for all
        """Return the number of levels: on each of them, all the rows of a unit in a cell are chosen among once.

        Lower and upper ends have levels of their own; a minimum or maximum needs none.

        >>> from celosia.statistics.base.noise import ContributionBounds
        >>> ages, quartiles = Axis(0, 120, Fraction(1)), ("1/4", "1/2", "3/4")
        >>> [Quantiles(axis=ages, quantiles=quartiles, interval=i).parts(ContributionBounds()) for i in (False, True)]
        [2, 6]
        """
        ends = 2 * len(self._inner).bit_length() if self.interval else 0
        return len(self._sorted_quantiles).bit_length() + ends

    def sensitivity(self, problem: Problem, bounding: "ContributionBounds") -> Fraction:
        """Return how many rows one unit moves a problem's utility, counted so that a level costs one selection.

        A replaced unit takes rows from one problem and gives them to another, so both halves are counted where there
        are several problems or several cells; in one problem alone it moves a rank by its rows.

        >>> from celosia.statistics.base.noise import ContributionBounds
        >>> third = Quantiles(axis=Axis(0, 120, Fraction(1)), quantiles=("1/3",))
        >>> third.sensitivity(problems(third.quantiles)[0][0], ContributionBounds(rows=3))
        Fraction(2, 1)
        """
        if bounding.adjacency is AddRemove:
            return bounding.rows * problem.side
        if problem.alone and bounding.cells == 1:
            return Fraction(bounding.rows)
        return 2 * bounding.rows * problem.side

    def spread(
        self,
        epsilon: Exact | None,
        bounding: "ContributionBounds",
        *,
        rho: Exact | None = None,
        pure: bool = True,  # noqa: ARG002 - the same mechanism for all
        rows: float | None = None,
        level: Exact = 0.95,
    ) -> float:
        """Return a bound on the rows between an answer and its quantile, for all quantiles of a cell together.

        It holds at this level whatever the data, but for one part in 128 of the rows that share a value; usually
        answers are nearer. With a public guess of the ``rows`` in a cell it is never more than these.

        >>> from celosia.statistics.base.noise import ContributionBounds
        >>> median = Quantiles(axis=Axis(0, 120, Fraction(1)), quantiles=("1/2",))
        >>> round(median.spread(1, ContributionBounds()), 1)
        7.8
        """
        each = self.each(epsilon, bounding, rho=rho)
        missed = (1 - exact_level(level)) / len(self._sorted_quantiles)
        off: dict[int | None, float] = {None: 0.0}
        for problem in (problem for each_level in problems(self._sorted_quantiles) for problem in each_level):
            rate, share = self._rate(problem, each, bounding), float(problem.share)
            extreme = problem.share in (0, 1)  # with intervals, its candidates stand twice
            own = gap_at_most(self._candidates(problem) * (2 if extreme and self.interval else 1), missed, rate)
            found = (1 - share) * off[problem.left] + share * off[problem.right]
            off[problem.number] = own + found + (self._rank(problem, rate) if extreme else 0)
        most = max(off.values())
        return most if rows is None else min(most, float(rows))

    def explain(
        self, epsilon: Exact | None, bounding: "ContributionBounds", *, rho: Exact | None = None, pure: bool = True
    ) -> tuple[Message, ...]:
        """Explain how quantiles are chosen, and why adding noise to them would be hopeless.

        >>> from celosia.statistics.base.noise import ContributionBounds
        >>> median = Quantiles(axis=Axis(0, 120, Fraction(1)), quantiles=("1/2",))
        >>> for sentence in median.explain(1, ContributionBounds()):
        ...     print(sentence)
        The median is chosen by rank among 121 values by the exponential mechanism; with probability 95 % at most 8
        rows lie between it and the truth.
        Laplace noise would be hopeless: one row can move a median from 0 to 120, if half of the rows are at either
        end, so the noise would have scale 120, as wide as the axis for any number of rows.
        """
        far = math.ceil(self.spread(epsilon, bounding, rho=rho, pure=pure))
        sentences = [self._explain_choice(far), self._explain_noise(epsilon, bounding)]
        each = self.each(epsilon, bounding, rho=rho)
        if self.interval and self._inner:
            sentences.append(self._explain_ends(each, bounding))
        if not {0, 1}.isdisjoint(self.quantiles):
            sentences.append(self._explain_extremes(each, bounding))
            sentences += self._explain_bounds() if self.interval else []
        if self.bin_width > 1:
            sentences.append(Message("statistics.bin_width", width=_format(self.bin_width * self.axis.grid)))
        return tuple(sentences)

    def _explain_choice(self, rows: int) -> Message:
        candidates = Message("statistics.values" if self.bin_width == 1 else "statistics.bins", number=self.width)
        number, share = len(self._sorted_quantiles), self._sorted_quantiles[0]
        if number > 1:
            code = "statistics.quantiles_chosen"
            return Message(code, number=number, candidates=candidates, rounds=number.bit_length(), rows=rows)
        if share in _NAMED_QUANTILES:
            return Message(_NAMED_QUANTILES[share], candidates=candidates, rows=rows)
        return Message("statistics.quantile_chosen", quantile=_format(share), candidates=candidates, rows=rows)

    def _explain_noise(self, epsilon: Exact | None, bounding: "ContributionBounds") -> Message:
        low, high, reach = self.axis.low, self.axis.high, self.axis.high - self.axis.low
        scale = f"{_format(reach)} / epsilon"
        if epsilon is not None:
            scale = _format(reach * bounding.groups / exact_positive(epsilon, name="epsilon"))
        unit = name_unit(bounding.unit)
        return Message("statistics.noise_hopeless", unit=unit, low=_format(low), high=_format(high), scale=scale)

    def _explain_extremes(self, each: Fraction, bounding: "ContributionBounds") -> Message:
        ends = [problem for level in problems(self._sorted_quantiles) for problem in level if problem.share in (0, 1)]
        ranks = sorted({self._rank(problem, self._rate(problem, each, bounding)) for problem in ends})
        if len(ranks) > 1:
            return Message("statistics.extremes_looked_for", rank=ranks[0], other=ranks[1])
        return Message("statistics.extreme_looked_for", rank=ranks[0])

    def _explain_ends(self, each: Fraction, bounding: "ContributionBounds") -> Message:
        far = rows_beyond(self._inner, lambda problem: self._rate(problem, each, bounding), bins=self.width)
        levels = 2 * len(self._inner).bit_length()
        rows, level = math.ceil(far), float(100 * LEVEL)
        return Message("statistics.ends_chosen", levels=levels, parts=self.parts(bounding), level=level, rows=rows)

    def _explain_bounds(self) -> list[Message]:
        """Explain the bound at the open side of an interval."""
        sides = [
            ("statistics.minimum_at_bound", self.axis.low)
            if share == 0
            else ("statistics.maximum_at_bound", self.axis.high)
            for share in self._sorted_quantiles
            if share in (0, 1)
        ]
        return [Message(code, bound=_format(bound)) for code, bound in sides]

    @property
    def _sorted_quantiles(self) -> tuple[Fraction, ...]:
        return tuple(sorted(set(self.quantiles)))

    @property
    def _inner(self) -> tuple[Fraction, ...]:
        return tuple(share for share in self._sorted_quantiles if 0 < share < 1)

    def _has_whole_bins(self, problem: Problem) -> bool:
        """Return whether bins need no points: none of them is cut, and each is one value."""
        return problem.last and self.bin_width == 1

    def _candidates(self, problem: Problem) -> int:
        return self.width * (1 if self._has_whole_bins(problem) else POINTS)

    def _rate(self, problem: Problem, each: Fraction, bounding: "ContributionBounds") -> Fraction:
        return each / (2 * self.sensitivity(problem, bounding))

    def _rank(self, problem: Problem, rate: Fraction) -> int:
        """Return how far from the end a minimum is searched: far enough that the empty values hardly count."""
        return math.ceil(gap_at_most(self._candidates(problem), _EMPTY_CHANCE, rate))

    def _choose(self, counts: "NDArray[np.int64]", selections: Selections) -> "NDArray[np.int64]":
        each, bounding, source = selections.each, selections.bounding, selections.source
        places = np.empty((len(counts), len(self._sorted_quantiles)), dtype=np.int64)
        low, high = np.zeros_like(places), np.full_like(places, self.width - 1)
        if len(counts):
            line = Line(counts)
            for problem in (problem for level in problems(self._sorted_quantiles) for problem in level):
                places[:, problem.number], enough = self._choose_place(problem, line, places, each, bounding, source)
                if problem.share in (0, 1):
                    bound = high if problem.share == 0 else low
                    bound[enough, problem.number] = places[enough, problem.number] // (2 * POINTS)
        if self.interval and self._inner:
            inner = [self._sorted_quantiles.index(share) for share in self._inner]
            low[:, inner], high[:, inner] = choose_ends(
                counts, self._inner, lambda problem: self._rate(problem, each, bounding), source=source
            )
        order = [self._sorted_quantiles.index(share) for share in self.quantiles]
        return np.stack([places[:, order], low[:, order], high[:, order]], axis=1)

    def _choose_place(
        self,
        problem: Problem,
        line: Line,
        places: "NDArray[np.int64]",
        each: Fraction,
        bounding: "ContributionBounds",
        source: "Source",
    ) -> "tuple[NDArray[np.int64], NDArray[np.bool_]]":
        """Return the places of one quantile between those found before, and where it bounds a minimum or maximum."""
        nothing = np.zeros(len(places), dtype=np.int64)
        start = nothing if problem.left is None else places[:, problem.left]
        end = nothing + line.length if problem.right is None else places[:, problem.right]
        rate, whole_bins = self._rate(problem, each, bounding), self._has_whole_bins(problem)
        rank, ends = self._rank(problem, rate), (start, end)
        if self.interval and problem.share in (0, 1):
            return line.choose_extreme(problem, *ends, rate, rank=rank, whole_bins=whole_bins, source=source)
        found = line.choose(problem, *ends, rate, rank=rank, whole_bins=whole_bins, source=source)
        return found, nothing.astype(np.bool_)

    def _estimate(self, chosen: "NDArray[np.int64]") -> Estimate:
        places, low, high = np.moveaxis(chosen, 1, 0)
        bins, within = np.divmod(places, 2 * POINTS)
        value = self._values(bins * self.bin_width + within * self.bin_width // (2 * POINTS))
        if not self.interval:
            return Estimate(value=value)
        inside = self._values(low * self.bin_width), self._values((high + 1) * self.bin_width - 1)
        bounds = self._values(np.zeros_like(low)), self._values(np.full_like(high, self.axis.steps))
        return Estimate.around(value, lambda level: inside if level <= LEVEL else bounds)

    def _values(self, steps: "NDArray[np.int64]") -> "NDArray[np.int64] | NDArray[np.float64]":
        """Return steps from the start of the axis in the user's units."""
        numbers = np.minimum(steps, self.axis.steps) + self.axis.lowest
        top, bottom = self.axis.grid.numerator, self.axis.grid.denominator
        if self.axis.is_integer and max(abs(self.axis.low), abs(self.axis.high)) < _MAX_INT64_VALUE:
            return numbers * top
        return np.asarray(numbers * float(top) / float(bottom), dtype=np.float64)


def _format(number: Fraction) -> str:
    return f"{float(number):,.10g}"
