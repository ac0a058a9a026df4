"""Renders expressions and plans as readable SQL, for previews and the history of a session.

``parse_expression(render(e)) == e``, and likewise for every plan that SQL can express. Comments show a list of keys and
a method, which SQL cannot express; PERSON stands for the person column.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Final

from celosia.core.exact import format_exact
from celosia.query.plan.expressions import Call, Column, Expression, Literal
from celosia.query.plan.nodes import Aggregate, Base, Join, Key, PerPerson, Plan, Projection, Relation, default_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from fractions import Fraction

DIALECT: Final = "duckdb"
"""The SQL dialect of queries; ``sql.allowlist`` selects a part of its grammar."""

# Binding strength of operations; a weaker argument stands in parentheses.
_OR, _AND, _NOT, _COMPARISON, _SUM, _PRODUCT, _SIGN, _ATOM = range(1, 9)

_INFIX: Final = {
    **dict.fromkeys(("=", "<>", "<", "<=", ">", ">="), _COMPARISON),
    **dict.fromkeys(("+", "-"), _SUM),
    **dict.fromkeys(("*", "/", "%"), _PRODUCT),
}

_NO_CONDITIONS: Final = frozenset(
    {"substring", "trim", "ltrim", "rtrim"}
)  # the parser requires parentheses around a condition

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)

_FUNCTIONS: Final = {
    "count_distinct": "COUNT(DISTINCT {})",
    "count_persons": "COUNT(DISTINCT PERSON)",
    "mean": "AVG({})",
    "std": "STDDEV({})",
    "covariance": "COVAR_SAMP({})",
    "correlation": "CORR({})",
}


def render(thing: Expression | Plan) -> str:
    """Return an expression or a plan as SQL."""
    return _plan(thing) if isinstance(thing, Plan) else _Writer().text(thing)


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes expressions as SQL; ``names`` are the texts of some columns, with their binding strength."""

    names: Mapping[str, tuple[str, int]] = field(default_factory=dict)

    def text(self, expression: Expression) -> str:
        return self.write(expression)[0]

    def write(self, expression: Expression) -> tuple[str, int]:
        match expression:
            case Column(name=name):
                return self.names.get(name) or (_name(name), _ATOM)
            case Literal(value=value):
                return _literal(value)
            case Call(name=name, arguments=arguments):
                if name in _INFIX:
                    return self.infix(name, *arguments)
                if name in _SPECIAL:
                    return _SPECIAL[name](self, arguments)
                if name in _NO_CONDITIONS:
                    return f"{name.upper()}({', '.join(self.inside(one, _SUM) for one in arguments)})", _ATOM
                return f"{name.upper()}({self.write_list(arguments)})", _ATOM

    def inside(self, expression: Expression, level: int) -> str:
        text, binds = self.write(expression)
        return text if binds >= level else f"({text})"

    def write_list(self, arguments: Sequence[Expression]) -> str:
        return ", ".join(map(self.text, arguments))

    def infix(self, name: str, left: Expression, right: Expression) -> tuple[str, int]:
        level = _INFIX[name]
        # Sums and products are read from the left; comparisons are not chained at all.
        first = self.inside(left, level + (level == _COMPARISON))
        return f"{first} {name} {self.inside(right, level + 1)}", level

    def disjunction(self, arguments: Sequence[Expression]) -> tuple[str, int]:
        return " OR ".join(self.inside(argument, _AND) for argument in arguments), _OR

    def conjunction(self, arguments: Sequence[Expression]) -> tuple[str, int]:
        return " AND ".join(self.inside(argument, _NOT) for argument in arguments), _AND

    def negation(self, arguments: Sequence[Expression]) -> tuple[str, int]:
        (argument,) = arguments
        negated = _NEGATED.get(argument.name) if isinstance(argument, Call) else None
        if isinstance(argument, Call) and negated is not None:
            return negated(self, argument.arguments, "NOT ")
        return f"NOT {self.inside(argument, _ATOM)}", _NOT

    def minus(self, arguments: Sequence[Expression]) -> tuple[str, int]:
        # -5 is a literal and -(5) an operation; two dashes would start a comment.
        (argument,) = arguments
        return (f"-{self.text(argument)}" if isinstance(argument, Column) else f"-({self.text(argument)})"), _SIGN

    def between(self, arguments: Sequence[Expression], word: str = "") -> tuple[str, int]:
        value, low, high = (self.inside(argument, _SUM) for argument in arguments)
        return f"{value} {word}BETWEEN {low} AND {high}", _COMPARISON

    def member(self, arguments: Sequence[Expression], word: str = "") -> tuple[str, int]:
        return f"{self.inside(arguments[0], _SUM)} {word}IN ({self.write_list(arguments[1:])})", _COMPARISON

    def is_null(self, arguments: Sequence[Expression], word: str = "") -> tuple[str, int]:
        return f"{self.inside(arguments[0], _SUM)} IS {word}NULL", _COMPARISON

    def like(self, arguments: Sequence[Expression], word: str = "") -> tuple[str, int]:
        value, pattern, *escape = (self.inside(argument, _SUM) for argument in arguments)
        ending = f" ESCAPE {escape[0]}" if escape else ""
        return f"{value} {word}LIKE {pattern}{ending}", _COMPARISON

    def truncation(self, arguments: Sequence[Expression]) -> tuple[str, int]:
        value, unit = map(self.text, arguments)
        return f"DATE_TRUNC({unit}, {value})", _ATOM

    def months(self, arguments: Sequence[Expression]) -> tuple[str, int]:
        return self.later(arguments, "MONTH")

    def seconds(self, arguments: Sequence[Expression]) -> tuple[str, int]:
        return self.later(arguments, "SECOND")

    def later(self, arguments: Sequence[Expression], unit: str) -> tuple[str, int]:
        value, number = self.inside(arguments[0], _SUM), self.text(arguments[1])
        return f"{value} {'-' if number.startswith('-') else '+'} INTERVAL {number.removeprefix('-')} {unit}", _SUM

    def case(self, arguments: Sequence[Expression]) -> tuple[str, int]:
        *pairs, other = arguments
        branches = " ".join(
            f"WHEN {self.text(condition)} THEN {self.text(result)}"
            for condition, result in zip(pairs[::2], pairs[1::2], strict=True)
        )
        default = "" if other == Literal(None) else f" ELSE {self.text(other)}"
        return f"CASE {branches}{default} END", _ATOM

    def integer(self, arguments: Sequence[Expression]) -> tuple[str, int]:
        return f"CAST({self.write_list(arguments)} AS INTEGER)", _ATOM

    def real(self, arguments: Sequence[Expression]) -> tuple[str, int]:
        return f"CAST({self.write_list(arguments)} AS DOUBLE)", _ATOM


