"""A round of masked sums, whatever carries its messages: what the server sends, who answers, and what is left out.

The answer of a party that cannot be used is left out and counted, as in every round. Fewer than the threshold end the
round, and nothing of it is seen.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from celosia.core.errors import InputError
from celosia.federated.contributions import RoundSum, Unusable
from celosia.federated.masking.server import STEPS, MaskingServer
from celosia.federated.masking.settings import MaskingSettings

Ask = Callable[[str, Mapping[str, bytes]], Mapping[str, object]]
"""Sends the messages of a step to parties, and returns what each answers: bytes, None, or ``Unusable``."""

_REASONS: Final = {"federated.mask_message_of_other_round": "another round"}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MaskedSum(RoundSum):
    """The sum of a masked round: whose contributions are in it, and what each party sent and received.

    ``groups`` are the connected parties whose sums are visible: one group, unless masks follow the edges of a graph.

    >>> import numpy as np
    >>> from celosia.federated import sum_masked
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


def run_round(settings: MaskingSettings, ask: Ask) -> MaskedSum:
    """Run the steps of a round with the parties behind ``ask``, and return the sum."""
    server = MaskingServer(settings)
    exchange = _Exchange(server, ask)
    keys = exchange.send(dict.fromkeys(settings.parties, b""))
    roster = server.receive_keys(keys)
    boxes = server.receive_shares(exchange.send(dict.fromkeys(keys, roster)))
    survivors = server.receive_numbers(exchange.send(boxes))
    total = server.receive_reveals(exchange.send(dict.fromkeys(server.survivors, survivors)))
    missing = [name for name in settings.parties if name not in server.survivors]
    return MaskedSum(
        total=total.astype(object),
        accepted=server.survivors,
        rejected={name: exchange.rejected.get(name, "silent") for name in missing},
        groups=settings.find_groups(server.survivors),
        bytes_sent=exchange.sent,
        bytes_received=exchange.received,
    )


class _Exchange:
    """The messages between a server and its parties: how many bytes there were, and whose answers were left out."""

    def __init__(self, server: MaskingServer, ask: Ask) -> None:
        self.rejected: dict[str, str] = {}
        self.sent = dict.fromkeys(server.settings.parties, 0)
        self.received = dict.fromkeys(server.settings.parties, 0)
        self._server, self._ask = server, ask

    def send(self, messages: Mapping[str, bytes]) -> dict[str, bytes]:
        """Send the messages of the server's next step, and return the usable answers."""
        answers = self._ask(STEPS[self._server.step], messages)
        usable = {}
        for name, message in messages.items():
            answer = answers.get(name)
            if isinstance(answer, bytes):
                self.sent[name] += len(answer)
                self.received[name] += len(message)
            reason = self._find_fault(name, answer)
            if reason is None and isinstance(answer, bytes):
                usable[name] = answer
            else:
                self.rejected.setdefault(name, reason or "not readable")
        return usable

    def _find_fault(self, name: str, answer: object) -> str | None:
        """Return why an answer cannot be used; None if it can."""
        if answer is None:
            return "silent"
        if isinstance(answer, Unusable):
            return answer.reason
        try:
            self._server.check(name, answer)
        except InputError as error:
            return _REASONS.get(error.code, "not readable")
        return None
