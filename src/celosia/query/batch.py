"""Batches: one target divided among several queries so that their errors together are smallest.

The expected error of a query is the root of the summed variances of its measurements, in rows: each relative to
the contribution of one row. Shares minimize the weighted sum of the squared errors. Where the error is ``e / epsilon``
they are in proportion to ``(weight * e^2)^(1/3)``, and for a rho to ``(weight * e^2)^(1/2)``, as within one query. If
an equal division has the smaller sum, it is taken.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from celosia.core import ComposedEvent
from celosia.core.errors import ParameterError, QueryError
from celosia.core.exact import exact_positive, safe_repr
from celosia.query.builder import Query
from celosia.query.plan.to_sql import render
from celosia.query.planning.strategy import Strategy, split_by_error, squared_error
from celosia.query.sql.parser import parse_sql

if TYPE_CHECKING:
    from celosia.core import Event, Guarantee
    from celosia.core.exact import Exact
    from celosia.query.backend import QueryBackend
    from celosia.query.plan.nodes import Plan
    from celosia.query.planning.preview import Preview
    from celosia.statistics.base.target import Target

    Plans = Callable[..., Strategy]

_MAX_QUERIES: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPlan:
    """Strategies of all queries, and their shares of the target."""

    strategies: tuple[Strategy, ...]
    shares: tuple[Fraction, ...]

    @property
    def event(self) -> "Event":
        """All that is run, paid for at once."""
        events = [strategy.event for strategy in self.strategies]
        return events[0] if len(events) == 1 else ComposedEvent(events=events)

    @property
    def text(self) -> str:
        """The queries in SQL, as a ledger stores them."""
        return "; ".join(render(strategy.analyzed.plan) for strategy in self.strategies)

    @property
    def errors(self) -> tuple[float, ...]:
        """The expected error of each query, in rows."""
        return tuple(math.sqrt(squared_error(strategy)) for strategy in self.strategies)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchLine:
    """One query of a batch: its part of the target, its expected error in rows, and its own preview.

    >>> import celosia as cl
    >>> deaths = cl.table(cl.data.deaths(), schema=cl.Schema(age=cl.Integer(0, 120)), name="deaths")
    >>> session = cl.Session(deaths, budget=cl.PureDP(epsilon=1))
    >>> session.preview_batch(["SELECT COUNT(*) FROM deaths"], epsilon=1).lines[0].share
    Fraction(1, 1)
    """

    question: str
    share: Fraction
    error: float
    preview: "Preview"


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPreview:
    """The cost of a batch, and the share of each query.

    >>> import celosia as cl
    >>> deaths = cl.table(cl.data.deaths(), schema=cl.Schema(age=cl.Integer(0, 120)), name="deaths")
    >>> session = cl.Session(deaths, budget=cl.PureDP(epsilon=1))
    >>> print(session.preview_batch(["SELECT COUNT(*) FROM deaths", session.query().median("age")], epsilon="0.5"))
    Cost PureDP(epsilon=0.5): fits into the remaining PureDP(epsilon=1).
      ...% of the cost: SELECT COUNT(*) FROM deaths
        count: Laplace noise of scale ..., 100% of the cost; within ±... with probability 0.95
      ...% of the cost: SELECT MEDIAN(age) FROM deaths
        median_age: exponential choice ...
    """

    cost: "Guarantee"
    remaining: "Guarantee"
    affordable: bool
    lines: tuple[BatchLine, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the preview as plain values, for JSON."""
        return {
            "cost": str(self.cost),
            "remaining": str(self.remaining),
            "affordable": self.affordable,
            "questions": [
                {
                    "question": line.question,
                    "share": float(line.share),
                    "error": line.error,
                    "preview": line.preview.to_dict(),
                }
                for line in self.lines
            ],
        }

    def __str__(self) -> str:
        fits = "fits" if self.affordable else "DOES NOT FIT"
        lines = [f"Cost {self.cost}: {fits} into the remaining {self.remaining}."]
        for line in self.lines:
            lines.append(f"  {float(line.share):.0%} of the cost: {line.question}")
            lines += [f"  {text}" for text in str(line.preview).splitlines()[1:]]
        return "\n".join(lines)


def read_queries(session: "QueryBackend", queries: object) -> "list[Plan]":
    """Return the plans of queries and SQL texts; an error names the place of an invalid one."""
    if not isinstance(queries, list | tuple) or not 1 <= len(queries) <= _MAX_QUERIES:
        raise ParameterError("query.batch_not_a_list", most=_MAX_QUERIES, value=safe_repr(queries))
    return [_read_query(session, query, place) for place, query in enumerate(queries)]


def _read_query(session: "QueryBackend", query: object, place: int) -> "Plan":
    if isinstance(query, Query):
        return query.plan
    if not isinstance(query, str):
        raise ParameterError("query.batch_item_not_a_query", place=place, value=safe_repr(query))
    try:
        return parse_sql(query, session.tables)
    except QueryError as error:
        raise QueryError("query.batch_item_invalid", place=place, error=error) from None


def plan_batch(
    plans: "Sequence[Plan]", target: "Target", strategy: "Plans", *, weights: "Sequence[Exact] | None" = None
) -> BatchPlan:
    """Divide a target among plans; ``strategy(plan, epsilon=…)`` (or rho, delta) plans one of them."""
    values = _read_weights(weights, len(plans))
    total, power = (target.epsilon, 2 / 3) if target.rho is None else (target.rho, 1.0)

    def divide(shares: "Sequence[Fraction]") -> BatchPlan:
        found = tuple(strategy(plan, **_part(target, share)) for plan, share in zip(plans, shares, strict=True))
        return BatchPlan(strategies=found, shares=tuple(share / total for share in shares))

    equal = divide([total / len(plans)] * len(plans))
    errors = [math.sqrt(weight) * error for weight, error in zip(values, equal.errors, strict=True)]
    if len(plans) == 1 or not all(map(math.isfinite, errors)):
        return equal
    best = divide(split_by_error(errors, total, power=power))
    return min((best, equal), key=lambda plan: _objective(plan, values))


def _objective(plan: BatchPlan, weights: Sequence[float]) -> float:
    return sum(weight * error**2 for weight, error in zip(weights, plan.errors, strict=True))


def _part(target: "Target", share: Fraction) -> dict[str, Fraction]:
    if target.rho is not None:
        return {"rho": share}
    return {"epsilon": share} | ({"delta": target.delta * share / target.epsilon} if target.delta else {})


def _read_weights(weights: "Sequence[Exact] | None", count: int) -> list[float]:
    if weights is None:
        return [1.0] * count
    if not isinstance(weights, list | tuple) or len(weights) != count:
        raise ParameterError("query.weights_mismatch_queries", count=count, value=safe_repr(weights))
    return [float(exact_positive(weight, name="weights")) for weight in weights]
