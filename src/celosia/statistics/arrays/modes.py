"""Mode and top-k of a plain column of categories, in one call.

The categories are public; any other value is missing and follows the null rule. The answer is chosen by its number of
rows (``most_common``, ``peeling``), and every row counts as one unit.
"""

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from celosia.core.adjacency import AddRemove, Adjacency
from celosia.core.exact import exact_level
from celosia.core.release import Release
from celosia.data.schema.columns import DROP, Category
from celosia.noise.source import source_or_system
from celosia.statistics.arrays.reading import read_column
from celosia.statistics.arrays.stepping import indices
from celosia.statistics.base.choice import make_guarantee
from celosia.statistics.base.noise import ContributionBounds
from celosia.statistics.selection.most_common import Mode
from celosia.statistics.selection.peeling import TopK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from celosia.core.exact import Exact
    from celosia.core.mechanism import Source
    from celosia.statistics.base.choice import Choice

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class ChoiceRelease(Release[Answer]):
    """One or more chosen categories, with a bound on how much less common than the best they are.

    >>> mode(["U071"] * 500, ["E119", "I219", "U071"], epsilon=1).rows_behind(0.95)
    4
    """

    behind: "Callable[[float], float]" = field(default=lambda _: math.inf)

    def rows_behind(self, level: "Exact" = 0.95) -> int:
        """Return a bound on how many rows fewer a chosen category has than the most common one that was left.

        It holds with probability ``level`` or more, for all choices together, and follows from the price and the number
        of categories alone.
        """
        return math.floor(self.behind(exact_level(level)))


def mode(  # noqa: PLR0913 - the column and its declarations
    array: object,
    categories: "Category | Iterable[str | int]",
    epsilon: "Exact | None" = None,
    *,
    rho: "Exact | None" = None,
    null: str | int = DROP,
    adjacency: Adjacency = AddRemove,
    unit: str = "row",
    source: "Source | None" = None,
) -> ChoiceRelease[str | int]:
    """Return the most common category, or one that is nearly as common.

    Parameters
    ----------
    array
        A NumPy array, a list, or a column of pandas, Polars or Arrow.
    categories
        All possible values, strings or integers, known without looking at the data.
    epsilon, rho
        The price, as pure privacy or as zCDP.
    null
        ``"drop"``, or the category that replaces any other value; a ``Category`` has its own rule.
    adjacency, unit
        The neighbouring relation and the privacy unit.
    source
        The source of randomness; by default the operating system.

    Examples
    --------
    >>> mode(["I219"] * 300 + ["U071"] * 500, ["E119", "I219", "U071"], epsilon=1)
    Release('U071', PureDP(epsilon=1))
    """
    names = _make_category(categories, null)
    return _release_choice(
        _counts(array, names),
        Mode(candidates=len(names.values)),
        (epsilon, rho),
        ContributionBounds(adjacency=adjacency, unit=unit),
        source,
        lambda chosen: names.values[int(chosen)],
    )


def top_k(  # noqa: PLR0913 - as for mode
    array: object,
    k: int,
    categories: "Category | Iterable[str | int]",
    epsilon: "Exact | None" = None,
    *,
    rho: "Exact | None" = None,
    null: str | int = DROP,
    adjacency: Adjacency = AddRemove,
    unit: str = "row",
    source: "Source | None" = None,
) -> ChoiceRelease[tuple[str | int, ...]]:
    """Return the ``k`` most common categories, or nearly so, the most common first.

    Parameters as for ``mode``.

    >>> causes = ["I219"] * 300 + ["U071"] * 500 + ["E119"] * 20
    >>> top_k(causes, 2, ["E119", "I219", "U071"], epsilon=1).value
    ('U071', 'I219')
    """
    names = _make_category(categories, null)
    return _release_choice(
        _counts(array, names),
        TopK(candidates=len(names.values), k=k),
        (epsilon, rho),
        ContributionBounds(adjacency=adjacency, unit=unit),
        source,
        lambda chosen: tuple(names.values[place] for place in chosen.tolist()),
    )


def _make_category(categories: "Category | Iterable[str | int]", null: str | int) -> Category:
    if not isinstance(categories, Category):
        return Category(categories, null=null)
    return categories if null == DROP else Category(categories.values, ordered=categories.ordered, null=null)


def _counts(array: object, names: Category) -> "NDArray[np.int64]":
    counts: NDArray[np.int64] = np.bincount(indices(read_column(array), names), minlength=len(names.values))
    return counts[None]


def _release_choice(
    counts: "NDArray[np.int64]",
    choice: "Choice",
    price: "tuple[Exact | None, Exact | None]",
    bounding: ContributionBounds,
    source: "Source | None",
    read: "Callable[[NDArray[np.int64]], Answer]",
) -> ChoiceRelease[Answer]:
    (epsilon, rho), source = price, source_or_system(source)
    chosen = choice.release(counts, epsilon, bounding, rho=rho, source=source).value[0]

    def behind(level: float) -> float:
        return choice.spread(epsilon, bounding, rho=rho, level=level) or 0.0

    return ChoiceRelease(
        value=read(chosen),
        event=choice.event(epsilon, bounding, rho=rho),
        guarantee=make_guarantee(epsilon, rho, bounding),
        seeded=source.seeded,
        behind=behind,
    )
