"""The questions of the kit cover what can be asked."""

from __future__ import annotations

import pytest

from celosia.query.plan.expressions import Call, Expression
from celosia.query.plan.nodes import Base, Join, PerPerson, Projection
from celosia.query.plan.operations import OPERATIONS
from celosia.statistics import Choice, Measure
from celosia.testing.engines.cases import Case, cases


def every_case() -> list[Case]:
    return [case for persons in (False, True) for case in cases(persons=persons)]


def operations_in(expression: Expression | None) -> set[str]:
    if not isinstance(expression, Call):
        return set()
    return {expression.name}.union(*(operations_in(argument) for argument in expression.arguments))


def test_every_operation_is_asked() -> None:
    asked: set[str] = set()
    for case in every_case():
        asked |= operations_in(case.plan.filter)
        for key in case.plan.keys:
            asked |= operations_in(key.expression)
        for request in case.requests:
            for column in request.columns:
                asked |= operations_in(column)
    assert set(OPERATIONS) - asked == {"round"}  # which is for answers, and no engine is asked


def test_every_kind_of_relation_and_request_is_asked() -> None:
    found = every_case()
    assert {type(case.plan.relation) for case in found} == {Base, Join, Projection, PerPerson}
    requests = [request for case in found for request in case.requests]
    assert {request.distinct for request in requests} == {None, "persons", "values", "contributions"}
    assert {len(request.columns) for request in requests} == {0, 1, 2}
    assert any(isinstance(request.measure, Choice) for request in requests)
    assert any(isinstance(request.measure, Measure) for request in requests)
    assert any(case.cells is None for case in found)


@pytest.mark.parametrize("persons", [False, True])
def test_names_tell_questions_apart(persons: bool) -> None:  # noqa: FBT001 - a parameter of the test
    names = [case.name for case in cases(persons=persons)]
    assert len(set(names)) == len(names)


def test_bounds_fit_their_cells() -> None:
    for case in every_case():
        if case.cells is not None:
            assert case.bounding.cells == len(case.cells)
            assert case.bounding.groups <= len(case.cells)
