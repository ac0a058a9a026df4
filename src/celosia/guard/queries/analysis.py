"""Read a query as a plan within the guard's limits on its nodes, cells and complexity."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from celosia.core.errors import QueryError
from celosia.guard.config.sections import Limits
from celosia.guard.schema.requests import QueryRequest

if TYPE_CHECKING:
    from celosia.data.table import Table
    from celosia.query.plan.nodes import Plan


def read_plan(request: QueryRequest, tables: "Mapping[str, Table]", limits: Limits) -> "Plan":
    """Return the plan of a query; raise ``QueryError`` if it exceeds a limit."""
    from celosia.query.planning.analysis import analyze_plan
    from celosia.query.serial.plan import plan_from_json, plan_to_json
    from celosia.query.sql.parser import parse_sql

    if request.plan is not None:
        check_nodes(request.plan, limits)
        plan = plan_from_json(request.plan)
    else:
        plan = parse_sql(request.sql or "", tables)
        check_nodes(plan_to_json(plan), limits)
    analyzed = analyze_plan(plan, tables)
    if analyzed.cells is not None and len(analyzed.cells) > limits.cells:
        raise QueryError("guard.too_many_cells", cells=len(analyzed.cells), most=limits.cells)
    if analyzed.complexity > limits.complexity:
        raise QueryError("guard.too_complex", points=analyzed.complexity, most=limits.complexity)
    return plan


def check_nodes(plan: Mapping[str, Any], limits: Limits) -> None:
    """Raise ``QueryError`` if a plan has too many nodes."""
    if count_nodes(plan, most=limits.plan_nodes) > limits.plan_nodes:
        raise QueryError("guard.question_too_long", most=limits.plan_nodes)


_SCALARS: Final = (str, int, float, bool, type(None))


def count_nodes(plan: object, *, most: int) -> int:
    """Return the number of objects and literals in a plan's JSON; counting stops beyond ``most``."""
    found, waiting = 0, [plan]
    while waiting and found <= most:
        one = waiting.pop()
        if isinstance(one, Mapping):
            found += 1
            waiting.extend(value for value in one.values() if not isinstance(value, _SCALARS))
        elif isinstance(one, list | tuple):
            found += sum(isinstance(value, _SCALARS) for value in one)
            waiting.extend(value for value in one if not isinstance(value, _SCALARS))
    return found
