from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import celosia as cl
from celosia.guard.queries.answers import make_answer

if TYPE_CHECKING:
    from celosia.guard.schema.replies import Answer

COUNT = cl.mechanisms.Laplace(epsilon="0.1", sensitivity=1)
TEXT = json.dumps({"version": 1, "guarantee": {"kind": "PureDP", "epsilon": "1/10"}})


def query_digest(state: str) -> tuple[Answer, Answer]:
    """What is told of a reservation that came to a state: with its release, and without."""
    with cl.open_ledger("memory://") as ledger:
        ledger.set_budget(cl.PureDP(epsilon=1), dataset="deaths")
        reservation = ledger.reserve(
            COUNT.event, dataset="deaths", analyst="ana", question="How many?", fingerprint="f"
        )
        if state == "failed":
            ledger.fail(reservation)
        elif state != "reserved":
            ledger.commit(reservation, COUNT.release(108), text=TEXT)
        if state == "repeated":
            reservation = ledger.reserve(COUNT.event, dataset="deaths", analyst="eva", fingerprint="f")
        found = ledger.reservation(reservation.id)
        assert found is not None
        return make_answer(found, ledger), make_answer(found, ledger, whole=False)


@pytest.mark.parametrize("state", ["reserved", "failed", "committed", "repeated"])
def test_states_and_costs_are_told(state: str) -> None:
    whole, short = query_digest(state)
    assert whole.state == ("committed" if state == "repeated" else state)
    assert whole.repeated is (state == "repeated")
    assert whole.dataset == "deaths"
    assert whole.cost is not None
    assert short.cost is not None
    assert whole.cost["epsilon"] == short.cost["epsilon"] == "1/10"
    assert short.release is None
    assert (whole.release is not None) is (state in {"committed", "repeated"})
    assert json.loads(json.dumps(whole.to_json()))["state"] == whole.state


def test_the_release_is_the_stored_text() -> None:
    assert query_digest("committed")[0].release == json.loads(TEXT)
