"""Plans as values: rows, filter, keys and aggregates of a query.

The builder and the SQL parser both make plans, and equal queries make equal plans. A plan names tables and holds
expressions over their *clean* columns; it knows no engine and no epsilon. Post-processing of noisy answers (outputs,
``having``, ``order``, ``limit``) is part of it and costs nothing. An invalid plan raises here, before anything is paid.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Final, TypeAlias

from celosia.core.errors import QueryError
from celosia.core.exact import format_exact, safe_repr
from celosia.core.messages.message import Message
from celosia.query.plan.expressions import Call, Column, Expression, Literal, columns_in
from celosia.query.plan.suggestions import list_items

if TYPE_CHECKING:
    from celosia.data.schema.columns import Value

AGGREGATES: Final[dict[str, tuple[int, ...]]] = {
    "count": (0, 1),  # rows, or rows in which the column has a value
    "count_distinct": (1,),
    "count_persons": (0,),
    "sum": (1,),
    "mean": (1,),
    "variance": (1,),  # divided by n: the noise is far larger than the difference
    "std": (1,),
    "covariance": (2,),
    "correlation": (2,),
    "median": (1,),
    "quantile": (1,),  # with the quantile as parameter
    "min": (1,),
    "max": (1,),
    "mode": (1,),
    "top_k": (1,),  # with k as parameter
}
"""The aggregates, with the numbers of columns that each accepts."""

PER_PERSON: Final = ("count", "sum", "min", "max")
"""The functions of one person's rows that a subquery per person can compute."""

_HALF_HALF: Final = "half-half"
_MAX_RELATIONS = 100
_MAX_ROWS = 2**62


@dataclass(frozen=True, slots=True)
class Base:
    """The rows of one table of the session."""

    table: str

    def __post_init__(self) -> None:
        _check_table(self.table)


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """Rows of two relations side by side: a public table joined by its key, or a private one by the person.

    A public table has each key once, so no row is multiplied. Rows of one person may be, and are bounded afterwards.
    ``how`` is ``"inner"`` or ``"left"``. A column name that both sides have becomes ``table.column``.
    """

    left: "Relation"
    right: "Relation"
    on: tuple[tuple[str, str], ...] = ()
    by: str = "key"
    how: str = "inner"

    def __post_init__(self) -> None:
        object.__setattr__(self, "on", tuple((str(left), str(right)) for left, right in self.on))
        if self.how not in ("inner", "left"):
            raise QueryError("query.unknown_join_kind", value=safe_repr(self.how))
        if self.by not in ("key", "person") or (self.by == "key") != bool(self.on):
            raise QueryError("query.join_columns_misplaced")


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection:
    """Subquery that maps rows one by one: a filter, and new columns."""

    relation: "Relation"
    columns: tuple[tuple[str, Expression], ...]
    filter: Expression | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(map(tuple, self.columns)))
        _check_names(name for name, _ in self.columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class PerPerson:
    """Subquery with one row for each person: columns are (name, function of ``PER_PERSON``, its argument)."""

    relation: "Relation"
    columns: tuple[tuple[str, str, Expression | None], ...]
    filter: Expression | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(map(tuple, self.columns)))
        _check_names(name for name, _, _ in self.columns)
        for _, function, argument in self.columns:
            if function not in PER_PERSON or (argument is None and function != "count"):
                code = "query.subquery_function_of_nothing" if argument is None else "query.subquery_function_unknown"
                raise QueryError(code, known=", ".join(PER_PERSON), function=safe_repr(function))


