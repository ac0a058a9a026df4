"""A private file with its event and guarantee, and the payment for it."""

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from celosia.anonymity.microdata import Microdata, Roles
from celosia.core.errors import ParameterError
from celosia.core.events import Event
from celosia.core.guarantees import Guarantee
from celosia.core.release import Release
from celosia.ledger.budget_account import as_account, settle
from celosia.noise.source import source_or_system

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa

    from celosia.core.mechanism import Source


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PrivateMicrodata:
    """A file of synthetic records, the event that made it, and its guarantee.

    ``seeded`` if the noise came from a repeatable stream: then it protects nobody.

    >>> import celosia as cl, pyarrow as pa
    >>> from celosia.anonymity.microdata import Roles, read_microdata
    >>> from celosia.anonymity.private import NoisyHistogramSampling
    >>> data = read_microdata(pa.table({"sex": ["F", "M", "F"]}), roles=Roles(quasi_identifiers=["sex"]))
    >>> made = NoisyHistogramSampling(schema={"sex": cl.Category("F", "M")}, epsilon=1, records=10).release(data)
    >>> len(made.data), made.guarantee
    (10, PureDP(epsilon=1))
    """

    data: Microdata
    event: Event
    guarantee: Guarantee
    seeded: bool = False


@contextlib.contextmanager
def spend(
    budget: object, source: "Source | None", event: Event, guarantee: Guarantee, *, question: str
) -> "Iterator[Source]":
    """Reserve an event with a budget before data are read, run the block, and commit; without a budget only draw."""
    drawn = source_or_system(source)
    if budget is None:
        yield drawn
        return
    account = as_account(budget)
    if drawn.seeded and not account.allows_seeded:
        raise ParameterError("anonymity_private.repeatable_noise_in_ledger")
    reservation = account.reserve(event, question=question, kind="other")
    with settle(account, reservation, failure="anonymity_private.failed_but_paid") as payment:
        yield drawn
        payment.deliver(Release(value=None, event=event, guarantee=guarantee, seeded=drawn.seeded))


def make_microdata(data: Microdata, columns: "Mapping[str, pa.Array]") -> Microdata:
    """Return a file of synthetic columns with the roles of the true ones.

    Columns that are not synthetic have no place in it, nor have identifiers, households and weights.
    """
    import pyarrow as pa

    table = pa.table(dict(columns))
    roles = data.roles
    kept = {
        role: [name for name in getattr(roles, role) if name in columns]
        for role in ("quasi_identifiers", "sensitive", "others")
    }
    stratum = roles.stratum if roles.stratum in columns else None
    named = {name for names in kept.values() for name in names} | {stratum}
    kept["others"] += [name for name in columns if name not in named]
    return Microdata(
        table=table,
        roles=Roles(**kept, stratum=stratum, nulls=roles.nulls),  # type: ignore[arg-type]
        hierarchies={name: hierarchy for name, hierarchy in data.hierarchies.items() if name in columns},
        rows=np.arange(table.num_rows),
        library=data.library,
    )
