"""l-diversity: each class has several well represented sensitive values (Machanavajjhala et al. 2007).

An attacker who knows the class of a person does not learn the sensitive value for sure. It does not count how alike
the values are, nor how much a class differs from the whole file; t-closeness does the latter.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from celosia.anonymity.models.histograms import (
    Histogram,
    count_values,
    find_largest,
    measure_entropy,
    measure_recursive,
)
from celosia.anonymity.models.model import SLACK, check_between, check_column, check_whole

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from celosia.anonymity.models.classes import Classes


@dataclass(frozen=True, slots=True)
class DistinctDiversity:
    """Each class has at least ``l`` different values of a sensitive column.

    Generalization keeps it, also for a class that others join; so does dropping other classes. Only a class without
    a known value, which says nothing, may lose it when others join.

    >>> DistinctDiversity("illness", 3)
    DistinctDiversity(column='illness', l=3)
    """

    survives_merging: ClassVar[bool] = True
    survives_joining: ClassVar[bool] = True
    survives_dropping: ClassVar[bool] = True

    column: str
    l: int  # noqa: E741 - the literature's name

    def __post_init__(self) -> None:
        check_column(self.column)
        check_whole(self.l, "l", 1)

    @property
    def columns(self) -> tuple[str, ...]:
        """The sensitive column."""
        return (self.column,)

    def find_satisfied(self, classes: "Classes") -> "NDArray[np.bool_]":
        """Return for each class whether it satisfies the model, or has no known value."""
        histogram = classes.count_sensitive(self.column)
        return _pass_unknown(histogram, count_values(histogram) >= self.l)


@dataclass(frozen=True, slots=True)
class EntropyDiversity:
    """The entropy of a sensitive column in each class is at least the logarithm of ``l``.

    Merging classes that satisfy it keeps it, for entropy is concave. A class that satisfies it may lose it when one
    that does not joins it. Dropping other classes keeps it.

    >>> EntropyDiversity("illness", 2.5)
    EntropyDiversity(column='illness', l=2.5)
    """

    survives_merging: ClassVar[bool] = True
    survives_joining: ClassVar[bool] = False
    survives_dropping: ClassVar[bool] = True

    column: str
    l: float  # noqa: E741 - the literature's name

    def __post_init__(self) -> None:
        check_column(self.column)
        check_between(self.l, "l", 1.0, float("inf"))

    @property
    def columns(self) -> tuple[str, ...]:
        """The sensitive column."""
        return (self.column,)

    def find_satisfied(self, classes: "Classes") -> "NDArray[np.bool_]":
        """Return for each class whether it satisfies the model, or has no known value."""
        histogram = classes.count_sensitive(self.column)
        return _pass_unknown(histogram, measure_entropy(histogram) >= self.l * (1 - SLACK))


@dataclass(frozen=True, slots=True)
class RecursiveDiversity:
    """The most frequent value of each class occurs less than ``c`` times as often as the ``l``-th and all rarer ones.

    With counts r1 >= r2 >= ..., r1 < c * (r_l + r_(l+1) + ...). Merging classes that satisfy it keeps it. A class that
    satisfies it may lose it when one that does not joins it. Dropping other classes keeps it.

    >>> RecursiveDiversity("illness", c=3.0, l=2)
    RecursiveDiversity(column='illness', c=3.0, l=2)
    """

    survives_merging: ClassVar[bool] = True
    survives_joining: ClassVar[bool] = False
    survives_dropping: ClassVar[bool] = True

    column: str
    c: float
    l: int  # noqa: E741 - the literature's name

    def __post_init__(self) -> None:
        check_column(self.column)
        check_between(self.c, "c", 1e-12, float("inf"))
        check_whole(self.l, "l", 1)

    @property
    def columns(self) -> tuple[str, ...]:
        """The sensitive column."""
        return (self.column,)

    def find_satisfied(self, classes: "Classes") -> "NDArray[np.bool_]":
        """Return for each class whether it satisfies the model, or has no known value."""
        histogram = classes.count_sensitive(self.column)
        return _pass_unknown(histogram, measure_recursive(histogram, self.c) >= self.l)


@dataclass(frozen=True, slots=True)
class AlphaK:
    """Each class has at least ``k`` records, and sensitive values in at most the part ``alpha`` of it (Wong 2006).

    ``values`` are the values to protect, as text; all of them if none is given. Merging classes that satisfy it keeps
    it. A class that satisfies it may lose it when one that does not joins it. Dropping other classes keeps it.

    >>> AlphaK("illness", alpha=0.5, k=3, values=("HIV",))
    AlphaK(column='illness', alpha=0.5, k=3, values=('HIV',))
    """

    survives_merging: ClassVar[bool] = True
    survives_joining: ClassVar[bool] = False
    survives_dropping: ClassVar[bool] = True

    column: str
    alpha: float
    k: int = 1
    values: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_column(self.column)
        check_between(self.alpha, "alpha", 0.0, 1.0)
        check_whole(self.k, "k", 1)
        object.__setattr__(self, "values", tuple(map(str, self.values)))

    @property
    def columns(self) -> tuple[str, ...]:
        """The sensitive column."""
        return (self.column,)

    def find_satisfied(self, classes: "Classes") -> "NDArray[np.bool_]":
        """Return for each class whether it satisfies the model."""
        histogram = classes.count_sensitive(self.column)
        rare = find_largest(histogram, self.values) <= self.alpha + SLACK
        enough: NDArray[np.bool_] = classes.sizes >= self.k
        return enough & _pass_unknown(histogram, rare)


def _pass_unknown(histogram: Histogram, satisfied: "NDArray[np.bool_]") -> "NDArray[np.bool_]":
    """Return what is satisfied; a class without a known value says nothing."""
    unknown: NDArray[np.bool_] = histogram.totals == 0
    return satisfied | unknown
