"""Global recoding by hand: by a dictionary of values, or by intervals between cuts.

All records are treated alike. A rare value that joins a common one no longer singles out its person; whether that is
enough, the measures of the file say (Hundepool et al. 2012, *Statistical Disclosure Control*, section 3.3).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from celosia.anonymity.generalization.recoding.columns import count_shares, replace_labels
from celosia.anonymity.hierarchies import Intervals
from celosia.anonymity.hierarchies.categories import write_values
from celosia.anonymity.microdata import Microdata
from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr

if TYPE_CHECKING:
    import pyarrow as pa

    from celosia.core.mechanism import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Recode:
    """Replace some values of a column by others. Values that are not in the dictionary stay, and nulls too.

    Values are compared as text, so that ``"30"`` is the number 30 of a column. The column keeps its type if the new
    values fit it; else it becomes text.

    Parameters
    ----------
    column
        The column.
    values
        What each value becomes.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from celosia.anonymity import Roles, read_microdata
    >>> frame = pa.table({"status": ["widowed", "divorced", "married", None]})
    >>> data = read_microdata(frame, roles=Roles(quasi_identifiers=["status"]))
    >>> recoded = Recode(column="status", values={"widowed": "alone", "divorced": "alone"}).apply(data)
    >>> recoded.get_column("status").to_pylist()
    ['alone', 'alone', 'married', None]
    """

    column: str
    values: Mapping[str, str | int | float]

    def __post_init__(self) -> None:
        """Raise unless some value becomes another."""
        if not self.values:
            raise ParameterError("anonymity_recoding.no_value_given", name=safe_repr(self.column))
        if not all(map(_is_plain, [*self.values, *self.values.values()])):
            raise ParameterError("anonymity_recoding.value_not_plain", name=safe_repr(self.column))

    def apply(self, data: Microdata, *, source: "Source | None" = None) -> Microdata:  # noqa: ARG002 - nothing is drawn
        """Return the recoded file; the spread of a value is the part of the different values that became it."""
        (coded,) = data.encode([self.column])
        texts = write_values(coded.labels)
        chosen = [self.values.get(text) for text in texts]
        written = [text if new is None else _write(new) for text, new in zip(texts, chosen, strict=True)]
        ids = np.unique(np.array(written, dtype=object), return_inverse=True)[1] if written else np.array([], dtype=int)
        labels, hierarchy = _fit_type(coded.labels, chosen, written), data.hierarchies.get(self.column)
        return replace_labels(data, self.column, coded, labels, count_shares(ids), hierarchy=hierarchy)


def _is_plain(value: object) -> bool:
    return isinstance(value, str | int | float)


def _write(value: str | float) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _fit_type(labels: "pa.Array", chosen: "Sequence[str | int | float | None]", written: list[str]) -> "pa.Array":
    """Return the new values in the type of the old ones, or as text."""
    import pyarrow as pa

    old = labels.to_pylist()
    numeric = pa.types.is_integer(labels.type) or pa.types.is_floating(labels.type)
    if not any(isinstance(new, str) for new in chosen) and numeric:
        values = [value if new is None else new for value, new in zip(old, chosen, strict=True)]
        whole = all(float(value).is_integer() for value in values)
        return pa.array(values, labels.type if whole or pa.types.is_floating(labels.type) else pa.float64())
    return pa.array(written, pa.string())


@dataclass(frozen=True, slots=True, kw_only=True)
class Discretize:
    """Replace the numbers of a column by the interval in which they are.

    An interval has its lower cut and not its upper one; the last has both.

    Parameters
    ----------
    column
        The column.
    cuts
        The cuts between intervals, from the least to the greatest number that may occur.
    names
        The name of each interval. By default ``20-29`` for integers and ``[20, 30)`` for others.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from celosia.anonymity import Roles, read_microdata
    >>> data = read_microdata(pa.table({"age": [17, 18, 40]}), roles=Roles(quasi_identifiers=["age"]))
    >>> step = Discretize(column="age", cuts=[0, 18, 35, 120], names=["minor", "young", "older"])
    >>> step.apply(data).get_column("age").to_pylist()
    ['minor', 'young', 'older']
    """

    column: str
    cuts: Sequence[float]
    names: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Raise unless the cuts rise, and each interval has a name or none has."""
        Intervals(list(self.cuts), names=list(self.names))

    def apply(self, data: Microdata, *, source: "Source | None" = None) -> Microdata:  # noqa: ARG002 - nothing is drawn
        """Return the file with intervals; the spread of an interval is its part of the whole width."""
        import pyarrow as pa

        (coded,) = data.encode([self.column])
        levels = Intervals(list(self.cuts), names=list(self.names)).generalize(coded.labels, name=self.column)
        codes = levels.codes[1]
        return replace_labels(data, self.column, coded, levels.labels[1].take(pa.array(codes)), levels.shares[1][codes])
