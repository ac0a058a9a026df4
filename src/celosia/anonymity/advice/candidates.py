"""The plans that are tried on a file: those that its columns and hierarchies allow."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from celosia.anonymity.generalization import FullDomain, Generalize, LocalSuppression, Mondrian
from celosia.anonymity.masking import Microaggregate, Pram, ProbabilisticSwap
from celosia.anonymity.models import KAnonymity
from celosia.anonymity.plans import Plan
from celosia.core.messages.message import Message

if TYPE_CHECKING:
    from celosia.anonymity.microdata import Microdata, Step

Family: TypeAlias = Literal["classes", "perturbation", "private", "original"]
_DEFAULT_K: Final = 5
_LIMIT: Final = 0.05
_KEEP: Final = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A plan with a name, and the family of methods that it belongs to."""

    name: Message
    family: Family
    plan: Plan


def list_candidates(data: "Microdata", target: Sequence[Any], *, seed: int | None) -> Iterator[Candidate]:
    """Yield the plans to try."""
    k = max((model.k for model in target if isinstance(model, KAnonymity)), default=_DEFAULT_K)
    names = data.roles.quasi_identifiers
    generalized = {name: 1 for name in names if name in data.hierarchies and data.hierarchies[name].height > 2}
    classes = tuple(model for model in target if not isinstance(model, KAnonymity))

    def make(code: str, family: Family, *steps: "Step", **fields: object) -> Candidate:
        return Candidate(name=Message(code, **fields), family=family, plan=Plan(steps=steps, require=target, seed=seed))

    if all(name in data.hierarchies for name in names):
        step = FullDomain(models=tuple(target), limit=_LIMIT)
        yield make("anonymity_advice.full_domain", "classes", step, limit=_LIMIT)
    yield make("anonymity_advice.mondrian", "classes", Mondrian(k=k), k=k)
    yield make("anonymity_advice.local_suppression", "classes", LocalSuppression(k=k), k=k)
    if generalized:
        steps = (Generalize(levels=generalized), LocalSuppression(k=k))
        yield make("anonymity_advice.generalize_and_suppress", "classes", *steps, k=k)
    yield make("anonymity_advice.microaggregate", "classes", _microaggregate(data, k), k=k)
    yield make("anonymity_advice.swap", "perturbation", ProbabilisticSwap(columns=names, k=k), k=k)
    yield make("anonymity_advice.pram", "perturbation", Pram(columns=names, keep=_KEEP, invariant=True), keep=_KEEP)


def _microaggregate(data: "Microdata", k: int) -> Microaggregate:
    return Microaggregate(columns=data.roles.quasi_identifiers, k=k, method="mdav")
