"""Requests and replies are read strictly: of their exact form, for this plan, round and party, or not at all."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core import FormatError
from celosia.federated.contributions import Unusable
from celosia.federated.network.messages import (
    REFUSALS,
    Parcel,
    Request,
    read_reply,
    read_request,
    refuse_unreadable,
)

REQUEST = Request(plan="5e1d", round=2, party="north", state=np.array([0.5, -1.0]))
ANSWER = np.array([2**62, -3])


def change(parcel: Parcel, **fields: object) -> Parcel:
    return replace(parcel, fields={**parcel.fields, **fields})


def leave_out(parcel: Parcel, name: str) -> Parcel:
    return replace(parcel, fields={key: value for key, value in parcel.fields.items() if key != name})


def list_bad(parcel: Parcel, array: str) -> list[Parcel]:
    """Parcels that no request and no reply looks like."""
    wrong: list[tuple[str, Any]] = [("celosia", 2), ("celosia", True), ("round", 2.0), ("round", True), ("plan", b"5")]
    wrong += [("party", 7), ("round", None), ("more", 1), ("step", 1), ("message", "text"), ("message", 7)]
    arrays: list[dict[str, Any]] = [{}, {"other": ANSWER}, {array: ANSWER, "more": ANSWER}]
    return [
        *(change(parcel, **{name: value}) for name, value in wrong),
        *(leave_out(parcel, name) for name in parcel.fields),
        *(replace(parcel, arrays=given) for given in arrays),
    ]


def test_a_request_is_read_as_it_was_written() -> None:
    found = read_request(REQUEST.pack())
    assert (found.plan, found.round, found.party) == ("5e1d", 2, "north")
    assert np.array_equal(found.state, REQUEST.state)


def test_what_is_no_request_is_refused() -> None:
    for parcel in list_bad(REQUEST.pack(), "state"):
        with pytest.raises(FormatError, match="request"):
            read_request(parcel)


def test_a_reply_is_read_as_it_was_written() -> None:
    found = read_reply(REQUEST.accept(ANSWER), REQUEST)
    assert isinstance(found, np.ndarray)
    assert np.array_equal(found, ANSWER)
    for code in REFUSALS:
        assert read_reply(REQUEST.refuse(code), REQUEST) == Unusable(f"refused: {code}")


def test_what_is_no_reply_to_the_request_is_named() -> None:
    good = REQUEST.accept(ANSWER)
    for parcel in list_bad(good, "integers"):
        assert read_reply(parcel, REQUEST) == Unusable("not readable"), parcel
    for name, other in (("plan", "5e1e"), ("round", 1), ("step", "keys"), ("party", "south")):
        assert read_reply(change(good, **{name: other}), REQUEST) == Unusable(f"another {name}")


def test_a_message_under_masks_goes_through() -> None:
    request = replace(REQUEST, step="keys", message=b"\x00\xff")
    found = read_request(request.pack())
    assert (found.step, found.message) == ("keys", b"\x00\xff")
    good = found.reply(b"mine")
    assert read_reply(good, request) == b"mine"
    for parcel in (change(good, message="mine"), leave_out(good, "message"), replace(good, arrays={"a": ANSWER})):
        assert read_reply(parcel, request) == Unusable("not readable")
    assert read_reply(request.accept(ANSWER), request) == Unusable("not readable")
    assert read_reply(good, REQUEST) == Unusable("not readable")
    for name, other in (("step", "shares"), ("round", 3), ("party", "south"), ("plan", "5e1e")):
        assert read_reply(change(good, **{name: other}), request) == Unusable(f"another {name}")


def test_no_words_of_a_party_reach_the_history() -> None:
    for refused in ("Ann is ill", "", "federated.unknown", 7, None):
        told = read_reply(change(REQUEST.refuse("federated.answer_failed"), refused=refused), REQUEST)
        assert told == Unusable("not readable")
    assert read_reply(replace(REQUEST.refuse("federated.answer_failed"), arrays={"a": ANSWER}), REQUEST) == Unusable(
        "not readable"
    )
    assert read_reply(refuse_unreadable(), REQUEST) == Unusable("refused: federated.request_not_readable")


@given(
    plan=st.text(max_size=70),
    number=st.integers(-(2**62), 2**62),
    party=st.text(max_size=20),
    state=st.lists(st.floats(), max_size=5),
)
def test_any_request_goes_through(plan: str, number: int, party: str, state: list[float]) -> None:
    request = Request(plan=plan, round=number, party=party, state=np.array(state))
    found = read_request(request.pack())
    assert (found.plan, found.round, found.party) == (plan, number, party)
    assert isinstance(read_reply(found.accept(ANSWER), request), np.ndarray)
