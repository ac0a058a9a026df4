"""The guarantee of shuffled reports: a crowd without names or order hides each report better than its noise alone.

A trusted shuffler takes the reports of n people, removes all metadata and forwards them in random order. The guarantee
against the collector is then central, (epsilon, delta) with an epsilon far below that of a single report (Feldman,
McMillan and Talwar 2021; see ``proofs/shuffling.md``). The client must draw everything in its report: a hash
function, cohort or subset that the server assigns separates crowds, and only one crowd counts.
"""

from typing import TYPE_CHECKING, Any

from celosia.core.errors import ParameterError
from celosia.core.events import RandomizedResponseEvent
from celosia.core.exact import Exact, exact_integer, safe_repr
from celosia.core.guarantees import ApproxDP
from celosia.local.base.protocol import Protocol
from celosia.local.base.reports import Reports

if TYPE_CHECKING:
    from fractions import Fraction


def shuffle(protocol: Protocol[Any], reports: int | Reports, delta: Exact) -> ApproxDP:
    """Return the guarantee of ``reports`` shuffled reports of different people, at ``delta``.

    The number is that of the reports that the shuffler mixes: one of each honest client, with nothing that the server
    chose. It must not depend on the values. For memoised protocols it covers one round of collection; the same person's
    next round is a further event.

    >>> from celosia.local import DirectEncoding
    >>> shuffle(DirectEncoding(domain=4, epsilon=1), 100_000, "1e-6").epsilon < 0.02
    True
    >>> shuffle(DirectEncoding(domain=4, epsilon=1), 1, "1e-6").epsilon <= 1
    True
    """
    if not isinstance(protocol, Protocol):
        raise ParameterError("local.not_a_local_protocol", value=safe_repr(protocol))
    if isinstance(reports, Reports):
        if reports.protocol != protocol:
            raise ParameterError("local.reports_of_other_protocol")
        reports = len(reports)
    event = protocol.shuffled_event(exact_integer(reports, name="reports"))
    one = event.event
    categories = one.categories if isinstance(one, RandomizedResponseEvent) and one.coins is None else None
    epsilon = _epsilon(protocol.guarantee.epsilon, event.reports, delta, categories)
    return ApproxDP(epsilon=epsilon, delta=delta, adjacency=event.adjacency, unit=event.unit)


def _epsilon(local: "Fraction", reports: int, delta: Exact, categories: int | None) -> float:
    from celosia.accounting.prices.shuffling import shuffled_epsilon

    return shuffled_epsilon(local, reports, delta, categories=categories)
