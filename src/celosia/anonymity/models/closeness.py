"""t-closeness: each class has nearly the distribution of the whole file (Li, Li and Venkatasubramanian 2007).

An attacker who finds the class of a person learns little beyond what the file says of everybody. The distribution of
the whole file is that of the file *before* records are dropped, as in ARX: it is what the owner of the data knows, and
classes do not change each other. ``measure`` and ``check`` take it from their ``original``.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from celosia.anonymity.models.distances import measure_equal, measure_hierarchical, measure_ordered
from celosia.anonymity.models.model import SLACK, check_between, check_column
from celosia.core.errors import SchemaError
from celosia.core.exact import safe_repr

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.anonymity.models.classes import Classes
    from celosia.anonymity.models.histograms import Sensitive


@dataclass(frozen=True, slots=True)
class EqualCloseness:
    """The variational distance of each class from the file is at most ``t``: any two values are equally far apart.

    Merging classes that satisfy it keeps it, for the distance is convex. A class that satisfies it may lose it when
    one that does not joins it. Dropping other classes keeps it, for the distribution is that of the file before.

    >>> EqualCloseness("illness", 0.2)
    EqualCloseness(column='illness', t=0.2)
    """

    survives_merging: ClassVar[bool] = True
    survives_joining: ClassVar[bool] = False
    survives_dropping: ClassVar[bool] = True

    column: str
    t: float

    def __post_init__(self) -> None:
        check_column(self.column)
        check_between(self.t, "t", 0.0, 1.0)

    @property
    def columns(self) -> tuple[str, ...]:
        """The sensitive column."""
        return (self.column,)

    def find_satisfied(self, classes: "Classes") -> "NDArray[np.bool_]":
        """Return for each class whether it satisfies the model, or has no known value."""
        return measure_equal(classes.count_sensitive(self.column)) <= self.t + SLACK


@dataclass(frozen=True, slots=True)
class OrderedCloseness:
    """The ordered distance of each class from the file is at most ``t``: values are as far apart as their ranks.

    ``order`` lists the values as text, from first to last; by default they are sorted. A null that is a value comes
    first. The three properties are those of ``EqualCloseness``.

    >>> OrderedCloseness("income", 0.2)
    OrderedCloseness(column='income', t=0.2, order=())
    """

    survives_merging: ClassVar[bool] = True
    survives_joining: ClassVar[bool] = False
    survives_dropping: ClassVar[bool] = True

    column: str
    t: float
    order: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_column(self.column)
        check_between(self.t, "t", 0.0, 1.0)
        object.__setattr__(self, "order", tuple(map(str, self.order)))

    @property
    def columns(self) -> tuple[str, ...]:
        """The sensitive column."""
        return (self.column,)

    def find_satisfied(self, classes: "Classes") -> "NDArray[np.bool_]":
        """Return for each class whether it satisfies the model, or has no known value."""
        histogram = classes.count_sensitive(self.column)
        if self.order:
            histogram = histogram.recode(_rank(histogram.column, self.order), histogram.column.size)
        return measure_ordered(histogram) <= self.t + SLACK


@dataclass(frozen=True, slots=True)
class HierarchicalCloseness:
    """The hierarchical distance of each class from the file is at most ``t``.

    Two values are as far apart as the level of the column's hierarchy at which they meet, ``*`` being 1. A null that
    is a value meets the others at ``*``. The three properties are those of ``EqualCloseness``.

    >>> HierarchicalCloseness("illness", 0.2)
    HierarchicalCloseness(column='illness', t=0.2)
    """

    survives_merging: ClassVar[bool] = True
    survives_joining: ClassVar[bool] = False
    survives_dropping: ClassVar[bool] = True

    column: str
    t: float

    def __post_init__(self) -> None:
        check_column(self.column)
        check_between(self.t, "t", 0.0, 1.0)

    @property
    def columns(self) -> tuple[str, ...]:
        """The sensitive column."""
        return (self.column,)

    def find_satisfied(self, classes: "Classes") -> "NDArray[np.bool_]":
        """Return for each class whether it satisfies the model, or has no known value."""
        histogram = classes.count_sensitive(self.column)
        if histogram.column.levels is None:
            raise SchemaError("anonymity_models.no_hierarchy", name=safe_repr(self.column))
        return measure_hierarchical(histogram) <= self.t + SLACK


def _rank(column: "Sensitive", order: tuple[str, ...]) -> "NDArray[np.int64]":
    """Return the rank of each value in an order; a null that is a value comes first."""
    places = {"": 0} | {text: place for place, text in enumerate(order, start=1)}
    found = [places.get(text, -1) for text in column.write_values()]
    if -1 in found:
        raise SchemaError("anonymity_models.value_not_in_order", name=safe_repr(column.name))
    return np.argsort(np.argsort(found, kind="stable"), kind="stable")
