"""The tightest budget of a preview, and the shares of its aggregates in the cost.

A query is charged to several budgets, each with a total limit and perhaps a window. The one of which it takes the
largest part of the remainder decides whether it fits; the page shows its limit, spent and remaining amounts.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from celosia.core.guarantees import Guarantee
from celosia.core.messages.numerals import compute_share

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from celosia.ledger import Scope, StatementLine
    from celosia.query import Preview

_NUMBERS: Final = ("epsilon", "delta", "rho", "mu")


@dataclass(frozen=True, slots=True, kw_only=True)
class TightestBudget:
    """The budget that a query fits worst: the total of a scope, or its ``window``."""

    scope: "Scope"
    window: bool
    limit: Guarantee
    spent: Guarantee
    left: Guarantee

    @property
    def spent_share(self) -> float | None:
        """The spent part of the limit."""
        return compute_share(self.spent, self.limit)


def find_tightest_budget(lines: "Iterable[StatementLine]", cost: Guarantee) -> TightestBudget | None:
    """Return the budget of which a cost takes the largest part; None if none is of its kind."""
    alike = [one for line in lines for one in _limits(line) if type(one.left) is type(cost)]
    return max(alike, key=lambda one: (_fraction_used(cost, one.left), one.spent_share or 0.0), default=None)


def _limits(line: "StatementLine") -> "Iterator[TightestBudget]":
    yield TightestBudget(scope=line.scope, window=False, limit=line.policy.limit, spent=line.spent, left=line.remaining)
    window = line.policy.window
    if window is not None and line.window_spent is not None and line.window_remaining is not None:
        yield TightestBudget(
            scope=line.scope, window=True, limit=window.limit, spent=line.window_spent, left=line.window_remaining
        )


def _fraction_used(cost: Guarantee, left: Guarantee) -> Fraction | float:
    """Return the part of the remainder that a cost takes; above 1 it does not fit."""
    numbers = [(getattr(cost, name), getattr(left, name)) for name in _NUMBERS if hasattr(cost, name)]
    return max((wanted / there if there else math.inf for wanted, there in numbers if wanted), default=Fraction(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class CostShare:
    """The share of an aggregate in the cost, in percent; ``shared`` names one with the same measurement."""

    percent: int
    shared: str = ""


def split_cost(preview: "Preview") -> tuple[tuple[CostShare, ...], int]:
    """Return the share of each aggregate and that of the keys; each measurement counts once, 100 in total."""
    groups = [note.fields["names"] for note in preview.notes if note.code == "query.shared_measurement"]
    shown: dict[str, str] = {}
    for line in preview.lines:
        together = {name for group in groups if isinstance(group, tuple) and line.name in group for name in group}
        shown[line.name] = next((name for name, other in shown.items() if name in together and not other), "")
    own = [line.share if not shown[line.name] else Fraction(0) for line in preview.lines]
    keys = max(Fraction(0), Fraction(1) - sum(own)) if preview.cells is None else Fraction(0)
    *parts, rest = round_percents([*own, keys])
    found = [CostShare(percent=part, shared=shown[line.name]) for part, line in zip(parts, preview.lines, strict=True)]
    return tuple(found), rest


def round_percents(shares: "Sequence[Fraction]") -> list[int]:
    """Return integer percents that add up to 100, by the largest remainders (Hamilton 1792)."""
    total = sum(shares)
    if not total:
        return [0 for _ in shares]
    exact = [100 * one / total for one in shares]
    whole = [math.floor(one) for one in exact]
    order = sorted(range(len(exact)), key=lambda place: whole[place] - exact[place])
    for place in order[: 100 - sum(whole)]:
        whole[place] += 1
    return whole