_SPECIAL: Final[dict[str, Callable[[_Writer, Sequence[Expression]], tuple[str, int]]]] = {
    "or": _Writer.disjunction,
    "and": _Writer.conjunction,
    "not": _Writer.negation,
    "neg": _Writer.minus,
    "between": _Writer.between,
    "in": _Writer.member,
    "is_null": _Writer.is_null,
    "like": _Writer.like,
    "date_trunc": _Writer.truncation,
    "add_months": _Writer.months,
    "add_seconds": _Writer.seconds,
    "case": _Writer.case,
    "integer": _Writer.integer,
    "real": _Writer.real,
}

_NEGATED: Final[dict[str, Callable[[_Writer, Sequence[Expression], str], tuple[str, int]]]] = {
    "between": _Writer.between,
    "in": _Writer.member,
    "is_null": _Writer.is_null,
    "like": _Writer.like,
}


def _literal(value: object) -> tuple[str, int]:
    match value:
        case None:
            return "NULL", _ATOM
        case bool():
            return str(value).upper(), _ATOM
        case str():
            return quote_text(value), _ATOM
        case dt.datetime():
            return f"TIMESTAMP '{value.replace(tzinfo=None).isoformat(sep=' ')}'", _ATOM
        case dt.date():
            return f"DATE '{value.isoformat()}'", _ATOM
    return repr(value), _SIGN if str(value).startswith("-") else _ATOM


def _name(name: str) -> str:
    parts = name.split(".")
    if len(parts) <= 2 and all(_PLAIN.fullmatch(part) and part.upper() not in _keywords() for part in parts):
        return name
    return quote_name(name)


def quote_text(value: str) -> str:
    """Return a text as a SQL literal."""
    return "'" + value.replace("'", "''") + "'"


def quote_name(value: str) -> str:
    """Return a name as a SQL identifier."""
    return '"' + value.replace('"', '""') + '"'


@cache
def _keywords() -> frozenset[str]:
    """Return the words that the parser may not read as names."""
    from sqlglot.dialects.dialect import Dialect

    dialect = Dialect.get_or_raise(DIALECT)
    words = {word.upper() for word in dialect.tokenizer_class.KEYWORDS if word.isidentifier()}
    return frozenset(words | set(dialect.parser_class.NO_PAREN_FUNCTION_PARSERS))


