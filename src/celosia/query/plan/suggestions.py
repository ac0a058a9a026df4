"""Suggestions for a mistyped name: the nearest known one, or the first few.

Only public names are suggested: tables and columns of the schema, categories, functions of the language.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice

_MAX_SHOWN = 8
_MAX_COMPARED = 2_000  # comparing texts takes time, and a list of categories can be very long
_MAX_COMPARED_LENGTH = 100
_MIN_SIMILARITY = 0.65


def suggest(name: str, known: Iterable[object]) -> str:
    """Return a sentence that suggests a known name."""
    candidates = [str(value) for value in islice(known, _MAX_COMPARED + 1)]
    if not candidates:
        return "There are none."
    close = find_close(name, candidates)
    if close is not None:
        return f"Did you mean {close}?"
    shown = ", ".join(text if len(text) <= 60 else f"{text[:57]}..." for text in candidates[:_MAX_SHOWN])
    return f"There are {shown}{' and others' if len(candidates) > _MAX_SHOWN else ''}."


def find_close(name: str, known: Iterable[str]) -> str | None:
    """Return the known name most similar to a mistyped one, or None."""
    compared = list(islice(known, _MAX_COMPARED))
    folded = {text.casefold(): text for text in reversed(compared)}
    close = get_close_matches(name[:_MAX_COMPARED_LENGTH].casefold(), folded, n=1, cutoff=_MIN_SIMILARITY)
    return folded[close[0]] if close else None
