"""The aggregates of SQL, by their names in several dialects, as aggregates of a plan.

Variances and covariances divided by n and by n - 1 are treated alike: the noise is far larger than the difference. An
aggregate with FILTER (WHERE …) becomes the aggregate of a CASE, which is null in rows that do not pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from celosia.core.errors import QueryError
from celosia.core.exact import exact
from celosia.core.messages.message import Message
from celosia.query.plan.expressions import Call, Expression, Literal
from celosia.query.sql.syntax import check_parts, is_column, sql_name, strip_parentheses, walk

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from sqlglot import exp

    from celosia.query.sql.from_clause import ScopeReader

AGGREGATE_NAMES: Final = (
    *("COUNT", "SUM", "AVG", "VARIANCE", "STDDEV", "COVAR_SAMP", "CORR"),
    *("MEDIAN", "QUANTILE", "MIN", "MAX", "MODE", "TOP_K"),
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
    "approxdistinct": "query.hint_count_distinct",
    "countif": "query.hint_count_filter",
    "window": "query.hint_plain_rows",
}
_MAX_TOP_K = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregateCall:
    """An aggregate of a plan, without its name."""

    kind: str
    columns: tuple[Expression, ...] = ()
    parameters: tuple[int | Fraction | str, ...] = ()


def is_aggregate(node: exp.Expr) -> bool:
    """Return whether a node calls an aggregate, allowed or not."""
    from sqlglot import exp

    named = node.key == "anonymous" and str(node.this).upper() in _NAMED
    return named or node.key in _WRAPPERS or isinstance(node, exp.AggFunc)


def has_aggregate(node: exp.Expr) -> bool:
    """Return whether an expression contains an aggregate."""
    return any(is_aggregate(inner) for inner in walk(node, leaving={"select", "subquery"}))


def read_aggregate(node: exp.Expr, reader: ScopeReader) -> AggregateCall:
    """Return the plan's aggregate for a node; ``reader`` resolves its columns."""
    special = _SPECIAL.get(node.key)
    if special is not None:
        return special(node, reader)
    if node.key in _PLAIN:
        check_parts(node, "this")
        return AggregateCall(kind=_PLAIN[node.key], columns=(_argument(node, reader),))
    if node.key in _PAIRS:
        check_parts(node, "this", "expression")
        return AggregateCall(kind=_PAIRS[node.key], columns=(_argument(node, reader), reader.read(node.expression)))
    return _read_named(node, reader)


def _read_named(node: exp.Expr, reader: ScopeReader) -> AggregateCall:
    if node.key == "approxtopk":
        check_parts(node, "this", "expression")
        return AggregateCall(kind="top_k", columns=(_argument(node, reader),), parameters=(_number(node.expression),))
    kind = _NAMED.get(str(node.this).upper()) if node.key == "anonymous" else None
    if kind is None:
        known = _REFUSED.get(node.key)
        hint = list_aggregates("query.hint_aggregates") if known is None else Message(known)
        raise QueryError("query.aggregate_not_supported", name=sql_name(node), hint=hint)
    arguments = node.args.get("expressions", [])
    if len(arguments) != (1 if kind == "mean" else 2):
        raise QueryError("query.aggregate_written_wrong", name=sql_name(node))
    read = _number if kind == "top_k" else _share
    parameters = tuple(read(argument) for argument in arguments[1:])
    return AggregateCall(kind=kind, columns=(reader.read(arguments[0]),), parameters=parameters)


def list_aggregates(code: str) -> Message:
    """Return a message that lists the aggregates."""
    *names, last = AGGREGATE_NAMES
    return Message(code, known=", ".join(names), last=last)


def _argument(node: exp.Expr, reader: ScopeReader) -> Expression:
    argument = node.args.get("this")
    if argument is None or isinstance(argument, str):
        raise QueryError("query.aggregate_without_column", name=sql_name(node))
    if argument.key == "distinct":
        raise QueryError("query.distinct_without_count", name=sql_name(node))
    return reader.read(argument)


