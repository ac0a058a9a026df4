"""The aggregates of SQL by the names that dialects give them, and what each of them is in a plan.

Variances and covariances divided by n and by n - 1 are not told apart: the noise is far larger than the difference. An
aggregate with FILTER (WHERE …) is the aggregate of a CASE: rows that do not pass have no value there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from celosia.core.errors import QueryError
from celosia.core.exact import exact
from celosia.query.plan.expressions import Call, Expression, Literal
from celosia.query.sql.syntax import nodes, only, spelt, unwrapped

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from sqlglot import exp

    from celosia.query.sql.from_clause import ScopeReader

AGGREGATE_NAMES: Final = (
    "COUNT, SUM, AVG, VARIANCE, STDDEV, COVAR_SAMP, CORR, MEDIAN, QUANTILE, MIN, MAX, MODE and TOP_K"
)
"""The aggregates, for messages."""

_PLAIN: Final = {
    "sum": "sum",
    "avg": "mean",
    "variance": "variance",
    "variancepop": "variance",
    "stddev": "std",
    "stddevsamp": "std",
    "stddevpop": "std",
    "median": "median",
    "min": "min",
    "max": "max",
    "mode": "mode",
}
_PAIRS: Final = {"covarsamp": "covariance", "covarpop": "covariance", "corr": "correlation"}
_NAMED: Final = {"TOP_K": "top_k", "PERCENTILE": "quantile", "MEAN": "mean"}
_WRAPPERS: Final = frozenset({"filter", "withingroup", "ignorenulls", "respectnulls", "window"})

_REFUSED: Final = {
    "approxdistinct": "write COUNT(DISTINCT x)",
    "countif": "write COUNT(*) FILTER (WHERE …)",
    "window": "rows cannot be looked at side by side; aggregates take a GROUP BY",
}
_MOST = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """An aggregate as a plan has it, without its name."""

    kind: str
    columns: tuple[Expression, ...] = ()
    parameters: tuple[int | Fraction | str, ...] = ()


def is_aggregate(node: exp.Expr) -> bool:
    """Return whether a node is the call of an aggregate, allowed or not."""
    from sqlglot import exp

    named = node.key == "anonymous" and str(node.this).upper() in _NAMED
    return named or node.key in _WRAPPERS or isinstance(node, exp.AggFunc)


def has_aggregate(node: exp.Expr) -> bool:
    """Return whether there is an aggregate anywhere in an expression."""
    return any(is_aggregate(inner) for inner in nodes(node, leaving={"select", "subquery"}))


def function_of(node: exp.Expr, reader: ScopeReader) -> Function:
    """Return what an aggregate is in a plan; ``reader`` knows its columns."""
    special = _SPECIAL.get(node.key)
    if special is not None:
        return special(node, reader)
    if node.key in _PLAIN:
        only(node, "this")
        return Function(kind=_PLAIN[node.key], columns=(_argument(node, reader),))
    if node.key in _PAIRS:
        only(node, "this", "expression")
        return Function(kind=_PAIRS[node.key], columns=(_argument(node, reader), reader.read(node.expression)))
    return _named(node, reader)


def _named(node: exp.Expr, reader: ScopeReader) -> Function:
    if node.key == "approxtopk":
        only(node, "this", "expression")
        return Function(kind="top_k", columns=(_argument(node, reader),), parameters=(_number(node.expression),))
    kind = _NAMED.get(str(node.this).upper()) if node.key == "anonymous" else None
    if kind is None:
        raise QueryError(f"{spelt(node)} is no aggregate that can be asked for: {_REFUSED.get(node.key, _AVAILABLE)}.")
    arguments = node.args.get("expressions", [])
    if len(arguments) != (1 if kind == "mean" else 2):
        raise QueryError(f"{spelt(node)} is written MEAN(age), TOP_K(cause, 3) or PERCENTILE(age, 0.9).")
    read = _number if kind == "top_k" else _share
    parameters = tuple(read(argument) for argument in arguments[1:])
    return Function(kind=kind, columns=(reader.read(arguments[0]),), parameters=parameters)


_AVAILABLE: Final = f"there are {AGGREGATE_NAMES}"


def _argument(node: exp.Expr, reader: ScopeReader) -> Expression:
    argument = node.args.get("this")
    if argument is None or isinstance(argument, str):
        raise QueryError(f"{spelt(node)} needs a column.")
    if argument.key == "distinct":
        raise QueryError(f"DISTINCT goes with COUNT only, not with {spelt(node)}.")
    return reader.read(argument)


def _count(node: exp.Expr, reader: ScopeReader) -> Function:
    only(node, "this", "big_int")
    argument = node.args.get("this")
    if argument is None or argument.key == "star":
        if argument is not None:
            only(argument)
        return Function(kind="count")
    if argument.key == "distinct":
        only(argument, "expressions")
        return _count_distinct([unwrapped(inner) for inner in argument.args["expressions"]], reader)
    counted = reader.read(argument)
    # COUNT(1) counts rows, as COUNT(*) does.
    always = isinstance(counted, Literal) and counted.value is not None
    return Function(kind="count") if always else Function(kind="count", columns=(counted,))


def _count_distinct(arguments: list[exp.Expr], reader: ScopeReader) -> Function:
    if len(arguments) != 1:
        raise QueryError("COUNT(DISTINCT …) takes one column.")
    (argument,) = arguments
    if argument.key == "column" and argument.this.key == "identifier":
        only(argument, "this", "table")
        table = argument.args.get("table")
        name, quoted = str(argument.this.this), bool(argument.this.args.get("quoted"))
        found = reader.scope.find(None if table is None else str(table.this), name, quoted=quoted)
        if found.column is None:
            return Function(kind="count_persons")
    return Function(kind="count_distinct", columns=(reader.read(argument),))


def _within_group(node: exp.Expr, reader: ScopeReader) -> Function:
    """PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x), and MODE() likewise."""
    only(node, "this", "expression")
    inner, ordered = node.this, node.expression.args.get("expressions", [])
    only(node.expression, "expressions")
    if len(ordered) != 1 or inner.key not in {"percentilecont", "percentiledisc", "mode"}:
        raise QueryError(
            "WITHIN GROUP is for PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x) and for MODE(), with one column."
        )
    only(ordered[0], "this", "desc")
    column = reader.read(ordered[0].this)
    if inner.key == "mode":
        only(inner)
        return Function(kind="mode", columns=(column,))
    only(inner, "this")
    share = _share(inner.this)
    if ordered[0].args.get("desc"):
        share = 1 - share
    return Function(kind="quantile", columns=(column,), parameters=(share,))


def _filtered(node: exp.Expr, reader: ScopeReader) -> Function:
    only(node, "this", "expression")
    function, condition = function_of(node.this, reader), reader.read(node.expression.this)
    if function.kind == "count_persons":
        raise QueryError("COUNT(DISTINCT person) cannot have a FILTER: put the condition into WHERE.")
    columns = function.columns or (Literal(1),)
    kept = tuple(Call("case", (condition, column, Literal(None))) for column in columns)
    return Function(kind=function.kind, columns=kept, parameters=function.parameters)


def _quantile(node: exp.Expr, reader: ScopeReader) -> Function:
    only(node, "this", "quantile", "expression")
    share = node.args.get("quantile") or node.args.get("expression")
    return Function(kind="quantile", columns=(_argument(node, reader),), parameters=(_share(share),))


def _share(node: exp.Expr | None) -> Fraction:
    text = _written(node)
    share = None if text is None or len(text) > 50 else exact(text, name="quantile")
    if share is None or not 0 <= share <= 1:
        raise QueryError("A quantile is one number between 0 and 1 that is written out, as in QUANTILE(age, 0.9).")
    return share


def _number(node: exp.Expr | None) -> int:
    text = _written(node)
    if text is None or not text.isascii() or not text.isdigit() or len(text) > 7 or not 1 <= int(text) <= _MOST:
        raise QueryError("The number of values is an integer that is written out, as in TOP_K(cause, 3).")
    return int(text)


def _written(node: exp.Expr | None) -> str | None:
    if node is None:
        return None
    inner = unwrapped(node)
    return str(inner.this) if inner.key == "literal" and not inner.args.get("is_string") else None


_SPECIAL: Final[dict[str, Callable[[exp.Expr, ScopeReader], Function]]] = {
    "filter": _filtered,
    "withingroup": _within_group,
    "count": _count,
    **dict.fromkeys(("quantile", "percentilecont", "percentiledisc", "approxquantile"), _quantile),
}
