"""Optimal full-domain generalization with a suppression limit (Samarati 2001; Kohlmayer et al. 2012).

Each quasi-identifier gets one level of its hierarchy for the whole file. Of all combinations of levels, that one is
taken which loses least, among those where at most a part of the records violates the models; these records are
dropped. The file then protects from the attacker of each model, and from no other: see the models. That the same level
holds for all records makes tables easy to read, and loses more than Mondrian, whose groups are local.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from celosia.anonymity.generalization.full_domain.base import read_base
from celosia.anonymity.generalization.full_domain.best_first import Frontier, explore_best_first
from celosia.anonymity.generalization.full_domain.exact import Exploration, explore
from celosia.anonymity.generalization.full_domain.infeasible import explain
from celosia.anonymity.generalization.full_domain.lattice import Ladder, build_lattice
from celosia.anonymity.generalization.full_domain.problem import LOSSES, LossName, Problem
from celosia.anonymity.generalization.full_domain.solution import Solution
from celosia.anonymity.hierarchies import ANY, Hierarchy
from celosia.anonymity.hierarchies.levels import take_upper_levels
from celosia.anonymity.microdata import Microdata
from celosia.anonymity.models import ClassModel, FileModel, KAnonymity, Model
from celosia.anonymity.models.reading import read_records
from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source

LISTED: Final = 1 << 20
"""Lattices with at most as many nodes are listed; others are searched best nodes first."""

NODES: Final = 500
"""How many nodes of lattices that are not listed are looked at by default, and the least of others."""

WORK: Final = 4_000_000_000
"""How many distinct records are looked at by default, over all nodes of a lattice that is listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FullDomain:
    """Generalize each quasi-identifier to one level, with least loss, and drop the records that violate the models.

    Parameters
    ----------
    models
        The privacy models that the file must satisfy. Distances of t-closeness are from the file before.
    limit
        The largest part of the records that may be dropped.
    levels
        The level of columns that are not to be searched.
    loss
        ``"loss"``: the mean part of its domain that a value stands for, 1 where it is dropped. ``"discernibility"``:
        the sum of the squares of class sizes; a dropped record counts as many as the file has.
        ``"average_class_size"``: records over classes, among those kept.
    nodes
        The most nodes of the lattice to look at. The default is 500 if there are more than a million, and otherwise
        so many that up to 20,000 distinct records are searched to the end, and a million for minutes at most. A
        search that stops before its end may not be optimal, which its solution says.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from celosia.anonymity import Categories, Intervals, Roles, read_microdata
    >>> frame = pa.table({"sex": ["M", "F", "M", "F"], "age": [31, 34, 47, 49]})
    >>> data = read_microdata(
    ...     frame,
    ...     roles=Roles(quasi_identifiers=["sex", "age"]),
    ...     hierarchies={"sex": Categories([["M"], ["F"]]), "age": Intervals.of_widths(0, 100, [10, 50])},
    ... )
    >>> step = FullDomain(models=(KAnonymity(2),), limit=0.0)
    >>> step.apply(data).table.to_pydict()
    {'sex': ['M', 'F', 'M', 'F'], 'age': ['0-49', '0-49', '0-49', '0-49']}
    """

    models: tuple[Model, ...] = (KAnonymity(5),)
    limit: float = 0.05
    levels: Mapping[str, int] = field(default_factory=dict)
    loss: LossName = "loss"
    nodes: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "models", tuple(self.models))
        object.__setattr__(self, "levels", dict(self.levels))
        if not self.models or not all(isinstance(model, ClassModel | FileModel) for model in self.models):
            raise ParameterError("anonymity_search.no_models", value=safe_repr(self.models))
        if not _is_number(self.limit) or not 0 <= self.limit <= 1:
            raise ParameterError("anonymity_search.limit_not_part", value=safe_repr(self.limit))
        if self.loss not in LOSSES:
            known = ", ".join(LOSSES)
            raise ParameterError("anonymity_search.unknown_loss", value=safe_repr(self.loss), known=known)
        if self.nodes is not None and (not _is_number(self.nodes) or self.nodes < 1 or self.nodes != int(self.nodes)):
            raise ParameterError("anonymity_search.nodes_not_positive", value=safe_repr(self.nodes))

    def search(self, data: Microdata) -> Solution:
        """Return the levels of least loss, without changing the file."""
        return _solve(self, data)[0]

    def apply(self, data: Microdata, *, source: "Source | None" = None) -> Microdata:
        """Return the generalized file, without the records that violate the models. ``source`` is not used."""
        del source
        solution, problem = _solve(self, data)
        dropped = problem.find_dropped([solution.levels[ladder.name] for ladder in problem.lattice.ladders])
        columns: dict[str, pa.Array] = {}
        spreads: dict[str, NDArray[np.float64]] = {}
        hierarchies: dict[str, Hierarchy] = {}
        for place, ladder in enumerate(problem.lattice.ladders):
            level = solution.levels[ladder.name]
            values = problem.base.codes[problem.base.ids[: len(data)], place]
            if level:
                columns[ladder.name] = _decode(ladder, level, values)
                hierarchies[ladder.name] = take_upper_levels(ladder.levels, level)
            if level or ladder.name not in data.spreads:
                spreads[ladder.name] = ladder.losses[level][values]
        changed = data.replace_columns(columns, spreads=spreads, hierarchies=hierarchies)
        return changed.keep_rows(~dropped[problem.base.ids[: len(data)]])


