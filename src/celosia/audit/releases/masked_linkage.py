"""Record linkage on a masked file: an attacker with the original values links each masked record to the nearest one.

It is the attack on files whose numbers were changed, by noise, swapping or microaggregation, and not generalized. See
``celosia.anonymity.risk.record_linkage``. In a microaggregated file with groups of k, at most one record of each group
is linked, so that the rate is at most 1/k; noise has no such bound, and its rate is what this attack measures.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from celosia.anonymity import Microdata
from celosia.anonymity.risk import RecordLinkage, link_records
from celosia.audit.releases.sentences import write_sentences, write_share
from celosia.core.messages.message import Message, Numeral


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskedLinkage:
    """How many masked records are linked to the right person. See ``link_masked_records``."""

    linkage: RecordLinkage

    @property
    def rate(self) -> float:
        """The expected share of right links."""
        return self.linkage.rate

    @property
    def sentences(self) -> tuple[Message, ...]:
        """What the attack shows."""
        return (
            Message(
                "audit.masked_linked",
                count=Numeral(f"{self.linkage.expected:,.1f}".removesuffix(".0")),
                records=len(self.linkage.ties),
                share=write_share(self.rate),
                chance=write_share(self.linkage.by_chance),
            ),
            Message("audit.masked_certain", count=self.linkage.certain),
        )

    def describe(self, language: str = "en") -> str:
        """Return the sentences in a language."""
        return write_sentences(self.sentences, language)

    def __str__(self) -> str:
        return self.describe()


def link_masked_records(original: Microdata, masked: Microdata, columns: Iterable[str] | None = None) -> MaskedLinkage:
    """Link each masked record to the nearest original one, as an attacker who knows the original values would.

    Parameters
    ----------
    original, masked
        The file before and after masking.
    columns
        The columns that the attacker knows; by default the quasi-identifiers.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from celosia.anonymity import Roles, read_microdata
    >>> original = read_microdata(pa.table({"age": [20, 30, 60, 64]}), roles=Roles(quasi_identifiers=["age"]))
    >>> print(link_masked_records(original, original.replace_columns({"age": pa.array([24, 24, 61, 61])})))
    2 of 4 masked records are expected to be linked to the right person: 50 %, where guessing gives 25 %.
    2 of them have a single nearest original, which is the right one.
    """
    return MaskedLinkage(linkage=link_records(original, masked, columns))
