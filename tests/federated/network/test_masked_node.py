"""Masks over a network: the sums of one process, steps that survive a restart, and no second answer.

Every message goes to a node that is opened anew, as if each were answered by a process of its own.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import celosia as cl
from celosia.core import EngineError, ParameterError
from celosia.federated import SGD, Federation, Masks, OneShot, Proximal, make_graph
from celosia.federated.contributions import Unusable
from celosia.federated.masking.server import STEPS
from celosia.federated.network import node as node_module
from celosia.federated.network.messages import REFUSALS, Parcel, Request, read_reply
from celosia.federated.network.node import PartyNode
from celosia.learn import LinearRegression
from celosia.ledger import InMemoryBudget
from tests.federated.network.nodes import NAMES, ROUNDS, describe

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

LINE = LinearRegression(bounds=([-1.0, -1.0], [1.0, 1.0]), bounds_y=(-2, 2))
WAYS: dict[str, dict[str, Any]] = {
    "SGD": {"update": SGD(estimator=LINE, records=40, sampling_rate="0.5")},
    "proximal": {"update": Proximal(estimator=LINE, mu="0.2"), "adjacency": "replace-one"},
    "one-shot": {"update": OneShot(LINE), "rounds": 1},
    "along edges": {"topology": make_graph("complete", NAMES), "masks": Masks()},
    "a silent one": {"masks": Masks(colluders=0, silent=1)},
}


@dataclass
class Direct:
    """A way to nodes in folders of their own; ``spoil`` changes an answer, and ``cut`` has steps that do not arrive."""

    folder: Path
    given: Mapping[str, Any]
    spoil: Any = None
    cut: Sequence[str] = ()

    @property
    def digest(self) -> str:
        return self.open("north").digest

    def open(self, name: str) -> PartyNode:
        return PartyNode.of(describe(name, **self.given), self.folder / name)

    def ask(self, *_: Any) -> dict[str, object]:
        raise AssertionError

    def exchange(self, number: int, step: str, messages: Mapping[str, bytes], state: Any) -> dict[str, object]:
        answers: dict[str, object] = {}
        for name, message in messages.items():
            if step in self.cut:
                continue
            node = self.open(name)
            request = Request(plan=node.digest, round=number, step=step, message=message, party=name, state=state)
            found = read_reply(node.answer(request.pack()), request)
            answers[name] = found if self.spoil is None else self.spoil(number, step, name, found)
        return answers


def mask(*held: str, **given: Any) -> Federation:
    return describe(*held, **({"masks": Masks()} | given))


@pytest.mark.parametrize("way", WAYS)
def test_a_masked_training_over_a_network_is_that_in_process(way: str, tmp_path: Path) -> None:
    given = {"masks": Masks()} | WAYS[way]
    near, far = mask(*NAMES, **given).run(), mask(**given).run(transport=Direct(tmp_path, given))
    assert np.array_equal(near.coef_, far.coef_)
    assert near.intercept_ == far.intercept_
    assert near.history_ == far.history_  # bytes too
    assert near.event_ == far.event_


def test_whoever_falls_silent_is_left_out_or_ends_the_training(tmp_path: Path) -> None:
    for place, step in enumerate(STEPS):
        given = {"masks": Masks(silent=1)}

        def quiet(number: int, at: str, name: str, found: object, step: str = step) -> object:
            return None if (number, at, name) == (2, step, "south") else found

        model = mask(**given).run(transport=Direct(tmp_path / step, given, quiet))
        wanted = {} if step == "reveal" else {"south": "silent"}
        assert [told["rejected"] for told in model.history_] == [{}, wanted, {}], place
        budget = InMemoryBudget(cl.ApproxDP(epsilon=4, delta="1e-5"))
        with pytest.raises(EngineError, match="given up"):
            mask(source=None, budget=budget).run(transport=Direct(tmp_path / f"{step}-all", {"masks": Masks()}, quiet))
        assert [one.state for one in budget.history] == ["failed"]


def test_poison_is_left_out_and_counted(tmp_path: Path) -> None:
    given = {"masks": Masks(silent=1)}
    bad = [b"", b"x" * 99, np.array([np.nan]), Unusable("refused: federated.answer_failed"), 1e30]
    for place, poison in enumerate(bad):

        def spoil(number: int, step: str, name: str, found: object, poison: object = poison) -> object:
            return poison if (number, step, name) == (2, "numbers", "west") else found

        model = mask(**given).run(transport=Direct(tmp_path / str(place), given, spoil))
        assert [list(told["rejected"]) for told in model.history_] == [[], ["west"], []]
        assert np.isfinite(model.coef_).all()


class Round:
    """One round, step by step, with what each node was asked and answered."""

    def __init__(self, folder: Path, **given: Any) -> None:
        self.given = {"masks": Masks()} | given
        self.requests: dict[tuple[str, str], Request] = {}
        self.transport = Direct(folder, self.given, self.keep)
        self.plan: Any = mask(**self.given).plan()
        self.answers: dict[tuple[str, str], Any] = {}

    def keep(self, _number: int, step: str, name: str, found: object) -> object:
        self.answers[step, name] = found
        return found

    def run(self, number: int = 1) -> Any:
        keep = self.transport.exchange

        def exchange(number: int, step: str, messages: Mapping[str, bytes], state: Any) -> dict[str, object]:
            self.requests |= {
                (step, name): Request(
                    plan=self.transport.digest, round=number, step=step, message=message, party=name, state=state
                )
                for name, message in messages.items()
            }
            return keep(number, step, messages, state)

        self.transport.exchange = exchange  # type: ignore[method-assign]
        return self.plan.receive(self.transport, number, NAMES, self.plan.start(), parties=3, source=None)

    def ask(self, like: str, name: str, **changed: Any) -> Parcel:
        return self.transport.open(name).answer(replace(self.requests[like, name], **changed).pack())


def test_no_step_of_a_round_is_answered_again(tmp_path: Path) -> None:
    round_ = Round(tmp_path)
    round_.run()
    for (step, name), request in round_.requests.items():
        parcel = round_.ask(step, name)
        assert parcel.fields["refused"] == "federated.round_answered_already"
        assert parcel.fields["refused"] in REFUSALS
        assert request.round == 1
    for name in NAMES:  # no secret is left
        file = next(path for path in (tmp_path / name).glob("masks-*.json"))
        assert json.loads(file.read_text())["state"] is None
        assert file.stat().st_mode & 0o077 == 0


def test_a_round_that_was_cut_off_is_not_begun_again(tmp_path: Path) -> None:
    """Whatever the server asks after a cut: the round's keys are those of the first time, or none."""
    for last in range(1, len(STEPS)):
        round_ = Round(tmp_path / str(last))
        round_.transport.cut = STEPS[last:]
        with pytest.raises(EngineError):
            round_.run()
        assert round_.ask("keys", "north").fields["refused"] == "federated.round_answered_already"
        if last == 1:  # the shares were sent; they are the same if they are asked for again
            first, again = (round_.ask("shares", "north").fields["message"] for _ in range(2))
            assert first == again
        if last == 3:
            roster = round_.requests["shares", "north"].message
            refused = round_.ask("shares", "north", message=roster[:-1] + bytes([roster[-1] ^ 1]))
            assert refused.fields["refused"] == "federated.mask_message_changed"
            assert round_.ask("numbers", "north").fields["refused"] == "federated.mask_numbers_sent_twice"
        second = round_.ask("keys", "north", round=2)
        assert second.fields["message"]
        assert round_.ask("reveal" if last == 3 else "shares", "north").fields["refused"] in REFUSALS


