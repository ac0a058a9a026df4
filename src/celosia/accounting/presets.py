"""Budgets to start from: three values of epsilon with their meaning, and a delta from a public number of persons.

They are conventions, not theorems. ``docs/choosing.md`` compares them with the budgets of published releases.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from celosia.core import AddRemove, Adjacency, ApproxDP, ParameterError
from celosia.core.exact import exact_integer, safe_repr
from celosia.core.messages.message import Message

_PERSONS_FACTOR = 10  # delta is at most 1 in this multiple of the persons
_MAX_DELTA = Fraction(1, 10**5)


@dataclass(frozen=True, slots=True)
class Preset:
    """An epsilon for all releases of a data set together, and the code of the sentence on when to use it."""

    name: str
    epsilon: Fraction
    code: str

    @property
    def when(self) -> Message:
        """When to use it, in a sentence."""
        return Message(self.code)


PRESETS: Final = {
    one.name: one
    for one in (
        Preset("cautious", Fraction(1, 2), "accounting.cautious_when"),
        Preset("usual", Fraction(2), "accounting.usual_when"),
        Preset("generous", Fraction(8), "accounting.generous_when"),
    )
}
"""The presets, the smallest epsilon first."""


def suggest_delta(persons: int) -> Fraction:
    """Return a power of ten that is at most a tenth of one in ``persons``, and at most 1e-5.

    A mechanism that publishes one row at random has a delta of one in the number of rows: delta must be far below. The
    number must be public, such as a census figure or a rounded guess. The private one must not be used.

    >>> float(suggest_delta(30_000))
    1e-06
    """
    least = exact_integer(persons, name="persons") * _PERSONS_FACTOR
    delta = _MAX_DELTA
    while delta * least > 1:
        delta /= 10
    return delta


def suggest_budget(
    preset: str = "usual", *, persons: int, adjacency: Adjacency = AddRemove, unit: str = "row"
) -> ApproxDP:
    """Return the budget of a preset for a data set about a public number of persons.

    >>> suggest_budget("usual", persons=30_000)
    ApproxDP(epsilon=2, delta='1e-06')
    """
    wanted: object = preset
    if not isinstance(wanted, str) or wanted not in PRESETS:
        raise ParameterError("accounting.unknown_preset", known=", ".join(PRESETS), preset=safe_repr(preset))
    return ApproxDP(epsilon=PRESETS[wanted].epsilon, delta=suggest_delta(persons), adjacency=adjacency, unit=unit)
