"""Delta-presence: how sure an attacker can be that a person is in the file (Nergiz, Atzori and Clifton 2007).

Being in a file may itself be the secret, as in one of patients. The attacker knows the population.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from celosia.anonymity.models.model import SLACK, check_between
from celosia.core.errors import InputError, ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.anonymity.models.classes import Classes


@dataclass(frozen=True, slots=True)
class DeltaPresence:
    """Of the people of each class of the population, between the parts ``low`` and ``high`` are in the file.

    ``population`` is a table with the quasi-identifiers of everyone, those in the file too, and may have a column
    ``count``. It is generalized with the file. Merging classes that satisfy it keeps it. A class may lose it when one
    that does not joins it. Dropping a class leaves nobody of it in the file: that breaks the model if ``low`` is above
    0, and keeps it otherwise.

    >>> import pyarrow as pa
    >>> DeltaPresence(0.0, 0.5, population=pa.table({"age": [30, 31, 32]}))
    DeltaPresence(low=0.0, high=0.5)
    """

    survives_merging: ClassVar[bool] = True
    survives_joining: ClassVar[bool] = False
    survives_dropping: ClassVar[bool] = False

    low: float
    high: float
    population: object = field(repr=False, hash=False)

    def __post_init__(self) -> None:
        check_between(self.low, "low", 0.0, 1.0)
        check_between(self.high, "high", self.low, 1.0)
        if self.population is None:
            raise ParameterError("anonymity_models.no_population")

    @property
    def columns(self) -> tuple[str, ...]:
        """None."""
        return ()

    def find_satisfied(self, classes: "Classes") -> "NDArray[np.bool_]":
        """Return for each class of the population whether it satisfies the model."""
        people, sizes = classes.count_population(self.population), classes.sizes
        if (sizes > people).any():
            raise InputError("anonymity_models.not_in_population")
        shares = np.divide(sizes, people, out=np.zeros(classes.count), where=people > 0)
        outside = (shares < self.low - SLACK) | (shares > self.high + SLACK)
        return ~(outside & (people > 0))
