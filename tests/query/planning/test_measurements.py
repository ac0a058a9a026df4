"""Measurements are shared where that costs nothing, and taken apart where sharing would be wrong."""

from __future__ import annotations

from fractions import Fraction

import pytest

import celosia as cl
from celosia.core import ReplaceOne
from celosia.core.errors import QueryError
from celosia.query.planning.measurements import Measurement, plan_measurements
from celosia.statistics import (
    CentredSum,
    ContributionBounds,
    CrossMoments,
    Distinct,
    FirstMoments,
    HalfHalfMean,
    Mode,
    MomentsOfAll,
    Quantiles,
    RowCount,
    SecondMoments,
    SharedMoments,
    TopK,
    Total,
)
from tests.query.samples import FULL, ask, persons_table, question, rows_table


def kinds(query: object) -> list[type]:
    return [type(need.measure) for need in needs(query)]


def needs(query: object, table: object = None) -> tuple[Measurement, ...]:
    return question(query, *(() if table is None else (table,))).aggregate_measurements  # type: ignore[arg-type]


def test_each_aggregate_has_its_measurement() -> None:
    cases: list[tuple[object, list[type]]] = [
        (lambda q: q.count(), [RowCount]),
        (lambda q: q.count("age"), [RowCount]),
        (lambda q: q.count_persons(), [RowCount]),  # of rows, everyone is somebody
        (lambda q: q.count_distinct("age"), [Distinct]),
        (lambda q: q.sum("age"), [Total]),
        (lambda q: q.mean("age"), [FirstMoments]),
        (lambda q: q.mean("age").sum("age").count("age"), [FirstMoments]),
        (lambda q: q.sum("age").count("age"), [FirstMoments]),
        (lambda q: q.mean("age").variance("age").std("age").sum("age"), [SecondMoments]),
        (lambda q: q.mean("age").mean("weight"), [SharedMoments]),
        (lambda q: q.sum("age").sum("weight"), [Total, Total]),  # age may be missing
        (lambda q: q.mean("age", method="half-half"), [HalfHalfMean]),
        (lambda q: q.covariance("age", "weight"), [CrossMoments]),
        (lambda q: q.covariance("age", "weight").correlation("age", "weight"), [CrossMoments]),
        (lambda q: q.median("age").quantile("age", "0.9").min("age").max("age"), [Quantiles]),
        (lambda q: q.median("age").median("weight"), [Quantiles, Quantiles]),
        (lambda q: q.mode("sex"), [Mode]),
        (lambda q: q.top_k("sex", 2), [TopK]),
    ]
    for asked, expected in cases:
        assert kinds(asked(ask())) == expected  # type: ignore[operator]


def test_a_count_of_rows_comes_with_the_mean_of_a_column_that_every_row_has() -> None:
    (need,) = needs(ask().count().mean("weight"))  # weight has no nulls
    assert dict(need.answers) == {"mean_weight": "mean", "count": "count"}


def test_a_count_of_all_rows_comes_with_the_mean_of_those_that_have_a_value() -> None:
    (need,) = needs(ask().count().mean("age").count("age"))
    assert isinstance(need.measure, MomentsOfAll)
    assert dict(need.answers) == {"mean_age": "mean", "count": "rows", "count_age": "count"}


def test_a_count_of_rows_does_not_come_with_the_variance_of_a_column_that_may_be_missing() -> None:
    assert kinds(ask().count().variance("age")) == [SecondMoments, RowCount]
    assert kinds(ask().count().variance("weight")) == [SecondMoments]


def test_a_sum_becomes_two_where_a_count_of_rows_goes_with_it() -> None:
    (need,) = needs(ask().sum("weight").count())
    assert isinstance(need.measure, FirstMoments)
    assert dict(need.answers) == {"sum_weight": "sum", "count": "count"}


def test_a_count_of_rows_comes_with_one_measurement_only() -> None:
    served = [name for need in needs(ask().count().mean("weight").sum("weight")) for name, _ in need.answers]
    assert sorted(served) == ["count", "mean_weight", "sum_weight"]


def test_means_of_several_columns_share_one_number_of_rows() -> None:
    (need,) = needs(ask().mean("age").mean("weight").count().count("age").count("weight"))  # weight has no nulls
    assert isinstance(need.measure, SharedMoments)
    assert need.measure.nullable == (True, False)
    assert dict(need.answers) == {
        "mean_age": "mean 0",
        "count_age": "count 0",
        "mean_weight": "mean 1",
        "count": "rows",
        "count_weight": "rows",
    }
    computed = [f"age + {number}" for number in range(9)]
    query = ask()
    for place, text in enumerate(computed):
        query = query.mean(text, name=f"m{place}")
    assert [len(need.columns) for need in needs(query)] == [7, 2]  # as many as noise vectors have room for


def test_quantiles_are_found_together_in_order_and_each_once() -> None:
    (need,) = needs(ask().max("age").median("age").quantile("age", "0.5", name="middle").quantile("age", "0.1"))
    assert isinstance(need.measure, Quantiles)
    assert need.measure.quantiles == (Fraction(1, 10), Fraction(1, 2), Fraction(1))
    assert dict(need.answers) == {"max_age": "2", "median_age": "1", "middle": "1", "quantile_age_0.1": "0"}


