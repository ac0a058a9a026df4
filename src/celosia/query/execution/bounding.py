"""How much of one person counts: at most so many cells, and so many rows in each.

Which cells count follows from a keyed order of that person's own cells. Within a cell, sums of a person with too many
rows are averaged down to as many rows as are allowed, rounded towards zero; counts of values take as many rows as are
allowed, in a keyed order. Both depend on one person's rows alone, so a summary is a sum of one part for each person,
and each part lies inside the bounds that sensitivities are computed from (``proofs/moments.md``).
"""

from typing import TYPE_CHECKING, Final

from celosia.query.execution.dialect import Dialect, double, integer_literal
from celosia.query.execution.hashing import KeyedOrder
from celosia.query.execution.rows import PERSON

if TYPE_CHECKING:
    from ibis.expr import types as ir

CELL: Final = "cell"
"""The name of the column with the number of the cell."""

DOUBLINGS: Final = 21
"""Numbers of cells and rows are told apart by buckets of 1, 2, 3 to 4, 5 to 8 …; the last one is open."""

_EXACT = 2**53
_LARGEST_SUM = 2**62
_DOWN = 1 - 2.0**-50  # more than four roundings to nearest can add


def person_number(table: "ir.Table", order: KeyedOrder, dialect: Dialect) -> "ir.Value":
    """Return a number from 0 to 2^32 for the person of each row."""
    person = table[PERSON]
    return dialect.digest(person, order.salt) if person.type().is_string() else order.folded(person)


def chosen_cells(table: "ir.Table", groups: int, order: KeyedOrder, dialect: Dialect) -> "ir.Table":
    """Return the rows in at most ``groups`` cells of each person.

    Ranks of one person's cells are all different. For one or two cells, the lowest and the highest rank are found
    without sorting; they are as fair a choice as any.
    """
    import ibis

    ranked = table.mutate(rank=order.ranked(table[CELL], person_number(table, order, dialect)))
    if groups > 2:
        numbered = ranked.mutate(place=ibis.dense_rank().over(group_by=PERSON, order_by="rank"))
        return numbered.filter(numbered.place < groups).select(*table.columns)
    rank = ranked["rank"]
    joined = ranked.join(ranked.group_by(PERSON).aggregate(low=rank.min(), high=rank.max()), PERSON)
    kept = joined["rank"] == joined.low
    return joined.filter(kept if groups == 1 else kept | (joined["rank"] == joined.high)).select(*table.columns)


def marked_cells(table: "ir.Table", groups: int, order: KeyedOrder, dialect: Dialect) -> "ir.Table":
    """Return all rows, with ``counts``: whether the cell is one of those that ``chosen_cells`` would keep.

    The table has one row for each person and cell.
    """
    import ibis

    ranked = table.mutate(rank=order.ranked(table[CELL], person_number(table, order, dialect)))
    rank, of_person = ranked["rank"], ibis.window(group_by=PERSON)
    if groups > 2:
        marked = ranked.mutate(counts=ibis.dense_rank().over(group_by=PERSON, order_by="rank") < groups)
    else:
        kept = rank == rank.min().over(of_person)
        marked = ranked.mutate(counts=kept if groups == 1 else kept | (rank == rank.max().over(of_person)))
    return marked.drop("rank")


def bucketed(number: "ir.Value") -> "ir.Value":
    """Return the bucket of an integer from 1 on: the first ``i`` with ``number <= 2^i``, but at most the last."""
    import ibis

    last = DOUBLINGS - 1
    return ibis.cases(
        *((number <= integer_literal(2**place), integer_literal(place)) for place in range(last)),
        else_=integer_literal(last),
    )


def averaged(total: "ir.Value", count: "ir.Value", rows: int, reach: tuple[int, int]) -> "ir.Value":
    """Return a person's sum over ``count`` rows of a cell as that of ``rows``, where there are more; never above it.

    Exact where the product is below 2^53: then a quotient that is not whole is further from the next integer than
    its rounding error. Beyond, the quotient is made smaller by more than all rounding errors. Towards zero for either
    sign. ``reach`` are the least and the largest feature of a row: whatever the arithmetic did, the result is within as
    many times that.
    """
    import ibis

    low, high = reach
    # Here nulls stand for no rows, and engines pass over them when they look for the least.
    most = ibis.literal(_LARGEST_SUM).cast("decimal(38, 0)")
    held = ibis.least(total.coalesce(ibis.literal(0).cast("decimal(38, 0)")), most)
    held = (ibis.greatest(held, -most) if low < 0 else held).cast("int64")
    size = (held.abs() if low < 0 else held).cast("float64") * double(float(rows))
    exact = ibis.cases((size < double(float(_EXACT)), double(1.0)), else_=double(_DOWN))
    share = (size / count.cast("float64") * exact).floor().cast("int64")
    if low < 0:  # not by sign(), which is a double to PostgreSQL and Spark
        share = ibis.cases((held < integer_literal(0), -share), else_=share)
    counted = ibis.cases((count <= integer_literal(rows), held), else_=share)
    below = ibis.least(counted, integer_literal(min(high * rows, _LARGEST_SUM)))
    return ibis.greatest(below, integer_literal(max(low * rows, -_LARGEST_SUM))) if low < 0 else below


def sampled_rows(table: "ir.Table", value: str, rows: int, order: KeyedOrder, dialect: Dialect) -> "ir.Table":
    """Return at most ``rows`` rows of each person in each cell, in a keyed order of their values.

    Rows with the same value are numbered, so that a value that is there twice has two chances; which of them is the
    first makes no difference.
    """
    import ibis

    number = ibis.row_number().over(group_by=[PERSON, CELL, value], order_by=value)
    numbered = table.mutate(number=number)
    parts = (person_number(numbered, order, dialect), numbered[CELL], numbered[value], numbered.number)
    ranked = numbered.mutate(rank=order.mixed(*parts))
    return first_in_order(ranked, [PERSON, CELL], [value, "number"], rows).select(*table.columns)


def first_in_order(table: "ir.Table", group: list[str], ties: list[str], most: int) -> "ir.Table":
    """Return the first rows of each group by ``rank``, and by ``ties`` where ranks are equal."""
    import ibis

    place = ibis.row_number().over(group_by=group, order_by=["rank", *ties])
    placed = table.mutate(place=place)
    return placed.filter(placed.place < most)
