"""A whole round of masked sums in one process, with every message that a network would carry.

Parties may fall silent at any step, as they do in practice. The result has the form of an unmasked round's, and the
bytes that each party sent and received.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr
from celosia.federated.contributions import RoundSum
from celosia.federated.masking.party import MaskingParty, check_numbers
from celosia.federated.masking.server import MaskingServer
from celosia.federated.masking.settings import MaskingSettings

if TYPE_CHECKING:
    from celosia.core import Source

STEPS: Final = ("keys", "shares", "numbers", "reveal")
"""The messages of a party, in order."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MaskedSum(RoundSum):
    """The sum of a masked round: whose contributions are in it, and what each party sent and received.

    ``groups`` are the connected parties whose sums are visible: one group, unless masks follow the edges of a graph.

    >>> found = sum_masked({"north": np.array([1]), "south": np.array([2])}, threshold=2)
    >>> found.groups, found.bytes_sent["north"]
    ((('north', 'south'),), 444)
    """

    groups: tuple[tuple[str, ...], ...]
    bytes_sent: Mapping[str, int]
    bytes_received: Mapping[str, int]

    def count_bytes(self) -> int:
        """Return how many bytes all parties sent."""
        return sum(self.bytes_sent.values())


def sum_masked(
    contributions: Mapping[str, NDArray[Any] | None],
    *,
    threshold: int,
    edges: Collection[tuple[str, str]] | None = None,
    silent: Mapping[str, str] | None = None,
    largest: int | None = None,
    number: int = 1,
    source: "Source | None" = None,
) -> MaskedSum:
    """Add integers of several parties such that a server learns the sum only.

    Parameters
    ----------
    contributions
        Arrays of integers of one length, by party; None where a party has no answer after it sent its shares.
    threshold
        How many parties must stay: more than half. Fewer end the round with an ``EngineError``; nothing is revealed.
    edges
        Pairs of parties that mask with each other; all do by default.
    silent
        By party, the first message that it does not send: ``"keys"``, ``"shares"``, ``"numbers"`` or ``"reveal"``.
    largest, number
        As in ``MaskingSettings``.
    source
        Where the parties' secrets come from; the system by default.

    Examples
    --------
    >>> given = {"north": np.array([1, 2]), "south": np.array([3, 4]), "west": np.array([-9, 5])}
    >>> sum_masked(given, threshold=2).total.tolist()
    [-5, 11]
    >>> found = sum_masked(given, threshold=2, silent={"west": "numbers"})
    >>> found.total.tolist(), dict(found.rejected)
    ([4, 6], {'west': 'silent'})
    """
    settings = _make_settings(contributions, threshold, edges, largest, number)
    answers = {name: check_numbers(values, settings) for name, values in contributions.items() if values is not None}
    network = _Network(settings, _read_silent(contributions, silent), source)
    server = MaskingServer(settings)
    roster = server.receive_keys(network.ask("keys", None, lambda party, _: party.send_keys()))
    boxes = server.receive_shares(network.ask("shares", roster, MaskingParty.send_shares))
    numbers = network.ask("numbers", boxes, lambda party, found: party.send_numbers(found, answers[party.name]))
    survivors = server.receive_numbers(numbers)
    total = server.receive_reveals(network.ask("reveal", survivors, MaskingParty.send_reveal))
    return MaskedSum(
        total=total.astype(object),
        accepted=server.survivors,
        rejected={name: "silent" for name in contributions if name not in server.survivors},
        groups=settings.find_groups(server.survivors),
        bytes_sent=network.sent,
        bytes_received=network.received,
    )


def _make_settings(
    contributions: object,
    threshold: int,
    edges: Collection[tuple[str, str]] | None,
    largest: int | None,
    number: int,
) -> MaskingSettings:
    if not isinstance(contributions, Mapping):
        raise ParameterError("federated.not_party_names", parties=type(contributions).__name__)
    sizes = [values.size for values in contributions.values() if isinstance(values, np.ndarray)]
    return MaskingSettings(
        federation="in one process",
        number=number,
        parties=tuple(contributions),
        width=max([1, *sizes]),
        threshold=threshold,
        edges=edges,
        largest=largest,
    )


def _read_silent(contributions: Mapping[str, object], silent: Mapping[str, str] | None) -> dict[str, str]:
    """Return the first message that each silent party does not send."""
    found = {name: "numbers" for name, values in contributions.items() if values is None}
    for name, step in (silent or {}).items():
        if name not in contributions or step not in STEPS:
            raise ParameterError("federated.unknown_silence", name=safe_repr(name), step=safe_repr(step))
        found[name] = min(step, found.get(name, step), key=STEPS.index)
    return found


class _Network:
    """The parties of a round, which fall silent as stated, and the bytes that they exchange with the server."""

    def __init__(self, settings: MaskingSettings, silent: Mapping[str, str], source: "Source | None") -> None:
        self.sent = dict.fromkeys(settings.parties, 0)
        self.received = dict.fromkeys(settings.parties, 0)
        self._parties = {name: MaskingParty(settings, name, source=source) for name in settings.parties}
        self._silent = silent

    def ask(
        self, step: str, message: Mapping[str, bytes] | bytes | None, answer: Callable[[MaskingParty, Any], bytes]
    ) -> dict[str, bytes]:
        """Send a message, the same to all or one for each, to the parties that are left, and return their answers."""
        for name in [name for name, last in self._silent.items() if last == step]:
            self._parties.pop(name, None)
        answers = {}
        for name, party in self._parties.items():
            given = message[name] if isinstance(message, Mapping) else message
            answers[name] = answer(party, given)
            self.received[name] += len(given or b"")
            self.sent[name] += len(answers[name])
        return answers
