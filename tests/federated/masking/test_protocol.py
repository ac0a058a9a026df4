"""What parties and the server refuse: other rounds, changed messages, second answers, too few survivors."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from celosia.core import CelosiaError, EngineError, FormatError, InputError, ParameterError
from celosia.federated import MaskingParty, MaskingServer, MaskingSettings
from celosia.federated.masking.masks import add_streams, reduce_bits, to_signed
from celosia.federated.masking.messages import SERVER, SURVIVORS, pack, unpack_numbers
from celosia.federated.masking.roster import derive_own_mask
from celosia.noise import Seeded

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = ("a", "b", "c", "d")
HEADER = 41
MESSAGES = {name: np.array([place, -place]) for place, name in enumerate(NAMES)}


class Run:
    """A round that stops before the survivors are asked, with all its messages."""

    def __init__(self, *, silent: str = "d", **changed: Any) -> None:
        given: dict[str, Any] = {"federation": "test", "number": 1, "parties": NAMES, "width": 2, "threshold": 3}
        self.settings = MaskingSettings(**given | changed)
        self.server = MaskingServer(self.settings)
        self.parties = {name: MaskingParty(self.settings, name, source=Seeded(seed)) for seed, name in enumerate(NAMES)}
        self.keys = {name: party.send_keys() for name, party in self.parties.items()}
        self.roster = self.server.receive_keys(self.keys)
        self.shares = {name: party.send_shares(self.roster) for name, party in self.parties.items()}
        self.boxes = self.server.receive_shares(self.shares)
        self.numbers = {
            name: party.send_numbers(self.boxes[name], MESSAGES[name]) for name, party in self.parties.items()
        }
        self.late = {name: self.numbers.pop(name) for name in silent}
        self.survivors = self.server.receive_numbers(self.numbers)

    def list_survivors(self, *numbers: int) -> bytes:
        return pack("survivors", self.settings, SERVER, np.array(numbers, dtype="<u4").view(SURVIVORS))

    def reveal(self) -> dict[str, bytes]:
        return {name: self.parties[name].send_reveal(self.survivors) for name in self.numbers}


def refuse(code: str, action: Callable[..., object], *arguments: object, kind: type[CelosiaError] = InputError) -> None:
    with pytest.raises(kind) as caught:
        action(*arguments)
    assert caught.value.code == f"federated.{code}"


def flip(message: bytes, place: int) -> bytes:
    return message[:place] + bytes([message[place] ^ 1]) + message[place + 1 :]


def test_a_round_by_hand() -> None:
    run = Run()
    assert run.server.receive_reveals(run.reveal()).tolist() == [3, -3]
    assert run.server.survivors == ("a", "b", "c")


def test_a_party_gives_one_share_of_each_secret() -> None:
    run = Run()
    party = run.parties["a"]
    answer = party.send_reveal(run.survivors)
    for other in (run.list_survivors(0, 1, 2, 3), run.list_survivors(0, 2, 3), run.list_survivors(0, 1, 3)):
        refuse("mask_message_changed", party.send_reveal, other)
        refuse("mask_message_changed", MaskingParty.load(run.settings, party.save()).send_reveal, other)
    assert party.send_reveal(run.survivors) == answer


def test_a_party_refuses_a_list_that_would_reveal_too_much() -> None:
    run = Run()
    party = run.parties["a"]
    for few in ((0,), (0, 1), (0, 3)):
        refuse("too_few_survivors", party.send_reveal, run.list_survivors(*few))
    for wrong in ((1, 2, 3), (0, 1, 9), (0, 2, 1), (0, 0, 1, 2)):
        refuse("not_a_mask_message", party.send_reveal, run.list_survivors(*wrong))
    ring = Run(edges=[("a", "b"), ("b", "c"), ("c", "d")], silent="")
    refuse("party_visible_alone", ring.parties["a"].send_reveal, ring.list_survivors(0, 1, 3))
    assert ring.parties["a"].send_reveal(ring.survivors)  # what was refused changed nothing


def test_late_numbers_stay_masked() -> None:
    """The server learns the shared masks of a silent party; its own mask still hides what comes late."""
    run = Run()
    party, bits = run.parties["d"], run.settings.bits
    refuse("mask_step_out_of_order", run.server.receive_numbers, run.late, kind=ParameterError)
    shared = run.server._find_masks({3: party._get_mask_key()})
    late = unpack_numbers(run.late["d"], run.settings, 3) + shared
    assert (np.abs(to_signed(reduce_bits(late, bits), bits).astype(object)) > 2**40).all()
    late -= add_streams([derive_own_mask(party._derive(b"own mask"))], 2)
    assert to_signed(reduce_bits(late, bits), bits).tolist() == MESSAGES["d"].tolist()
    assert run.server.receive_reveals(run.reveal()).tolist() == [3, -3]


def test_numbers_are_sent_once() -> None:
    run = Run()
    refuse("mask_numbers_sent_twice", run.parties["a"].send_numbers, run.boxes["a"], MESSAGES["b"], kind=ParameterError)
    loaded = MaskingParty.load(run.settings, run.parties["a"].save())
    refuse("mask_numbers_sent_twice", loaded.send_numbers, run.boxes["a"], MESSAGES["a"], kind=ParameterError)


def test_messages_of_another_round_or_federation_are_refused() -> None:
    run = Run()
    for other in (Run(number=2), Run(federation="other"), Run(threshold=4, silent="")):
        party, server = other.parties["a"], MaskingServer(other.settings)
        code = "mask_message_of_other_round"
        refuse(code, server.receive_keys, run.keys)
        fresh = MaskingParty(other.settings, "a", source=Seeded(0))
        refuse(code, fresh.send_shares, run.roster)
        fresh.send_shares(other.roster)
        refuse(code, fresh.send_numbers, run.boxes["a"], MESSAGES["a"])
        refuse(code, party.send_reveal, run.survivors)
        refuse(code, other.server.receive_reveals, run.reveal())
        # Under a forged header the shares of the other round do not decrypt.
        forged = run.boxes["a"][:5] + other.settings.digest + run.boxes["a"][37:]
        refuse("mask_share_unreadable", fresh.send_numbers, forged, MESSAGES["a"])


def test_parties_that_saw_other_keys_do_not_understand_each_other() -> None:
    run = Run()
    stranger = MaskingParty(run.settings, "d", source=Seeded(99)).send_keys()
    roster = MaskingServer(run.settings).receive_keys(run.keys | {"d": stranger})
    party = MaskingParty(run.settings, "a", source=Seeded(0))
    party.send_shares(roster)
    refuse("mask_share_unreadable", party.send_numbers, run.boxes["a"], MESSAGES["a"])
    refuse("mask_message_changed", party.send_shares, run.roster)


def test_changed_shares_are_noticed() -> None:
    run = Run()
    for place in (HEADER + 4, HEADER + 50, HEADER + 91):  # the first box: its beginning, middle and end
        party = MaskingParty(run.settings, "a", source=Seeded(0))
        party.send_shares(run.roster)
        changed = flip(run.boxes["a"], place)
        refuse("mask_share_unreadable", party.send_numbers, changed, MESSAGES["a"])
    answers = run.reveal()
    for name, row in itertools.product("abc", range(4)):
        answered = answers | {name: flip(answers[name], HEADER + 40 * row + 4)}
        refuse("mask_share_wrong", run.server.receive_reveals, answered, kind=EngineError)
    assert run.server.receive_reveals(answers).tolist() == [3, -3]


def test_malformed_messages_are_refused_and_change_nothing() -> None:
    run, fresh = Run(), MaskingServer(Run().settings)
    good = run.keys["a"]
    bad: list[Any] = [
        None,
        b"",
        good[:-1],
        good + b"x",
        good[:HEADER],
        good[HEADER:],
        flip(good, 0),
        good.decode("latin1"),
    ]
    for message in bad:
        refuse("not_a_mask_message", fresh.receive_keys, run.keys | {"a": message})
    for message in (run.keys["b"], run.roster, flip(good, 4)):
        refuse("mask_message_of_other_step", fresh.receive_keys, {"a": message})
    refuse("not_a_mask_message", fresh.receive_keys, run.keys | {"a": flip(good, HEADER)})
    refuse("mask_message_unexpected", fresh.receive_keys, run.keys | {"e": good})
    refuse("masked_round_given_up", fresh.receive_keys, {"a": good}, kind=EngineError)
    weak = good[: HEADER + 4] + bytes(96)
    with pytest.raises(InputError, match="public key"):
        fresh.receive_keys(run.keys | {"a": weak})
    forged = run.roster[: HEADER + 4] + bytes(96) + run.roster[HEADER + 100 :]  # the server may not look, or lie
    with pytest.raises(InputError, match="public key"):
        MaskingParty(run.settings, "b").send_shares(forged)
    answers = run.reveal()
    for answer in (answers["a"] + answers["a"][HEADER:], answers["a"][:-40], flip(answers["a"], HEADER)):
        refuse("not_a_mask_message", run.server.receive_reveals, answers | {"a": answer})
    refuse("mask_message_unexpected", run.server.receive_reveals, answers | {"d": answers["a"]})
    refuse("masked_round_given_up", run.server.receive_reveals, {"a": answers["a"]}, kind=EngineError)
    assert run.server.receive_reveals(answers).tolist() == [3, -3]


def test_wrong_shares_are_left_out_where_others_are_enough() -> None:
    for liar in NAMES:
        run = Run(silent="")
        answers = run.reveal()
        for row in range(4):
            lied = answers | {liar: flip(answers[liar], HEADER + 40 * row + 4)}
            run.server._step = 3
            assert run.server.receive_reveals(lied).tolist() == [6, -6]
    run = Run(silent="")
    answers = run.reveal()
    answers |= {"a": flip(answers["a"], HEADER + 4), "b": flip(answers["b"], HEADER + 8)}
    refuse("mask_share_wrong", run.server.receive_reveals, answers, kind=EngineError)


def test_steps_come_in_order() -> None:
    run = Run()
    server, party = MaskingServer(run.settings), MaskingParty(run.settings, "a", source=Seeded(0))
    for early in (server.receive_shares, server.receive_numbers, server.receive_reveals):
        refuse("mask_step_out_of_order", early, {}, kind=ParameterError)
    refuse("mask_step_too_early", party.send_numbers, run.boxes["a"], MESSAGES["a"], kind=ParameterError)
    refuse("mask_step_too_early", party.send_reveal, run.survivors, kind=ParameterError)
    party.send_shares(run.roster)
    refuse("mask_step_too_early", party.send_reveal, run.survivors, kind=ParameterError)
    refuse("mask_step_out_of_order", run.server.receive_keys, run.keys, kind=ParameterError)
    run.server.receive_reveals(run.reveal())
    refuse("mask_step_out_of_order", run.server.receive_reveals, run.reveal(), kind=ParameterError)


def test_a_saved_party_goes_on_where_it_was() -> None:
    run = Run()
    steps: list[tuple[str, tuple[object, ...], bytes]] = [
        ("send_keys", (), run.keys["a"]),
        ("send_shares", (run.roster,), run.shares["a"]),
        ("send_numbers", (run.boxes["a"], MESSAGES["a"]), run.numbers["a"]),
        ("send_reveal", (run.survivors,), run.parties["a"].send_reveal(run.survivors)),
    ]
    party = MaskingParty(run.settings, "a", source=Seeded(0))
    for step, given, answer in steps:
        party = MaskingParty.load(run.settings, party.save())
        assert getattr(party, step)(*given) == answer
    assert "a" in repr(party)
    assert party._state.secret.hex() not in repr(party) + repr(party._state) + repr(run.server)
    saved = json.loads(party.save())
    changes: list[dict[str, object]] = [
        {"secret": "00"},
        {"more": 1},
        {"roster": "xyz"},
        {"secret": None},
        {"boxes": 3},
    ]
    for bad in (b"", b"[]", b"{}", *(json.dumps(saved | change).encode() for change in changes)):
        with pytest.raises(FormatError):
            MaskingParty.load(run.settings, bad)
    with pytest.raises(ParameterError):
        MaskingParty.load(run.settings, json.dumps(saved | {"name": "e"}).encode())


def test_what_is_sent_before_the_numbers_does_not_depend_on_them() -> None:
    one, other = Run(), Run(silent="")
    assert (one.keys, one.shares, one.boxes) == (other.keys, other.shares, other.boxes)
    fresh = MaskingParty(one.settings, "a", source=Seeded(0))
    fresh.send_shares(one.roster)
    more = fresh.send_numbers(one.boxes["a"], MESSAGES["a"] + 5)
    difference = unpack_numbers(more, one.settings, 0) - unpack_numbers(one.numbers["a"], one.settings, 0)
    assert [int(number) % 2**one.settings.bits for number in difference] == [5, 5]
