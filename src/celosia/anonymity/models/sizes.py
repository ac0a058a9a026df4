"""Models of the size of classes: k-anonymity, k-map, and the risks of being found.

An attacker who knows the quasi-identifiers of a person finds the class of that person. The larger the class is in the
file, or in the population, the less the attacker knows who is who. None of them protects what the class has in common:
if all have one illness, everyone in the class has it (Sweeney 2002; Samarati 2001).
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from celosia.anonymity.models.model import SLACK, check_between, check_whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.anonymity.models.classes import Classes


@dataclass(frozen=True, slots=True)
class KAnonymity:
    """Each record has the quasi-identifiers of at least ``k`` records of the file (Samarati and Sweeney 1998).

    Generalization keeps it, also for a class that others join. Dropping whole classes keeps it; where nulls are
    wildcards, dropping a class takes matches away from others.

    >>> KAnonymity(5)
    KAnonymity(k=5)
    """

    survives_merging: ClassVar[bool] = True
    survives_joining: ClassVar[bool] = True
    survives_dropping: ClassVar[bool] = True

    k: int

    def __post_init__(self) -> None:
        check_whole(self.k, "k", 1)

    @property
    def columns(self) -> tuple[str, ...]:
        """None."""
        return ()

    def find_satisfied(self, classes: "Classes") -> "NDArray[np.bool_]":
        """Return for each class whether it satisfies the model."""
        return classes.sizes >= self.k


@dataclass(frozen=True, slots=True)
class KMap:
    """Each record has the quasi-identifiers of at least ``k`` people of the population (Sweeney 2001).

    ``population`` is a table of the population with the quasi-identifiers, and may have a column ``count``. Without
    it, the sampling weights of a class are added up. Generalization keeps it, also for a class that others join.
    Dropping whole classes keeps it if there is a population; an estimate from weights is that of the class alone.

    >>> KMap(20)
    KMap(k=20)
    """

    survives_merging: ClassVar[bool] = True
    survives_joining: ClassVar[bool] = True
    survives_dropping: ClassVar[bool] = True

    k: int
    population: object = field(default=None, repr=False, hash=False)

    def __post_init__(self) -> None:
        check_whole(self.k, "k", 1)

    @property
    def columns(self) -> tuple[str, ...]:
        """None."""
        return ()

    def find_satisfied(self, classes: "Classes") -> "NDArray[np.bool_]":
        """Return for each class whether it satisfies the model."""
        people = classes.weights if self.population is None else classes.count_population(self.population)
        return people >= self.k * (1 - SLACK)


@dataclass(frozen=True, slots=True)
class ProsecutorRisk:
    """No record is found with a probability above ``most`` by someone who knows that the person is in the file.

    The probability is one over the size of the class. All three properties are those of k-anonymity.

    >>> ProsecutorRisk(0.2)
    ProsecutorRisk(most=0.2)
    """

    survives_merging: ClassVar[bool] = True
    survives_joining: ClassVar[bool] = True
    survives_dropping: ClassVar[bool] = True

    most: float

    def __post_init__(self) -> None:
        check_between(self.most, "most", 1e-12, 1.0)

    @property
    def columns(self) -> tuple[str, ...]:
        """None."""
        return ()

    def find_satisfied(self, classes: "Classes") -> "NDArray[np.bool_]":
        """Return for each class whether it satisfies the model."""
        return classes.sizes * self.most >= 1 - SLACK


@dataclass(frozen=True, slots=True)
class AverageRisk:
    """Records are found with a probability of at most ``most`` on average, by someone who knows they are in the file.

    The average is the number of classes over the number of records. Generalization keeps it. Dropping a class that is
    larger than the average breaks it; dropping the smallest classes lowers the risk, which a search makes use of.

    >>> AverageRisk(0.01)
    AverageRisk(most=0.01)
    """

    survives_merging: ClassVar[bool] = True
    survives_joining: ClassVar[bool] = True
    survives_dropping: ClassVar[bool] = False

    most: float

    def __post_init__(self) -> None:
        check_between(self.most, "most", 1e-12, 1.0)

    @property
    def columns(self) -> tuple[str, ...]:
        """None."""
        return ()

    def is_satisfied(self, classes: "Classes") -> bool:
        """Return whether the file satisfies the model; a file without records does."""
        return measure_average_risk(classes) <= self.most * (1 + SLACK)

    def count_dropped(self, sizes: "NDArray[np.float64]") -> int:
        """Return how many classes must be dropped, the smallest first; ``sizes`` rise.

        No other choice drops fewer records: fewer classes cannot do, for the smallest are those that lower the number
        of classes over records most, and as many others have no fewer records.
        """
        records = sizes.sum() - np.cumsum(sizes) + sizes
        classes = np.arange(len(sizes), 0, -1)
        satisfied = np.flatnonzero(classes <= self.most * (1 + SLACK) * records)
        return int(satisfied[0]) if len(satisfied) else len(sizes)


def measure_average_risk(classes: "Classes") -> float:
    """Return the mean over the records of one over the number of records that match; 0 if there is none."""
    members, sizes = classes.members, classes.sizes
    present = members > 0
    return float(np.sum(members[present] / sizes[present]) / members.sum()) if present.any() else 0.0
