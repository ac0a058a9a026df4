"""Bounds the contribution of one person: at most some cells, and some rows in each.

A keyed order of a person's own cells selects the cells that count. Within a cell, the sums of a person with too many
rows are scaled down to the allowed number of rows and rounded towards zero; counts of values take the allowed number of
rows in a keyed order. Both depend on one person's rows alone, so a summary is a sum of one part for each person, and
each part lies inside the bounds that sensitivities are computed from (``proofs/moments.md``).
"""

from typing import TYPE_CHECKING, Final

from celosia.query.execution.dialect import Dialect, double_literal, integer_literal
from celosia.query.execution.hashing import KeyedOrder
from celosia.query.execution.rows import PERSON

if TYPE_CHECKING:
    from ibis.expr import types as ir

CELL: Final = "cell"
"""The name of the column with the number of the cell."""

BUCKETS: Final = 21
"""Numbers of cells and rows fall into buckets of 1, 2, 3 to 4, 5 to 8 …; the last one is open."""

_EXACT_LIMIT = 2**53
_MAX_SUM = 2**62
_ROUND_DOWN = 1 - 2.0**-50  # more than four roundings to nearest can add


def person_number(table: "ir.Table", order: KeyedOrder, dialect: Dialect) -> "ir.Value":
    """Return a number from 0 to 2^32 for the person of each row."""
    return value_number(table[PERSON], order, dialect)


def value_number(value: "ir.Value", order: KeyedOrder, dialect: Dialect) -> "ir.Value":
    """Return a number from 0 to 2^32 for a text or an integer."""
    return dialect.digest(value, order.salt) if value.type().is_string() else order.fold(value)


def choose_cells(table: "ir.Table", groups: int, order: KeyedOrder, dialect: Dialect) -> "ir.Table":
    """Return the rows in at most ``groups`` cells of each person.

    The ranks of one person's cells are distinct. For one or two cells, the lowest and the highest rank are found
    without sorting, which is an equally fair choice.
    """
    import ibis

    ranked = table.mutate(rank=order.rank(table[CELL], person_number(table, order, dialect)))
    if groups > 2:
        numbered = ranked.mutate(place=ibis.dense_rank().over(group_by=PERSON, order_by="rank"))
        return numbered.filter(numbered.place < groups).select(*table.columns)
    rank = ranked["rank"]
    joined = ranked.join(ranked.group_by(PERSON).aggregate(low=rank.min(), high=rank.max()), PERSON)
    kept = joined["rank"] == joined.low
    return joined.filter(kept if groups == 1 else kept | (joined["rank"] == joined.high)).select(*table.columns)


def mark_cells(table: "ir.Table", groups: int, order: KeyedOrder, dialect: Dialect) -> "ir.Table":
    """Return all rows, with ``counts``: whether ``choose_cells`` would keep the cell.

    The table has one row for each person and cell.
    """
    import ibis

    ranked = table.mutate(rank=order.rank(table[CELL], person_number(table, order, dialect)))
    rank, of_person = ranked["rank"], ibis.window(group_by=PERSON)
    if groups > 2:
        marked = ranked.mutate(counts=ibis.dense_rank().over(group_by=PERSON, order_by="rank") < groups)
    else:
        kept = rank == rank.min().over(of_person)
        marked = ranked.mutate(counts=kept if groups == 1 else kept | (rank == rank.max().over(of_person)))
    return marked.drop("rank")


def bucket_index(number: "ir.Value") -> "ir.Value":
    """Return the bucket of a positive integer: the first ``i`` with ``number <= 2^i``, or the last."""
    import ibis

    last = BUCKETS - 1
    return ibis.cases(
        *((number <= integer_literal(2**place), integer_literal(place)) for place in range(last)),
        else_=integer_literal(last),
    )


def average_down(total: "ir.Value", count: "ir.Value", rows: int, reach: tuple[int, int]) -> "ir.Value":
    """Return a person's sum over ``count`` rows of a cell, scaled down to ``rows`` rows if there are more.

    The result never exceeds the exact quotient. It is exact where the product is below 2^53: then a quotient that is no
    integer is further from the next integer than its rounding error. Beyond, the quotient is reduced by more than all
    rounding errors. Rounding is towards zero for either sign. ``reach`` is the least and the largest feature of a row:
    the result is clipped to ``rows`` times that.
    """
    import ibis

    low, high = reach
    # Nulls stand for no rows here, and engines skip them in least().
    most = ibis.literal(_MAX_SUM).cast("decimal(38, 0)")
    held = ibis.least(total.coalesce(ibis.literal(0).cast("decimal(38, 0)")), most)
    held = (ibis.greatest(held, -most) if low < 0 else held).cast("int64")
    size = (held.abs() if low < 0 else held).cast("float64") * double_literal(float(rows))
    exact = ibis.cases(
        (size < double_literal(float(_EXACT_LIMIT)), double_literal(1.0)), else_=double_literal(_ROUND_DOWN)
    )
    share = (size / count.cast("float64") * exact).floor().cast("int64")
    if low < 0:  # sign() is a double in PostgreSQL and Spark
        share = ibis.cases((held < integer_literal(0), -share), else_=share)
    counted = ibis.cases((count <= integer_literal(rows), held), else_=share)
    below = ibis.least(counted, integer_literal(min(high * rows, _MAX_SUM)))
    return ibis.greatest(below, integer_literal(max(low * rows, -_MAX_SUM))) if low < 0 else below


def sample_rows(table: "ir.Table", value: str, rows: int, order: KeyedOrder, dialect: Dialect) -> "ir.Table":
    """Return at most ``rows`` rows of each person in each cell, in a keyed order of their values.

    Rows with the same value are numbered, so a value that occurs twice has two chances; their order does not matter.
    """
    import ibis

    number = ibis.row_number().over(group_by=[PERSON, CELL, value], order_by=value)
    numbered = table.mutate(number=number)
    parts = (person_number(numbered, order, dialect), numbered[CELL], numbered[value], numbered.number)
    ranked = numbered.mutate(rank=order.hash_integers(*parts))
    return take_first(ranked, [PERSON, CELL], [value, "number"], rows).select(*table.columns)


def take_first(table: "ir.Table", group: list[str], ties: list[str], most: int) -> "ir.Table":
    """Return the first rows of each group by ``rank``, and by ``ties`` where ranks are equal."""
    import ibis

    place = ibis.row_number().over(group_by=group, order_by=["rank", *ties])
    placed = table.mutate(place=place)
    return placed.filter(placed.place < most)
