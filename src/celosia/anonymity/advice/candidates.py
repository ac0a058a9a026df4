"""The plans that are tried on a file: those that its columns and hierarchies allow."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from celosia.anonymity.generalization import FullDomain, Generalize, LocalSuppression, Mondrian
from celosia.anonymity.masking import Microaggregate, Pram, ProbabilisticSwap
from celosia.anonymity.models import ClassModel, KAnonymity
from celosia.anonymity.plans import Plan
from celosia.anonymity.private import NoisyHistogramSampling
from celosia.core.adjacency import ReplaceOne
from celosia.core.messages.message import Message
from celosia.data.schema.columns import Category, Integer, Kind, Real

if TYPE_CHECKING:
    from celosia.anonymity.masking.microaggregation.microaggregate import Method
    from celosia.anonymity.microdata import Microdata
    from celosia.anonymity.plans.private_step import AnyStep

Family: TypeAlias = Literal["classes", "perturbation", "private", "original"]
_DEFAULT_K: Final = 5
_LIMIT: Final = 0.05
_KEEP: Final = 0.8
_LARGE: Final = 20_000  # records, beyond which microaggregation works in blocks
_EPSILONS: Final = (1, 5)
_BINS: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A plan with a name, and the family of methods that it belongs to."""

    name: Message
    family: Family
    plan: Plan


def list_candidates(
    data: "Microdata", target: Sequence[Any], *, schema: Mapping[str, Kind] | None, seed: int | None
) -> Iterator[Candidate]:
    """Yield the plans to try."""
    k = max((model.k for model in target if isinstance(model, KAnonymity)), default=_DEFAULT_K)
    names = data.roles.quasi_identifiers
    generalized = {name: 1 for name in names if name in data.hierarchies and data.hierarchies[name].height > 2}
    classes = tuple(model for model in target if isinstance(model, ClassModel) and not isinstance(model, KAnonymity))

    def make(code: str, family: Family, *steps: "AnyStep", **fields: object) -> Candidate:
        return Candidate(name=Message(code, **fields), family=family, plan=Plan(steps=steps, require=target, seed=seed))

    if all(name in data.hierarchies for name in names):
        step = FullDomain(models=tuple(target), limit=_LIMIT)
        yield make("anonymity_advice.full_domain", "classes", step, limit=_LIMIT)
    yield make("anonymity_advice.mondrian", "classes", Mondrian(k=k, models=classes), k=k)
    yield make("anonymity_advice.local_suppression", "classes", LocalSuppression(k=k), k=k)
    if generalized:
        steps = (Generalize(levels=generalized), LocalSuppression(k=k))
        yield make("anonymity_advice.generalize_and_suppress", "classes", *steps, k=k)
    yield make("anonymity_advice.microaggregate", "classes", _microaggregate(data, k), k=k)
    yield make("anonymity_advice.swap", "perturbation", ProbabilisticSwap(columns=names, k=k), k=k)
    yield make("anonymity_advice.pram", "perturbation", Pram(columns=names, keep=_KEEP, invariant=True), keep=_KEEP)
    for epsilon in _EPSILONS if schema else ():
        sampling = make_sampling(data, schema or {}, epsilon)
        yield make("anonymity_advice.synthetic", "private", sampling, epsilon=epsilon)


def _microaggregate(data: "Microdata", k: int) -> Microaggregate:
    method: Method = "mdav" if len(data) <= _LARGE else "blocks"
    return Microaggregate(columns=data.roles.quasi_identifiers, k=k, method=method)


def make_sampling(data: "Microdata", schema: Mapping[str, Kind], epsilon: int) -> NoisyHistogramSampling:
    """Return synthetic records of the columns that are released and declared, in histograms of enough records a cell.

    Columns go into one histogram as long as there is a record for each of its cells on average: with more cells than
    records, noise is all that there is. How many records there are is taken as public, as replace-one does.
    """
    names = [name for name in (*data.roles.quasi_identifiers, *data.roles.sensitive) if name in schema]
    bins = {name: count for name in names if (count := _count_bins(schema[name])) is not None}
    groups: list[list[str]] = []
    for name in names:
        fitting = [one for one in groups if math.prod(_count_cells(schema, bins, x) for x in (*one, name)) <= len(data)]
        if fitting:
            fitting[0].append(name)
        else:
            groups.append([name])
    kinds = {name: schema[name] for name in names}
    return NoisyHistogramSampling(
        schema=kinds, epsilon=epsilon, bins=bins, marginals=groups, records=len(data), adjacency=ReplaceOne
    )


def _count_bins(kind: Kind) -> int | None:
    """Return the bins of a numeric column, or None where each value has its own."""
    if isinstance(kind, Integer):
        return None if kind.high - kind.low < _BINS else _BINS
    return _BINS if isinstance(kind, Real) else None


def _count_cells(schema: Mapping[str, Kind], bins: Mapping[str, int], name: str) -> int:
    kind = schema[name]
    if name in bins:
        return bins[name]
    if isinstance(kind, Integer):
        return kind.high - kind.low + 1
    return len(kind.values) if isinstance(kind, Category) else 2
