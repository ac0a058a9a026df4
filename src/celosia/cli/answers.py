"""The questions that the demonstration asks, each with its mechanism.

Every question is an exact integer summary of the table, a bound on how far one person moves it, and one release. The
true answer is kept beside the private one because the table is synthetic; a program for real data would have no such
field. Domains (causes, sexes, decades of age) are public, never read off the records.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from celosia.core import Guarantee, Release, Source
from celosia.data import AGES, CAUSES, DIABETES, SEXES, VIOLENCE
from celosia.mechanisms import Gaussian, Laplace, PermuteAndFlip, RandomizedResponse

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

__all__ = ["DECADES", "QUESTIONS", "Answer", "Bars", "Columns"]

_LEVEL = 0.95
_ADULT = 18
_DELTA = Fraction(1, 10**6)

DECADES: Final = (*(f"{start}–{start + 9}" for start in range(0, 110, 10)), "110–120")
"""The public cells of a histogram of ages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The columns of the table as whole numbers: ages, and positions within the public domains.

    >>> from celosia.data import deaths
    >>> Columns.of(deaths()).ages.shape
    (200000,)
    """

    ages: "NDArray[np.int64]"
    sexes: "NDArray[np.int64]"
    causes: "NDArray[np.int64]"

    @classmethod
    def of(cls, table: "pa.Table") -> "Columns":
        """Read the columns of the synthetic deaths.

        >>> from celosia.data import deaths
        >>> int(Columns.of(deaths()).sexes.max())
        1
        """
        return cls(
            ages=np.from_dlpack(table["age"].combine_chunks()).astype(np.int64),
            sexes=_positions(table["sex"], SEXES),
            causes=_positions(table["cause"], tuple(CAUSES)),
        )

    def caused_by(self, codes: tuple[str, ...]) -> "NDArray[np.bool_]":
        """Mark the deaths by one of ``codes``.

        >>> from celosia.data import DIABETES, deaths
        >>> columns = Columns.of(deaths())
        >>> int((columns.caused_by(DIABETES) & (columns.ages < 18)).sum())
        108
        """
        wanted = np.array([code in codes for code in CAUSES])
        return wanted[self.causes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars:
    """A private histogram, ready to draw.

    >>> Bars(names=("a",), values=np.array([1]), low=np.array([0]), high=np.array([2]), true=np.array([1])).names
    ('a',)
    """

    names: tuple[str, ...]
    values: "NDArray[np.int64]"
    low: "NDArray[np.int64]"
    high: "NDArray[np.int64]"
    true: "NDArray[np.int64]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One question with its true and its private answer, as text, and what the private one promises.

    >>> from celosia import PureDP
    >>> Answer(question="How many?", true="108", private="109", interval="", guarantee=PureDP(epsilon=1)).local
    False
    """

    question: str
    true: str
    private: str
    interval: str
    guarantee: Guarantee
    local: bool = False
    bars: Bars | None = None


def _minors_by_diabetes(columns: Columns, epsilon: Fraction, source: Source | None) -> Answer:
    true = int((columns.caused_by(DIABETES) & (columns.ages < _ADULT)).sum())
    release = Laplace(epsilon=epsilon, sensitivity=1).release(true, source=source)
    low, high = release.confidence_interval(_LEVEL)
    return Answer(
        question="Deaths of minors by diabetes",
        true=f"{true:,}",
        private=f"{release.value:,}",
        interval=_range(low, high),
        guarantee=release.guarantee,
    )


def _deaths_by_sex(columns: Columns, epsilon: Fraction, source: Source | None) -> Answer:
    # A person is in one cell, so that all cells together move by one.
    true = np.bincount(columns.sexes, minlength=len(SEXES))
    release = Laplace(epsilon=epsilon, sensitivity=1).release(true, source=source)
    low, high = release.confidence_interval(_level_of_each(true.size))
    return Answer(
        question="Deaths of women\nDeaths of men",
        true="\n".join(f"{count:,}" for count in true),
        private="\n".join(f"{count:,}" for count in release.value),
        interval="\n".join(_range(*bounds) for bounds in zip(low, high, strict=True)),
        guarantee=release.guarantee,
    )


