"""What a training would cost, in numbers and in a few sentences."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from celosia.core.messages.message import Message

if TYPE_CHECKING:
    from celosia.core.events import Event
    from celosia.core.guarantees import Guarantee
    from celosia.federated.masked import Masks


@dataclass(frozen=True, slots=True, kw_only=True)
class FederationPreview:
    """What a training would cost, known before any record is summed.

    ``noise_scale`` is the standard deviation of the noise in a number of the total, in integer steps, and
    ``noise_ratio`` how many times that of a fit with all records in one place.

    >>> from celosia.federated import Federation, OneShot
    >>> from celosia.learn import StandardScaler
    >>> rows = [[0.2], [0.7]]
    >>> print(Federation(
    ...     parties={"north": rows, "south": rows}, update=OneShot(StandardScaler(bounds=(0, 1))), epsilon=1
    ... ).preview())
    2 parties, 1 round, 24 bytes from each party in each round.
    Guarantee for every record, against the server and the other parties:
    PureDP(epsilon=1).
    The noise is 1.41 times that of a fit with all records in one place.
    """

    guarantee: "Guarantee"
    event: "Event"
    parties: tuple[str, ...]
    rounds: int
    bytes_per_party: int
    noise_scale: float
    noise_ratio: float
    masks: "Masks | None" = None
    server: bool = True

    def __str__(self) -> str:
        rounds = "1 round" if self.rounds == 1 else f"{self.rounds} rounds"
        return (
            f"{len(self.parties)} parties, {rounds}, {self.bytes_per_party} bytes from each party in each round.\n"
            f"Guarantee for every {self.whose}, against {self.against}:\n{self.guarantee!r}.\n{self._tell_noise()}"
        )

    def _tell_noise(self) -> str:
        if self.guarantee.unit == "party":
            return "The noise hides whole parties: a model needs many of them."
        return f"The noise is {self.noise_ratio:.2f} times that of a fit with all records in one place."

    @property
    def whose(self) -> Message:
        """Whom the guarantee protects."""
        kinds = {"row": "federated.a_record", "party": "federated.a_party"}
        return Message(kinds.get(self.guarantee.unit, "federated.a_person"))

    @property
    def against(self) -> Message:
        """Whom the guarantee holds against."""
        return name_adversaries(self.masks, server=self.server)


def name_adversaries(masks: "Masks | None", *, server: bool) -> Message:
    """Return whom the guarantee of a training holds against."""
    if masks is None:
        return Message("federated.against_server" if server else "federated.against_listeners")
    if not server:
        return Message("federated.against_some", colluders=max(masks.colluders, 1))
    if masks.colluders == 0:
        return Message("federated.against_outsiders")
    return Message("federated.against_server_and_some", colluders=masks.colluders)
