"""Budget presets on the pages, each with the success probability of the best adversary.

The numbers come from ``celosia.accounting``: the epsilons of the presets, and the decision game, in which an adversary
with the data of all other persons guesses whether one person is in them.
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

_DELTA: Final = "1e-6"  # of the table; a smaller delta changes no digit on the page
_MAX_PERSONS: Final = 10**12
_MAX_PERSON_DIGITS: Final = 13  # digits of the maximum


@dataclass(frozen=True, slots=True, kw_only=True)
class PresetRow:
    """A preset on the page: its name, its epsilon, and the success probability of the best guess."""

    name: str
    epsilon: Fraction
    guess: float


@cache
def preset_rows() -> tuple[PresetRow, ...]:
    """Return the presets by increasing epsilon."""
    budgets = {name: ApproxDP(epsilon=one.epsilon, delta=_DELTA) for name, one in PRESETS.items()}
    return tuple(
        PresetRow(name=name, epsilon=PRESETS[name].epsilon, guess=guess_probability(budget))
        for name, budget in budgets.items()
    )


def guess_probability(guarantee: Guarantee) -> float:
    """Return the success probability of the best guess, with the data of all other persons; a coin has 1/2."""
    return game(guarantee).success


def parse_preset_budget(form: Mapping[str, str]) -> ApproxDP:
    """Return the budget of a form: a ``preset`` and a public number of ``persons``."""
    text = form.get("persons", "").strip()
    if not (text.isascii() and text.isdigit() and len(text) <= _MAX_PERSON_DIGITS and 0 < int(text) <= _MAX_PERSONS):
        raise ParameterError("guard.persons_out_of_range", value=safe_repr(text))
    return suggest_budget(form.get("preset", ""), persons=int(text))
