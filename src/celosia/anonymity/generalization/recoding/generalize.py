"""Global recoding by hierarchies: every value of a column becomes its label at one level.

All records are treated alike, so the file stays easy to analyze. It protects as far as its classes grow: measure them
afterwards. Whoever knows a person's values still finds the class, and what all of a class share (Samarati 2001,
*Protecting respondents' identities in microdata release*).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from celosia.anonymity.generalization.recoding.columns import check_names, replace_labels
from celosia.anonymity.hierarchies import ANY
from celosia.anonymity.hierarchies.levels import check_level, take_upper_levels
from celosia.anonymity.microdata import Microdata
from celosia.core.errors import ParameterError
from celosia.core.exact import exact_integer, safe_repr

if TYPE_CHECKING:
    from celosia.core.mechanism import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Generalize:
    """Replace the values of columns by their labels at a level of the column's hierarchy.

    Nulls stay null below the last level, where they become ``*`` like all others.

    Parameters
    ----------
    levels
        The level of each column; 0 leaves it as it is.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from celosia.anonymity import Prefixes, Roles, read_microdata
    >>> data = read_microdata(
    ...     pa.table({"postal code": ["28013", "28045", "41001"]}),
    ...     roles=Roles(quasi_identifiers=["postal code"]),
    ...     hierarchies={"postal code": Prefixes(5)},
    ... )
    >>> Generalize(levels={"postal code": 3}).apply(data).get_column("postal code").to_pylist()
    ['28***', '28***', '41***']
    """

    levels: Mapping[str, int]

    def __post_init__(self) -> None:
        """Raise unless there is a column, and each level is an integer."""
        check_names(list(self.levels), role="levels")
        for name, level in self.levels.items():
            exact_integer(level, name=f"level of {safe_repr(name)}", least=0)

    def apply(self, data: Microdata, *, source: "Source | None" = None) -> Microdata:  # noqa: ARG002 - nothing is drawn
        """Return the file with generalized columns; the spread of a label is its part of the domain."""
        for name, level in self.levels.items():
            data = _generalize(data, name, level)
        return data


def _generalize(data: Microdata, name: str, level: int) -> Microdata:
    import pyarrow as pa

    (coded,) = data.encode([name])
    hierarchy = data.hierarchies.get(name)
    if hierarchy is None:
        raise ParameterError("anonymity_recoding.no_hierarchy", name=safe_repr(name))
    if check_level(level, hierarchy.height, name=name) == 0:
        return data
    levels = hierarchy.generalize(coded.labels, name=name)
    codes = levels.codes[level]
    null = pa.scalar(ANY) if level == hierarchy.height - 1 else None
    labels = levels.labels[level].take(pa.array(codes))
    upper = take_upper_levels(levels, level)
    return replace_labels(data, name, coded, labels, levels.shares[level][codes], null=null, hierarchy=upper)
