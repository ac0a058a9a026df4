"""Flower's side without a network: its own messages and apps, with a grid that delivers at once, or badly."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Error, Message, MetricRecord, RecordDict

import celosia as cl
from celosia.core import EngineError, FormatError, ParameterError
from celosia.federated import ClientLevel, CoordinateMedian, Gossip, Masks, make_graph
from celosia.federated.contributions import Unusable
from celosia.federated.network.agreement import agree
from celosia.federated.network.flower import (
    FlowerTransport,
    create_client_app,
    create_server_app,
    make_records,
    read_records,
)
from celosia.federated.network.messages import Parcel, Request
from celosia.federated.network.node import PartyNode
from celosia.ledger import InMemoryBudget
from tests.federated.network.nodes import NAMES, ROUNDS, describe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from celosia.federated import Federation

NODES = {name: 2**62 + place for place, name in enumerate(NAMES)}


def make_apps(folder: Path, **given: Any) -> dict[str, Any]:
    """Return the client app of each party."""
    return {name: create_client_app(partial(open_node, name, folder, given)) for name in NAMES}


def open_node(name: str, folder: Path, given: dict[str, Any]) -> PartyNode:
    return PartyNode.of(describe(name, **given), folder)


class Grid:
    """A grid whose nodes answer as soon as they are asked; ``spoil`` changes what they answer."""

    def __init__(
        self, folder: Path, spoil: Callable[[str, int, Message, Message], Any] | None = None, **given: Any
    ) -> None:
        self.online = dict(NODES)
        self.apps = make_apps(folder, **given)
        self.asked: list[tuple[str, int]] = []
        self.requests: list[RecordDict] = []
        self._spoil, self._replies, self._ids = spoil, {}, itertools.count(1)  # type: ignore[var-annotated]

    def get_node_ids(self) -> Iterable[int]:
        return self.online.values()

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        return [self._deliver(one) for one in messages]

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        wanted = set(message_ids)
        found = [place for place in self._replies if place in wanted]
        return [reply for place in found for reply in self._replies.pop(place)]

    def _deliver(self, message: Message) -> str:
        place = str(next(self._ids))
        message.metadata.__dict__.update(_message_id=place, _run_id=1, _src_node_id=1)
        name = next(name for name, node in NODES.items() if node == message.metadata.dst_node_id)
        number = int(message.metadata.group_id)
        self.asked.append((name, number))
        self.requests.append(message.content)
        context = Context(run_id=1, node_id=1, node_config={}, state=RecordDict(), run_config={})
        reply = self.apps[name](message, context)
        given = reply if self._spoil is None else self._spoil(name, number, message, reply)
        self._replies[place] = given if isinstance(given, list) else [given]
        return place


def transport(grid: Any, federation: Federation | None = None, **given: Any) -> FlowerTransport:
    defaults: dict[str, Any] = {"nodes": NODES, "deadline": 0.5}
    return FlowerTransport.of(federation or describe(), grid, **(defaults | given))


def train(grid: Grid, **given: Any) -> Any:
    return describe(**given).run(transport=transport(grid))


def test_a_training_over_flower_is_that_in_process(tmp_path: Path) -> None:
    near, far = describe(*NAMES).run(), train(Grid(tmp_path))
    assert np.array_equal(near.coef_, far.coef_)
    assert near.intercept_ == far.intercept_
    assert near.history_ == far.history_
    assert near.event_ == far.event_


def test_masks_and_graphs_go_over_flower(tmp_path: Path) -> None:
    path = make_graph("path", NAMES)
    ways: list[dict[str, Any]] = [
        {"masks": Masks()},
        {"masks": Masks(), "topology": make_graph("complete", NAMES)},
        {"topology": path},
        {"topology": Gossip(weights=path, steps=2)},
        {"combine": CoordinateMedian()},
        {"level": ClientLevel(clip="0.5"), "masks": Masks()},
    ]
    for place, given in enumerate(ways):
        near, federation = describe(*NAMES, **given).run(), describe(**given)
        grid, seen = Grid(tmp_path / str(place), **given), list[tuple[int, int, int]]()
        far = federation.run(transport=transport(grid, federation, report=lambda *told, seen=seen: seen.append(told)))
        assert np.array_equal(near.coef_, far.coef_)
        assert near.event_ == far.event_
        assert near.history_ == far.history_
        assert seen == [(number, 3, 3) for number in range(1, ROUNDS + 1)]
        steps = 4 if "masks" in given else 1
        assert len(grid.requests) == ROUNDS * len(NAMES) * steps


def test_a_party_that_is_not_there_under_masks_is_silent_or_ends_the_training(tmp_path: Path) -> None:
    given: dict[str, Any] = {"masks": Masks(silent=1)}
    grid, federation = Grid(tmp_path, **given), describe(**given)
    del grid.online["west"]
    model = federation.run(transport=transport(grid, federation))
    assert [told["rejected"] for told in model.history_] == [{"west": "silent"}] * ROUNDS
    del grid.online["south"]
    with pytest.raises(EngineError, match="Only 1 parties are connected"):
        transport(grid, federation).wait(federation.needed_parties)


def test_only_those_who_are_asked_answer(tmp_path: Path) -> None:
    given: dict[str, Any] = {"participation": "0.6", "rounds": 4, "least_parties": 1, "seed": 6}
    near, grid = describe(*NAMES, **given).run(), Grid(tmp_path)
    grid.apps = make_apps(tmp_path, **given)
    federation = describe(**given)
    far = federation.run(transport=transport(grid, federation))
    assert np.array_equal(near.coef_, far.coef_)
    assert near.history_ == far.history_
    assert grid.asked == [(name, told["round"]) for told in far.history_ for name in told["accepted"]]
    assert len(grid.asked) < 4 * len(NAMES)


def test_a_budget_pays_and_no_request_has_more_than_the_state(tmp_path: Path) -> None:
    budget, grid = InMemoryBudget(cl.ApproxDP(epsilon=4, delta="1e-5")), Grid(tmp_path)
    federation = describe(budget=budget, source=None)
    model = federation.run(transport=transport(grid))
    assert budget.spent == cl.ApproxDP(epsilon=4, delta="1e-5")
    assert len(grid.requests) == ROUNDS * len(NAMES)
    assert model.history_[0]["accepted"] == list(NAMES)
    for content in grid.requests:
        assert set(content["celosia"]) == {"celosia", "plan", "round", "step", "party", "message"}
        assert content["celosia"]["message"] == b""
        assert list(content["arrays"]) == ["state"]


def replace_array(reply: Message, array: Any) -> Message:
    """Return a reply with another array in place of the integers."""
    found = array if isinstance(array, Array) else Array(np.asarray(array))
    content = RecordDict({"celosia": reply.content["celosia"], "arrays": ArrayRecord({"integers": found})})
    return make_reply(reply, content)


def make_reply(reply: Message, content: RecordDict | None = None, error: Error | None = None) -> Message:
    made = Message(content, reply_to=reply) if error is None else Message(error, reply_to=reply)  # type: ignore[arg-type]
    made.metadata.__dict__.update(vars(reply.metadata))
    return made


def forge(reply: Message, **fields: Any) -> Message:
    told = ConfigRecord({**cast("ConfigRecord", reply.content["celosia"]), **fields})
    return make_reply(reply, RecordDict({"celosia": told, "arrays": reply.content["arrays"]}))


def claim_size(count: int) -> Array:
    """Return an array whose header claims more values than follow."""
    whole = Array(np.zeros(3, dtype=np.int64))
    return Array(whole.dtype, whole.shape, whole.stype, whole.data.replace(b"(3,), ", f"({count},), ".encode()))


def move(reply: Message) -> Message:
    reply.metadata.__dict__["_src_node_id"] = NODES["north"]
    return reply


HEADER = np.zeros(3, dtype=np.int64)
POISON: dict[str, tuple[Callable[[Message], Any], str]] = {
    "NaN": (lambda reply: replace_array(reply, np.full(6, np.nan)), "not integers"),
    "infinite": (lambda reply: replace_array(reply, np.full(6, np.inf)), "not integers"),
    "floats": (lambda reply: replace_array(reply, np.ones(6)), "not integers"),
    "1e30": (lambda reply: replace_array(reply, np.full(6, 1e30)), "not integers"),
    "huge": (lambda reply: replace_array(reply, np.full(6, 2**62)), "too large"),
    "most negative": (lambda reply: replace_array(reply, np.full(6, -(2**63))), "too large"),
    "short": (lambda reply: replace_array(reply, HEADER[:2]), "wrong shape"),
    "square": (lambda reply: replace_array(reply, HEADER[:1, None]), "wrong shape"),
    "long": (lambda reply: replace_array(reply, np.zeros(7, dtype=np.int64)), "not readable"),
    "very long": (lambda reply: replace_array(reply, np.zeros(10**5, dtype=np.int64)), "not readable"),
    "32 bits": (lambda reply: replace_array(reply, HEADER.astype(np.int32)), "not readable"),
    "unsigned": (lambda reply: replace_array(reply, HEADER.astype(np.uint64)), "not readable"),
    "booleans": (lambda reply: replace_array(reply, HEADER.astype(bool)), "not readable"),
    "texts": (lambda reply: replace_array(reply, HEADER.astype(str)), "not readable"),
    "big-endian": (lambda reply: replace_array(reply, HEADER.astype(">i8")), "not readable"),
    "no array": (
        lambda reply: replace_array(reply, Array("int64", (3,), "numpy.ndarray", b"\x93NUMPY")),
        "not readable",
    ),
    "pickled": (lambda reply: replace_array(reply, Array("O", (3,), "numpy.ndarray", b"\x80\x04N.")), "not readable"),
    "torch": (lambda reply: replace_array(reply, Array("int64", (3,), "torch.Tensor", b"")), "not readable"),
    "cut off": (lambda reply: replace_array(reply, claim_size(9)), "not readable"),
    "terabytes": (lambda reply: replace_array(reply, claim_size(2**40)), "not readable"),
    "empty": (lambda reply: make_reply(reply, RecordDict()), "not readable"),
    "metrics": (lambda reply: make_reply(reply, RecordDict({"celosia": MetricRecord({"a": 1})})), "not readable"),
    "another plan": (lambda reply: forge(reply, plan="0" * 64), "another plan"),
    "old round": (lambda reply: forge(reply, round=0), "another round"),
    "another name": (lambda reply: forge(reply, party="south"), "another party"),
    "no version": (lambda reply: forge(reply, celosia=2), "not readable"),
    "words": (lambda reply: forge(reply, refused="Ann is ill"), "not readable"),
    "another node": (move, "another party"),
    "crash": (lambda reply: make_reply(reply, error=Error(code=2, reason="Ann is ill")), "failed"),
    "gone": (lambda reply: make_reply(reply, error=Error(code=5)), "silent"),
    "nothing": (lambda _: [], "silent"),
}


@pytest.mark.parametrize("kind", POISON)
def test_a_round_goes_on_without_a_poisoned_answer(tmp_path: Path, kind: str) -> None:
    spoil, reason = POISON[kind]
    bad = "west"

    def spoil_one(name: str, number: int, _message: Message, reply: Message) -> Any:
        return spoil(reply) if (name, number) == (bad, 2) else reply

    model = train(Grid(tmp_path, spoil_one))
    assert [told["rejected"] for told in model.history_] == [{}, {bad: reason}, {}]
    assert model.history_[1]["accepted"] == ["north", "south"]
    assert np.isfinite(model.coef_).all()


def test_an_answer_counts_once(tmp_path: Path) -> None:
    grid = Grid(tmp_path, lambda _name, _number, _message, reply: [reply, replace_array(reply, HEADER + 7)])
    near, far = describe(*NAMES).run(), train(grid)
    assert np.array_equal(near.coef_, far.coef_)


def test_a_replayed_answer_of_an_old_round_is_rejected(tmp_path: Path) -> None:
    old: dict[str, Message] = {}

    def replay(name: str, _number: int, message: Message, reply: Message) -> Message:
        kept = old.setdefault(name, reply)
        made = make_reply(reply, kept.content)
        assert made.metadata.reply_to_message_id == message.metadata.message_id
        return made if name == "west" else reply

    model = train(Grid(tmp_path, replay))
    assert [told["rejected"] for told in model.history_] == [{}, *([{"west": "another round"}] * (ROUNDS - 1))]


def test_a_server_that_starts_again_gets_no_second_answer(tmp_path: Path) -> None:
    train(Grid(tmp_path))
    with pytest.raises(EngineError, match="Only 0 parties"):
        train(Grid(tmp_path))
    grid = Grid(tmp_path)
    answers = transport(grid).ask(describe().plan(), 1, NAMES, describe().plan().start())
    assert set(answers.values()) == {Unusable("refused: federated.round_answered_already")}


def test_a_server_with_another_description_gets_no_answer(tmp_path: Path) -> None:
    other = describe(epsilon=40)
    with pytest.raises(EngineError, match="Only 0 parties have the description"):
        transport(Grid(tmp_path), other).wait(1)
    with pytest.raises(EngineError, match="Only 0 parties contributed"):
        other.run(transport=transport(Grid(tmp_path), other))
    assert len(train(Grid(tmp_path)).history_) == ROUNDS  # and no round was used up


def test_a_party_with_another_description_is_not_counted(tmp_path: Path) -> None:
    grid = Grid(tmp_path)
    grid.apps["west"] = make_apps(tmp_path, epsilon=5)["west"]
    assert transport(grid).wait(2) == {"north", "south"}
    with pytest.raises(EngineError, match="Only 2 parties have the description"):
        transport(grid).wait(3)
    assert not list(tmp_path.iterdir())  # no round is used up by being asked


def test_parties_that_are_not_connected_are_silent(tmp_path: Path) -> None:
    grid = Grid(tmp_path)
    del grid.online["west"]
    assert transport(grid).wait(2) == {"north", "south"}
    assert {told["rejected"]["west"] for told in train(grid).history_} == {"silent"}
    del grid.online["south"]
    with pytest.raises(EngineError, match="Only 1 parties are connected"):
        transport(grid).wait(2)


def test_the_errors_of_a_network_and_of_a_caller_are_named(tmp_path: Path) -> None:
    class Broken(Grid):
        def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:  # noqa: ARG002 - nothing is sent
            raise RuntimeError("no route")

    with pytest.raises(EngineError, match="RuntimeError"):
        train(Broken(tmp_path))
    for deadline in (0, -1, float("nan"), float("inf")):
        with pytest.raises(ParameterError, match="deadline"):
            transport(Grid(tmp_path), deadline=deadline)
    for nodes in ({}, {"north": 1}, NODES | {"east": 4}):
        with pytest.raises(ParameterError, match="each party"):
            transport(Grid(tmp_path), nodes=nodes)


def test_rounds_are_reported(tmp_path: Path) -> None:
    seen: list[tuple[int, int, int]] = []
    grid = Grid(tmp_path)
    del grid.online["south"]
    describe().run(transport=transport(grid, report=lambda *told: seen.append(told)))
    assert seen == [(number, 3, 2) for number in range(1, ROUNDS + 1)]


def test_a_server_app_runs_with_its_grid(tmp_path: Path) -> None:
    seen: list[object] = []
    app, grid = create_server_app(seen.append), Grid(tmp_path)
    app(grid, Context(run_id=1, node_id=1, node_config={}, state=RecordDict(), run_config={}))
    assert seen == [grid]


def test_no_words_of_an_error_leave_a_client_app() -> None:
    def fail() -> PartyNode:
        raise RuntimeError("Ann is ill")

    _, digest = agree(describe(), {})
    request = make_records(Request(plan=digest, round=1, party="north", state=np.zeros(3)).pack())
    bad = [
        RecordDict(),
        make_records(Parcel(fields={"celosia": 1}, arrays={})),
        make_records(Parcel(fields={}, arrays={})),
    ]
    codes = ["federated.answer_failed", *["federated.request_not_readable"] * len(bad)]
    for content, code in zip([request, *bad], codes, strict=True):
        message = Message(content, dst_node_id=2, message_type="train")
        message.metadata.__dict__.update(_message_id="1", _run_id=1, _src_node_id=1)
        context = Context(run_id=1, node_id=2, node_config={}, state=RecordDict(), run_config={})
        reply = create_client_app(fail)(message, context)
        assert reply.content["celosia"]["refused"] == code
        assert "Ann" not in str(reply.content)
        assert not list(reply.content["arrays"])


def test_records_go_through_exactly() -> None:
    integers = np.array([2**63 - 1, -(2**63), 0, 2**53 + 1])
    doubles = np.array([np.nextafter(0, 1), -0.0, 0.1, 1e308])
    parcel = Parcel(fields={"celosia": 1, "plan": "é", "round": 2**62}, arrays={"integers": integers, "state": doubles})
    found = read_records(make_records(parcel))
    assert dict(found.fields) == dict(parcel.fields)
    for name, array in parcel.arrays.items():
        assert found.arrays[name].dtype == array.dtype
        assert found.arrays[name].tobytes() == array.tobytes()


def test_records_that_are_too_many_are_not_read() -> None:
    for bad in (None, "text", RecordDict({"celosia": ConfigRecord()})):
        with pytest.raises(FormatError):
            read_records(bad)
    many = {str(place): HEADER for place in range(9)}
    with pytest.raises(FormatError):
        read_records(make_records(Parcel(fields={}, arrays=many)))
    with pytest.raises(FormatError):
        read_records(make_records(Parcel(fields={}, arrays={"a": HEADER})), most=2)


def test_flower_is_loaded_when_it_is_used() -> None:
    script = (
        "import sys, celosia.federated.network.flower, celosia.federated.network.operate; "
        "raise SystemExit('flwr' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True, env=os.environ)
