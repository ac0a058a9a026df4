"""The k most common strings without a public list: those that enough units share, by their noisy numbers.

Which texts occur is private, so candidates cannot be listed. They are found as the private keys of a group-by are
(``mechanisms.StableKeys``): every text that occurs gets noise on its number of units, those that reach a threshold are
shown, and the k largest noisy numbers say which ones are kept. The last step is post-processing. A unit counts for a
bounded number of texts, once for each. The proof is in ``proofs/stable-keys.md``.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from celosia.core.errors import ParameterError, QueryError
from celosia.core.exact import Exact, exact_integer
from celosia.core.messages.message import Message, name_unit
from celosia.mechanisms.selection.stable_keys import StableKeys
from celosia.statistics.base.choice import Choice

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from celosia.core.events import Event
    from celosia.statistics.base.noise import ContributionBounds


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateTopK(Choice):
    """At most ``k`` texts, the most common first; one unit counts for at most ``groups`` of them.

    ``delta`` is the chance that a text is shown which one unit alone has.

    >>> from celosia.statistics.base.noise import ContributionBounds
    >>> PrivateTopK(k=10, groups=2, delta=Fraction(1, 10**6)).event(1, ContributionBounds(unit="person"))
    KeySelectionEvent(scale=2, threshold=30, groups=2, unit='person')
    """

    k: int
    groups: int = 1
    delta: Fraction = Fraction(0)
    quantities: ClassVar[tuple[str, ...]] = ("top_k",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", exact_integer(self.k, name="k"))
        object.__setattr__(self, "groups", exact_integer(self.groups, name="groups"))

    @property
    def width(self) -> int:
        """None: an engine returns the strings instead of counts."""
        return 0

    def parts(self, bounding: "ContributionBounds", *, pure: bool = True) -> int:  # noqa: ARG002 - the same for all
        """Return for how many texts one unit counts.

        >>> from celosia.statistics.base.noise import ContributionBounds
        >>> PrivateTopK(k=10, groups=2).parts(ContributionBounds())
        2
        """
        return self.groups

    def keys(self, epsilon: Exact | None, bounding: "ContributionBounds") -> StableKeys:
        """Return the mechanism that shows texts with their noisy numbers of units.

        >>> from celosia.statistics.base.noise import ContributionBounds
        >>> PrivateTopK(k=10, delta=Fraction(1, 10**6)).keys(1, ContributionBounds()).threshold
        15
        """
        if epsilon is None:
            raise ParameterError("statistics.unlisted_texts_need_epsilon")
        return StableKeys(
            epsilon=epsilon, delta=self.delta, groups=self.groups, adjacency=bounding.adjacency, unit=bounding.unit
        )

    def event(
        self,
        epsilon: Exact | None,
        bounding: "ContributionBounds",
        *,
        rho: Exact | None = None,  # noqa: ARG002 - refused where it is planned
        pure: bool = True,  # noqa: ARG002 - there is one mechanism
    ) -> "Event":
        """Return the event of a release, for all strings together."""
        return self.keys(epsilon, bounding).event

    def spread(
        self,
        epsilon: Exact | None,
        bounding: "ContributionBounds",
        *,
        rho: Exact | None = None,  # noqa: ARG002 - as above
        pure: bool = True,  # noqa: ARG002 - as above
        rows: float | None = None,  # noqa: ARG002 - nothing depends on it
        level: Exact = 0.95,
    ) -> float:
        """Return a bound on the error of the number of units of a string.

        >>> from celosia.statistics.base.noise import ContributionBounds
        >>> PrivateTopK(k=10, delta=Fraction(1, 10**6)).spread(1, ContributionBounds())
        3.0
        """
        return float(self.keys(epsilon, bounding).error(level))

    def explain(
        self,
        epsilon: Exact | None,
        bounding: "ContributionBounds",
        *,
        rho: Exact | None = None,  # noqa: ARG002 - as above
        pure: bool = True,  # noqa: ARG002 - as above
    ) -> tuple[Message, ...]:
        """Return how the texts are found.

        >>> from celosia.statistics.base.noise import ContributionBounds
        >>> print(*PrivateTopK(k=10, delta=Fraction(1, 10**6)).explain(1, ContributionBounds()))
        The texts are private: at most 10 are shown, in the order of their noisy numbers of rows, each within 3 with
        probability 95 %. A text can be shown from 15 noisy rows on; one of 17 or more is found with probability 95 %.
        """
        keys = self.keys(epsilon, bounding)
        sentence = Message(
            "statistics.texts_shown",
            most=self.k,
            units=name_unit(bounding.unit, several=True),
            error=keys.error(),
            threshold=keys.threshold,
            sure=keys.sure_count(),
        )
        limit = Message("statistics.texts_of_one_unit", unit=name_unit(bounding.unit), most=self.groups)
        return (sentence,) if bounding.unit == "row" else (sentence, limit)

    def _choose(self, *_counts: object, **_options: object) -> "NDArray[np.int64]":
        raise QueryError("statistics.unlisted_texts_without_columns")

    def best(
        self, cells: "NDArray[np.int64]", texts: "list[str]", counts: "NDArray[np.int64]", number: int
    ) -> list[list[str]]:
        """Return the strings of each of ``number`` cells, from the shown cells, strings and noisy numbers of units.

        >>> import numpy as np
        >>> PrivateTopK(k=2).best(np.array([0, 0, 1, 0]), ["b", "a", "c", "d"], np.array([9, 20, 7, 9]), 2)
        [['a', 'b'], ['c']]
        """
        found: list[list[str]] = [[] for _ in range(number)]
        order = sorted(range(len(texts)), key=lambda place: (-int(counts[place]), texts[place]))
        for place in order:
            cell = int(cells[place])
            if 0 <= cell < number and len(found[cell]) < self.k:
                found[cell].append(texts[place])
        return found
