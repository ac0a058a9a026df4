"""The messages of a federation over a network, and their strict reading at both ends.

A request has the public state; a reply has integers that are noised already, or the code of a refusal. Under masks a
round has several steps, whose requests and replies are bytes. All name the plan, the round, the step and the party, so
that no message counts for another. A parcel is what a network carries: a few fields and named arrays.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from celosia.core.errors import FormatError
from celosia.federated.contributions import Unusable

REFUSALS: Final = frozenset(
    {
        "federated.answer_failed",
        "federated.mask_message_changed",
        "federated.mask_message_of_other_round",
        "federated.mask_message_of_other_step",
        "federated.mask_numbers_sent_twice",
        "federated.mask_share_unreadable",
        "federated.mask_step_too_early",
        "federated.no_such_round",
        "federated.not_a_mask_message",
        "federated.party_visible_alone",
        "federated.request_for_another_party",
        "federated.request_not_readable",
        "federated.request_of_another_plan",
        "federated.request_of_another_step",
        "federated.round_answered_already",
        "federated.state_of_another_form",
        "federated.state_of_another_round",
        "federated.too_few_survivors",
    }
)
"""Why a party refuses. None of them depends on its records, but that its computation failed."""

ANSWER: Final = "answer"
"""The only step of a round without masks."""

_VERSION: Final = 1
_HEADER: Final = {"celosia": int, "plan": str, "round": int, "step": str, "party": str}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Parcel:
    """Fields and named arrays."""

    fields: Mapping[str, object]
    arrays: Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Request:
    """What a party is asked for: its integers in a round of a plan, at a public state; or a step under masks.

    >>> request = Request(plan="5e1d", round=2, party="north", state=np.zeros(3))
    >>> read_request(request.pack()).round
    2
    """

    plan: str
    round: int
    party: str
    state: NDArray[Any]
    step: str = ANSWER
    message: bytes = b""

    def pack(self) -> Parcel:
        """Return the request as a parcel."""
        return Parcel(fields={**_make_header(self), "message": self.message}, arrays={"state": self.state})

    def accept(self, integers: NDArray[np.int64]) -> Parcel:
        """Return the reply with a party's integers."""
        return Parcel(fields=_make_header(self), arrays={"integers": integers})

    def reply(self, message: bytes) -> Parcel:
        """Return the reply with a party's message under masks."""
        return Parcel(fields={**_make_header(self), "message": message}, arrays={})

    def refuse(self, code: str) -> Parcel:
        """Return the reply of a party that refuses."""
        return Parcel(fields={**_make_header(self), "refused": code}, arrays={})


def refuse_unreadable() -> Parcel:
    """Return the reply to a request that cannot be read."""
    return Request(plan="", round=0, party="", state=np.zeros(0)).refuse("federated.request_not_readable")


def read_request(parcel: Parcel) -> Request:
    """Return the request of a parcel, of the exact form that ``pack`` gives it."""
    if not _has_header(parcel, {"message": bytes}) or parcel.arrays.keys() != {"state"}:
        raise FormatError("federated.request_not_readable")
    told: Any = {name: value for name, value in parcel.fields.items() if name != "celosia"}
    return Request(**told, state=parcel.arrays["state"])


def read_reply(parcel: Parcel, request: Request) -> NDArray[Any] | bytes | Unusable:
    """Return the array of a reply to a request, under masks its message, or why the reply is unusable.

    The array may still have the wrong type, shape or size: ``add_contributions`` checks that, as for all parties. So
    does the server of a masked round with the message.
    """
    refused = parcel.fields.get("refused")
    if refused is not None:
        known = _has_header(parcel, {"refused": str}) and refused in REFUSALS and not parcel.arrays
        return Unusable(f"refused: {refused}" if known else "not readable")
    masked = request.step != ANSWER
    fields: dict[str, type] = {"message": bytes} if masked else {}
    if not _has_header(parcel, fields) or parcel.arrays.keys() != (set() if masked else {"integers"}):
        return Unusable("not readable")
    wanted = _make_header(request)
    for name in ("plan", "round", "step", "party"):
        if parcel.fields[name] != wanted[name]:
            return Unusable(f"another {name}")
    told: Any = parcel.fields
    return bytes(told["message"]) if masked else parcel.arrays["integers"]


def _make_header(request: Request) -> dict[str, object]:
    return {
        "celosia": _VERSION,
        "plan": request.plan,
        "round": request.round,
        "step": request.step,
        "party": request.party,
    }


def _has_header(parcel: Parcel, more: Mapping[str, type]) -> bool:
    """Return whether a parcel has these fields and no others, each of its type, and a known version."""
    wanted = _HEADER | dict(more)
    typed = parcel.fields.keys() == wanted.keys() and all(
        type(parcel.fields[name]) is kind for name, kind in wanted.items()
    )
    return typed and parcel.fields["celosia"] == _VERSION
