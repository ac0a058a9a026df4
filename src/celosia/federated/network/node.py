"""The node of one party: it answers requests from its own records, each round once, and refuses all others.

The party protects itself. It plans the training from its own copy of the description, so a server can only ask for
what that costs. What leaves it are integers with noise, or the code of a refusal; no error's own words do, for these
may quote records.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core.errors import CelosiaError, FormatError, InputError, ParameterError
from celosia.core.exact import safe_repr
from celosia.federated.masked import MaskedPlan
from celosia.federated.masking.server import STEPS
from celosia.federated.network.agreement import agree
from celosia.federated.network.answered import AnsweredRounds
from celosia.federated.network.masked_node import MaskedNode
from celosia.federated.network.messages import ANSWER, REFUSALS, Parcel, Request, read_request, refuse_unreadable
from celosia.federated.parties.party import PartySources
from celosia.federated.training import ask

if TYPE_CHECKING:
    from celosia.federated.federation import Federation
    from celosia.federated.updates.plan import UpdatePlan


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PartyNode:
    """A party of a federation over a network, with its records.

    Parameters
    ----------
    federation
        The federation with the records of this party, and all others remote.
    folder
        Where the party keeps its record of answered rounds. It must stay as long as the server may ask.
    terms
        What else the server and the parties agree on, such as the name of the training.

    Examples
    --------
    >>> import tempfile
    >>> from celosia.federated import Federation, OneShot, Party
    >>> from celosia.federated.network.messages import Request
    >>> from celosia.learn import StandardScaler
    >>> federation = Federation(
    ...     parties=[Party("north", [[0.2], [0.7]]), Party("south")],
    ...     update=OneShot(StandardScaler(bounds=([0], [1]))), epsilon=1,
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     node = PartyNode.of(federation, folder)
    ...     request = Request(plan=node.digest, round=1, party="north", state=node.plan.start())
    ...     first, second = node.answer(request.pack()), node.answer(request.pack())
    >>> first.arrays["integers"].dtype, second.fields["refused"]
    (dtype('int64'), 'federated.round_answered_already')
    """

    party: str
    plan: "UpdatePlan" = field(repr=False)
    digest: str
    sources: PartySources = field(repr=False)
    answered: AnsweredRounds = field(repr=False)
    masks: MaskedNode | None = field(default=None, repr=False)

    @classmethod
    def of(cls, federation: "Federation", folder: str | Path, terms: Mapping[str, Any] | None = None) -> "PartyNode":
        """Read the records of the one party that is not remote, and plan."""
        held = [one.name for one in federation.parties if not one.is_remote]
        if len(held) != 1:
            raise ParameterError("federated.node_of_one_party", found=len(held))
        plan, digest = agree(federation, terms or {})
        answered = AnsweredRounds.of(Path(folder), digest, held[0])
        return cls(
            party=held[0],
            plan=plan,
            digest=digest,
            sources=PartySources(federation.source),
            answered=answered,
            masks=MaskedNode(plan=plan, answered=answered) if isinstance(plan, MaskedPlan) else None,
        )

    def answer(self, parcel: Parcel) -> Parcel:
        """Return the reply to a request: integers with noise, a message under masks, or a refusal."""
        try:
            request = read_request(parcel)
        except FormatError:
            return refuse_unreadable()
        code = "federated.answer_failed"
        try:
            self._check(request)
            if self.masks is not None:
                return request.reply(self.masks.answer(request, partial(self._draw, request)))
            self.answered.claim(request.round)  # before the records are used
            return request.accept(self._draw(request))
        except CelosiaError as error:
            code = error.code if error.code in REFUSALS else code
        except Exception:  # noqa: BLE001, S110 - whatever it was, its words may quote records
            pass
        return request.refuse(code)

    def _draw(self, request: Request) -> "np.ndarray[Any, np.dtype[np.int64]]":
        """Return this party's integers with noise."""
        sent = ask(self.plan, (self.party,), request.state, [self.sources.get(self.party, request.round)])
        found = sent[self.party]
        if found is None:
            raise InputError("federated.answer_failed")
        return np.asarray(found, dtype=np.int64)

    def _check(self, request: Request) -> None:
        if request.plan != self.digest:
            raise InputError("federated.request_of_another_plan")
        if request.party != self.party:
            raise InputError("federated.request_for_another_party", name=safe_repr(request.party))
        if not 1 <= request.round <= self.plan.rounds:
            raise InputError("federated.no_such_round", round=request.round, rounds=self.plan.rounds)
        if request.step not in ((ANSWER,) if self.masks is None else STEPS):
            raise InputError("federated.request_of_another_step")
        if request.step not in {ANSWER, "numbers"}:
            return
        start, state = self.plan.start(), request.state
        if state.dtype != start.dtype or state.shape != start.shape or not np.isfinite(state).all():
            raise InputError("federated.state_of_another_form")
        self.plan.check_round(request.round, state)
