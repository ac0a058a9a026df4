"""PyCANON: measures of anonymity of a pandas frame, with the occupation as the sensitive column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pycanon import anonymity

from benchmarks.peers.adult import MILLION, QUASI_IDENTIFIERS, SENSITIVE, load
from benchmarks.peers.stopwatch import main, seconds

if TYPE_CHECKING:
    from collections.abc import Callable

KEYS = list(QUASI_IDENTIFIERS)


def measure_k(frame: Any) -> object:
    """Return the k of the table."""
    return anonymity.k_anonymity(frame, KEYS)


def measure_l(frame: Any) -> object:
    """Return its distinct l."""
    return anonymity.l_diversity(frame, KEYS, [SENSITIVE])


def measure_t(frame: Any) -> object:
    """Return its t, by equal distance."""
    return anonymity.t_closeness(frame, KEYS, [SENSITIVE])


def measure_all(frame: Any) -> object:
    """Return all three."""
    return measure_k(frame), measure_l(frame), measure_t(frame)


def timed(measure: Callable[[Any], object], rows: int | None = None) -> float:
    """Seconds of one measurement: the longest take minutes, so that there is one run and no other to warm up."""
    frame = load(rows)
    return seconds(lambda: measure(frame), repeats=1, warm=False)


def move_with_rows() -> float:
    """How far t moves when six rows are shuffled, and their labels stay with them: it should not."""
    import pandas as pd

    frame = pd.DataFrame({"class": list("aaabbb"), "illness": list("112233")})
    both = (frame, frame.iloc[[5, 2, 1, 3, 0, 4]])
    one, other = (float(anonymity.t_closeness(each, ["class"], ["illness"])) for each in both)
    return abs(one - other)


CASES = {
    "k": lambda: timed(measure_k),
    "l": lambda: timed(measure_l),
    "t": lambda: timed(measure_t),
    "k-l-t": lambda: timed(measure_all),
    "k-million": lambda: timed(measure_k, MILLION),
    "l-million": lambda: timed(measure_l, MILLION),
    "t-million": lambda: timed(measure_t, MILLION),
    "t-moves": move_with_rows,
}

if __name__ == "__main__":
    main(CASES)
