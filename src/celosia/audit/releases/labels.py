"""Which released labels a value of a register fits: the value itself, its generalizations, intervals, sets and masks.

An attacker reads the labels of a file as a person would: the hierarchies are published or easily guessed, ``40-70`` and
``>70`` are intervals, ``{a, b}`` is a set, ``280**`` are codes that begin with 280, and ``*`` is any value.
"""

import math
import re
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

import numpy as np

from celosia.anonymity.hierarchies import ANY, Hierarchy
from celosia.anonymity.hierarchies.categories import write_values
from celosia.core.errors import SchemaError

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

_NUMBER: Final = r"([-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?)"
_RANGE: Final = re.compile(rf"([\[\(\]]?)\s*{_NUMBER}\s*(?:-|–|,|;|to|a)\s*{_NUMBER}\s*([\]\)\[]?)", re.IGNORECASE)
_HALF: Final = re.compile(rf"(>=|<=|≥|≤|>|<)\s*{_NUMBER}", re.IGNORECASE)
_MASKED: Final = re.compile(r"([^*]*)(\*+)")
_SET: Final = re.compile(r"\{(.*)\}", re.DOTALL)


def match_labels(values: "pa.Array", labels: "pa.Array", hierarchy: Hierarchy | None, name: str) -> "NDArray[np.bool_]":
    """Return for each value of a register, and each label of a file, whether the value fits the label.

    >>> import pyarrow as pa
    >>> match_labels(pa.array([68, 71]), pa.array(["40-70", ">70", "*"]), None, "age").tolist()
    [[True, False, True], [False, True, True]]
    """
    written, texts = write_values(values), write_values(labels)
    places = {text: place for place, text in enumerate(texts)}
    fits = np.zeros((len(written), len(texts)), dtype=np.bool_)
    for row, text in enumerate(written):
        if (place := places.get(text)) is not None:
            fits[row, place] = True
    if ANY in places:
        fits[:, places[ANY]] = True
    if hierarchy is not None:
        _add_levels(fits, values, places, hierarchy, name)
    if _is_text(labels):
        _add_intervals(fits, values, texts)
        _add_periods(fits, values, texts)
        _add_sets(fits, written, texts)
        _add_masks(fits, written, texts)
    return fits


def parse_interval(label: str) -> tuple[float, float, bool, bool] | None:
    """Return the ends of an interval, and whether each belongs to it; None if a label is none.

    >>> parse_interval("[20, 30)"), parse_interval(">= 65"), parse_interval("Madrid")
    ((20.0, 30.0, True, False), (65.0, inf, True, True), None)
    """
    if half := _HALF.fullmatch(label.strip()):
        sign, end = half[1], float(half[2])
        closed = sign not in {">", "<"}
        return (end, math.inf, closed, True) if sign in {">", ">=", "≥"} else (-math.inf, end, True, closed)
    if found := _RANGE.fullmatch(label.strip()):
        low, high = float(found[2]), float(found[3])
        return (low, high, found[1] not in {"(", "]"}, found[4] not in {")", "["}) if low <= high else None
    return None


def _is_text(labels: "pa.Array") -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(labels.type) or pa.types.is_large_string(labels.type))


def _add_levels(
    fits: "NDArray[np.bool_]", values: "pa.Array", places: dict[str, int], hierarchy: Hierarchy, name: str
) -> None:
    """Let values fit what the hierarchy makes of them; values that it does not know have no generalization."""
    try:
        parts = [(np.arange(len(values)), hierarchy.generalize(values, name=name))]
    except SchemaError:
        parts = []
        for row in range(len(values)):
            try:
                parts.append((np.array([row]), hierarchy.generalize(values.slice(row, 1), name=name)))
            except SchemaError:
                continue
    for rows, levels in parts:
        for codes, labels in zip(levels.codes[1:], levels.labels[1:], strict=True):
            columns = np.array([places.get(text, -1) for text in write_values(labels)], dtype=np.int64)[codes]
            known = columns >= 0
            fits[rows[known], columns[known]] = True


def _add_intervals(fits: "NDArray[np.bool_]", values: "pa.Array", texts: Sequence[str]) -> None:
    import pyarrow as pa

    if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
        return
    numbers = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    for place, text in enumerate(texts):
        if (found := parse_interval(text)) is not None:
            low, high, low_closed, high_closed = found
            above = numbers >= low if low_closed else numbers > low
            fits[:, place] |= above & (numbers <= high if high_closed else numbers < high)


def _add_periods(fits: "NDArray[np.bool_]", values: "pa.Array", texts: Sequence[str]) -> None:
    """Let dates fit periods as ISO 8601 writes them: ``2024-01-01/2024-01-31``."""
    import pyarrow as pa

    if not (pa.types.is_date(values.type) or pa.types.is_timestamp(values.type)):
        return
    moments = [
        value.isoformat(" ") if isinstance(value, datetime) else value.isoformat() for value in values.to_pylist()
    ]
    for place, text in enumerate(texts):
        first, slash, last = text.partition("/")
        if slash:  # texts of one form are in the order of time
            fits[:, place] |= np.array([first <= moment <= last for moment in moments])


def _add_sets(fits: "NDArray[np.bool_]", written: Sequence[str], texts: Sequence[str]) -> None:
    """Let values fit the sets that they are in; a value may itself have commas."""
    for place, text in enumerate(texts):
        if found := _SET.fullmatch(text):
            members = f", {found[1]}, "
            fits[:, place] |= np.array([f", {value}, " in members for value in written])


def _add_masks(fits: "NDArray[np.bool_]", written: Sequence[str], texts: Sequence[str]) -> None:
    """Let codes fit their first characters; numbers get leading zeros."""
    for place, text in enumerate(texts):
        if (found := _MASKED.fullmatch(text)) and text != ANY:
            for row, code in enumerate(written):
                whole = code.zfill(len(text)) if code.isdecimal() else code
                fits[row, place] |= len(whole) == len(text) and whole.startswith(found[1])
