"""Suggestions for a mistyped name: the nearest known one, or the first few. Lists of names in messages.

Only public names are suggested: tables and columns of the schema, categories, functions of the language.
"""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from itertools import islice

from celosia.core.messages.message import Message

_MAX_SHOWN = 8
_MAX_COMPARED = 2_000  # comparing texts takes time, and a list of categories can be very long
_MAX_COMPARED_LENGTH = 100
_MIN_SIMILARITY = 0.65


def suggest(name: str, known: Iterable[object]) -> Message:
    """Return a sentence that suggests a known name."""
    candidates = [str(value) for value in islice(known, _MAX_COMPARED + 1)]
    if not candidates:
        return Message("query.suggest_nothing")
    close = find_close(name, candidates)
    if close is not None:
        return Message("query.suggest_close", name=close)
    shown = ", ".join(text if len(text) <= 60 else f"{text[:57]}..." for text in candidates[:_MAX_SHOWN])
    return Message("query.suggest_some" if len(candidates) > _MAX_SHOWN else "query.suggest_all", names=shown)


def list_items(items: Sequence[object], code: str) -> list[object]:
    """Return items as a field of a message; ``code`` puts "and" or "or" before each but the first."""
    return [*items[:1], *(Message(code, item=item) for item in items[1:])]


def find_close(name: str, known: Iterable[str]) -> str | None:
    """Return the known name most similar to a mistyped one, or None."""
    compared = list(islice(known, _MAX_COMPARED))
    folded = {text.casefold(): text for text in reversed(compared)}
    close = get_close_matches(name[:_MAX_COMPARED_LENGTH].casefold(), folded, n=1, cutoff=_MIN_SIMILARITY)
    return folded[close[0]] if close else None
