"""How things are measured, the same for us and for every peer.

Standard library only, for it runs in the peers' environments.

A peer module is a table from case names to functions that return one number, handed to :func:`main`::

    CASES = {"laplace-scalar": lambda: seconds(release, calls=2000)}

    if __name__ == "__main__":
        main(CASES)
"""

from __future__ import annotations

import json
import os
import resource
import sys
from pathlib import Path
from time import perf_counter, perf_counter_ns
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["correlation_with_time", "main", "peak_megabytes", "seconds", "spearman"]


def seconds(action: Callable[[], object], *, calls: int = 1, repeats: int = 5, warm: bool = True) -> float:
    """Best time of one call, in seconds: the least disturbed of ``repeats`` runs of ``calls`` calls each."""
    if warm:
        action()
    best = float("inf")
    for _ in range(repeats):
        start = perf_counter()
        for _ in range(calls):
            action()
        best = min(best, perf_counter() - start)
    return best / calls


def ranks(values: Sequence[float]) -> list[float]:
    """Ranks of values, ties sharing the mean of their ranks."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranked = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and values[order[end]] == values[order[start]]:
            end += 1
        for position in order[start:end]:
            ranked[position] = (start + end - 1) / 2
        start = end
    return ranked


def spearman(left: Sequence[float], right: Sequence[float]) -> float:
    """Spearman's rank correlation; 0 when either side is constant."""
    first, second = ranks(left), ranks(right)
    middle = (len(left) - 1) / 2
    covariance = sum((a - middle) * (b - middle) for a, b in zip(first, second, strict=True))
    spread = sum((a - middle) ** 2 for a in first) * sum((b - middle) ** 2 for b in second)
    return covariance / spread**0.5 if spread else 0.0


def correlation_with_time(draw: Callable[[], float], *, value: float = 0, calls: int = 3000, warm: int = 200) -> float:
    """Spearman correlation of a call's duration with the size of the noise it drew: what a stopwatch learns.

    The call returns ``value`` plus noise; taking the value away is not part of what is timed.
    """
    for _ in range(warm):
        draw()
    durations, sizes = [], []
    for _ in range(calls):
        start = perf_counter_ns()
        noisy = draw()
        durations.append(float(perf_counter_ns() - start))
        sizes.append(abs(float(noisy) - value))
    return spearman(durations, sizes)


def peak_megabytes() -> float:
    """Most memory that this process has held, in MB, with the most that each one it started has held (Spark's JVM).

    The kernel's figure for the memory of the program that runs now: ``getrusage``, the way out where there is no
    ``/proc``, counts from the fork, and so what the starting process held.
    """
    try:
        return sum(_high_water(process) for process in _family()) / 1024
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def _high_water(process: int) -> int:
    for line in Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    return 0


def _family() -> list[int]:
    """Numbers of this process and of its descendants."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                # The name, in parentheses, may hold spaces; the state and the parent follow it.
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:  # it has ended meanwhile
                continue
    family = [os.getpid()]
    for member in family:
        family += [process for process, parent in parents.items() if parent == member]
    return family


def main(cases: Mapping[str, Callable[[], float]]) -> None:
    """Run the case named on the command line and print its number as JSON; without one, list the cases."""
    if len(sys.argv) != 2 or sys.argv[1] not in cases:
        sys.exit(f"usage: {sys.argv[0]} CASE, one of {', '.join(sorted(cases))}")
    print(json.dumps({"case": sys.argv[1], "value": cases[sys.argv[1]]()}))
