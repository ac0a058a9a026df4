"""Parses the text of a condition or a computed column into an expression.

Only the entries of the tables below are accepted, and of a syntax node only the parts named there: an unknown modifier
raises and is never ignored.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar, Final, NoReturn

from celosia.core.errors import QueryError
from celosia.core.exact import safe_repr
from celosia.core.messages.message import Message
from celosia.query.plan.expressions import MAX_DEPTH, Call, Column, Expression, Literal
from celosia.query.plan.suggestions import find_close
from celosia.query.plan.text_functions import lower
from celosia.query.sql.aggregates import AGGREGATE_NAMES
from celosia.query.sql.literals import date_literal, interval_literal, number_literal, time_literal
from celosia.query.sql.syntax import (
    check_parts,
    condition_tree,
    flatten_chain,
    parts_given,
    sql_name,
    strip_parentheses,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlglot import exp

ALLOWED: Final = (
    "+ - * / %, = <> < <= > >=, BETWEEN, IN, LIKE, IS NULL, AND, OR, NOT, CASE, IF, COALESCE, NULLIF, "
    "ABS, FLOOR, CEIL, LEAST, GREATEST, CLIP, BUCKET, UPPER, LOWER, TRIM, SUBSTRING, LEFT, RIGHT, LENGTH, REPLACE, "
    "YEAR, QUARTER, MONTH, DAY, ISODOW, HOUR, DATE, DATE_TRUNC, INTERVAL"
)
"""The operations of an expression, for messages."""

_FUNCTIONS: Final = (
    *re.findall(r"[A-Z_]{3,}", f"{ALLOWED}, CAST, INTEGER, DOUBLE"),
    *AGGREGATE_NAMES,
    "PERCENTILE",
    "ROUND",
)

_BINARY: Final = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "mod": "%",
    "eq": "=",
    "neq": "<>",
    "lt": "<",
    "lte": "<=",
    "gt": ">",
    "gte": ">=",
}

_UNARY: Final = {
    **{name: name for name in ("not", "abs", "floor", "ceil", "upper", "lower", "length", "date")},
    **{name: name for name in ("year", "quarter", "month", "day", "hour")},
    "dayofmonth": "day",
    "dayofweekiso": "isodow",
}

_SEVERAL: Final = frozenset({"coalesce", "least", "greatest"})

_NAMED: Final = {"CLIP": "clip", "BUCKET": "bucket", "DATE": "date"}

_PARTS: Final = {name.upper(): name for name in ("year", "quarter", "month", "day", "isodow", "hour")}

_TEXTS: Final = {  # the operation, and its argument parts; optional ones come last
    "substring": ("substring", "this", "start", "length"),
    "right": ("right", "this", "expression"),
    "replace": ("replace", "this", "expression", "replacement"),
    "round": ("round", "this", "decimals"),
}

_TRIMS: Final = {"": "trim", "BOTH": "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}

_CASTS: Final = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INT", "BIGINT"), "integer"),
    **dict.fromkeys(("FLOAT", "DOUBLE"), "real"),
    "DATE": "date",
}

_HINTS: Final = {
    "trunc": "query.hint_floor",
    "trycast": "query.hint_cast",
    "in": "query.hint_list",
    "dayofweek": "query.hint_isodow",
    "interval": "query.hint_interval",
    "dateadd": "query.hint_date_add",
    "datesub": "query.hint_date_sub",
    "DATE_SUB": "query.hint_date_sub",
    "concat": "query.hint_concatenation",
    "startswith": "query.hint_starts_with",
    "contains": "query.hint_contains",
    "strposition": "query.hint_contains",
    "star": "query.hint_star",
    "subquery": "query.hint_subquery",
    "select": "query.hint_subquery",
    "rand": "query.hint_random",
    "tuple": "query.hint_tuple",
    "order": "query.hint_order",
    "HISTOGRAM": "query.hint_bucket",
    "NOW": "query.hint_now",
    "TODAY": "query.hint_today",
}


def parse_expression(text: str) -> Expression:
    """Return the expression of a SQL text over the names of columns."""
    try:
        return Reader().read(condition_tree(text))
    except RecursionError:  # the caller's own stack was nearly full
        raise QueryError("query.query_nested_too_deeply") from None


class Reader:
    """Turns syntax nodes into expressions; subclasses override ``column`` to resolve names."""

    def __init__(self) -> None:
        self._depth = 0

    def read(self, node: exp.Expr) -> Expression:
        """Return the expression of a node."""
        node = strip_parentheses(node)
        self._depth += 1
        try:
            if self._depth > MAX_DEPTH:
                raise QueryError("query.expression_nested_too_deeply", most=MAX_DEPTH)
            return self._read(node)
        finally:
            self._depth -= 1

    def column(self, table: str | None, name: str, *, quoted: bool) -> Expression:  # noqa: ARG002 - for overriding
        """Return the expression that a name stands for."""
        return Column(name if table is None else f"{table}.{name}")

    def call(self, name: str, arguments: Sequence[Expression]) -> Expression:
        """Return an operation; subclasses that know the columns may convert its literals."""
        return Call(name, tuple(arguments))

    def refuse(self, node: exp.Expr) -> NoReturn:
        """Raise on a node outside the language."""
        name = sql_name(node)
        known = _HINTS.get(node.key) or _HINTS.get(name)
        if known is not None:
            hint = Message(known)
        elif meant := find_close(name, _FUNCTIONS):
            hint = Message("query.hint_meant", function=meant)
        else:
            hint = Message("query.hint_allowed", allowed=ALLOWED)
        raise QueryError("query.not_in_language", name=name, hint=hint)

    def _read(self, node: exp.Expr) -> Expression:
        key = node.key
        if key in _BINARY:
            check_parts(node, "this", "expression", "typed", "safe")
            return self._binary(_BINARY[key], node)
        if key in _UNARY:
            check_parts(node, "this")
            return Call(_UNARY[key], (self.read(node.this),))
        if key in _SEVERAL:
            check_parts(node, "this", "expressions", "ignore_nulls")
            return self._call(key, [node.this, *node.args.get("expressions", [])])
        if key in _TEXTS:
            name, *parts = _TEXTS[key]
            check_parts(node, *parts)
            return self._call(name, [node.args[part] for part in parts if node.args.get(part) is not None])
        if key in {"and", "or"}:
            return Call(key, tuple(self.read(part) for part in flatten_chain(node)))
        special = self._special.get(key)
        if special is None:
            self.refuse(node)
        return special(self, node)

    def _call(self, name: str, nodes: Sequence[exp.Expr]) -> Expression:
        return self.call(name, [self.read(node) for node in nodes])

    def _binary(self, name: str, node: exp.Expr) -> Expression:
        left, right = strip_parentheses(node.this), strip_parentheses(node.expression)
        if name in {"+", "-"} and right.key == "interval":
            return self._later(left, right, name)
        if name == "+" and left.key == "interval":
            return self._later(right, left, name)
        return self._call(name, (left, right))

    def _later(self, value: exp.Expr, interval: exp.Expr, sign: str) -> Expression:
        unit, number = interval_literal(interval)
        if unit == "days":
            return Call(sign, (self.read(value), number))
        signed = Literal(-int(str(number.value))) if sign == "-" else number
        return Call(f"add_{unit}", (self.read(value), signed))

    def _negation(self, node: exp.Expr) -> Expression:
        check_parts(node, "this")
        if node.this.key == "literal" and not node.this.args.get("is_string"):
            return number_literal("-" + str(node.this.this))
        return Call("neg", (self.read(node.this),))

    def _name(self, node: exp.Expr) -> Expression:
        if not set(parts_given(node)) <= {"this", "table"}:
            raise QueryError("query.column_name_qualified")
        table = node.args.get("table")
        if node.this.key != "identifier" or (table is not None and table.key != "identifier"):
            self.refuse(node.this)
        return self.column(
            None if table is None else str(table.this), str(node.this.this), quoted=bool(node.this.args.get("quoted"))
        )

    def _literal(self, node: exp.Expr) -> Expression:
        return Literal(str(node.this)) if node.args.get("is_string") else number_literal(str(node.this))

    def _boolean(self, node: exp.Expr) -> Expression:
        return Literal(bool(node.this))

    def _null(self, node: exp.Expr) -> Expression:  # noqa: ARG002 - called from the table below
        return Literal(None)

    def _between(self, node: exp.Expr) -> Expression:
        check_parts(node, "this", "low", "high")
        return self._call("between", (node.this, node.args["low"], node.args["high"]))

    def _in(self, node: exp.Expr) -> Expression:
        given = parts_given(node)
        if set(given) != {"this", "expressions"}:
            raise QueryError("query.sql_in_without_literals")
        return self._call("in", (node.this, *node.args["expressions"]))

    def _is(self, node: exp.Expr) -> Expression:
        check_parts(node, "this", "expression")
        if node.expression.key == "null":
            return Call("is_null", (self.read(node.this),))
        if node.expression.key == "boolean":  # never null itself
            wanted = Literal(bool(node.expression.this))
            return Call("coalesce", (Call("=", (self.read(node.this), wanted)), Literal(False)))  # noqa: FBT003
        raise QueryError("query.is_with_other_value")

    def _case(self, node: exp.Expr) -> Expression:
        check_parts(node, "this", "ifs", "default")
        subject = node.args.get("this")
        parts: list[Expression] = []
        for branch in node.args["ifs"]:
            check_parts(branch, "this", "true")
            condition = self.read(branch.this)
            parts.append(condition if subject is None else self.call("=", (self.read(subject), condition)))
            parts.append(self.read(branch.args["true"]))
        default = node.args.get("default")
        return Call("case", (*parts, Literal(None) if default is None else self.read(default)))

    def _if(self, node: exp.Expr) -> Expression:
        check_parts(node, "this", "true", "false")
        other = node.args.get("false")
        results = (self.read(node.args["true"]), Literal(None) if other is None else self.read(other))
        return Call("case", (self.read(node.this), *results))

    def _nullif(self, node: exp.Expr) -> Expression:
        check_parts(node, "this", "expression")
        value = self.read(node.this)
        return Call("case", (self.call("=", (value, self.read(node.expression))), Literal(None), value))

    def _like(self, node: exp.Expr, *escape: Expression) -> Expression:
        check_parts(node, "this", "expression", "negate")
        value, *written = self.read(node.this), self.read(node.expression), *escape
        if node.key == "ilike":  # without regard to case: both in small letters
            value, *written = Call("lower", (value,)), *(_in_small_letters(one) for one in written)
        made = Call("like", (value, *written))
        return Call("not", (made,)) if node.args.get("negate") else made

    def _escape(self, node: exp.Expr) -> Expression:
        check_parts(node, "this", "expression")
        if node.this.key not in {"like", "ilike"}:
            self.refuse(node)
        return self._like(node.this, self.read(node.expression))

    def _left(self, node: exp.Expr) -> Expression:
        check_parts(node, "this", "expression")
        return Call("substring", (self.read(node.this), Literal(1), self.read(node.expression)))

    def _trim(self, node: exp.Expr) -> Expression:
        check_parts(node, "this", "expression", "position")
        name = _TRIMS[str(node.args.get("position") or "").upper()]
        letters = node.args.get("expression")
        return self._call(name, [node.this] if letters is None else [node.this, letters])

    def _truncation(self, node: exp.Expr) -> Expression:
        check_parts(node, "this", "unit")
        unit = str(node.args["unit"].name).lower()
        return Call("date_trunc", (self.read(node.this), Literal(unit)))

    def _cast(self, node: exp.Expr) -> Expression:
        check_parts(node, "this", "to")
        kind, inner = _type_name(node.args["to"]), strip_parentheses(node.this)
        text = str(inner.this) if inner.key == "literal" and inner.args.get("is_string") else None
        if text is not None and kind == "DATE":
            return date_literal(text)
        if text is not None and kind in {"TIMESTAMP", "TIMESTAMPNTZ"}:
            return time_literal(text)
        if kind is None:
            raise QueryError("query.cast_type_with_parameters")
        if kind not in _CASTS:
            raise QueryError("query.unknown_cast_type", type=kind.upper()[:60])
        return Call(_CASTS[kind], (self.read(inner),))

    def _extract(self, node: exp.Expr) -> Expression:
        check_parts(node, "this", "expression")
        return self._part(str(node.this.name), node.expression)

    def _part(self, part: str, value: exp.Expr) -> Expression:
        if part.upper() not in _PARTS:
            raise QueryError("query.unknown_extract_part", known=", ".join(_PARTS), found=safe_repr(part))
        return Call(_PARTS[part.upper()], (self.read(value),))

    def _difference(self, node: exp.Expr) -> Expression:
        check_parts(node, "this", "expression", "unit", "date_part_boundary")
        unit = node.args.get("unit")
        if unit is None or str(unit.name).upper() not in {"DAY", "DAYS"}:
            raise QueryError("query.date_diff_not_days")
        return self._call("-", (node.this, node.expression))

    def _function(self, node: exp.Expr) -> Expression:
        check_parts(node, "this", "expressions")
        name, arguments = str(node.this).upper(), node.args.get("expressions", [])
        if name == "DATE_PART" and len(arguments) == 2 and arguments[0].key == "literal":
            return self._part(str(arguments[0].this), arguments[1])
        if name not in _NAMED:
            self.refuse(node)
        return self._call(_NAMED[name], arguments)

    _special: ClassVar[dict[str, Callable[[Reader, exp.Expr], Expression]]] = {
        "anonymous": _function,
        "between": _between,
        "boolean": _boolean,
        "case": _case,
        "cast": _cast,
        "column": _name,
        "datediff": _difference,
        "datetrunc": _truncation,
        "escape": _escape,
        "extract": _extract,
        "if": _if,
        "in": _in,
        "ilike": _like,
        "is": _is,
        "left": _left,
        "like": _like,
        "literal": _literal,
        "neg": _negation,
        "null": _null,
        "nullif": _nullif,
        "timestamptrunc": _truncation,
        "trim": _trim,
    }


def _in_small_letters(expression: Expression) -> Expression:
    value = expression.value if isinstance(expression, Literal) else None
    return Literal(lower(value)) if isinstance(value, str) else expression


def _type_name(to: exp.Expr) -> str | None:
    """Return the name of a type; None for one with parameters."""
    if to.args.get("expressions") or to.args.get("nested"):
        return None
    return str(getattr(to.this, "value", to.this))
