"""What a message says to somebody who mistyped a name: the nearest one that exists, or the first few.

Only public names are offered (tables and columns of the schema, categories, functions of the language).
"""

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice

__all__ = ["suggested"]

_MOST_SHOWN = 8
_MOST_COMPARED = 2_000  # comparing texts takes time, and a list of categories can be very long
_LONGEST_COMPARED = 100


def suggested(name: str, known: Iterable[object]) -> str:
    """Return a sentence that helps to find the name that was meant.

    >>> suggested("agge", ["age", "sex"])
    'Did you mean age?'
    >>> suggested("weight", ["age", "sex"])
    'There are age, sex.'
    >>> suggested("x", range(100))
    'There are 0, 1, 2, 3, 4, 5, 6, 7 and others.'
    """
    candidates = [str(value) for value in islice(known, _MOST_COMPARED + 1)]
    if not candidates:
        return "There are none."
    folded = {text.casefold(): text for text in reversed(candidates[:_MOST_COMPARED])}
    close = get_close_matches(name[:_LONGEST_COMPARED].casefold(), folded, n=1, cutoff=0.7)
    if close:
        return f"Did you mean {folded[close[0]]}?"
    shown = ", ".join(text if len(text) <= 60 else f"{text[:57]}..." for text in candidates[:_MOST_SHOWN])
    return f"There are {shown}{' and others' if len(candidates) > _MOST_SHOWN else ''}."
