"""The protocols of privacy models.

A model is a condition on each class, or on the file as a whole. Three properties tell a search what it may leave out:

``survives_merging``
    Classes that satisfy the model merge into one that does. Generalizing a file that satisfies it keeps it so.
``survives_joining``
    A class that satisfies the model still does after any other records joined it. Generalization then never adds to
    the records that violate it, so the model can be searched with suppression as if it were k-anonymity.
``survives_dropping``
    The other classes still satisfy the model after whole classes were dropped.
"""

from typing import TYPE_CHECKING, ClassVar, Final, Protocol, TypeAlias, runtime_checkable

import numpy as np

from celosia.anonymity.models.classes import Classes
from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr

if TYPE_CHECKING:
    from numpy.typing import NDArray

SLACK: Final = 1e-9
"""What a sum of floats may be off; bounds that are met exactly are met."""


@runtime_checkable
class ClassModel(Protocol):
    """Protocol of a model that each class satisfies or not.

    >>> from celosia.anonymity.models import AverageRisk, KAnonymity
    >>> isinstance(KAnonymity(2), ClassModel), isinstance(AverageRisk(0.1), ClassModel)
    (True, False)
    """

    survives_merging: ClassVar[bool]
    survives_joining: ClassVar[bool]
    survives_dropping: ClassVar[bool]

    @property
    def columns(self) -> tuple[str, ...]:
        """The sensitive columns that the model reads."""

    def find_satisfied(self, classes: Classes) -> "NDArray[np.bool_]":
        """Return for each class whether it satisfies the model."""


@runtime_checkable
class FileModel(Protocol):
    """Protocol of a model that a file satisfies or not.

    >>> from celosia.anonymity.models import AverageRisk, KAnonymity
    >>> isinstance(KAnonymity(2), FileModel), isinstance(AverageRisk(0.1), FileModel)
    (False, True)
    """

    survives_merging: ClassVar[bool]
    survives_joining: ClassVar[bool]
    survives_dropping: ClassVar[bool]

    @property
    def columns(self) -> tuple[str, ...]:
        """The sensitive columns that the model reads."""

    def is_satisfied(self, classes: Classes) -> bool:
        """Return whether the file satisfies the model."""

    def count_dropped(self, sizes: "NDArray[np.float64]") -> int:
        """Return how many classes must be dropped, the smallest first; ``sizes`` rise."""


Model: TypeAlias = ClassModel | FileModel
"""A privacy model."""


def check_whole(value: object, name: str, least: int) -> None:
    """Raise unless a parameter is an integer of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ParameterError("anonymity_models.not_a_count", name=name, least=least, value=safe_repr(value))


def check_between(value: object, name: str, low: float, high: float) -> None:
    """Raise unless a parameter is a number from ``low`` to ``high``."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not low <= float(value) <= high:  # type: ignore[arg-type]
        raise ParameterError("anonymity_models.not_between", name=name, low=low, high=high, value=safe_repr(value))


def check_column(value: object) -> None:
    """Raise unless a parameter is the name of a column."""
    if not isinstance(value, str):
        raise ParameterError("anonymity_models.not_a_column", value=safe_repr(value))