def _count(node: exp.Expr, reader: ScopeReader) -> AggregateCall:
    check_parts(node, "this", "big_int")
    argument = node.args.get("this")
    if argument is None or argument.key == "star":
        if argument is not None:
            check_parts(argument)
        return AggregateCall(kind="count")
    if argument.key == "distinct":
        check_parts(argument, "expressions")
        return _count_distinct([strip_parentheses(inner) for inner in argument.args["expressions"]], reader)
    counted = reader.read(argument)
    # COUNT(1) counts rows, as COUNT(*) does.
    always = isinstance(counted, Literal) and counted.value is not None
    return AggregateCall(kind="count") if always else AggregateCall(kind="count", columns=(counted,))


def _count_distinct(arguments: list[exp.Expr], reader: ScopeReader) -> AggregateCall:
    if len(arguments) != 1:
        raise QueryError("query.count_distinct_several_columns")
    (argument,) = arguments
    if is_column(argument) and reader.scope.find_node(argument).column is None:
        return AggregateCall(kind="count_persons")
    return AggregateCall(kind="count_distinct", columns=(reader.read(argument),))


def _within_group(node: exp.Expr, reader: ScopeReader) -> AggregateCall:
    """Read PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x), and MODE() likewise."""
    check_parts(node, "this", "expression")
    inner, ordered = node.this, node.expression.args.get("expressions", [])
    check_parts(node.expression, "expressions")
    if len(ordered) != 1 or inner.key not in {"percentilecont", "percentiledisc", "mode"}:
        raise QueryError("query.within_group_not_supported")
    check_parts(ordered[0], "this", "desc")
    column = reader.read(ordered[0].this)
    if inner.key == "mode":
        check_parts(inner)
        return AggregateCall(kind="mode", columns=(column,))
    check_parts(inner, "this")
    share = _share(inner.this)
    if ordered[0].args.get("desc"):
        share = 1 - share
    return AggregateCall(kind="quantile", columns=(column,), parameters=(share,))


def _filter(node: exp.Expr, reader: ScopeReader) -> AggregateCall:
    check_parts(node, "this", "expression")
    function, condition = read_aggregate(node.this, reader), reader.read(node.expression.this)
    if function.kind == "count_persons":
        raise QueryError("query.person_count_with_filter")
    columns = function.columns or (Literal(1),)
    kept = tuple(Call("case", (condition, column, Literal(None))) for column in columns)
    return AggregateCall(kind=function.kind, columns=kept, parameters=function.parameters)


def _quantile(node: exp.Expr, reader: ScopeReader) -> AggregateCall:
    check_parts(node, "this", "quantile", "expression")
    share = node.args.get("quantile") or node.args.get("expression")
    return AggregateCall(kind="quantile", columns=(_argument(node, reader),), parameters=(_share(share),))


def _share(node: exp.Expr | None) -> Fraction:
    text = _number_text(node)
    share = None if text is None or len(text) > 50 else exact(text, name="quantile")
    if share is None or not 0 <= share <= 1:
        raise QueryError("query.quantile_not_literal")
    return share


def _number(node: exp.Expr | None) -> int:
    text = _number_text(node)
    if text is None or not text.isascii() or not text.isdigit() or len(text) > 7 or not 1 <= int(text) <= _MAX_TOP_K:
        raise QueryError("query.top_k_not_integer")
    return int(text)


def _number_text(node: exp.Expr | None) -> str | None:
    if node is None:
        return None
    inner = strip_parentheses(node)
    return str(inner.this) if inner.key == "literal" and not inner.args.get("is_string") else None


_SPECIAL: Final[dict[str, Callable[[exp.Expr, ScopeReader], AggregateCall]]] = {
    "filter": _filter,
    "withingroup": _within_group,
    "count": _count,
    **dict.fromkeys(("quantile", "percentilecont", "percentiledisc", "approxquantile"), _quantile),
}
