"""A few numbers about a file that tell how a step changed risk and utility."""

from dataclasses import asdict, dataclass, fields

import numpy as np

from celosia.anonymity.microdata import Microdata
from celosia.anonymity.models import measure
from celosia.anonymity.risk import measure_risk
from celosia.anonymity.utility import count_suppressed, measure_loss
from celosia.anonymity.utility.pairs import find_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Risk and loss of a file. ``collect_facts`` makes one.

    Synthetic records, and a file without quasi-identifiers, have only a number of records.

    ``k`` is the smallest class, ``uniques`` the number of records alone in theirs, ``risk`` the expected share of
    re-identified records. ``l`` and ``t`` are the worst of the sensitive columns. ``loss`` is the mean part of their
    domains that the values of quasi-identifiers stand for, ``suppressed`` the part of these values that steps removed,
    alone or with their record.
    """

    records: int
    k: int | None = None
    uniques: int | None = None
    risk: float | None = None
    l: int | None = None  # noqa: E741 - the literature's name
    t: float | None = None
    loss: float | None = None
    suppressed: float | None = None

    def list_items(self) -> list[tuple[str, float | None]]:
        """Return the names and values, in order."""
        return [(one.name, getattr(self, one.name)) for one in fields(self)]

    def list_values(self) -> list[float | None]:
        """Return the values, in order."""
        return [value for _, value in self.list_items()]

    def to_dict(self) -> dict[str, float | None]:
        """Return the values by name."""
        return asdict(self)


def collect_facts(original: Microdata, data: Microdata) -> Facts:
    """Return the facts about a file that was made from ``original``."""
    if data.is_synthetic or not data.roles.quasi_identifiers:
        return Facts(records=len(data))
    found, risk, losses = measure(data, original=original), measure_risk(data), measure_loss(original, data)
    dropped = (len(original) - len(find_rows(original, data))) * len(losses)
    distinct = [one.distinct for one in found.sensitive.values() if one.distinct is not None]
    equal = [one.equal for one in found.sensitive.values() if one.equal is not None]
    return Facts(
        records=len(data),
        k=found.k,
        uniques=found.uniques,
        risk=risk.rate,
        l=min(distinct, default=None),
        t=max(equal, default=None),
        loss=float(np.mean(list(losses.values()))),
        suppressed=(sum(count_suppressed(original, data).values()) + dropped) / (len(original) * len(losses)),
    )