@pytest.mark.parametrize("fails", [False, True])
def test_records_are_used_once_in_a_round_whatever_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, fails: bool
) -> None:
    """Not with garbage, before their step or after it; and a computation that failed is not tried again."""
    used: list[int] = []
    from celosia.federated.training import ask as draw

    def count(*given: Any) -> Any:
        used.append(1)
        if fails:
            raise RuntimeError("Ann is ill")
        return draw(*given)

    monkeypatch.setattr(node_module, "ask", count)
    round_ = Round(tmp_path)
    round_.transport.cut = STEPS[3:]
    with pytest.raises(EngineError):
        round_.run()
    assert len(used) == len(NAMES)
    good = round_.requests["numbers", "north"]
    for message in (b"", b"x" * 99, good.message):
        assert round_.ask("numbers", "north", message=message).fields["refused"] in REFUSALS
    fresh = Round(tmp_path / "fresh")
    fresh.requests = round_.requests
    for message in (b"", b"x" * 99, good.message):
        assert fresh.ask("numbers", "north", message=message).fields["refused"] in REFUSALS
    assert fresh.ask("keys", "north").fields["message"]
    for message in (b"", b"x" * 99, good.message):
        assert fresh.ask("numbers", "north", message=message).fields["refused"] in REFUSALS
    assert len(used) == len(NAMES)


