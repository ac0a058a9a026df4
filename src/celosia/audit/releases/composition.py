"""Composition: two files about the same persons, each anonymous by itself, are intersected.

An attacker who knows that a person is in this year's file and in last year's has two sets of sensitive values that the
person may have, and the value is in both. k-anonymity, l-diversity and t-closeness say nothing of it, for they look at
one file; differential privacy composes. Files that keep the same groups of persons reveal no more together than each
alone. Ganta, Kasiviswanathan and Smith 2008.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from celosia.anonymity import Hierarchy, Microdata
from celosia.audit.releases.candidates import Register, choose_shared, count_candidates, read_register
from celosia.audit.releases.homogeneity import choose_sensitive
from celosia.audit.releases.sentences import draw_growth, write_sentences
from celosia.core.messages.message import Message
from celosia.plots import Labels

if TYPE_CHECKING:
    import altair as alt
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Composition:
    """Which sensitive values are left for each person after two files. See ``intersect_releases``.

    Attributes
    ----------
    column
        The sensitive column.
    first, second, both
        For each person, how many values fit in this year's file, in last year's, and in both.
    """

    column: str
    register: Register = field(repr=False)
    first: "NDArray[np.int64]" = field(repr=False)
    second: "NDArray[np.int64]" = field(repr=False)
    both: "NDArray[np.int64]" = field(repr=False)
    remaining: "NDArray[np.bool_]" = field(repr=False)
    labels: tuple[str | None, ...] = field(repr=False)

    @property
    def disclosed(self) -> tuple[str, ...]:
        """The persons for whom a single value is left."""
        return tuple(self.register.identities[place] for place in np.flatnonzero(self.both == 1))

    @property
    def by_composition(self) -> int:
        """The number of persons for whom a single value is left, and more were in each file."""
        return int(((self.both == 1) & (self.first > 1) & (self.second > 1)).sum())

    def get_remaining(self, identity: str) -> tuple[str | None, ...]:
        """Return the values that a person may have after both files; None stands for a null that is a value."""
        line = self.remaining[self.register.find(identity)]
        return tuple(label for label, left in zip(self.labels, line, strict=True) if left)

    @property
    def sentences(self) -> tuple[Message, ...]:
        """What the attack shows, without names and values."""
        alone = [int((one == 1).sum()) for one in (self.first, self.second)]
        return (
            Message(
                "audit.composed_alone",
                column=self.column,
                first=alone[0],
                second=alone[1],
                persons=len(self.register),
            ),
            Message("audit.composed_both", count=len(self.disclosed), more=self.by_composition),
        )

    def describe(self, language: str = "en") -> str:
        """Return the sentences in a language."""
        return write_sentences(self.sentences, language)

    def __str__(self) -> str:
        return self.describe()

    def draw(self, *, language: str = "en") -> "alt.LayerChart":
        """Draw the share of persons with at most so many values left, for each file and for both."""
        labels = Labels(
            title=Message("audit.composed_title", column=self.column),
            x=Message("audit.composed_values"),
            y=Message("audit.link_share"),
            language=language,
        )
        series = {
            Message("audit.composed_first"): self.first[self.first > 0],
            Message("audit.composed_second"): self.second[self.second > 0],
            Message("audit.composed_together"): self.both[self.both > 0],
        }
        return draw_growth(series, len(self.register), labels)


def intersect_releases(
    this_year: Microdata,
    last_year: Microdata,
    register: object,
    *,
    identity: str,
    column: str | None = None,
    on: Iterable[str] | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> Composition:
    """Intersect what two files say of persons who are in both.

    Parameters
    ----------
    this_year, last_year
        The files; the sensitive value of a person is the same in both.
    register
        A table of persons who are in both files: any frame.
    identity
        The column of the register that names them.
    column
        The sensitive column, of both files; it can be left out if there is one.
    on
        The columns to join on; by default the quasi-identifiers of each file that the register has.
    hierarchies
        The hierarchies that the attacker knows: those of the originals. By default those of each file.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from celosia.anonymity import Roles, read_microdata
    >>> roles = Roles(quasi_identifiers=["age"], sensitive=["illness"])
    >>> now = pa.table({"age": ["20-39", "20-39", "40-59", "40-59"], "illness": ["flu", "mono", "covid", "cancer"]})
    >>> then = pa.table({"age": ["20-29", "20-29", "30-49", "30-49"], "illness": ["flu", "gout", "mono", "covid"]})
    >>> people = pa.table({"name": ["Ana", "Luis"], "age": [25, 35]})
    >>> found = intersect_releases(
    ...     read_microdata(now, roles=roles), read_microdata(then, roles=roles), people, identity="name"
    ... )
    >>> print(found)
    'illness' is known of 0 of the 2 persons from this year's file alone, and of 0 from last year's alone.
    Both files together leave a single value for 2 persons: for 2 of them neither file did.
    >>> found.get_remaining("Ana"), found.get_remaining("Luis")
    (('flu',), ('mono',))
    """
    name, persons = choose_sensitive(this_year, column), read_register(register, identity)
    choose_sensitive(last_year, name)
    columns = None if on is None else tuple(on)
    found = [
        count_candidates(
            released,
            persons,
            choose_shared(released, persons, columns),
            name,
            released.hierarchies if hierarchies is None else hierarchies,
        )
        for released in (this_year, last_year)
    ]
    labels = sorted({label for one in found for label in one.labels})
    fits = []
    for released, one in zip((this_year, last_year), found, strict=True):
        line = np.zeros((len(one.counts), len(labels) + 1), dtype=np.bool_)
        line[:, np.searchsorted(labels, one.labels) + 1] = one.counts[:, 1:] > 0
        line[:, 0] = one.counts[:, 0] > 0
        if released.roles.nulls == "wildcard":
            line |= line[:, :1]  # a record that fits and says nothing may have any value
            line[:, 0] = False
        fits.append(line[one.kinds])
    both = fits[0] & fits[1]
    return Composition(
        column=name,
        register=persons,
        first=fits[0].sum(axis=1),
        second=fits[1].sum(axis=1),
        both=both.sum(axis=1),
        remaining=both,
        labels=(None, *labels),
    )
