"""Presets of budgets on the pages, each with what an adversary can guess at most.

The numbers come from ``celosia.accounting``: the epsilons of the presets, and the decision game, in which an adversary
who knows everybody else's data guesses whether one person is in them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Final

from celosia.accounting.game import game
from celosia.accounting.presets import PRESETS, suggest_budget
from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr
from celosia.core.guarantees import ApproxDP, Guarantee

_DELTA: Final = "1e-6"  # of the rows; no delta below it changes a digit that is shown
_MAX_PERSONS: Final = 10**12
_MAX_PERSON_DIGITS: Final = 13  # digits of that


@dataclass(frozen=True, slots=True, kw_only=True)
class PresetRow:
    """A preset as the pages show it: its name, its epsilon, and how often the best guess against it is right."""

    name: str
    epsilon: Fraction
    guess: float


@cache
def preset_rows() -> tuple[PresetRow, ...]:
    """Return the presets, the smallest epsilon first."""
    budgets = {name: ApproxDP(epsilon=one.epsilon, delta=_DELTA) for name, one in PRESETS.items()}
    return tuple(
        PresetRow(name=name, epsilon=PRESETS[name].epsilon, guess=guess_probability(budget))
        for name, budget in budgets.items()
    )


def guess_probability(guarantee: Guarantee) -> float:
    """Return how often the best guess is right, of an adversary who knows everybody else.

    A coin is half of the time.
    """
    return game(guarantee).success


def parse_preset_budget(form: Mapping[str, str]) -> ApproxDP:
    """Return the budget that a form asks for: a ``preset`` and a public number of ``persons``."""
    text = form.get("persons", "").strip()
    if not (text.isascii() and text.isdigit() and len(text) <= _MAX_PERSON_DIGITS and 0 < int(text) <= _MAX_PERSONS):
        raise ParameterError(f"persons must be an integer from 1 to 10^12, not {safe_repr(text)}.")
    return suggest_budget(form.get("preset", ""), persons=int(text))