# ------------------------------------------------------------------------------------------------------------- plans


def _plan(plan: Plan) -> str:
    writer = _Writer(
        {key.name: _Writer().write(key.expression) for key in plan.keys}
        | {aggregate.name: (_aggregate(aggregate), _ATOM) for aggregate in plan.aggregates}
    )
    # Later clauses may name outputs.
    named = _Writer({name: text for name, text in writer.names.items() if (name, Column(name)) not in plan.outputs})
    default = _default_names(plan)
    outputs = (_output(writer.text(expression), name, default.get(name)) for name, expression in plan.outputs)
    parts = [f"SELECT {', '.join(outputs)}", f"FROM {_relation(plan.relation)}"]
    if plan.filter is not None:
        parts.append(f"WHERE {render(plan.filter)}")
    if plan.keys:
        parts.append(f"GROUP BY {', '.join(map(_key, plan.keys))}")
    if plan.cells is not None:
        parts.append(f"/* {len(plan.cells)} combinations given */")
    if plan.having is not None:
        parts.append(f"HAVING {named.text(plan.having)}")
    if plan.order:
        ordered = (named.text(order.expression) + (" DESC" if order.descending else "") for order in plan.order)
        parts.append(f"ORDER BY {', '.join(ordered)}")
    if plan.limit is not None:
        parts.append(f"LIMIT {plan.limit}")
    return " ".join(parts)


def _output(text: str, name: str, default: str | None) -> str:
    return text if name == default or text == _name(name) else f"{text} AS {_name(name)}"


def _default_names(plan: Plan) -> dict[str, str]:
    """Return the names that the aggregates and keys have by default."""
    names = {key.name: render(key.expression) for key in plan.keys}
    taken = list(names)
    for aggregate in plan.aggregates:
        names[aggregate.name] = default_name(aggregate.kind, aggregate.columns, aggregate.parameters, taken)
        taken.append(aggregate.name)
    return names


def _key(key: Key) -> str:
    return render(key.expression) + ("" if key.values is None else f" /* {len(key.values)} keys given */")


def _aggregate(aggregate: Aggregate) -> str:
    arguments = [_Writer().write_list(aggregate.columns)] if aggregate.columns else []
    arguments += [_parameter(parameter) for parameter in aggregate.parameters if not isinstance(parameter, str)]
    form = _FUNCTIONS.get(aggregate.kind, f"{aggregate.kind.upper()}({{}})")
    method = "".join(f" /* {parameter} */" for parameter in aggregate.parameters if isinstance(parameter, str))
    return form.format(", ".join(arguments) or "*") + method


def _parameter(parameter: int | Fraction) -> str:
    return format_exact(parameter).strip("'") if not isinstance(parameter, int) else str(parameter)


def _relation(relation: Relation) -> str:
    match relation:
        case Base(table=name):
            return _name(name)
        case Join(left=left, right=right, on=on, by=by, how=how):
            word = "LEFT JOIN" if how == "left" else "JOIN"
            return f"{_relation(left)} {word} {_relation(right)} {_on(right, on, by)}"
        case Projection(relation=inner, columns=columns, filter=condition):
            made = [_output(render(expression), name, None) for name, expression in columns]
            return f"({_select(made, inner, condition)})"
        case PerPerson(relation=inner, columns=functions, filter=condition):
            made = [_output(_per_person(function, of), name, None) for name, function, of in functions]
            return f"({_select(['PERSON', *made], inner, condition)} GROUP BY PERSON)"


def _per_person(function: str, argument: Expression | None) -> str:
    return f"{function.upper()}({'*' if argument is None else render(argument)})"


def _select(columns: Sequence[str], relation: Relation, condition: Expression | None) -> str:
    parts = ["SELECT", ", ".join(columns), "FROM", _relation(relation)]
    return " ".join(parts if condition is None else [*parts, "WHERE", render(condition)])


def _on(right: Relation, on: Sequence[tuple[str, str]], by: str) -> str:
    if by == "person":
        return "USING (PERSON)"
    if all(column == other for column, other in on):
        return f"USING ({', '.join(_name(column) for column, _ in on)})"
    table = f"{_name(right.table)}." if isinstance(right, Base) else ""
    return "ON " + " AND ".join(f"{_name(column)} = {table}{_name(other)}" for column, other in on)
