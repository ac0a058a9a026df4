"""Plans as JSON, for requests to a guard, and the canonical text that identifies equal queries.

A plan that comes from the network may be hostile: its size and depth are measured before anything walks
it, every field has one type, unknown fields are refused, and each part is made by the constructor that the builder and
the SQL reader use, so JSON allows no query that SQL and the builder do not. ``canonical`` does not see the order
of what AND and OR join, nor that of a list after IN: these do not change the meaning. It sees everything else.
"""

import json
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from celosia.core.errors import FormatError, QueryError
from celosia.core.exact import exact_probability
from celosia.query.plan.nodes import Aggregate, Base, Join, Key, Order, PerPerson, Plan, Projection, Relation
from celosia.query.serial.expressions import expression_from_json, expression_to_json, value_from_json, value_to_json
from celosia.query.serial.json_fields import (
    FORMATS,
    check_limits,
    check_version,
    read_boolean,
    read_choice,
    read_fields,
    read_integer,
    read_list,
    read_text,
)

if TYPE_CHECKING:
    from celosia.query.plan.expressions import Expression

_MAX_WRITTEN_VALUES = 2**24  # the largest group-by, with its keys listed
_MAX_READ_VALUES = 4_000_000  # a guard allows far less
_MAX_DEPTH = 250
_MAX_TEXT_LENGTH = 1_000
_TOO_DEEP: Final = "query.plan_too_deep"
_KINDS: Final = ("base", "joined", "projected", "per_person")
_OPTIONAL: Final = ("filter", "keys", "outputs", "cells", "having", "order", "limit")


def plan_to_json(plan: Plan) -> dict[str, Any]:
    """Return a plan as plain values, to be sent or kept."""
    try:
        written = _write_plan(plan)
    except RecursionError:
        raise QueryError(_TOO_DEEP) from None
    check_limits(written, name="query", most=_MAX_WRITTEN_VALUES, deepest=_MAX_DEPTH, longest=_MAX_TEXT_LENGTH)
    return written


def plan_from_json(value: object) -> Plan:
    """Read a plan back; whatever is not exactly one raises ``FormatError`` or ``QueryError``."""
    check_limits(value, name="plan", most=_MAX_READ_VALUES, deepest=_MAX_DEPTH, longest=_MAX_TEXT_LENGTH)
    found = read_fields(
        check_version(value, "plan", FORMATS["plan"]), "plan", ["version", "relation", "aggregates"], _OPTIONAL
    )
    try:
        return Plan(
            relation=_read_relation(found["relation"]),
            filter=_read_optional(found.get("filter")),
            keys=tuple(_read_key(item) for item in read_list(found.get("keys", []), "keys")),
            aggregates=tuple(_read_aggregate(item) for item in read_list(found["aggregates"], "aggregates")),
            outputs=tuple(_read_named(item, "output") for item in read_list(found.get("outputs", []), "outputs")),
            cells=_read_cells(found.get("cells")),
            having=_read_optional(found.get("having")),
            order=tuple(_read_order(item) for item in read_list(found.get("order", []), "order")),
            limit=None if found.get("limit") is None else read_integer(found["limit"], "limit"),
        )
    except RecursionError:
        raise FormatError("query.plan_nested_too_deeply") from None


def canonical(plan: Plan) -> str:
    """Return the canonical text of a plan: equal for plans that differ only in the order of AND, OR and IN."""
    written = plan_to_json(plan)
    try:
        return _write_canonical(written)
    except RecursionError:
        raise QueryError(_TOO_DEEP) from None


