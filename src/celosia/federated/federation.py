"""Train one model on the records of several parties, without moving the records.

Each party reads its own records, adds noise and sends integers; a server adds them up. The cost is reserved before a
record is summed, and committed with the result. A person's records must all be with one party (``parties``).
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from celosia.core.errors import InputError, ParameterError
from celosia.core.exact import exact_delta, exact_integer, exact_probability, safe_repr
from celosia.federated.checkpoint import Checkpoint, find_reservation, fingerprint
from celosia.federated.disclosure.methods import FreshNoise, MaskedSums
from celosia.federated.disclosure.report import who_learns_what
from celosia.federated.gossip import Gossip, check_parties
from celosia.federated.masked import MaskedPlan, Masks
from celosia.federated.parties.columns import choose_columns, find_adjacency
from celosia.federated.parties.party import Party, PartySources, read_parties
from celosia.federated.preview import FederationPreview, name_adversaries
from celosia.federated.robust import RobustRule, plan_robust
from celosia.federated.topology.graph import Graph
from celosia.federated.training import Training, finish, make_listener
from celosia.federated.transport import MessageTransport
from celosia.federated.updates.client_level import ClientLevel
from celosia.federated.updates.one_shot import OneShot
from celosia.federated.updates.proximal.update import Proximal
from celosia.federated.updates.sgd import SGD
from celosia.learn.base.estimator import spend

if TYPE_CHECKING:
    from collections.abc import Collection

    from celosia.core import Source
    from celosia.core.adjacency import Adjacency
    from celosia.core.exact import Exact
    from celosia.federated.disclosure.report import Disclosure
    from celosia.federated.transport import Transport
    from celosia.federated.updates.plan import UpdatePlan

UPDATES: Final = (OneShot, Proximal, SGD)
"""What a federation can compute."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Federation:
    """Parties, what they compute together, and what may be spent on it.

    Parameters
    ----------
    parties
        Names and records: ``{"north": (X, y), "south": (X, y)}``, or a list of ``Party``. Records are arrays or frames,
        or all of them tables made by ``celosia.table``, with the same schema for the columns that are used.
    update
        What is computed: ``OneShot(estimator)`` in one round, or ``SGD(estimator=...)`` or
        ``Proximal(estimator=..., mu=...)`` in several.
    features, target
        The columns that are learned from, and the one that is learned, of tables or frames.
    epsilon, delta, rho, adjacency
        The privacy target for every record, as for the estimators of ``celosia.learn``. Tables state the neighbours and
        the unit themselves.
    rounds
        How often the parties are asked.
    participation
        The probability with which a party is asked in a round. Who is asked is public: it makes rounds cheaper to send,
        not more private.
    least_parties
        Fewer usable contributions in a round, or fewer than ``combine`` needs, end the training without a model; its
        cost stays spent.
    level
        ``"record"``: a record is private. ``ClientLevel(clip=...)``: all records of a party together are.
    topology
        Who talks to whom where there is no server: a ``Graph`` or a ``Gossip``. With masks, these are along its edges,
        and all parties see the sum; without, parties average with their neighbours.
    masks
        ``Masks()`` hides all but the sum of the parties, which then share one noise: nearly as little as with all
        records in one place. Without, every party adds a whole noise, and its message is private on its own.
    combine
        How the server combines the messages: added up by default, or by ``ClippedSum()``, ``TrimmedMean(trim)``,
        ``CoordinateMedian()`` or ``Krum(bad)``, which a few bad parties cannot steer. They cost no privacy, and need
        separate messages: not under ``masks``. ``OneShot`` takes parties as equally large, unless each states its
        ``records``.
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
    update: OneShot | Proximal | SGD
    features: Sequence[str] | None = None
    target: str | None = None
    epsilon: "Exact | None" = None
    delta: "Exact | None" = None
    rho: "Exact | None" = None
    adjacency: "Adjacency | str | None" = None
    rounds: int = 1
    participation: "Exact" = 1
    least_parties: int = 2
    level: "Literal['record'] | ClientLevel" = "record"
    topology: Graph | Gossip | None = None
    masks: Masks | None = None
    combine: RobustRule | None = None
    budget: Any = field(default=None, repr=False)
    source: "Source | None" = field(default=None, repr=False)

    def __post_init__(self) -> None:
        update: object = self.update
        if not isinstance(update, UPDATES):
            raise ParameterError("federated.unknown_update", update=safe_repr(update))
        if self.epsilon is None and self.rho is None:
            raise ParameterError("federated.no_privacy_target")
        parties = choose_columns(read_parties(self.parties), self.features, self.target)
        least = int(exact_integer(self.least_parties, name="least_parties"))
        if least > len(parties):
            raise ParameterError("federated.too_few_parties_for_least", least=least, found=len(parties))
        exact_integer(self.rounds, name="rounds")
        if exact_probability(self.participation, name="participation") == 0:
            raise ParameterError("federated.nobody_participates")
        self._check_ways(parties)
        object.__setattr__(self, "parties", parties)
        object.__setattr__(self, "least_parties", least)

    def _check_ways(self, parties: tuple[Party, ...]) -> None:
        """Refuse masks, levels, graphs and rules that are none, or that do not go together."""
        if not isinstance(self.masks, Masks | None):
            raise ParameterError("federated.not_masks", masks=safe_repr(self.masks))
        if self.level != "record" and not isinstance(self.level, ClientLevel):
            raise ParameterError("federated.unknown_level", level=safe_repr(self.level))
        if not isinstance(self.topology, Graph | Gossip | None):
            raise ParameterError("federated.not_a_topology", topology=safe_repr(self.topology))
        if (self.masks is not None or self.topology is not None) and self.participation != 1:
            raise ParameterError("federated.masks_need_all_parties")
        if self._graph is not None:
            check_parties(self._graph, tuple(one.name for one in parties))
        if not isinstance(self.combine, RobustRule | None):
            raise ParameterError("federated.not_a_rule", rule=safe_repr(self.combine))
        if self.combine is not None and (self.masks is not None or self.topology is not None):
            raise ParameterError("federated.rule_needs_messages")
        alone = (self.masks, self.topology, self.combine) == (None, None, None) and self.level == "record"
        if isinstance(self.update, SGD) and self.update.control_variates and not alone:
            raise ParameterError("federated.variates_need_messages")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parties."""
        return tuple(one.name for one in self.parties)

    @property
    def needed_parties(self) -> int:
        """How many parties must contribute in a round: ``least_parties``, or more under masks or a rule."""
        masked = 0 if self.masks is None else len(self.parties) - self.masks.silent
        return max(self.least_parties, masked, 0 if self.combine is None else self.combine.least_parties)

    def preview(self) -> FederationPreview:
        """Return the cost, the noise and the traffic of a training. No record is read, and nothing is spent.

        It follows from names, columns, bounds and classes alone; under replace-one also from how many records there
        are, which is public there.
        """
        plan, names = self._plan_withheld(), self.names
        scale = plan.get_noise_scale(float(plan.find_spread(len(names))))
        return FederationPreview(
            guarantee=plan.guarantee,
            event=plan.event,
            parties=names,
            rounds=plan.rounds,
            bytes_per_party=plan.find_bytes(len(names)),
            noise_scale=scale,
            noise_ratio=scale / plan.get_noise_scale(1),
            masks=self.masks,
            server=self.topology is None,
        )

    def run(
        self,
        checkpoint: "str | Path | None" = None,
        *,
        on_round: Callable[[int, Any], None] | None = None,
        transport: "Transport | None" = None,
    ) -> Any:
        """Pay, train, and return the model; ``model.history_`` has what each round received and rejected.

        ``checkpoint`` is a file for the progress. A training that was cut off goes on from it with the next round, pays
        nothing again and repeats no noise; the round that was cut off is lost.

        ``on_round`` is called after each round with its number and the model so far, and replaces the progress bar.
        That model is released, and has the guarantee of all rounds. An error that it raises ends the training, whose
        cost stays spent.

        ``transport`` asks parties whose records are elsewhere.
        """
        remote = [one.name for one in self.parties if one.is_remote]
        if remote and transport is None:
            raise InputError("federated.records_elsewhere", name=safe_repr(remote[0]))
        if transport is not None and self.masks is not None and not isinstance(transport, MessageTransport):
            raise ParameterError("federated.transport_without_exchange")
        with ExitStack() as opened:
            plan = self._plan(tuple(one.open(opened) for one in self.parties))
            return self._train(plan, checkpoint, on_round, transport)

    def _train(
        self,
        plan: "UpdatePlan",
        checkpoint: "str | Path | None",
        on_round: Callable[[int, Any], None] | None,
        transport: "Transport | None",
    ) -> Any:
        sources = PartySources(self.source)
        question = f"Train {self.update!r} with {len(self.parties)} parties in {plan.rounds} rounds"
        with Checkpoint(None if checkpoint is None else Path(checkpoint)) as file:
            progress = file.load(fingerprint(plan, self.names, (self.update, self.combine, *self._columns)))
            paid = find_reservation(self.budget, progress, plan)
            with spend(
                self.budget,
                self.source,
                plan.event,
                plan.guarantee,
                question=question,
                kind="federated",
                reservation=paid,
            ) as payment:
                reservation = payment.reservation
                progress = replace(progress, reservation=None if reservation is None else reservation.id)
                training = Training(
                    plan=plan,
                    names=self.names,
                    least=self.needed_parties,
                    participation=exact_probability(self.participation, name="participation"),
                    sources=sources,
                    on_round=None if on_round is None else make_listener(plan, on_round, seeded=sources.seeded),
                    transport=transport,
                )
                progress = training.run(progress, file)
                model = finish(plan, progress, seeded=sources.seeded)
                payment.deliver(progress.states[-1])
            file.remove()
        model.history_ = progress.history
        against = name_adversaries(self.masks, server=self.topology is None)
        told = f"{len(self.parties)} parties, {plan.rounds} rounds; the guarantee holds against {against}"
        model.provenance_ = {**getattr(model, "provenance_", {}), "federation": told}
        return model

    def plan(self) -> "UpdatePlan":
        """Read and check the records, and plan the rounds; nothing is summed, spent or released."""
        opened = ExitStack()  # not closed: tables stay open as long as the plan
        return self._plan(tuple(one.open(opened) for one in self.parties))

    def _plan_withheld(self) -> "UpdatePlan":
        """Plan the rounds without reading a record."""
        return self._plan(tuple(one.withhold() for one in self.parties))

    def _plan(self, parties: tuple[Party, ...]) -> "UpdatePlan":
        privacy: dict[str, Any] = {
            name: getattr(self, name) for name in ("epsilon", "delta", "rho", "adjacency", "budget")
        }
        privacy |= {"gaussian": self.masks is not None, "server": self.topology is None}
        rounds = int(exact_integer(self.rounds, name="rounds"))
        if isinstance(self.level, ClientLevel):
            if isinstance(self.update, OneShot):
                raise ParameterError("federated.one_shot_for_records")
            plan: UpdatePlan = self.update.plan_clients(
                parties, self.level.find_target(privacy), self.level.clip, rounds
            )
        else:
            if self.rho is not None and self.epsilon is None:
                privacy["epsilon"] = 1  # an estimator's own epsilon gives way to a rho
            privacy["adjacency"] = find_adjacency(parties, self.adjacency, self.budget)
            plan = self.update.plan(parties, privacy, rounds)
        if self.masks is not None:
            return self.masks.plan(plan, self.names, self._graph)
        if self.combine is not None:
            return plan_robust(plan, self.combine, len(parties))
        gossip = Gossip(weights=self.topology) if isinstance(self.topology, Graph) else self.topology
        return plan if gossip is None else gossip.plan(plan, self.names)

    def who_learns_what(
        self, *, delta: "Exact | None" = None, coalitions: "Collection[Collection[str]]" = ()
    ) -> "Disclosure":
        """Return what each party of the graph, and each coalition, learns about each other one, before training.

        No record is read. Under masks it supposes that no party falls silent.
        """
        if self._graph is None:
            raise ParameterError("federated.no_topology")
        plan = self._plan_withheld()
        given = plan.target.delta if delta is None else exact_delta(delta)
        if not isinstance(plan, MaskedPlan):
            return who_learns_what(self._graph, FreshNoise(event=plan.event), delta=given, coalitions=coalitions)
        method = MaskedSums(event=plan.share_event, rounds=plan.rounds)
        return who_learns_what(self._graph, method, delta=given, coalitions=coalitions)

    @property
    def _columns(self) -> tuple[str, ...]:
        """The columns of the parties' tables, as their schemas declare them; the bounds of arrays are in the update."""
        table = self.parties[0].table
        return () if table is None else (table.describe(), str(self.target))

    @property
    def _graph(self) -> Graph | None:
        return self.topology.graph if isinstance(self.topology, Gossip) else self.topology