def test_the_degree_of_cross_moments_is_what_is_needed() -> None:
    for name in ("correlation", "covariance"):
        (need,) = needs(getattr(ask(), name)("age", "weight"))
        assert isinstance(need.measure, CrossMoments)
        assert need.measure.degree == (2 if name == "correlation" else 1)


def test_the_number_of_rows_is_public_only_for_a_whole_table_of_rows_that_are_replaced() -> None:
    replaced = rows_table(schema=FULL, adjacency=ReplaceOne)
    whole = ask(replaced).sum("age").mean("age")
    (need,) = needs(whole, replaced)
    assert isinstance(need.measure, CentredSum)
    assert need.public_rows
    nullable = rows_table(adjacency=ReplaceOne)
    persons = persons_table(schema=FULL, adjacency=ReplaceOne)
    for query, table in [
        (ask(replaced).where("age > 3").mean("age"), replaced),
        (ask(replaced).group_by("sex").mean("age"), replaced),
        (ask(replaced).derive(double="2 * age").mean("double"), replaced),
        (ask(nullable).mean("age"), nullable),
        (ask(persons).mean("age"), persons),
        (ask(rows_table(schema=FULL)).mean("age"), rows_table(schema=FULL)),
    ]:
        assert not any(need.public_rows for need in needs(query, table))
        assert CentredSum not in [type(need.measure) for need in needs(query, table)]


def test_persons_count_once_whatever_their_rows() -> None:
    table = persons_table(groups=2, rows=3)
    (need,) = needs(ask(table).group_by("sex").count_persons(), table)
    assert need.distinct == "persons"
    bounding = question(ask(table).group_by("sex").count_persons(), table).bounding
    assert bounding.rows == 3
    assert need.measure.sensitivity(need.bounding(bounding)).l1 == 2  # type: ignore[union-attr]


def test_rows_of_persons_are_averaged_in_fine_parts() -> None:
    table = persons_table(rows=3)
    (need,) = needs(ask(table).mean("age"), table)
    assert isinstance(need.measure, FirstMoments)
    assert need.measure.parts > 1


def test_labels_are_those_of_the_column() -> None:
    assert needs(ask().mode("sex"))[0].labels == ("F", "M")
    assert needs(ask().mode("alive"))[0].labels == (False, True)
    assert needs(ask().median("risk"))[0].labels == ("low", "middle", "high")
    assert needs(ask().mode("BUCKET(age, 0, 60, 120)"))[0].labels == ("[0, 60)", "[60, 120]")


def test_quantiles_of_dates_are_dates() -> None:
    import pyarrow as pa

    schema = cl.Schema(day=cl.Date("2020-01-01", "2020-12-31"), at=cl.Timestamp("2020-01-01", "2020-12-31"))
    empty = pa.table({"day": pa.array([], pa.date32()), "at": pa.array([], pa.timestamp("us"))})
    table = cl.table(empty, schema=schema, name="visits")
    asked = ask(table).median("day").max("at").mean("day")
    assert [need.unit for need in needs(asked, table) if isinstance(need.measure, Quantiles)] == ["days", "seconds"]


def test_private_keys_do_not_coarsen_the_axis_before_their_number_is_known() -> None:
    (need,) = needs(ask().group_by("town").median("age"))
    assert need.measure.width == 121
    assert need.for_cells(5).measure.width == 121
    assert need.for_cells(10**6).measure.width < 121
    count = needs(ask().count())[0]
    assert count.for_cells(10**6) is count


def test_what_a_column_cannot_answer_is_refused() -> None:
    cases: list[tuple[object, str]] = [
        (lambda q: q.mean("sex"), "not a number"),
        (lambda q: q.sum("town"), "not a number"),
        (lambda q: q.mean("risk"), "ask for quantiles"),
        (lambda q: q.median("sex"), "not a number"),
        (lambda q: q.mode("town"), "public"),
        (lambda q: q.mode("weight"), "public"),
        (lambda q: q.top_k("sex", 3), "between 1 and"),
        (lambda q: q.correlation("age", "sex"), "not a number"),
    ]
    for asked, words in cases:
        with pytest.raises(QueryError, match=words):
            needs(asked(ask()))  # type: ignore[operator]


def test_what_has_no_bounds_is_refused_with_the_way_out() -> None:
    table = persons_table()
    session = cl.Session(table, budget=cl.PureDP(epsilon=1))
    text = "SELECT AVG({}) FROM (SELECT who, COUNT(*) AS visits FROM deaths GROUP BY who) AS v"
    with pytest.raises(QueryError, match="LEAST, GREATEST or CLIP"):
        session.sql(text.format("visits")).preview(epsilon=1)
    assert session.sql(text.format("LEAST(visits, 9)")).preview(epsilon=1).affordable


def test_needs_read_nothing_but_kinds() -> None:
    plan = ask().count().plan
    (need,) = plan_measurements(plan, {}, ContributionBounds())
    assert need.answers == (("count", "count"),)