def _mean_age(columns: Columns, epsilon: Fraction, source: Source | None) -> Answer:
    # One person adds (x - least) to the one sum and (greatest - x) to the other: the width of the range, together.
    least, greatest = AGES
    sums = np.array([(columns.ages - least).sum(), (greatest - columns.ages).sum()])
    release = Laplace(epsilon=epsilon, sensitivity=greatest - least).release(sums, source=source)
    # Both sums are within their intervals with probability 0.95, and the mean grows with the one, falls with the other.
    low, high = release.confidence_interval(_level_of_each(sums.size))
    return Answer(
        question="Mean age, in years",
        true=f"{columns.ages.mean():.3f}",
        private=f"{_mean(*release.value):.3f}",
        interval=f"{_mean(low[0], high[1]):.3f} – {_mean(high[0], low[1]):.3f}",
        guarantee=release.guarantee,
    )


def _mean(above: int, below: int) -> float:
    """The mean from the sums of what lies above the least and below the greatest age, which are never negative."""
    least, greatest = AGES
    above, below = max(int(above), 0), max(int(below), 0)
    return least + (greatest - least) * (above / (above + below) if above + below else 0.5)


def _most_common_cause(columns: Columns, epsilon: Fraction, source: Source | None) -> Answer:
    codes = tuple(CAUSES)
    counts = np.bincount(columns.causes, minlength=len(codes))
    release = PermuteAndFlip(epsilon=epsilon, sensitivity=1).release(counts, source=source)
    return Answer(
        question="Most common cause of death",
        true=codes[int(counts.argmax())],
        private=codes[release.value],
        interval="—",
        guarantee=release.guarantee,
    )


def _violence_by_decade(columns: Columns, epsilon: Fraction, source: Source | None) -> Answer:
    ages = columns.ages[columns.caused_by(VIOLENCE)]
    true = np.bincount(np.minimum(ages // 10, len(DECADES) - 1), minlength=len(DECADES))
    release = Gaussian(epsilon=epsilon, delta=_DELTA, sensitivity=1).release(true, source=source)
    low, high = release.confidence_interval(_level_of_each(true.size))
    first, top = int(true.argmax()), int(release.value.argmax())
    return Answer(
        question="Deaths by violence: the decade of age with most",
        true=f"{DECADES[first]}\n{true[top]:,}",  # the number belongs to the decade that the interval is about
        private=f"{DECADES[top]}\n{release.value[top]:,}",
        interval=f"\n{_range(low[top], high[top])}",
        guarantee=release.guarantee,
        bars=Bars(names=DECADES, values=release.value, low=low, high=high, true=true),
    )


def _share_of_women(columns: Columns, epsilon: Fraction, source: Source | None) -> Answer:
    truth = columns.sexes == SEXES.index("F")
    mechanism = RandomizedResponse(epsilon=epsilon)
    release: Release[Any] = mechanism.release(truth, source=source)
    estimate = mechanism.estimate(release.value)
    low, high = estimate.confidence_interval(_LEVEL)
    return Answer(
        question="Share of women, by randomized response",
        true=f"{truth.mean():.2%}",
        private=f"{estimate.proportion:.2%}",
        interval=f"{low:.2%} – {high:.2%}",
        guarantee=release.guarantee,
        local=True,
    )


QUESTIONS: Final[tuple[Callable[[Columns, Fraction, Source | None], Answer], ...]] = (
    _minors_by_diabetes,
    _deaths_by_sex,
    _mean_age,
    _most_common_cause,
    _violence_by_decade,
    _share_of_women,
)
"""What is asked, in order: each takes the columns, an epsilon and a source of randomness."""


def _level_of_each(count: int) -> float:
    """The level at which ``count`` intervals with independent noise hold all together with probability 0.95."""
    return float(_LEVEL ** (1 / count))


def _positions(column: "pa.ChunkedArray", domain: tuple[str, ...]) -> "NDArray[np.int64]":
    encoded = column.combine_chunks()
    in_domain = np.array([domain.index(text) for text in encoded.dictionary.to_pylist()], dtype=np.int64)
    # Through DLPack, because to_numpy would load pandas where it is installed.
    return in_domain[np.from_dlpack(encoded.indices).astype(np.int64)]


def _range(low: int, high: int) -> str:
    return f"{low:,} – {high:,}"