def test_steps_out_of_order_and_other_states_are_refused(tmp_path: Path) -> None:
    round_ = Round(tmp_path / "whole")
    round_.run()
    fresh = Round(tmp_path / "fresh")
    fresh.requests = round_.requests
    for step in STEPS[1:]:
        assert fresh.ask(step, "north").fields["refused"] == "federated.mask_step_too_early"
    assert fresh.ask("keys", "north").fields["message"]
    assert fresh.ask("numbers", "north").fields["refused"] == "federated.mask_step_too_early"
    assert fresh.ask("keys", "north", step="answer").fields["refused"] == "federated.request_of_another_step"
    for state in (np.zeros(0), np.full(3, np.nan), np.zeros((2, 3)), np.zeros(3, dtype=np.int64)):
        refused = fresh.ask("numbers", "north", state=state)
        assert refused.fields["refused"] == "federated.state_of_another_form"
    for message in (b"", b"x" * 41, round_.requests["shares", "south"].message + b"x"):
        refused = fresh.ask("shares", "north", message=message)
        assert refused.fields["refused"] == "federated.not_a_mask_message"


def test_damaged_secrets_answer_nothing(tmp_path: Path) -> None:
    round_ = Round(tmp_path)
    round_.transport.cut = STEPS[2:]
    with pytest.raises(EngineError):
        round_.run()
    file = next((tmp_path / "north").glob("masks-*.json"))
    whole = json.loads(file.read_text())
    changes: list[dict[str, Any]] = [{"format": "x"}, {"round": 2}, {"state": "{}"}, {"state": 7}, {"more": 1}]
    for text in ("", "[]", "{", *(json.dumps(whole | change) for change in changes)):
        file.write_text(text)
        assert round_.ask("numbers", "north").fields["refused"] in REFUSALS
    file.write_text(json.dumps(whole))
    assert round_.ask("numbers", "north").fields["message"]


def test_what_a_node_sends_does_not_show_its_numbers(tmp_path: Path) -> None:
    """Equal noise and equal records, other masks: no byte of the numbers is the same but by chance."""
    rounds = [Round(tmp_path / str(place)) for place in range(2)]
    for one in rounds:
        one.run()
    width = rounds[0].plan.settings.bytes_per_number
    sent = [np.frombuffer(one.answers["numbers", "north"][41:], dtype=np.uint8) for one in rounds]
    assert len(sent[0]) == rounds[0].plan.width * width
    assert (sent[0] == sent[1]).mean() < 0.5  # dozens of bytes: by chance, below 1e-9


def test_masks_need_a_transport_that_carries_their_messages() -> None:
    class Plain:
        """A way to parties that never answer."""

        def ask(self, _plan: Any, _number: int, names: Any, _state: Any) -> dict[str, object]:
            return dict.fromkeys(names)

    budget = InMemoryBudget(cl.ApproxDP(epsilon=4, delta="1e-5"))
    with pytest.raises(ParameterError, match="exchange"):
        mask(budget=budget).run(transport=Plain())
    assert not list(budget.history)


def test_fewer_parties_than_masks_need_are_known_before_paying(tmp_path: Path) -> None:
    assert mask().needed_parties == 3
    assert mask(masks=Masks(silent=1)).needed_parties == 2
    assert describe().needed_parties == 2
    with pytest.raises(EngineError, match="given up"):
        mask(rounds=ROUNDS).run(transport=Direct(tmp_path, {"masks": Masks()}, lambda *_: None))
