"""The rounds of a training: who takes part, their integers with noise, the sum, and the next public state.

The cost of all rounds is reserved before the first. So no round can exceed the budget, and a training that ends early
has paid for more than it showed.
"""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core.errors import EngineError
from celosia.core.exact import double_at_least
from celosia.core.guarantees import ZCDP
from celosia.federated.checkpoint import Checkpoint, Progress
from celosia.federated.contributions import RoundSum
from celosia.noise import permutation
from celosia.noise.bernoulli import bernoulli
from celosia.query.progress import Bar

if TYPE_CHECKING:
    from celosia.core import Source
    from celosia.federated.parties.party import PartySources
    from celosia.federated.transport import Transport
    from celosia.federated.updates.plan import State, UpdatePlan


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Training:
    """What a training needs besides its plan: who is asked, how, and how few may answer.

    ``on_round`` is called with the progress after each round. It sees released states only, and replaces the bar.
    """

    plan: "UpdatePlan"
    names: tuple[str, ...]
    least: int
    participation: Fraction
    sources: "PartySources" = field(repr=False)
    on_round: "Callable[[Progress], None] | None" = None
    transport: "Transport | None" = None

    def run(self, progress: Progress, checkpoint: Checkpoint) -> Progress:
        """Run the rounds that are left, and return the progress."""
        if progress.lost:
            progress = progress.complete(self.plan.skip(self._get_state(progress)), self._tell_lost(progress.begun))
        numbers = range(progress.begun + 1, self.plan.rounds + 1)
        for number in _show_progress(numbers) if self.on_round is None else numbers:
            progress = progress.begin()
            checkpoint.save(progress)
            state = self._get_state(progress)
            found = self._receive(number, state)
            if len(found.accepted) < self.least:
                raise EngineError("federated.too_few_contributions", least=self.least, found=len(found.accepted))
            progress = progress.complete(self.plan.advance(state, found), self._tell(number, found))
            checkpoint.save(progress)
            if self.on_round is not None:
                self.on_round(progress)
        if not any(told["accepted"] for told in progress.history):
            raise EngineError("federated.too_few_contributions", least=self.least, found=0)
        return progress

    def _get_state(self, progress: Progress) -> "State":
        return progress.states[-1] if progress.states else self.plan.start()

    def _receive(self, number: int, state: "State") -> RoundSum:
        """Ask the parties of a round, and add up what they answer."""
        self.plan.check_round(number, state)
        asked, source, parties = self._choose(number), self.sources.get("", number), len(self.names)
        if self.transport is not None:
            return self.plan.receive(self.transport, number, asked, state, parties=parties, source=source)
        contributions = ask(self.plan, asked, state, [self.sources.get(name, number) for name in asked])
        return self.plan.add_up(contributions, parties=parties, number=number, source=source)

    def _choose(self, number: int) -> list[str]:
        """Return who is asked in a round: each with the same probability, and publicly so; as many as must answer."""
        if self.participation == 1:
            return list(self.names)
        source = self.sources.get("", number)
        coins = bernoulli(self.participation, len(self.names), source)
        if (missing := self.least - int(coins.sum())) > 0:  # too few would end the training: more are asked by lot
            others = np.flatnonzero(~coins)
            coins[others[permutation(len(others), source)[:missing]]] = True
        return [name for name, coin in zip(self.names, coins, strict=True) if coin]

    def _tell(self, number: int, found: RoundSum) -> Mapping[str, Any]:
        return {
            "round": number,
            "accepted": list(found.accepted),
            "rejected": dict(found.rejected),
            "bytes": found.count_bytes(),
            **_tell_cost(self.plan.price(number)),
        }

    def _tell_lost(self, number: int) -> Mapping[str, Any]:
        lost: dict[str, Any] = {
            "round": number,
            "accepted": [],
            "rejected": dict.fromkeys(self.names, "lost"),
            "bytes": 0,
        }
        return lost | _tell_cost(self.plan.price(number))


def _tell_cost(spent: Any) -> dict[str, Any]:
    """Return what all rounds so far cost, as a number that is rounded up."""
    if isinstance(spent, ZCDP):
        return {"rho": double_at_least(spent.rho)}
    return {"epsilon": double_at_least(spent.epsilon)}


def ask(plan: "UpdatePlan", names: Sequence[str], state: "State", sources: "Sequence[Source]") -> dict[str, object]:
    """Return what parties send: integers with noise, or None from one that has no result."""
    computed = plan.compute(names, state, sources)
    usable = [place for place, given in enumerate(computed) if given is not None]
    exact = [given for given in computed if given is not None]
    noisy = plan.add_noise(exact, [sources[place] for place in usable])
    sent: dict[str, object] = dict.fromkeys(names)
    return sent | {names[place]: given for place, given in zip(usable, noisy, strict=True)}


def _show_progress(rounds: range) -> Iterator[int]:
    """Yield the rounds, with a bar on a terminal after two seconds."""
    bar = Bar(text="Training")
    try:
        for done, number in enumerate(rounds):
            bar(done / len(rounds))
            yield number
    finally:
        bar(1)


def finish(plan: "UpdatePlan", progress: Progress, *, seeded: bool) -> Any:
    """Return the model of the states so far; the last round may have been lost."""
    answered = next(filter(None, (len(told["accepted"]) for told in reversed(progress.history))))
    return plan.finish(progress.states, plan.find_spread(answered), seeded=seeded)


def make_listener(
    plan: "UpdatePlan", on_round: Callable[[int, Any], None], *, seeded: bool
) -> Callable[[Progress], None]:
    """Return what hands the number of a round, and the model so far, to a listener."""

    def tell(progress: Progress) -> None:
        model = copy.copy(finish(plan, progress, seeded=seeded))  # the plan fits one model, again and again
        model.history_ = progress.history
        on_round(progress.begun, model)

    return tell
