"""What shuffled reports promise: a crowd without names or order hides each report better than its own noise does.

A trusted shuffler takes the reports of n people, removes whatever came with them and sends them on in random order. The
collector's guarantee is then central, (epsilon, delta) with an epsilon far below that of a single report (Feldman,
McMillan and Talwar 2021; see ``proofs/shuffling.md``). Everything in a report must have been drawn by its client: a
hash function, cohort or subset that the server assigned tells crowds apart, and one crowd only is counted.
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
    """Return what so many shuffled reports of different people promise together to each of them, at ``delta``.

    The number is that of the reports which the shuffler really mixes: of honest clients, one each, and with nothing in
    them that the server chose. It must be known without looking at the values. Memoised protocols have it for one round
    of collecting; the same person's next round is a further event.

    >>> from celosia.local import DirectEncoding
    >>> shuffle(DirectEncoding(domain=4, epsilon=1), 100_000, "1e-6").epsilon < 0.02
    True
    >>> shuffle(DirectEncoding(domain=4, epsilon=1), 1, "1e-6").epsilon <= 1
    True
    """
    if not isinstance(protocol, Protocol):
        raise ParameterError(f"protocol must be a local protocol such as DirectEncoding, not {safe_repr(protocol)}.")
    if isinstance(reports, Reports):
        if reports.protocol != protocol:
            raise ParameterError("reports must be of the protocol: these were made for another one.")
        reports = len(reports)
    event = protocol.shuffled_event(exact_integer(reports, name="reports"))
    one = event.event
    categories = one.categories if isinstance(one, RandomizedResponseEvent) and one.coins is None else None
    epsilon = _epsilon(protocol.guarantee.epsilon, event.reports, delta, categories)
    return ApproxDP(epsilon=epsilon, delta=delta, adjacency=event.adjacency, unit=event.unit)


def _epsilon(local: "Fraction", reports: int, delta: Exact, categories: int | None) -> float:
    from celosia.accounting.prices.shuffling import shuffled_epsilon

    return shuffled_epsilon(local, reports, delta, categories=categories)
