"""Train one model on the records of several parties, without moving the records.

Each party reads its own records, adds noise and sends integers; a server adds them up. The cost is reserved before a
record is summed, and committed with the result. A person's records must all be with one party (``parties``).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from celosia.core.errors import EngineError, ParameterError
from celosia.core.exact import exact_integer, safe_repr
from celosia.federated.contributions import RoundSum, add_contributions
from celosia.federated.parties import Party, PartySources, read_parties
from celosia.federated.updates.one_shot import OneShot, OneShotPlan
from celosia.learn.base.estimator import spend

if TYPE_CHECKING:
    from celosia.core import Source
    from celosia.core.adjacency import Adjacency
    from celosia.core.events import Event
    from celosia.core.exact import Exact
    from celosia.core.guarantees import Guarantee

_INTEGER_BYTES: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class FederationPreview:
    """What a training would cost, known before any record is summed.

    ``noise_scale`` is the standard deviation of the noise in a number of the total, in integer steps, and
    ``noise_ratio`` how many times that of a fit with all records in one place.

    >>> from celosia.federated import Federation, OneShot
    >>> from celosia.learn import StandardScaler
    >>> rows = [[0.2], [0.7]]
    >>> print(Federation(
    ...     parties={"north": rows, "south": rows}, update=OneShot(StandardScaler(bounds=(0, 1))), epsilon=1
    ... ).preview())
    2 parties, 1 round, 24 bytes from each party in each round. Guarantee for every record, against the server and the
    other parties: PureDP(epsilon=1). The noise is 1.41 times that of a fit with all records in one place.
    """

    guarantee: "Guarantee"
    event: "Event"
    parties: tuple[str, ...]
    rounds: int
    bytes_per_party: int
    noise_scale: float
    noise_ratio: float

    def __str__(self) -> str:
        rounds = "1 round" if self.rounds == 1 else f"{self.rounds} rounds"
        return (
            f"{len(self.parties)} parties, {rounds}, {self.bytes_per_party} bytes from each party in each round. "
            f"Guarantee for every record, against the server and the other parties: {self.guarantee!r}. "
            f"The noise is {self.noise_ratio:.2f} times that of a fit with all records in one place."
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Federation:
    """Parties, what they compute together, and what may be spent on it.

    Parameters
    ----------
    parties
        Names and records: ``{"north": (X, y), "south": (X, y)}``, or a list of ``Party``.
    update
        What is computed: ``OneShot(estimator)``.
    epsilon, delta, rho, adjacency
        The privacy target for every record, as for the estimators of ``celosia.learn``.
    least_parties
        Fewer usable contributions end the training without a model; its cost stays spent.
    budget
        Who pays: a session or an account of a ledger. Without one nothing is recorded.
    source
        Where the noise comes from; the system by default.

    Examples
    --------
    >>> import numpy as np
    >>> from celosia.learn import LinearRegression
    >>> rng = np.random.default_rng(7)
    >>> X = rng.uniform(0, 10, (3000, 1)); y = 3 * X[:, 0] + rng.normal(size=3000)
    >>> federation = Federation(
    ...     parties={"north": (X[:1000], y[:1000]), "south": (X[1000:], y[1000:])},
    ...     update=OneShot(LinearRegression(bounds=(0, 10), bounds_y=(0, 40))),
    ...     epsilon=1, delta="1e-6",
    ... )
    >>> federation.preview().rounds
    1
    >>> model = federation.run()
    >>> model.guarantee_
    ApproxDP(epsilon=1, delta='1e-06')
    >>> bool(abs(model.coef_[0] - 3) < 0.5)
    True
    """

    parties: Any = field(repr=False)
    update: OneShot
    epsilon: "Exact | None" = None
    delta: "Exact | None" = None
    rho: "Exact | None" = None
    adjacency: "Adjacency | str | None" = None
    least_parties: int = 2
    budget: Any = field(default=None, repr=False)
    source: "Source | None" = field(default=None, repr=False)

    def __post_init__(self) -> None:
        update: object = self.update
        if not isinstance(update, OneShot):
            raise ParameterError("federated.unknown_update", update=safe_repr(update))
        if self.epsilon is None and self.rho is None:
            raise ParameterError("federated.no_privacy_target")
        parties = read_parties(self.parties)
        least = int(exact_integer(self.least_parties, name="least_parties"))
        if least > len(parties):
            raise ParameterError("federated.too_few_parties_for_least", least=least, found=len(parties))
        object.__setattr__(self, "parties", parties)
        object.__setattr__(self, "least_parties", least)

    def preview(self) -> FederationPreview:
        """Return the cost, the noise and the traffic of a training. Nothing is spent or released."""
        plan, names = self._plan(), tuple(one.name for one in self.parties)
        scale = plan.get_noise_scale(len(names))
        return FederationPreview(
            guarantee=plan.guarantee,
            event=plan.event,
            parties=names,
            rounds=plan.rounds,
            bytes_per_party=_INTEGER_BYTES * plan.width,
            noise_scale=scale,
            noise_ratio=scale / plan.get_noise_scale(1),
        )

    def run(self) -> Any:
        """Pay, train, and return the model; ``model.history_`` has what each round received and rejected."""
        plan, sources = self._plan(), PartySources(self.source)
        question = f"Train {self.update!r} with {len(self.parties)} parties"
        with spend(
            self.budget, self.source, plan.event, plan.guarantee, question=question, kind="federated"
        ) as payment:
            received = {one.name: _ask(plan, one, sources) for one in self.parties}
            found = add_contributions(received, width=plan.width, parties=len(self.parties))
            least, usable = self.least_parties, len(found.accepted)
            if usable < least:
                raise EngineError("federated.too_few_contributions", least=least, found=usable)
            model = plan.finish(found, seeded=sources.seeded)
            payment.deliver(found.total)
        model.history_ = (_describe_round(1, found, plan),)
        return model

    def _plan(self) -> OneShotPlan:
        privacy = {"epsilon": self.epsilon, "delta": self.delta, "rho": self.rho, "adjacency": self.adjacency}
        # An estimator's own epsilon gives way to a rho.
        given = privacy if self.rho is None else privacy | {"epsilon": 1 if self.epsilon is None else self.epsilon}
        return self.update.plan(self.parties, given | {"budget": self.budget})


def _ask(plan: OneShotPlan, party: Party, sources: PartySources) -> object:
    return plan.contribute(party.name, sources.get(party.name, 1))


def _describe_round(number: int, found: RoundSum, plan: OneShotPlan) -> Mapping[str, Any]:
    return {
        "round": number,
        "accepted": list(found.accepted),
        "rejected": dict(found.rejected),
        "bytes": _INTEGER_BYTES * plan.width * len(found.accepted),
    }
