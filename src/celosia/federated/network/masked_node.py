"""A party's side of masked rounds over a network, whose steps come one by one, each to a process of its own.

Between two steps the party's secrets are in a file that only its owner can read. It is replaced, and on the disk,
before an answer leaves, and has no secrets after the last: no two lists of survivors are answered, and no round twice.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from celosia.core.errors import FormatError, InputError, ParameterError
from celosia.core.strict_json import read_json
from celosia.federated.durable_file import lock_file, make_folder, write_durably
from celosia.federated.masking.party import MaskingParty
from celosia.federated.masking.server import STEPS
from celosia.federated.network.answered import AnsweredRounds

if TYPE_CHECKING:
    from celosia.federated.masked import MaskedPlan
    from celosia.federated.masking.settings import MaskingSettings
    from celosia.federated.network.messages import Request

_FORMAT: Final = "celosia masked round"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MaskedNode:
    """The masked rounds of a party, beside its record of answered ones."""

    plan: "MaskedPlan"
    answered: AnsweredRounds = field(repr=False)

    def answer(self, request: "Request", compute: Callable[[], object]) -> bytes:
        """Return the party's message of a step; ``compute`` returns its numbers.

        The first step claims the round, and that of the numbers uses up its records, also if they cannot be computed.
        Another step that fails, or is refused, changes nothing.
        """
        settings = self.plan.get_round(self.answered.plan, request.round)
        with self._lock():
            party = self._begin(settings) if request.step == STEPS[0] else self._load(settings)
            message = party.answer(request.step, request.message, compute, partial(self._store, request, party))
            self._store(request, None if request.step == STEPS[-1] else party)
        return message

    def _store(self, request: "Request", party: MaskingParty | None) -> None:
        """Keep a party's state; None after the last step."""
        state = None if party is None else party.save().decode()
        write_durably(self.path, {"format": _FORMAT, "round": request.round, "state": state})

    @property
    def path(self) -> Path:
        """The file with the secrets of the round at hand."""
        return self.answered.path.with_name(self.answered.path.name.replace("answered-", "masks-"))

    def _begin(self, settings: "MaskingSettings") -> MaskingParty:
        self.answered.claim(settings.number)
        return MaskingParty(settings, self.answered.party)

    def _load(self, settings: "MaskingSettings") -> MaskingParty:
        if not self.path.exists():
            raise ParameterError("federated.mask_step_too_early")
        found: Any = read_json(self.path.read_bytes(), name="core.the_file")
        if not isinstance(found, dict) or found.keys() != {"format", "round", "state"} or found["format"] != _FORMAT:
            raise FormatError("federated.not_a_mask_state")
        if found["round"] != settings.number:
            raise InputError("federated.mask_message_of_other_round")
        if found["state"] is None:
            raise InputError("federated.round_answered_already", round=settings.number)
        return MaskingParty.load(settings, str(found["state"]).encode())

    @contextmanager
    def _lock(self) -> Iterator[None]:
        """Keep out other processes of the same party."""
        make_folder(self.path.parent)
        with lock_file(self.path.with_suffix(".lock"), wait=True):
            yield
