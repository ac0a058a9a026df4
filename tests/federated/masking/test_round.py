"""A round with parties that answer badly: they are left out and counted, and the others' sum is exact."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from celosia.core import EngineError, ParameterError
from celosia.federated import MaskedSum, MaskingParty, MaskingSettings
from celosia.federated.contributions import Unusable
from celosia.federated.masking.messages import pack
from celosia.federated.masking.round import run_round
from celosia.federated.masking.server import STEPS
from celosia.noise import Seeded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

NAMES = ("a", "b", "c", "d", "e")
SETTINGS = MaskingSettings(federation="test", number=2, parties=NAMES, width=2, threshold=3)
OTHER = MaskingSettings(federation="test", number=1, parties=NAMES, width=2, threshold=3)
NUMBERS = {name: np.array([7**place, -place]) for place, name in enumerate(NAMES)}
HEADER = 41


def run(spoil: Callable[[str, str, bytes], object]) -> MaskedSum:
    """Run a round in which ``spoil`` changes what parties answer."""
    parties = {name: MaskingParty(SETTINGS, name, source=Seeded(place)) for place, name in enumerate(NAMES)}

    def ask(step: str, messages: Mapping[str, bytes]) -> dict[str, object]:
        return {
            name: spoil(step, name, parties[name].answer(step, message, lambda name=name: NUMBERS[name]))  # type: ignore[misc]
            for name, message in messages.items()
        }

    return run_round(SETTINGS, ask)


def add_up(names: str) -> list[int]:
    return [int(number) for number in sum(NUMBERS[name] for name in names)]  # type: ignore[union-attr]


POISON: dict[str, tuple[Callable[[bytes], object], str]] = {
    "silence": (lambda _: None, "silent"),
    "a refusal": (lambda _: Unusable("refused: federated.answer_failed"), "refused: federated.answer_failed"),
    "no bytes": (lambda _: np.array([np.nan, np.inf]), "not readable"),
    "text": (lambda good: good.decode("latin1"), "not readable"),
    "nothing": (lambda _: b"", "not readable"),
    "too short": (lambda good: good[:-1], "not readable"),
    "too long": (lambda good: good + b"x", "not readable"),
    "more rows": (lambda good: good + good[HEADER:], "not readable"),
    "another round": (lambda good: good[:5] + OTHER.digest + good[37:], "another round"),
    "another step": (lambda good: good[:4] + bytes([9]) + good[5:], "not readable"),
    "another sender": (lambda good: good[:37] + (0).to_bytes(4, "little") + good[41:], "not readable"),
}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("kind", POISON)
def test_a_bad_answer_is_left_out_and_counted(step: str, kind: str) -> None:
    poison, reason = POISON[kind]
    found = run(lambda at, name, good: poison(good) if (at, name) == (step, "d") else good)
    if step == "reveal":  # its numbers were sent, and count
        assert (found.accepted, found.rejected) == (NAMES, {})
        assert found.total.tolist() == add_up("abcde")
    else:
        assert (found.accepted, dict(found.rejected)) == (("a", "b", "c", "e"), {"d": reason})
        assert found.total.tolist() == add_up("abce")


def test_keys_with_which_nobody_agrees_stop_nobody_else() -> None:
    def weaken(step: str, name: str, good: bytes) -> bytes:
        return (
            pack("keys", SETTINGS, 1, np.frombuffer(good[HEADER : HEADER + 4] + bytes(96), dtype="u1"))
            if (step == "keys" and name == "b")
            else good
        )

    assert dict(run(weaken).rejected) == {"b": "not readable"}


def test_too_many_bad_answers_give_the_round_up() -> None:
    for step in STEPS:
        with pytest.raises(EngineError, match="given up: 2 parties"):
            run(lambda at, name, good, step=step: b"" if at == step and name in "ace" else good)  # type: ignore[misc]


def test_steps_have_names() -> None:
    party: Any = MaskingParty(SETTINGS, "a")
    with pytest.raises(ParameterError, match="no step"):
        party.answer("confess", b"", lambda: None)