def _write_canonical(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ",".join([f"{json.dumps(name)}:{_write_part(value, name)}" for name in sorted(value)]) + "}"
    if isinstance(value, list):
        return "[" + ",".join([_write_canonical(item) for item in value]) + "]"
    return json.dumps(value, allow_nan=False)


def _write_part(holder: Mapping[str, Any], name: str) -> str:
    if name == "arguments":
        return _sort_operands(holder["call"], [_write_canonical(item) for item in holder[name]])
    if name in ("cells", "values"):  # they may be many, and hold no expressions
        return json.dumps(holder[name], sort_keys=True, separators=(",", ":"), allow_nan=False)
    return _write_canonical(holder[name])


def _sort_operands(operation: str, operands: list[str]) -> str:
    fixed = 0 if operation in ("and", "or") else 1 if operation == "in" else len(operands)
    return "[" + ",".join([*operands[:fixed], *sorted(set(operands[fixed:]))]) + "]"


# ----------------------------------------------------------------------------------------------------------- writing


def _write_plan(plan: Plan) -> dict[str, Any]:
    return {
        "version": FORMATS["plan"],
        "relation": _write_relation(plan.relation),
        "filter": _write_optional(plan.filter),
        "keys": [
            {
                "name": key.name,
                "expression": expression_to_json(key.expression),
                "values": None if key.values is None else [value_to_json(value) for value in key.values],
            }
            for key in plan.keys
        ],
        "aggregates": [
            {
                "kind": aggregate.kind,
                "name": aggregate.name,
                "columns": [expression_to_json(column) for column in aggregate.columns],
                "parameters": [str(item) if isinstance(item, Fraction) else item for item in aggregate.parameters],
            }
            for aggregate in plan.aggregates
        ],
        "outputs": [_write_named(name, expression) for name, expression in plan.outputs],
        "cells": None if plan.cells is None else [[value_to_json(value) for value in row] for row in plan.cells],
        "having": _write_optional(plan.having),
        "order": [
            {"expression": expression_to_json(order.expression), "descending": bool(order.descending)}
            for order in plan.order
        ],
        "limit": plan.limit,
    }


def _write_relation(relation: Relation) -> dict[str, Any]:
    match relation:
        case Base(table=table):
            return {"kind": "base", "table": table}
        case Join(left=left, right=right, on=on, by=by, how=how):
            pairs = [list(pair) for pair in on]
            return {
                "kind": "joined",
                "left": _write_relation(left),
                "right": _write_relation(right),
                "on": pairs,
                "by": by,
                "how": how,
            }
        case Projection(relation=inner, columns=columns, filter=condition):
            return {
                "kind": "projected",
                "relation": _write_relation(inner),
                "columns": [_write_named(name, expression) for name, expression in columns],
                "filter": _write_optional(condition),
            }
        case PerPerson(relation=inner, columns=made, filter=condition):
            return {
                "kind": "per_person",
                "relation": _write_relation(inner),
                "columns": [
                    {"name": name, "function": function, "argument": _write_optional(argument)}
                    for name, function, argument in made
                ],
                "filter": _write_optional(condition),
            }


def _write_named(name: str, expression: "Expression") -> dict[str, Any]:
    return {"name": name, "expression": expression_to_json(expression)}


def _write_optional(expression: "Expression | None") -> dict[str, Any] | None:
    return None if expression is None else expression_to_json(expression)


# ----------------------------------------------------------------------------------------------------------- reading


def _read_relation(value: object) -> Relation:
    kind = read_choice(value.get("kind") if isinstance(value, dict) else None, "query.name_relation_kind", _KINDS)
    if kind == "base":
        return Base(read_text(read_fields(value, "table", ["kind", "table"])["table"], "table"))
    if kind == "joined":
        return _read_join(value)
    found = read_fields(value, "subquery", ["kind", "relation", "columns"], ["filter"])
    inner, condition = _read_relation(found["relation"]), _read_optional(found.get("filter"))
    columns = read_list(found["columns"], "columns")
    if kind == "projected":
        named = tuple(_read_named(item, "column of a subquery") for item in columns)
        return Projection(relation=inner, columns=named, filter=condition)
    made = tuple(_read_person_column(item) for item in columns)
    return PerPerson(relation=inner, columns=made, filter=condition)


def _read_join(value: object) -> Join:
    found = read_fields(value, "join", ["kind", "left", "right"], ["on", "by", "how"])
    on = []
    for pair in read_list(found.get("on", []), "on"):
        columns = read_list(pair, "on")
        if len(columns) != 2:
            raise FormatError("query.join_on_not_pairs")
        on.append((read_text(columns[0], "on"), read_text(columns[1], "on")))
    return Join(
        left=_read_relation(found["left"]),
        right=_read_relation(found["right"]),
        on=tuple(on),
        by=read_text(found.get("by", "key"), "by"),
        how=read_text(found.get("how", "inner"), "how"),
    )


def _read_person_column(value: object) -> "tuple[str, str, Expression | None]":
    found = read_fields(value, "query.name_person_column", ["name", "function"], ["argument"])
    return (
        read_text(found["name"], "name"),
        read_text(found["function"], "function"),
        _read_optional(found.get("argument")),
    )


def _read_named(value: object, name: str) -> "tuple[str, Expression]":
    found = read_fields(value, name, ["name", "expression"])
    return read_text(found["name"], "name"), expression_from_json(found["expression"])


def _read_optional(value: object) -> "Expression | None":
    return None if value is None else expression_from_json(value)


def _read_key(value: object) -> Key:
    found = read_fields(value, "key", ["name", "expression"], ["values"])
    values = found.get("values")
    return Key(
        name=read_text(found["name"], "name"),
        expression=expression_from_json(found["expression"]),
        values=None if values is None else _read_values(values),
    )


def _read_values(value: object) -> tuple[Any, ...]:
    return tuple([value_from_json(item) for item in read_list(value, "values")])


def _read_cells(value: object) -> tuple[tuple[Any, ...], ...] | None:
    return None if value is None else tuple([_read_values(row) for row in read_list(value, "cells")])


def _read_aggregate(value: object) -> Aggregate:
    found = read_fields(value, "aggregate", ["kind", "name"], ["columns", "parameters"])
    kind = read_text(found["kind"], "kind")
    return Aggregate(
        kind=kind,
        name=read_text(found["name"], "name"),
        columns=tuple([expression_from_json(item) for item in read_list(found.get("columns", []), "columns")]),
        parameters=tuple(
            [_read_parameter(kind, item) for item in read_list(found.get("parameters", []), "parameters")]
        ),
    )


def _read_parameter(kind: str, value: object) -> int | Fraction | str:
    if kind == "quantile":
        return exact_probability(read_text(value, "query.name_quantile"), name="quantile")
    return read_integer(value, "k") if kind == "top_k" else read_text(value, "parameters")


def _read_order(value: object) -> Order:
    found = read_fields(value, "order", ["expression"], ["descending"])
    return Order(
        expression=expression_from_json(found["expression"]),
        descending=read_boolean(found.get("descending", False), "descending"),
    )
