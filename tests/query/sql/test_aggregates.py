"""The aggregates of SQL, by all their names."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from celosia.core.errors import QueryError
from celosia.query.plan.expressions import Call, Column, Expression, Literal
from celosia.query.plan.nodes import AGGREGATES, Base
from celosia.query.sql.aggregates import AggregateCall, has_aggregate, is_aggregate, read_aggregate
from celosia.query.sql.from_clause import Scope, ScopeReader, VisibleColumn
from celosia.query.sql.syntax import condition_tree

SCOPE = Scope(
    relation=Base("t"),
    visible=(
        VisibleColumn("t", "x", "x"),
        VisibleColumn("t", "y", "y"),
        VisibleColumn("t", "c", "c"),
        VisibleColumn("t", "pid", None),
    ),
)
X, Y = Column("x"), Column("y")
MINOR = Call("<", (X, Literal(18)))


def only_minors(column: Expression) -> Expression:
    return Call("case", (MINOR, column, Literal(None)))


def parsed(text: str) -> AggregateCall:
    return read_aggregate(condition_tree(text), ScopeReader(SCOPE))


def test_aggregates() -> None:
    cases: list[tuple[str, str, tuple[Expression, ...], tuple[Any, ...]]] = [
        ("COUNT(*)", "count", (), ()),
        ("COUNT()", "count", (), ()),
        ("COUNT(1)", "count", (), ()),
        ("count(x)", "count", (X,), ()),
        ("COUNT(DISTINCT x)", "count_distinct", (X,), ()),
        ("COUNT(DISTINCT pid)", "count_persons", (), ()),
        ("COUNT(DISTINCT (t.pid))", "count_persons", (), ()),
        ("COUNT(DISTINCT PERSON)", "count_persons", (), ()),
        ("SUM(x)", "sum", (X,), ()),
        ("SUM(x + y)", "sum", (Call("+", (X, Y)),), ()),
        ("AVG(x)", "mean", (X,), ()),
        ("MEAN(x)", "mean", (X,), ()),
        ("VARIANCE(x)", "variance", (X,), ()),
        ("VAR_SAMP(x)", "variance", (X,), ()),
        ("VAR_POP(x)", "variance", (X,), ()),
        ("STDDEV(x)", "std", (X,), ()),
        ("STDDEV_SAMP(x)", "std", (X,), ()),
        ("STDDEV_POP(x)", "std", (X,), ()),
        ("COVAR_SAMP(x, y)", "covariance", (X, Y), ()),
        ("COVAR_POP(x, y)", "covariance", (X, Y), ()),
        ("CORR(x, y)", "correlation", (X, Y), ()),
        ("MEDIAN(x)", "median", (X,), ()),
        ("MIN(x)", "min", (X,), ()),
        ("MAX(x)", "max", (X,), ()),
        ("MODE(x)", "mode", (X,), ()),
        ("MODE() WITHIN GROUP (ORDER BY x)", "mode", (X,), ()),
        ("QUANTILE(x, 0.9)", "quantile", (X,), (Fraction(9, 10),)),
        ("QUANTILE_CONT(x, 0.9)", "quantile", (X,), (Fraction(9, 10),)),
        ("QUANTILE_DISC(x, 1)", "quantile", (X,), (Fraction(1),)),
        ("APPROX_QUANTILE(x, 0.25)", "quantile", (X,), (Fraction(1, 4),)),
        ("PERCENTILE(x, 0.9)", "quantile", (X,), (Fraction(9, 10),)),
        ("PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x)", "quantile", (X,), (Fraction(9, 10),)),
        ("PERCENTILE_DISC(0.9) WITHIN GROUP (ORDER BY x DESC)", "quantile", (X,), (Fraction(1, 10),)),
        ("TOP_K(x, 3)", "top_k", (X,), (3,)),
        ("APPROX_TOP_K(x, 3)", "top_k", (X,), (3,)),
        ("AVG(y) FILTER (WHERE x < 18)", "mean", (only_minors(Y),), ()),
        ("COUNT(*) FILTER (WHERE x < 18)", "count", (only_minors(Literal(1)),), ()),
        ("CORR(x, y) FILTER (WHERE x < 18)", "correlation", (only_minors(X), only_minors(Y)), ()),
    ]
    for text, kind, columns, parameters in cases:
        assert parsed(text) == AggregateCall(kind=kind, columns=columns, parameters=parameters)


def test_every_aggregate_of_a_plan_has_sql() -> None:
    texts = ["COUNT(*)", "COUNT(DISTINCT x)", "COUNT(DISTINCT pid)", "SUM(x)", "AVG(x)", "VARIANCE(x)", "STDDEV(x)"]
    texts += ["COVAR_SAMP(x, y)", "CORR(x, y)", "MEDIAN(x)", "QUANTILE(x, 0.5)", "MIN(x)", "MAX(x)", "MODE(x)"]
    found = {parsed(text).kind for text in [*texts, "TOP_K(x, 3)"]}
    assert found == set(AGGREGATES)


def test_refusals() -> None:
    cases: list[tuple[str, str]] = [
        ("SUM(DISTINCT x)", "DISTINCT goes with COUNT"),
        ("COUNT(DISTINCT x, y)", "takes one column"),
        ("COUNT(DISTINCT (x, y))", "a list in parentheses"),
        ("COUNT(x, y)", "EXPRESSIONS is not supported"),
        ("COUNT(DISTINCT pid) FILTER (WHERE x < 18)", "put the condition into WHERE"),
        ("COUNT(pid)", "is the person column"),
        ("SUM(pid)", "is the person column"),
        ("MEAN(x, y)", "is written MEAN"),
        ("MODE()", "needs a column"),
        ("SUM(*)", r"only in COUNT\(\*\)"),
        ("SUM(SUM(x))", "SUM cannot be used here"),
        ("MIN(x, 3)", "COUNT is not supported in or after MIN"),
        ("QUANTILE(x)", "between 0 and 1"),
        ("QUANTILE(x, 1.5)", "between 0 and 1"),
        ("QUANTILE(x, -0.5)", "between 0 and 1"),
        ("QUANTILE(x, y)", "between 0 and 1"),
        ("QUANTILE(x, '0.5')", "between 0 and 1"),
        ("PERCENTILE(x, 90)", "between 0 and 1"),
        ("PERCENTILE(x)", "is written"),
        ("TOP_K(x)", "is written"),
        ("TOP_K(x, 0)", "integer"),
        ("TOP_K(x, 2.5)", "integer"),
        ("TOP_K(x, y)", "integer"),
        ("TOP_K(x, 99999999)", "integer"),
        ("SUM(x ORDER BY y)", "order of rows does not matter"),
        ("SUM(x) WITHIN GROUP (ORDER BY y)", "PERCENTILE_CONT"),
        ("PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x, y)", "one column"),
        ("PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x NULLS FIRST)", "NULLS FIRST"),
        ("ANY_VALUE(x)", "not a supported aggregate"),
        ("FIRST(x)", "not a supported aggregate"),
        ("ARRAY_AGG(x)", "not a supported aggregate"),
        ("STRING_AGG(x, ',')", "not a supported aggregate"),
        ("BOOL_AND(c)", "not a supported aggregate"),
        ("APPROX_COUNT_DISTINCT(x)", r"COUNT\(DISTINCT x\)"),
        ("COUNT_IF(c)", "FILTER"),
        ("SKEWNESS(x)", "not a supported aggregate"),
        ("ARG_MAX(x, y)", "not a supported aggregate"),
    ]
    for text, sentence in cases:
        assert is_aggregate(condition_tree(text))
        with pytest.raises(QueryError, match=sentence):
            parsed(text)


def test_aggregates_are_found_but_not_inside_subqueries() -> None:
    assert has_aggregate(condition_tree("1 + ABS(TOP_K(x, 3))"))
    assert not has_aggregate(condition_tree("ABS(x) + HISTOGRAM(x)"))
    assert not has_aggregate(condition_tree("x < (SELECT MAX(y) FROM t)"))