Relation: TypeAlias = Base | Join | Projection | PerPerson
"""The source of a query's rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """Grouping key; ``values`` are its public values where the schema does not give them."""

    name: str
    expression: Expression
    values: "tuple[Value, ...] | None" = None

    def __post_init__(self) -> None:
        _check_names([self.name])
        if self.values is not None:
            object.__setattr__(self, "values", tuple(self.values))


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate:
    """One aggregate over the rows of a cell.

    ``parameters``: the quantile of a ``quantile`` (a Fraction), the number of a ``top_k``, and ``("half-half",)`` for a
    mean by the textbook's algorithm.
    """

    kind: str
    columns: tuple[Expression, ...] = ()
    name: str
    parameters: tuple[int | Fraction | str, ...] = ()

    def __post_init__(self) -> None:
        arities = AGGREGATES.get(self.kind)
        if arities is None:
            raise QueryError("query.unknown_aggregate", kind=safe_repr(self.kind), known=", ".join(AGGREGATES))
        _check_names([self.name])
        object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "parameters", tuple(self.parameters))
        if len(self.columns) not in arities:
            wanted = list_items(arities, "query.or_item")
            raise QueryError("query.wrong_aggregate_columns", kind=self.kind, wanted=wanted, found=len(self.columns))
        if not _has_valid_parameters(self.kind, self.parameters):
            raise QueryError(
                "query.wrong_aggregate_parameters",
                kind=self.kind,
                wanted=Message(_PARAMETERS.get(self.kind, "query.parameters_none")),
                found=safe_repr(self.parameters),
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One sort column of the answer."""

    expression: Expression
    descending: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanDraft:
    """Parts of a plan under construction; ``finish`` checks them."""

    relation: Relation
    filter: Expression | None = None
    keys: tuple[Key, ...] = ()
    aggregates: tuple[Aggregate, ...] = ()
    outputs: tuple[tuple[str, Expression], ...] = ()
    cells: "tuple[tuple[Value, ...], ...] | None" = None
    having: Expression | None = None
    order: tuple[Order, ...] = ()
    limit: int | None = None

    def finish(self) -> "Plan":
        """Return the plan; raise ``QueryError`` if the parts do not fit together."""
        return Plan(**{field.name: getattr(self, field.name) for field in fields(self)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(PlanDraft):
    """A complete query.

    ``outputs`` are the columns of the answer, in order: expressions over the names of keys and aggregates. ``cells``
    are the public combinations of keys if they were listed; None stands for all.

    >>> plan = Plan(relation=Base("deaths"), aggregates=(Aggregate(kind="count", name="count"),))
    >>> plan.outputs
    (('count', Column('count')),)
    """

    @property
    def computes(self) -> bool:
        """Whether the answer is more than keys and aggregates: computed columns, HAVING or ORDER BY."""
        plain = all(isinstance(expression, Column) for _, expression in self.outputs)
        return not plain or self.having is not None or bool(self.order)

    def finish(self) -> "Plan":
        """Return the plan itself."""
        return self

    def __post_init__(self) -> None:
        for field in ("keys", "aggregates", "outputs", "order"):
            object.__setattr__(self, field, tuple(getattr(self, field)))
        _check_size(self.relation)
        if not self.aggregates:
            raise QueryError("query.query_without_aggregates")
        names = [key.name for key in self.keys] + [aggregate.name for aggregate in self.aggregates]
        _check_names(names)
        if not self.outputs:
            object.__setattr__(self, "outputs", tuple((name, Column(name)) for name in names))
        shown = [name for name, _ in self.outputs]
        _check_names(shown)
        _check_output_names([expression for _, expression in self.outputs], names)
        after = [order.expression for order in self.order] + ([] if self.having is None else [self.having])
        _check_output_names(after, [*names, *shown])
        _check_limit(self.limit)
        if self.cells is not None:
            object.__setattr__(self, "cells", tuple(map(tuple, self.cells)))
            _check_cells(self.cells, len(self.keys))


def default_name(
    kind: str, columns: Sequence[Expression], parameters: Sequence[int | Fraction | str], taken: Collection[str]
) -> str:
    """Return the default name of an aggregate: ``mean_age``, or ``mean_2`` for the second without a column."""
    parts = [kind, *(column.name.replace(".", "_") for column in columns if isinstance(column, Column))]
    parts += [format_exact(parameter).strip("'") for parameter in parameters if isinstance(parameter, Fraction)]
    name, number = "_".join(parts), 2
    while name in taken:
        name, number = f"{'_'.join(parts)}_{number}", number + 1
    return name


def _check_table(name: object) -> None:
    if not isinstance(name, str) or not name:
        raise QueryError("query.invalid_table_name", name=safe_repr(name))


def _check_names(names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        _ = Column(name)  # checks the name
        if name in seen:
            raise QueryError("query.duplicate_column_name", name=safe_repr(name))
        seen.add(name)


def _check_output_names(expressions: Iterable[Expression], names: Sequence[str]) -> None:
    """Raise if an expression names an unknown output: at release time the query is already paid."""
    for expression in expressions:
        if not isinstance(expression, Column | Literal | Call):
            raise QueryError("query.answer_not_an_expression", found=safe_repr(expression))
        unknown = sorted(columns_in(expression) - set(names))
        if unknown:
            raise QueryError(
                "query.unknown_answer_column", name=safe_repr(unknown[0]), known=", ".join(dict.fromkeys(names))
            )


def _check_limit(limit: object) -> None:
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or not 0 <= limit <= _MAX_ROWS):
        raise QueryError("query.limit_not_an_integer", value=safe_repr(limit))


def _check_cells(cells: "tuple[tuple[Value, ...], ...]", columns: int) -> None:
    if columns == 0 or any(len(row) != columns for row in cells):
        raise QueryError("query.key_combination_incomplete", wanted=columns)


def _check_size(relation: "Relation") -> None:
    """Bound the number of relations, so that recursive walks of a plan end."""
    waiting, found = [relation], 0
    while waiting:
        match waiting.pop():
            case Join(left=left, right=right):
                waiting += [left, right]
            case Projection(relation=inner) | PerPerson(relation=inner):
                waiting.append(inner)
            case Base():
                pass
            case other:
                raise QueryError("query.not_a_relation", found=safe_repr(other))
        found += 1
        if found > _MAX_RELATIONS:
            raise QueryError("query.too_many_relations", most=_MAX_RELATIONS)


def _has_valid_parameters(kind: str, parameters: tuple[int | Fraction | str, ...]) -> bool:
    match kind, parameters:
        case "quantile", (Fraction() as share,):
            return 0 <= share <= 1
        case "top_k", (int() as k,):
            return not isinstance(k, bool) and k >= 1
        case "mean", (str() as method,):
            return method == _HALF_HALF
        case _:
            return not parameters and kind not in {"quantile", "top_k"}


_PARAMETERS: Final = {
    "quantile": "query.parameters_quantile",
    "top_k": "query.parameters_top_k",
    "mean": "query.parameters_mean",
}
