"""The way to parties elsewhere: what a network must carry for a federation.

``network.flower`` has one over Flower; another network needs an object with these methods, and no change here.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from celosia.federated.updates.plan import State, UpdatePlan


class Transport(Protocol):
    """The way to parties that answer a round with one message each."""

    def ask(self, plan: "UpdatePlan", number: int, names: Sequence[str], state: "State") -> Mapping[str, object]:
        """Return what parties answer in a round: integers, None from a silent one, or ``Unusable``."""


@runtime_checkable
class MessageTransport(Transport, Protocol):
    """The way to parties that hide their numbers under masks, in several messages a round."""

    @property
    def digest(self) -> str:
        """What the server and all parties agree on; it names the federation in every message under masks."""

    def exchange(self, number: int, step: str, messages: Mapping[str, bytes], state: "State") -> Mapping[str, object]:
        """Send the messages of a step, and return what each party answers: bytes, None, or ``Unusable``."""
