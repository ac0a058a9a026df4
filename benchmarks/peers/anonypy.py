"""AnonyPy: Mondrian on a pandas frame. A million rows would take it hours, and is no case."""

from __future__ import annotations

from typing import Any

import anonypy

from benchmarks.peers.adult import QUASI_IDENTIFIERS, SENSITIVE, K, load
from benchmarks.peers.stopwatch import main, seconds

NUMBERS = ("age",)


def prepare() -> Any:
    """Return the table, with categories declared as such."""
    frame = load()
    for name in (*QUASI_IDENTIFIERS, SENSITIVE):
        if name not in NUMBERS:
            frame[name] = frame[name].astype("category")
    return frame


def partition(frame: Any) -> Any:
    """Return the groups of rows of Mondrian."""
    return anonypy.Mondrian(frame, list(QUASI_IDENTIFIERS), SENSITIVE).partition(K)


def anonymize() -> float:
    """Seconds to write the anonymous table."""
    frame = prepare()
    preserver = anonypy.Preserver(frame, list(QUASI_IDENTIFIERS), SENSITIVE)
    return seconds(lambda: preserver.anonymize_k_anonymity(k=K), repeats=1, warm=False)


def split() -> float:
    """Seconds to find its groups."""
    frame = prepare()
    return seconds(lambda: partition(frame), repeats=1, warm=False)


def groups() -> float:
    """How many groups it makes."""
    return float(len(partition(prepare())))


def penalty() -> float:
    """The normalized certainty penalty: the mean part of its column that a value stands for, 0 for an exact one."""
    frame = prepare()
    total = 0.0
    for rows in partition(frame):
        chosen = frame.loc[rows]
        for name in QUASI_IDENTIFIERS:
            values = chosen[name]
            if name in NUMBERS:
                part = float(values.max() - values.min()) / float(frame[name].max() - frame[name].min())
            else:
                different = values.nunique()
                part = 0.0 if different == 1 else different / frame[name].nunique()
            total += part * len(chosen)
    return total / len(frame) / len(QUASI_IDENTIFIERS)


CASES = {
    "mondrian": anonymize,
    "mondrian-partition": split,
    "groups": groups,
    "penalty": penalty,
}

if __name__ == "__main__":
    main(CASES)
