"""Query builder: each step returns a new query and leaves the old one unchanged.

A query is a plan, or the draft of one, and the session that answers it. ``preview`` spends nothing and reads nothing
private; ``release`` pays first and then reads.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from celosia.core.errors import CelosiaError, QueryError
from celosia.core.exact import Exact, exact_integer, exact_probability, safe_repr
from celosia.query.plan.expressions import Call, Column, Expression, Literal, conjunction, kind_of
from celosia.query.plan.nodes import Aggregate, Base, Join, Key, Order, Plan, PlanDraft, Projection, default_name
from celosia.query.plan.relations import columns_of
from celosia.query.plan.to_sql import render
from celosia.query.sql.date_literals import read_dates
from celosia.query.sql.expressions import parse_expression

if TYPE_CHECKING:
    from fractions import Fraction

    from celosia.data.schema.columns import Kind
    from celosia.query.backend import QueryBackend
    from celosia.query.planning.preview import Preview
    from celosia.query.release import TableRelease

Scalar: TypeAlias = "str | Expression"
"""A column by its name, or an expression."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Query:
    """A query to a session. Columns are names or SQL expressions over the columns of the table.

    >>> import celosia as cl
    >>> deaths = cl.table(cl.data.deaths(), schema=cl.Schema(age=cl.Integer(0, 120), sex=cl.Category("F", "M")))
    >>> session = cl.Session(deaths, budget=cl.PureDP(epsilon=1))
    >>> session.query().where("age < 18").group_by("sex").count().mean("age").plan.outputs
    (('sex', Column('sex')), ('count', Column('count')), ('mean_age', Column('mean_age')))
    """

    session: QueryBackend
    draft: PlanDraft

    @property
    def plan(self) -> Plan:
        """The plan: equal for equal queries, whether they come from SQL or from the builder."""
        return self.draft.finish()

    # ------------------------------------------------------------------------------------------------- which rows

    def where(self, condition: Scalar) -> Query:
        """Keep the rows for which the condition is true; several conditions must all hold.

        >>> import celosia as cl
        >>> deaths = cl.table(cl.data.deaths(), schema=cl.Schema(age=cl.Integer(0, 120)), name="deaths")
        >>> session = cl.Session(deaths, budget=cl.PureDP(epsilon=1))
        >>> session.query().where("age >= 18").where("age < 65").count()
        <Query SELECT COUNT(*) FROM deaths WHERE age >= 18 AND age < 65>
        """
        return self._replace(filter=conjunction(self.draft.filter, self._parse_row_expression(condition)))

    def derive(self, **columns: Scalar) -> Query:
        """Add columns computed from others; their bounds follow from those of the schema (see ``preview``).

        >>> import celosia as cl
        >>> deaths = cl.table(cl.data.deaths(), schema=cl.Schema(age=cl.Integer(0, 120)), name="deaths")
        >>> session = cl.Session(deaths, budget=cl.PureDP(epsilon=1))
        >>> dict(session.query().derive(months="12 * age").mean("months / 2").preview(epsilon=1).bounds)
        {'months / 2': 'Real(0, 720)'}
        """
        if not columns:
            raise QueryError("query.derive_without_columns")
        if self.draft.filter is not None or self.draft.keys or self.draft.aggregates:
            raise QueryError("query.derive_not_first")
        kinds = columns_of(self.draft.relation, self.session.tables)
        made = {
            **{name: Column(name) for name in kinds},
            **{name: self._parse_column(text) for name, text in columns.items()},
        }
        return self._replace(relation=Projection(relation=self.draft.relation, columns=tuple(made.items())))

    def join(
        self, table: str, *, on: str | Sequence[str] | Mapping[str, str] | None = None, how: str = "inner"
    ) -> Query:
        """Add the columns of another table: a public one by its key, a private one (``on=None``) by the person."""
        if self.draft.filter is not None or self.draft.keys or self.draft.aggregates:
            raise QueryError("query.join_not_first")
        if how not in ("inner", "left"):
            raise QueryError("query.unknown_join_how", value=safe_repr(how))
        if on is None:
            return self._replace(relation=Join(left=self.draft.relation, right=Base(table), by="person", how=how))
        names = [on] if isinstance(on, str) else on if isinstance(on, Mapping) else _check_list(on, "on")
        pairs = tuple(names.items()) if isinstance(names, Mapping) else tuple((name, name) for name in names)
        return self._replace(relation=Join(left=self.draft.relation, right=Base(table), on=pairs, by="key", how=how))

    def group_by(self, *columns: Scalar, keys: Sequence[Any] | None = None, **named: Scalar) -> Query:
        """Group by the values of the columns, or by their combinations.

        Categories, booleans, short ranges of integers and dates have public keys: all of them appear. The keys of a
        text are private and chosen by their number of persons, which needs a delta, unless ``keys`` lists them: values
        for one column, tuples for several.

        >>> import celosia as cl
        >>> deaths = cl.table(cl.data.deaths(), schema=cl.Schema(age=cl.Integer(0, 120)), name="deaths")
        >>> session = cl.Session(deaths, budget=cl.PureDP(epsilon=1))
        >>> session.query().group_by(old="age > 65").count().preview(epsilon=1).cells
        2
        """
        if not columns and not named:
            raise QueryError("query.group_by_without_columns")
        if len(columns) == 1 and isinstance(columns[0], list | tuple):
            columns = tuple(columns[0])  # as for a DataFrame
        found = [self._parse_key(column) for column in columns]
        added = [Key(name=_default_key_name(expression), expression=expression) for expression in found]
        added += [Key(name=name, expression=self._parse_key(text)) for name, text in named.items()]
        if keys is None:
            return self._replace(keys=(*self.draft.keys, *added))
        if self.draft.keys or self.draft.cells is not None:
            raise QueryError("query.keys_in_several_groupings")
        listed = _check_list(keys, "keys")
        if len(added) == 1:
            return self._replace(keys=(dataclasses.replace(added[0], values=tuple(listed)),))
        if any(not isinstance(row, tuple | list) or len(row) != len(added) for row in listed):
            raise QueryError("query.keys_not_tuples", count=len(added))
        return self._replace(keys=tuple(added), cells=tuple(tuple(row) for row in listed))

    # ------------------------------------------------------------------------------------------------- aggregates

    def count(self, column: Scalar | None = None, *, name: str | None = None) -> Query:
        """Count rows, or those in which the column has a value."""
        return self._aggregate("count", () if column is None else (column,), name)

    def count_distinct(self, column: Scalar, *, name: str | None = None) -> Query:
        """Count the different values of a column."""
        return self._aggregate("count_distinct", (column,), name)

    def count_persons(self, *, name: str | None = None) -> Query:
        """Count persons; in a table of rows, every row is one."""
        return self._aggregate("count_persons", (), name)

    def sum(self, column: Scalar, *, name: str | None = None) -> Query:
        """Add up a column."""
        return self._aggregate("sum", (column,), name)

    def mean(self, column: Scalar, *, method: str | None = None, name: str | None = None) -> Query:
        """Average a column; ``method="half-half"`` is the textbook's algorithm, for comparison."""
        if method not in (None, "half-half"):
            raise QueryError("query.unknown_mean_method", value=safe_repr(method))
        return self._aggregate("mean", (column,), name, () if method is None else (method,))

    def variance(self, column: Scalar, *, name: str | None = None) -> Query:
        """Return the variance of a column."""
        return self._aggregate("variance", (column,), name)

    def std(self, column: Scalar, *, name: str | None = None) -> Query:
        """Return the standard deviation of a column."""
        return self._aggregate("std", (column,), name)

    def covariance(self, x: Scalar, y: Scalar, *, name: str | None = None) -> Query:
        """Return the covariance of two columns."""
        return self._aggregate("covariance", (x, y), name)

    def correlation(self, x: Scalar, y: Scalar, *, name: str | None = None) -> Query:
        """Return the correlation of two columns."""
        return self._aggregate("correlation", (x, y), name)

    def median(self, column: Scalar, *, name: str | None = None) -> Query:
        """Return the median of a column."""
        return self._aggregate("median", (column,), name)

    def quantile(self, column: Scalar, q: Exact, *, name: str | None = None) -> Query:
        """Return the value below which a share ``q`` of the rows lies."""
        return self._aggregate("quantile", (column,), name, (exact_probability(q, name="q"),))

    def quantiles(self, column: Scalar, qs: Sequence[Exact]) -> Query:
        """Return several quantiles at once, one column each; they never cross."""
        query = self
        for q in _check_list(qs, "qs"):
            query = query.quantile(column, q)
        return query

    def min(self, column: Scalar, *, name: str | None = None) -> Query:
        """Return a value near the smallest; the true smallest would reveal the value of one person."""
        return self._aggregate("min", (column,), name)

    def max(self, column: Scalar, *, name: str | None = None) -> Query:
        """Return a value near the largest; the true largest would reveal the value of one person."""
        return self._aggregate("max", (column,), name)

    def mode(self, column: Scalar, *, name: str | None = None) -> Query:
        """Return the most frequent category, or nearly."""
        return self._aggregate("mode", (column,), name)

    def top_k(self, column: Scalar, k: int, *, name: str | None = None) -> Query:
        """Return the ``k`` most frequent categories, or nearly, as a list in order.

        For a text, whose values are private, at most ``k`` of those that enough persons share; this needs a delta.
        """
        return self._aggregate("top_k", (column,), name, (exact_integer(k, name="k"),))

    def histogram(self, column: Scalar, edges: Sequence[float], *, name: str | None = None) -> Query:
        """Count rows between edges: a group-by of intervals that are closed on the left, and a count."""
        found = self._parse_column(column)
        bucket = Call("bucket", (found, *(Literal(edge) for edge in edges)))
        key = Key(name=name or f"{_default_key_name(found)}_bin", expression=bucket)
        return self._replace(keys=(*self.draft.keys, key)).count()

    # ---------------------------------------------------------------- post-processing of the noisy answer, at no cost

    def having(self, condition: Scalar) -> Query:
        """Show only the cells whose noisy answers satisfy the condition."""
        return self._replace(having=conjunction(self.draft.having, self._parse_answer_expression(condition)))

    def order_by(self, column: Scalar, *, descending: bool = False) -> Query:
        """Sort by a key or a noisy answer."""
        return self._replace(
            order=(*self.draft.order, Order(expression=self._parse_answer_expression(column), descending=descending))
        )

    def limit(self, rows: int) -> Query:
        """Show only the first rows."""
        return self._replace(limit=exact_integer(rows, name="rows"))

    # ------------------------------------------------------------------------------------------------------ answers

    def preview(
        self,
        *,
        epsilon: Exact | None = None,
        delta: Exact | None = None,
        rho: Exact | None = None,
        error: Exact | Mapping[str, Exact] | None = None,
        confidence: Exact = 0.95,
        rows: float | None = None,
        level: Exact = 0.95,
    ) -> Preview:
        """Return the cost and the expected error of the query; the parameters are those of the session.

        >>> import celosia as cl
        >>> deaths = cl.table(cl.data.deaths(), schema=cl.Schema(age=cl.Integer(0, 120)), name="deaths")
        >>> session = cl.Session(deaths, budget=cl.PureDP(epsilon=1))
        >>> session.query().count().preview(epsilon=1).affordable, session.spent.epsilon
        (True, Fraction(0, 1))
        """
        target = {"epsilon": epsilon, "delta": delta, "rho": rho, "error": error, "confidence": confidence}
        return self.session.preview(self.plan, rows=rows, level=level, **target)

    def release(
        self,
        *,
        epsilon: Exact | None = None,
        delta: Exact | None = None,
        rho: Exact | None = None,
        error: Exact | Mapping[str, Exact] | None = None,
        confidence: Exact = 0.95,
        rows: float | None = None,
    ) -> TableRelease:
        """Pay, read the data once, and return the answer; the parameters are those of the session.

        >>> import celosia as cl
        >>> deaths = cl.table(cl.data.deaths(), schema=cl.Schema(age=cl.Integer(0, 120)), name="deaths")
        >>> session = cl.Session(deaths, budget=cl.PureDP(epsilon=1))
        >>> session.query().count().release(epsilon=1).guarantee
        PureDP(epsilon=1)
        """
        return self.session.release(
            self.plan, epsilon=epsilon, delta=delta, rho=rho, error=error, confidence=confidence, rows=rows
        )

    def _parse_column(self, text: Scalar) -> Expression:
        """Return a column by its name, or else parse an expression."""
        if isinstance(text, str) and text in columns_of(self.draft.relation, self.session.tables):
            return Column(text)
        return self._parse_row_expression(text)

    def _parse_row_expression(self, text: Scalar) -> Expression:
        """Parse an expression over row columns; texts beside dates become dates, as in SQL."""
        return _parse_dates(_parse_expression(text), lambda: columns_of(self.draft.relation, self.session.tables))

    def _parse_answer_expression(self, text: Scalar) -> Expression:
        """Parse an expression over keys and aggregates."""

        def kinds() -> dict[str, Kind]:
            known = columns_of(self.draft.relation, self.session.tables)
            return {key.name: kind_of(key.expression, known) for key in self.draft.keys}

        return _parse_dates(_parse_expression(text), kinds)

    def _parse_key(self, text: Scalar) -> Expression:
        persons = {table.person for table in self.session.tables.values() if table.person is not None}
        if isinstance(text, str) and text in persons:
            raise QueryError("query.person_column_as_key", column=safe_repr(text))
        return self._parse_column(text)

    def _replace(self, **changes: Any) -> Query:
        parts = {field.name: getattr(self.draft, field.name) for field in dataclasses.fields(PlanDraft)}
        return Query(session=self.session, draft=PlanDraft(**{**parts, **changes}))

    def _aggregate(
        self,
        kind: str,
        columns: Sequence[Scalar],
        name: str | None,
        parameters: tuple[int | Fraction | str, ...] = (),
    ) -> Query:
        arguments = tuple(map(self._parse_column, columns))
        taken = {key.name for key in self.draft.keys} | {aggregate.name for aggregate in self.draft.aggregates}
        named = name or default_name(kind, arguments, parameters, taken)
        made = Aggregate(kind=kind, columns=arguments, name=named, parameters=parameters)
        return self._replace(aggregates=(*self.draft.aggregates, made))

    def __repr__(self) -> str:
        return f"<Query {render(self.plan) if self.draft.aggregates else 'without aggregates yet'}>"


def _parse_expression(text: object) -> Expression:
    if isinstance(text, Column | Literal | Call):
        return text
    if isinstance(text, str):
        return parse_expression(text)
    # An argument passed by mistake is often the data: ``safe_repr`` shortens it.
    raise QueryError("query.expression_not_a_text", value=safe_repr(text))


def _parse_dates(expression: Expression, kinds: Callable[[], Mapping[str, Kind]]) -> Expression:
    try:
        known = kinds()
    except CelosiaError:  # an earlier mistake: preview and release report it
        return expression
    return read_dates(expression, known)


def _check_list(items: object, name: str) -> list[Any]:
    if isinstance(items, str | bytes) or not isinstance(items, Iterable):
        raise QueryError("query.argument_not_a_list", name=name, value=safe_repr(items))
    return list(items)


def _default_key_name(expression: Expression) -> str:
    return expression.name if isinstance(expression, Column) else render(expression)
