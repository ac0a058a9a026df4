"""Say why no node of a lattice satisfies the models."""

from collections.abc import Sequence
from dataclasses import replace

from celosia.anonymity.generalization.full_domain.problem import Problem
from celosia.anonymity.models import FileModel, Model
from celosia.core.errors import InfeasibleError
from celosia.core.exact import safe_repr


def explain(problem: Problem, models: Sequence[Model], *, exhausted: bool) -> InfeasibleError:
    """Return the error that names the model, and its column, which the coarsest levels do not satisfy."""
    if not exhausted:
        return InfeasibleError("anonymity_search.too_few_nodes")
    for model in models:
        if not is_feasible_alone(problem, model):
            if model.columns:
                name = safe_repr(model.columns[0])
                return InfeasibleError("anonymity_search.infeasible_column", model=repr(model), name=name)
            return InfeasibleError("anonymity_search.infeasible_model", model=repr(model))
    return InfeasibleError("anonymity_search.infeasible_together", models=", ".join(map(repr, models)))


def is_feasible_alone(problem: Problem, model: Model) -> bool:
    """Return whether the coarsest levels satisfy one model, within the suppression limit."""
    whole = (model,) if isinstance(model, FileModel) else ()
    rest = () if isinstance(model, FileModel) else (model,)
    alone = replace(problem, core=(), rest=rest, whole=whole)
    return alone.evaluate(problem.lattice.top).loss < float("inf")
