"""The linkage attack: a file without names is joined with a register that has them.

Who has the age, the sex and the postal code of a person finds the records that fit. If it is one, the person is
re-identified; if all agree on an illness, it is learned without knowing which record it is. In a k-anonymous file at
least k records fit a person who is in it, so that a link is right with probability at most 1/k; that does not hide what
the k records have in common. Sweeney 2002; Samarati 2001.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from celosia.anonymity import Hierarchy, Microdata
from celosia.audit.releases.candidates import Candidates, Register, choose_shared, count_candidates, read_register
from celosia.audit.releases.sentences import draw_growth, write_sentences
from celosia.core.messages.message import Message
from celosia.plots import Labels

if TYPE_CHECKING:
    import altair as alt
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class IdentityLinkage:
    """Which persons of a register are found in a file, and what is learned of them. See ``link_identities``.

    Attributes
    ----------
    columns
        The columns that were joined on.
    fitting
        For each person of the register, how many records fit.
    """

    columns: tuple[str, ...]
    register: Register = field(repr=False)
    fitting: "NDArray[np.int64]" = field(repr=False)
    learned: Mapping[str, Candidates] = field(repr=False)

    @property
    def reidentified(self) -> tuple[str, ...]:
        """The persons whom a single record fits."""
        return tuple(self.register.identities[place] for place in np.flatnonzero(self.fitting == 1))

    @property
    def found(self) -> int:
        """The number of persons whom some record fits."""
        return int((self.fitting > 0).sum())

    @property
    def highest(self) -> float:
        """The highest probability that a link is right: one over the least number of records that fit someone."""
        return float(1 / self.fitting[self.fitting > 0].min()) if self.found else 0.0

    def count_fitting(self, identity: str) -> int:
        """Return how many records fit a person."""
        return int(self.fitting[self.register.find(identity)])

    def count_learned(self, column: str) -> int:
        """Return the number of persons of whom a sensitive value is learned."""
        candidates = self.learned[column]
        return int(_is_certain(candidates)[candidates.kinds].sum())

    def get_learned(self, identity: str) -> dict[str, str]:
        """Return the sensitive values on which all records that fit a person agree."""
        place = self.register.find(identity)
        values = {}
        for column, candidates in self.learned.items():
            kind = candidates.kinds[place]
            if _is_certain(candidates)[kind]:
                values[column] = ("", *candidates.labels)[int(candidates.counts[kind].argmax())]
        return values

    @property
    def sentences(self) -> tuple[Message, ...]:
        """What the attack shows, without names and values."""
        return (
            Message("audit.link_found", found=self.found, persons=len(self.register)),
            Message("audit.link_reidentified", count=len(self.reidentified)),
            *(Message("audit.link_learned", count=self.count_learned(name), column=name) for name in self.learned),
        )

    def describe(self, language: str = "en") -> str:
        """Return the sentences in a language."""
        return write_sentences(self.sentences, language)

    def __str__(self) -> str:
        return self.describe()

    def draw(self, *, language: str = "en") -> "alt.LayerChart":
        """Draw the share of the register to whom at most so many records fit."""
        labels = Labels(
            title=Message("audit.link_title"),
            subtitle=Message("audit.link_subtitle"),
            x=Message("audit.link_records"),
            y=Message("audit.link_share"),
            language=language,
        )
        return draw_growth({Message("audit.link_curve"): self.fitting[self.fitting > 0]}, len(self.register), labels)


def link_identities(
    released: Microdata,
    register: object,
    *,
    identity: str,
    on: Iterable[str] | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> IdentityLinkage:
    """Join a released file with a register of persons, and return who is found.

    The values of the register are compared with labels of the file as they are, generalized by the hierarchy of the
    column, within an interval such as ``40-70`` or ``>70``, and by the first characters of a code such as ``280**``.

    Parameters
    ----------
    released
        The file, with its roles and hierarchies.
    register
        A table of persons: any frame.
    identity
        The column of the register that names them.
    on
        The columns to join on; by default the quasi-identifiers that the register has.
    hierarchies
        The hierarchies that the attacker knows: those of the original, for a file that was generalized keeps what is
        above its labels only. By default those of the file.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from celosia.anonymity import Roles, read_microdata
    >>> file = pa.table({"age": [68, 45, 45], "code": [11000, 11026, 11026], "illness": ["flu", "asthma", "asthma"]})
    >>> released = read_microdata(file, roles=Roles(quasi_identifiers=["age", "code"], sensitive=["illness"]))
    >>> register = pa.table({"name": ["David", "Ana", "Luis"], "age": [68, 45, 30], "code": [11000, 11026, 11000]})
    >>> found = link_identities(released, register, identity="name")
    >>> print(found)
    Records fit 2 of the 3 persons of the register.
    For 1 of them a single record fits: they are re-identified.
    For 2 of them all records that fit agree on 'illness': it is learned.
    >>> found.reidentified, found.get_learned("Ana")
    (('David',), {'illness': 'asthma'})
    """
    persons = read_register(register, identity)
    chosen = choose_shared(released, persons, on)
    known = released.hierarchies if hierarchies is None else hierarchies
    whole = count_candidates(released, persons, chosen, None, known)
    return IdentityLinkage(
        columns=chosen,
        register=persons,
        fitting=np.rint(whole.counts.sum(axis=1)).astype(np.int64)[whole.kinds],
        learned={
            name: _leave_unknown_out(released, count_candidates(released, persons, chosen, name, known))
            for name in released.roles.sensitive
        },
    )


def _leave_unknown_out(released: Microdata, candidates: Candidates) -> Candidates:
    """Return candidates without the records that say nothing."""
    if released.roles.nulls == "wildcard":
        candidates.counts[:, 0] = 0
    return candidates


def _is_certain(candidates: Candidates) -> "NDArray[np.bool_]":
    """Whether all records that fit have one value; a null is one if it is a category, and tells that there is none."""
    certain: NDArray[np.bool_] = (candidates.counts > 0).sum(axis=1) == 1
    return certain
