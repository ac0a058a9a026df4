"""What a message says to somebody who mistyped a name: the nearest one that exists, or the first few.

Only public names are offered (tables and columns of the schema, categories, functions of the language).
"""

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice

_MOST_SHOWN = 8
_MOST_COMPARED = 2_000  # comparing texts takes time, and a list of categories can be very long
_LONGEST_COMPARED = 100
_LIKENESS = 0.65


def suggested(name: str, known: Iterable[object]) -> str:
    """Return a sentence that helps to find the name that was meant."""
    candidates = [str(value) for value in islice(known, _MOST_COMPARED + 1)]
    if not candidates:
        return "There are none."
    close = find_close(name, candidates)
    if close is not None:
        return f"Did you mean {close}?"
    shown = ", ".join(text if len(text) <= 60 else f"{text[:57]}..." for text in candidates[:_MOST_SHOWN])
    return f"There are {shown}{' and others' if len(candidates) > _MOST_SHOWN else ''}."


def find_close(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most like a mistyped one, if one is."""
    compared = list(islice(known, _MOST_COMPARED))
    folded = {text.casefold(): text for text in reversed(compared)}
    close = get_close_matches(name[:_LONGEST_COMPARED].casefold(), folded, n=1, cutoff=_LIKENESS)
    return folded[close[0]] if close else None