def search(data: Microdata, **parameters: Any) -> Solution:
    """Return the levels that ``FullDomain`` with these parameters would use, and what they lose.

    >>> import pyarrow as pa
    >>> from celosia.anonymity import Categories, Roles, read_microdata
    >>> data = read_microdata(
    ...     pa.table({"sex": ["M", "F"]}),
    ...     roles=Roles(quasi_identifiers=["sex"]),
    ...     hierarchies={"sex": Categories([["M"], ["F"]])},
    ... )
    >>> search(data, models=(KAnonymity(2),)).levels
    {'sex': 1}
    """
    return FullDomain(**parameters).search(data)


def _solve(step: FullDomain, data: Microdata) -> tuple[Solution, Problem]:
    """Return the best levels, and the problem they solve."""
    problem = _pose(step, data)
    names = [ladder.name for ladder in problem.lattice.ladders]
    state: Exploration | Frontier
    if problem.lattice.size <= LISTED:
        state = explore(problem, step.nodes or max(NODES, WORK // len(problem.base)))
    else:
        state = explore_best_first(problem, step.nodes or NODES)
    if state.best is None:
        raise explain(problem, step.models, exhausted=state.is_exact)
    solution = Solution(
        levels=dict(zip(names, state.levels, strict=True)),
        suppressed=state.best.suppressed,
        loss=state.best.loss,
        classes=state.best.classes,
        nodes=state.nodes,
        optimal=state.is_exact,
        lower_bound=state.loss if state.is_exact else state.bound,
    )
    return solution, problem


def _pose(step: FullDomain, data: Microdata) -> Problem:
    """Return what to search."""
    columns, records = read_records(data, step.models)
    lattice = build_lattice(data.roles.quasi_identifiers, columns, data.hierarchies, step.levels)
    base = read_base(columns, records, lattice)
    limit = int(np.floor(step.limit * len(data) + 1e-9))
    wildcard = data.roles.nulls == "wildcard" and any(column.has_nulls for column in columns)
    of_classes = [model for model in step.models if not isinstance(model, FileModel)]
    # A class in which no sensitive value is known violates nothing, until a record with a known one joins it.
    unknown = {name for name, codes in records.codes.items() if (codes[: len(data)] < 0).any()}
    core = [
        model
        for model in of_classes
        if (model.survives_joining and unknown.isdisjoint(model.columns))
        or (not limit and not wildcard and model.survives_merging)
    ]
    return Problem(
        base=base,
        lattice=lattice,
        core=tuple(core),
        rest=tuple(model for model in of_classes if model not in core),
        whole=tuple(model for model in step.models if isinstance(model, FileModel)),
        limit=limit,
        loss=step.loss,
        wildcard=wildcard,
    )


def _decode(ladder: Ladder, level: int, values: "NDArray[np.int32]") -> "pa.Array":
    """Return the labels of values at a level; nulls stay so below ``*``."""
    import pyarrow as pa

    labels = ladder.levels.labels[level]
    codes = ladder.codes[level][values]
    if labels.equals(pa.array([ANY])):
        return labels.take(pa.array(np.zeros(len(values), dtype=np.int64)))
    return labels.take(pa.array(codes, mask=codes >= len(labels)))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)
