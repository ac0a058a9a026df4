"""The background knowledge attack: an attacker rules out some sensitive values, and what is left may be one.

That a person does not have a disease is often known: it shows, or it is rare where the person comes from. In a class
with l values, an attacker who rules out l - 1 of them knows the last one. What a file withstands is thus the number of
values in its poorest class; l-diversity with l values withstands l - 2 of them ruled out. Machanavajjhala and others
2007.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from celosia.anonymity import Microdata
from celosia.anonymity.risk.classes import ClassValues, count_values
from celosia.audit.releases.homogeneity import choose_sensitive
from celosia.audit.releases.sentences import write_sentences, write_share
from celosia.core.exact import exact_integer
from celosia.core.messages.message import Message
from celosia.plots import Curve, Labels, curves

if TYPE_CHECKING:
    import altair as alt
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BackgroundKnowledge:
    """What an attacker learns who rules out 0, 1, 2 … values. See ``rule_out_values``.

    Attributes
    ----------
    column
        The sensitive column.
    rates
        For each number of values ruled out, the share of records whose value is then known for certain.
    confidences
        For each number of values ruled out, the mean part of the most frequent value among those that are left.
    remaining
        For each record, how many values its class has before any is ruled out by guess.
    """

    column: str
    rates: "NDArray[np.float64]" = field(repr=False)
    confidences: "NDArray[np.float64]" = field(repr=False)
    remaining: "NDArray[np.int64]" = field(repr=False)

    @property
    def withstands(self) -> int:
        """How many values any attacker can rule out without knowing the value of some record; -1 if none."""
        known = self.remaining[self.remaining > 0]
        return int(known.min()) - 2 if len(known) else -1

    @property
    def sentences(self) -> tuple[Message, ...]:
        """What the attack shows, without values."""
        return tuple(
            Message("audit.ruled_out", values=values, column=self.column, share=write_share(rate))
            for values, rate in enumerate(self.rates.tolist())
        )

    def describe(self, language: str = "en") -> str:
        """Return the sentences in a language."""
        return write_sentences(self.sentences, language)

    def __str__(self) -> str:
        return self.describe()

    def draw(self, *, language: str = "en") -> "alt.LayerChart":
        """Draw what is known of how many records, by the number of values ruled out."""
        labels = Labels(
            title=Message("audit.ruled_out_title", column=self.column),
            x=Message("audit.ruled_out_values"),
            y=Message("audit.records_share"),
            language=language,
        )
        places = np.arange(len(self.rates))
        lines = {Message("audit.ruled_out_certain"): self.rates, Message("audit.ruled_out_guess"): self.confidences}
        return curves([Curve(name=labels.write(name), x=places, y=y) for name, y in lines.items()], labels=labels)


def rule_out_values(
    released: Microdata, column: str | None = None, *, known: int = 3, excluded: Iterable[str] = ()
) -> BackgroundKnowledge:
    """Return what is left of a sensitive column for attackers who rule out values.

    The worst attacker rules out the most frequent values of the class that the person does not have.

    Parameters
    ----------
    released
        The file.
    column
        The sensitive column; it can be left out if there is one.
    known
        The largest number of values to rule out.
    excluded
        Values that the attacker rules out at once for everyone: only records with other values are attacked.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from celosia.anonymity import Roles, read_microdata
    >>> file = pa.table({"age": [1, 1, 1, 2, 2, 2], "illness": ["flu", "flu", "mono", "cancer", "mono", "covid"]})
    >>> released = read_microdata(file, roles=Roles(quasi_identifiers=["age"], sensitive=["illness"]))
    >>> print(rule_out_values(released, known=2))
    An attacker who rules out 0 values knows 'illness' for certain in 0 % of the records.
    An attacker who rules out 1 values knows 'illness' for certain in 50 % of the records.
    An attacker who rules out 2 values knows 'illness' for certain in 100 % of the records.
    """
    name, most = choose_sensitive(released, column), exact_integer(known, name="known", least=0)
    found = count_values(released, name)
    attacked = np.arange(len(released))
    if barred := {str(value) for value in excluded}:
        kept = np.array([label not in barred for label in found.labels])
        (coded,) = released.encode([name])
        attacked = np.flatnonzero(kept[coded.codes + 1])
        found = _keep_values(found, kept)
    sizes = np.diff(found.starts)
    attacked = attacked[sizes[found.ids[attacked]] > 0]
    remaining = sizes[found.ids]
    rates = [float((remaining[attacked] <= values + 1).mean()) if len(attacked) else 0.0 for values in range(most + 1)]
    sure = [_measure_best(found, values)[found.ids[attacked]] for values in range(most + 1)]
    return BackgroundKnowledge(
        column=name,
        rates=np.array(rates),
        confidences=np.array([float(one.mean()) if len(one) else 0.0 for one in sure]),
        remaining=remaining[attacked],
    )


def _keep_values(found: ClassValues, kept: "NDArray[np.bool_]") -> ClassValues:
    """Return the classes with some of their values."""
    chosen = kept[found.values]
    starts = np.concatenate([[0], np.cumsum(chosen)])[found.starts]
    return ClassValues(found.ids, starts, found.values[chosen], found.counts[chosen], found.labels)


def _measure_best(found: ClassValues, values: int) -> "NDArray[np.float64]":
    """Return for each class the part of its most frequent value, once the next ``values`` ones are ruled out."""
    order = np.lexsort((-found.counts, found.classes))
    ranks = np.arange(len(order)) - np.repeat(found.starts[:-1], np.diff(found.starts))
    counts, classes = found.counts[order], found.classes
    left = (ranks == 0) | (ranks > values)
    size = len(found.starts) - 1
    top = np.bincount(classes[ranks == 0], weights=counts[ranks == 0], minlength=size)
    total = np.bincount(classes[left], weights=counts[left], minlength=size)
    best: NDArray[np.float64] = top / np.where(total > 0, total, 1.0)
    return best
