"""Short tables of results: a line for each figure, in the language of the reader."""

from collections.abc import Sequence
from typing import TypeAlias

from celosia.core.messages.message import Message, Numeral

Figure: TypeAlias = tuple[Message, Numeral]
"""What a figure is, and its value."""


def write_figures(figures: Sequence[Figure], language: str = "en") -> str:
    """Return a line for each figure: its name, then its value, one below the other."""
    names = [name.render(language) for name, _ in figures]
    values = [value.render(language) for _, value in figures]
    wide, long = max(map(len, names)), max(map(len, values))
    return "\n".join(f"{name:<{wide}}  {value:>{long}}" for name, value in zip(names, values, strict=True))


def write_number(value: float) -> Numeral:
    """Return a number in four digits, and a count with all of them."""
    return Numeral(f"{value:,.0f}" if float(value).is_integer() and abs(value) < 1e15 else f"{value:,.4g}")


def write_percent(share: float) -> Numeral:
    """Return a share in percent."""
    return Numeral(f"{100 * share:.4g} %")


def is_number(value: object) -> bool:
    """Whether a parameter is a real number."""
    return isinstance(value, int | float) and not isinstance(value, bool)
