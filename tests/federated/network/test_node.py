"""A party answers its own plan, each round once, and nothing else; what it sends is what it sends in process."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from celosia.core import CelosiaError, FormatError, InputError, ParameterError
from celosia.federated import (
    SGD,
    ClientLevel,
    Federation,
    Gossip,
    Masks,
    OneShot,
    Party,
    Proximal,
    constant_weights,
    make_graph,
)
from celosia.federated.network import node as node_module
from celosia.federated.network.agreement import agree
from celosia.federated.network.answered import AnsweredRounds
from celosia.federated.network.messages import REFUSALS, Parcel, Request
from celosia.federated.network.node import PartyNode
from celosia.federated.parties.party import PartySources
from celosia.federated.training import ask
from celosia.learn import GaussianNB, LinearRegression, LogisticRegression, StandardScaler
from celosia.learn.optimize.losses import SquaredLoss
from celosia.noise import Seeded
from tests.federated.network.nodes import NAMES, ROUNDS, describe

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def node(tmp_path: Path) -> PartyNode:
    return PartyNode.of(describe("north"), tmp_path)


def make_request(node: PartyNode, number: int = 1) -> Request:
    start = node.plan.start()
    state = start if number <= 1 else node.plan.skip(start)
    return Request(plan=node.digest, round=number, party=node.party, state=state)


def refusal(parcel: Parcel) -> object:
    assert not parcel.arrays
    return parcel.fields["refused"]


def test_a_node_sends_what_its_party_sends_in_process(node: PartyNode) -> None:
    plan = describe(*NAMES).plan()
    for number in range(1, ROUNDS + 1):
        request = make_request(node, number)
        sent = node.answer(request.pack()).arrays["integers"]
        sources = [PartySources(Seeded(5)).get("north", number)]
        assert sent.dtype == np.int64
        assert np.array_equal(sent, np.asarray(ask(plan, ("north",), request.state, sources)["north"]))


def test_no_round_is_answered_twice(node: PartyNode, tmp_path: Path) -> None:
    order = [2, 2, 1, 2, 3, 3, 1]
    answers = [node.answer(make_request(node, number).pack()) for number in order]
    assert [bool(one.arrays) for one in answers] == [True, False, False, False, True, False, False]
    again = PartyNode.of(describe("north"), tmp_path)  # after a restart, of the party or of the server
    for number in range(1, ROUNDS + 1):
        assert refusal(again.answer(make_request(again, number).pack())) == "federated.round_answered_already"
    assert again.answered.last == ROUNDS


def test_a_round_counts_as_answered_if_its_computation_failed(node: PartyNode, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> Any:
        raise RuntimeError("Ann is ill")

    with monkeypatch.context() as patched:
        patched.setattr(node_module, "ask", fail)
        answer = node.answer(make_request(node).pack())
    assert refusal(answer) == "federated.answer_failed"
    assert "Ann" not in str(answer.fields)
    assert refusal(node.answer(make_request(node).pack())) == "federated.round_answered_already"


def test_a_party_without_a_result_says_that_it_failed(node: PartyNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_module, "ask", lambda _plan, names, *_: dict.fromkeys(names))
    assert refusal(node.answer(make_request(node).pack())) == "federated.answer_failed"


def test_nothing_else_is_answered_and_no_round_is_used_up(node: PartyNode) -> None:
    good = make_request(node)
    bad: list[tuple[Request, str]] = [
        (replace(good, plan="0" * 64), "federated.request_of_another_plan"),
        (replace(good, party="south"), "federated.request_for_another_party"),
        (replace(good, round=0), "federated.no_such_round"),
        (replace(good, round=ROUNDS + 1), "federated.no_such_round"),
        (replace(good, round=-1), "federated.no_such_round"),
        *((replace(good, step=step), "federated.request_of_another_step") for step in ("keys", "numbers", "more", "")),
    ]
    start = node.plan.start()
    states: list[Any] = [np.nan * start, start + np.inf, start[1:], start[None], start.astype(np.int64)]
    states += [start.astype(np.float32), np.zeros(0), np.array(0.0)]
    bad += [(replace(good, state=state), "federated.state_of_another_form") for state in states]
    for request, code in bad:
        assert refusal(node.answer(request.pack())) == code
    assert refusal(node.answer(Parcel(fields={}, arrays={}))) == "federated.request_not_readable"
    assert {code for _, code in bad} <= REFUSALS
    assert node.answered.last == 0
    assert node.answer(good.pack()).arrays


def test_moments_are_answered_in_the_first_round_only(node: PartyNode) -> None:
    """A server that asks for them again would get more than was paid for, and no round is used up by asking."""
    start = node.plan.start()
    later = node.plan.skip(start)
    for number, state in ((2, start), (ROUNDS, start), (1, later)):
        request = replace(make_request(node), round=number, state=state)
        assert refusal(node.answer(request.pack())) == "federated.state_of_another_round"
    assert node.answered.last == 0
    assert node.answer(make_request(node, 1).pack()).arrays
    assert node.answer(make_request(node, 2).pack()).arrays
    unusable = replace(make_request(node, 3), state=np.where(np.arange(len(later)) == 1, -1.0, later))
    assert refusal(node.answer(unusable.pack())) == "federated.answer_failed"
    assert node.answered.last == 2


def test_a_damaged_record_answers_nothing(node: PartyNode) -> None:
    node.answer(make_request(node).pack())
    path = node.answered.path
    whole = json.loads(path.read_text())
    changes: list[dict[str, Any]] = [
        {"last": 0},
        {"last": 1.0},
        {"last": True},
        {"party": "south"},
        {"plan": "0"},
        {"a": 1},
    ]
    for text in ("", "[]", "{", *(json.dumps(whole | change) for change in changes)):
        path.write_text(text)
        assert refusal(node.answer(make_request(node, 2).pack())) == "federated.answer_failed"
        with pytest.raises(FormatError):
            AnsweredRounds.of(path.parent, node.digest, "north").last  # noqa: B018 - it reads the file
    path.write_text(json.dumps(whole))
    assert node.answer(make_request(node, 2).pack()).arrays


def test_of_several_processes_one_claims_a_round(tmp_path: Path) -> None:
    claimed: list[int] = []

    def claim() -> None:
        try:
            AnsweredRounds.of(tmp_path, "5e1d", "north").claim(1)
        except InputError:
            return
        claimed.append(1)

    threads = [threading.Thread(target=claim) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert claimed == [1]


def test_plans_and_parties_have_records_of_their_own(tmp_path: Path) -> None:
    records = [AnsweredRounds.of(tmp_path, plan, party) for plan in ("a", "b") for party in ("north", "../north")]
    for place, one in enumerate(records, 1):
        one.claim(place)
    assert [one.last for one in records] == [1, 2, 3, 4]
    assert {one.path.parent for one in records} == {tmp_path}


def test_nodes_agree_and_notice_every_difference() -> None:
    _, digest = agree(describe(), {"name": "first"})
    for name in NAMES:
        assert agree(describe(name), {"name": "first"})[1] == digest
    assert agree(describe("north", source=None), {"name": "first"})[1] == digest
    line: dict[str, Any] = {"bounds": ([-1.0, -1.0], [1.0, 1.0]), "bounds_y": (-2, 2)}

    def learn(**given: Any) -> Federation:
        update = {key: given.pop(key) for key in ("step_size", "loss") if key in given}
        return describe(update=SGD(estimator=LinearRegression(**(line | given)), records=40, **update))

    others = [
        agree(describe(), {"name": "second"}),
        *(
            agree(one, {"name": "first"})
            for one in (
                describe(rounds=2),
                describe(epsilon=5),
                describe(delta="1e-6"),
                describe(adjacency="replace-one"),
                describe(participation="0.5"),
                describe(least_parties=3),
                describe(parties=[Party(name, records=41 - (name == "west")) for name in NAMES]),
                describe(parties=[Party(name, records=40) for name in reversed(NAMES)]),
                learn(bounds=([-1.0, -1.0], [1.0, 1.5])),
                learn(bounds_y=(-2, 3)),
                learn(fit_intercept=False),
                learn(step_size="0.5"),
                learn(loss=SquaredLoss()),
                describe(update=Proximal(estimator=LinearRegression(**line), mu="0.1"), adjacency="replace-one"),
                describe(update=Proximal(estimator=LinearRegression(**line), mu="0.2"), adjacency="replace-one"),
                describe(update=OneShot(LinearRegression(**line)), rounds=1),
                describe(masks=Masks()),
                describe(masks=Masks(colluders=0)),
                describe(masks=Masks(colluders=0, silent=1)),  # the price of Masks()
                describe(masks=Masks(), topology=make_graph("path", NAMES)),
                describe(topology=make_graph("path", NAMES)),
                describe(topology=make_graph("ring", NAMES)),
                describe(topology=Gossip(weights=make_graph("ring", NAMES), steps=2)),
                describe(topology=Gossip(weights=constant_weights(make_graph("path", NAMES)))),
                describe(level=ClientLevel(clip="0.5")),
            )
        ),
    ]
    digests = [found for _, found in others]
    assert len({digest, *digests}) == len(digests) + 1


def test_a_budget_changes_no_digest() -> None:
    import celosia as cl
    from celosia.ledger import InMemoryBudget

    budget = InMemoryBudget(cl.ApproxDP(epsilon=4, delta="1e-5", unit="person"))
    assert agree(describe(budget=budget), {})[1] == agree(describe(), {})[1]


def test_other_estimators_have_digests() -> None:
    bounds = ([0.0], [1.0])
    for update in (
        OneShot(GaussianNB(bounds=bounds, classes=["a", "b"])),
        OneShot(StandardScaler(bounds=bounds)),
        SGD(
            estimator=LogisticRegression(bounds=bounds, classes=[False, True]),
            records={"north": 3, "south": 4, "west": 5},
        ),
    ):
        rounds = 1 if isinstance(update, OneShot) else 2
        assert len(agree(describe(update=update, rounds=rounds), {})[1]) == 64


def test_what_cannot_be_compared_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="cannot compare"):
        agree(describe(), {"name": object()})
    for held in ((), ("north", "south")):
        with pytest.raises(CelosiaError, match="records of one party"):
            PartyNode.of(describe(*held), tmp_path)
    assert not list(tmp_path.iterdir())
