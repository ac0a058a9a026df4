"""ANJANA: k-anonymity of a pandas frame by its hierarchies, with at most so many percent of the records suppressed."""

from __future__ import annotations

import contextlib
import copy
import sys
from typing import Any

from anjana import anonymity

from benchmarks.peers.adult import MILLION, QUASI_IDENTIFIERS, K, load, load_hierarchies
from benchmarks.peers.stopwatch import main, seconds

FEW, MANY = 5, 50  # percent of the records


def anonymize(frame: Any, most: int) -> Any:
    """Return the table made k-anonymous; what the library prints goes elsewhere, for the harness reads the output."""
    with contextlib.redirect_stdout(sys.stderr):
        return anonymity.k_anonymity(frame, [], list(QUASI_IDENTIFIERS), K, most, copy.deepcopy(load_hierarchies()))


def timed(most: int, rows: int | None = None) -> float:
    """Seconds of one run."""
    frame = load(rows)
    return seconds(lambda: anonymize(frame, most), repeats=1, warm=False)


def lost(most: int) -> float:
    """How many records it drops."""
    frame = load()
    return float(len(frame) - len(anonymize(frame, most)))


def leaves_row_numbers() -> float:
    """Return 1 if the result tells the row of each record in the original."""
    return float("index" in anonymize(load(), FEW).columns)


CASES = {
    "k-anonymize": lambda: timed(FEW),
    "k-anonymize-half": lambda: timed(MANY),
    "k-anonymize-million": lambda: timed(FEW, MILLION),
    "lost": lambda: lost(FEW),
    "lost-half": lambda: lost(MANY),
    "row-numbers": leaves_row_numbers,
}

if __name__ == "__main__":
    main(CASES)
