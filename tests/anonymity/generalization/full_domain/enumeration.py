"""Full-domain generalization in plain Python: every node, record by record."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from hypothesis import strategies as st

from celosia.anonymity.hierarchies import Categories
from celosia.anonymity.microdata import Microdata, Roles, read_microdata
from celosia.anonymity.models import (
    AlphaK,
    AverageRisk,
    DistinctDiversity,
    EntropyDiversity,
    EqualCloseness,
    HierarchicalCloseness,
    KAnonymity,
    KMap,
    OrderedCloseness,
    ProsecutorRisk,
    RecursiveDiversity,
)
from tests.anonymity.models import bruteforce as plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from celosia.anonymity.models import Model

Lines = dict[Any, tuple[str, ...]]
Row = tuple[Any, ...]

VALUES = "abcd"
ILLNESS: Lines = {"x": ("u", "*"), "y": ("u", "*"), "z": ("v", "*")}


@st.composite
def hierarchies(draw: st.DrawFn) -> Lines:
    """Labels of each value at levels 1 and up, nested, with `*` at the end."""
    first = {value: draw(st.integers(0, 2)) for value in VALUES}
    second = {group: draw(st.integers(0, 1)) for group in range(3)}
    height = draw(st.integers(0, 2))
    return {value: (*(f"g{first[value]}", f"h{second[first[value]]}")[:height], "*") for value in VALUES}


@st.composite
def files(draw: st.DrawFn, *, most: int = 14) -> tuple[list[Row], list[Any], list[Lines]]:
    """Rows of quasi-identifiers, a sensitive value for each, and a hierarchy for each column."""
    ladders = draw(st.lists(hierarchies(), min_size=1, max_size=3))
    value = st.one_of(
        st.sampled_from(VALUES), st.sampled_from("ab"), st.none() if draw(st.booleans()) else st.sampled_from("ab")
    )
    rows = draw(st.lists(st.tuples(*[value] * len(ladders)), min_size=1, max_size=most))
    known = st.one_of(st.sampled_from("xyz"), st.none()) if draw(st.booleans()) else st.sampled_from("xyz")
    return rows, [draw(known) for _ in rows], ladders


def build(data: tuple[Sequence[Row], Sequence[Any], Sequence[Lines]], nulls: Any = "category") -> Microdata:
    rows, illness, ladders = data
    names = [f"q{place}" for place in range(len(ladders))]
    columns = {name: pa.array([row[place] for row in rows], pa.string()) for place, name in enumerate(names)}
    columns["illness"] = pa.array(illness, pa.string())
    columns["weight"] = pa.array([1.0 + place % 3 for place in range(len(rows))])
    found = {name: Categories(lines) for name, lines in zip(names, ladders, strict=True)}
    roles = Roles(quasi_identifiers=names, sensitive=["illness"], weight="weight", nulls=nulls)
    return read_microdata(pa.table(columns), roles=roles, hierarchies={**found, "illness": Categories(ILLNESS)})


def models() -> st.SearchStrategy[list[Model]]:
    number, part = st.integers(1, 4), st.sampled_from([0.2, 0.34, 0.5, 0.75])
    classes = st.one_of(
        number.map(KAnonymity),
        part.map(ProsecutorRisk),
        st.integers(2, 8).map(KMap),
        st.integers(2, 3).map(lambda l: DistinctDiversity("illness", l)),  # noqa: E741
        part.map(lambda l: EntropyDiversity("illness", 1 + l)),  # noqa: E741
        st.builds(lambda c, l: RecursiveDiversity("illness", c, l), st.sampled_from([0.9, 2.0]), st.integers(2, 3)),  # noqa: E741
        part.map(lambda t: EqualCloseness("illness", t)),
        part.map(lambda t: OrderedCloseness("illness", t)),
        part.map(lambda t: HierarchicalCloseness("illness", t)),
        st.builds(lambda a, k: AlphaK("illness", a, k), part, number),
    )
    return st.tuples(st.lists(classes, min_size=1, max_size=2), st.lists(part.map(AverageRisk), max_size=1)).map(
        lambda both: [*both[0], *both[1]]
    )


def satisfies(
    model: Model, places: Sequence[int], illness: Sequence[Any], file: Sequence[Any], *, wildcard: bool
) -> bool:
    """Whether the records that match one satisfy a model of classes."""
    told = plain.list_values(illness, places, wildcard=wildcard)
    base = plain.list_values(file, range(len(file)), wildcard=wildcard)
    judge: Any = JUDGES[type(model)]
    counted = isinstance(model, KAnonymity | ProsecutorRisk | KMap)
    if isinstance(model, AlphaK) and len(places) < model.k:
        return False
    return bool(judge(model, places) if counted else not told or judge(model, told, base))


JUDGES: dict[type, Any] = {
    KAnonymity: lambda model, places: len(places) >= model.k,
    ProsecutorRisk: lambda model, places: 1 / len(places) <= model.most + 1e-9,
    KMap: lambda model, places: sum(1.0 + place % 3 for place in places) >= model.k,
    AlphaK: lambda model, told, _: plain.largest(told) <= model.alpha + 1e-9,
    DistinctDiversity: lambda model, told, _: len(set(told)) >= model.l,
    EntropyDiversity: lambda model, told, _: plain.entropy(told) >= model.l - 1e-9,
    RecursiveDiversity: lambda model, told, _: plain.recursive(told, model.c) >= model.l,
    EqualCloseness: lambda model, told, base: plain.distance_equal(told, base) <= model.t + 1e-9,
    OrderedCloseness: lambda model, told, base: plain.distance_ordered(told, base) <= model.t + 1e-9,
    HierarchicalCloseness: lambda model, told, base: plain.distance_hierarchical(told, base, ILLNESS) <= model.t + 1e-9,
}


def generalize(row: Row, ladders: Sequence[Lines], levels: Sequence[int]) -> Row:
    """A record at a node; a null stays one below `*`."""
    return tuple(
        value
        if not level
        else lines[value][level - 1]
        if value is not None
        else "*"
        if level == len(lines["a"])
        else None
        for value, lines, level in zip(row, ladders, levels, strict=True)
    )


def measure_value(value: Any, lines: Lines, level: int) -> tuple[float, float]:
    """The loss of a value at a level, and the part of the domain that its label stands for."""
    if not level:
        return 0.0, 1 / len(lines)
    if level == len(lines["a"]):
        return 1.0, 1.0
    if value is None:
        return 0.0, 1 / len(lines)
    share = sum(line[level - 1] == lines[value][level - 1] for line in lines.values()) / len(lines)
    return (share - 1 / len(lines)) / (1 - 1 / len(lines)), share


def drop(
    asked: Sequence[Model],
    rows: Sequence[Row],
    keys: Sequence[Row],
    illness: Sequence[Any],
    shares: Sequence[float],
    *,
    wildcard: bool,
) -> set[int]:
    """The records to drop at a node, until all others satisfy the models."""
    kept = set(range(len(rows)))
    single = [model for model in asked if not isinstance(model, AverageRisk)]
    whole = [model for model in asked if isinstance(model, AverageRisk)]

    def find(place: int) -> list[int]:
        return [other for other in sorted(kept) if plain.match(keys[place], keys[other], wildcard=wildcard)]

    def settle(chosen: Sequence[Model]) -> None:
        while True:
            bad = {
                place
                for place in kept
                if not all(satisfies(model, find(place), illness, illness, wildcard=wildcard) for model in chosen)
            }
            if not bad:
                return
            kept.difference_update(bad)

    settle([model for model in single if model.survives_joining])  # the order in which wildcards are judged
    settle(single)
    for model in whole:
        while kept and sum(1 / len(find(place)) for place in kept) / len(kept) > model.most * (1 + 1e-9):
            order = sorted(kept, key=lambda place: (len(find(place)), round(shares[place], 9), repr(keys[place])))
            kept.difference_update(find(order[0]))
    return set(range(len(rows))) - kept


def enumerate_nodes(
    data: tuple[Sequence[Row], Sequence[Any], Sequence[Lines]],
    asked: Sequence[Model],
    limit: float,
    loss: str = "loss",
    *,
    wildcard: bool = False,
) -> tuple[float, tuple[int, ...], int, int] | None:
    """Loss, levels, dropped records and classes of the best node of all; None if there is none."""
    rows, illness, ladders = data
    best: tuple[float, tuple[int, ...], int, int] | None = None
    for levels in itertools.product(*(range(len(lines["a"]) + 1) for lines in ladders)):
        keys = [generalize(row, ladders, levels) for row in rows]
        parts = [
            [measure_value(v, lines, level) for v, lines, level in zip(row, ladders, levels, strict=True)]
            for row in rows
        ]
        shares = [sum(share for _, share in part) for part in parts]
        dropped = drop(asked, rows, keys, illness, shares, wildcard=wildcard)
        if len(dropped) > int(limit * len(rows) + 1e-9) or len(dropped) == len(rows):
            continue
        sizes = Counter(key for place, key in enumerate(keys) if place not in dropped)
        match loss:
            case "loss":
                lost = [
                    1.0 if place in dropped else sum(p for p, _ in parts[place]) / len(ladders)
                    for place in range(len(rows))
                ]
                value = sum(lost) / len(rows)
            case "discernibility":
                value = sum(size**2 for size in sizes.values()) + len(dropped) * len(rows)
            case _:
                value = sum(sizes.values()) / len(sizes)
        if best is None or value < best[0] - 1e-9:
            best = value, levels, len(dropped), len(sizes)
    return best
