"""The table of filters in ``docs/api/accounting.md``: ``python -m benchmarks.tables.accounting`` writes it anew.

``--show`` prints it instead. How many equal events fit into a budget of epsilon and delta, when each is chosen after
seeing the answers before: by the sum, by the filter of Whitehouse, Ramdas, Rogers and Wu (2023), and by
``CombinedAccountant``. Nothing is drawn: the numbers are the same everywhere.
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from pathlib import Path

from celosia.accounting import BasicAccountant, CombinedAccountant, Filter
from celosia.accounting.accountants.combined import OWN
from celosia.core import ApproxDP, ComposedEvent, Event, GuaranteedEvent, PureDP

__all__ = ["BUDGETS", "EVENTS", "count_by_filter", "count_by_whitehouse", "largest_square_sum", "main", "table"]

PAGE = Path(__file__).parents[2] / "docs" / "api" / "accounting.md"
BEGIN, END = "<!-- the table of filters: python -m benchmarks.tables.accounting -->", "<!-- end of the table -->"

BUDGETS = (("0.1", "1e-6"), ("1", "1e-6"), ("3", "1e-6"), ("3", "1e-10"), ("20", "1e-5"))
EVENTS: dict[str, tuple[tuple[str, str], ...]] = {
    "0.001": (("0.001", "0"),),
    "0.01": (("0.01", "0"),),
    "0.1": (("0.1", "0"),),
    "1": (("1", "0"),),
    "0.01 and 0.1": (("0.01", "0"), ("0.1", "0")),
    "0.01, delta of its own": (("0.01", "1e-14"),),
}
_MANY = 10**9


def largest_square_sum(epsilon: float, delta: float) -> float:
    """Return the largest sum of squared epsilons that the filter of Whitehouse and others admits.

    Their theorem admits events while sqrt(2 log(1/delta) s) + s/2 <= epsilon, where s is the sum of squared epsilons:
    a quadratic equation for the root of s.
    """
    spread = 2 * math.log(1 / delta)
    return (math.sqrt(spread + 2 * epsilon) - math.sqrt(spread)) ** 2


def count_by_whitehouse(budget: ApproxDP, parts: tuple[tuple[str, str], ...]) -> int:
    """Return how many rounds of events their filter admits, with the same part of delta for the events' own as ours."""
    own = sum(Fraction(delta) for _, delta in parts)
    converted = budget.delta * (1 - OWN) if own else budget.delta
    square = sum(float(Fraction(epsilon)) ** 2 for epsilon, _ in parts)
    admitted = math.floor(largest_square_sum(float(budget.epsilon), float(converted)) / square * (1 + 1e-12))
    return min(admitted, math.floor(budget.delta * OWN / own)) if own else admitted


def count_by_filter(watch: Filter, parts: tuple[tuple[str, str], ...]) -> int:
    """Return how many rounds of events a filter admits."""
    low, high = 0, _MANY
    event = _compose(parts)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if watch.admits(event, times=middle) else (low, middle)
    return low


def _compose(parts: tuple[tuple[str, str], ...]) -> Event:
    events = [
        GuaranteedEvent(guarantee=PureDP(epsilon=epsilon) if delta == "0" else ApproxDP(epsilon=epsilon, delta=delta))
        for epsilon, delta in parts
    ]
    return events[0] if len(events) == 1 else ComposedEvent(events=events)


def table() -> str:
    """Return the table in Markdown."""
    lines = [["epsilon, delta", *EVENTS], ["---"] * (1 + len(EVENTS))]
    for epsilon, delta in BUDGETS:
        budget = ApproxDP(epsilon=epsilon, delta=delta)
        cells = [f"{epsilon}, {delta}"]
        for parts in EVENTS.values():
            numbers = (
                count_by_filter(Filter(BasicAccountant(), budget), parts),
                count_by_whitehouse(budget, parts),
                count_by_filter(Filter(CombinedAccountant(), budget), parts),
            )
            cells.append(" / ".join(f"{number:,}" for number in numbers))
        lines.append(cells)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def main() -> None:
    """Write the table into the page, between its markers, or print it."""
    if sys.argv[1:] == ["--show"]:
        print(table())
        return
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n\n{table()}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
