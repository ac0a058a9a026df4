"""A training whose parties share one noise under masks, instead of adding a whole one each.

The server sees only the sum of the parties that answered (``masking``). So the noise needs to be enough once, not once
in each message: each party adds a share of it, such that the shares of honest parties that did not fall silent add up
to it. Their sum is nearly a discrete Gaussian, and its event pays for the difference. The guarantee is computational:
it holds against whoever cannot break X25519 or ChaCha20.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from celosia.core.errors import ParameterError
from celosia.core.events import GaussianEvent, SummedGaussianEvent
from celosia.core.exact import exact_integer
from celosia.federated.masking.messages import count_masking_bytes
from celosia.federated.masking.noise_shares import NoiseShares
from celosia.federated.masking.round import run_round
from celosia.federated.masking.settings import MaskingSettings
from celosia.federated.masking.simulation import sum_masked
from celosia.federated.transport import MessageTransport
from celosia.federated.updates.plan import Integers, State, UpdatePlan
from celosia.federated.updates.wrapped import WrappedPlan
from celosia.learn.sgd.price import keeps

if TYPE_CHECKING:
    from celosia.core import Source
    from celosia.core.events import Event
    from celosia.federated.contributions import RoundSum
    from celosia.federated.topology.graph import Graph
    from celosia.federated.transport import Transport

_LEAST_EXTRA: Final = Fraction(1, 2**40)  # of a variance
_MOST_EXTRA: Final = 2
_MAX_COALITIONS: Final = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Masks:
    """Masks that hide all but the sum, and how many parties may collude with the server or fall silent.

    More colluders or silent parties mean more noise: shares of the others must be enough. A round in which more fall
    silent is given up, and nothing of it is seen. A party that sees the model knows its own share of the noise, so that
    ``colluders=0`` protects against those who are no party only.

    >>> Masks(silent=2)
    Masks(colluders=1, silent=2)
    """

    colluders: int = 1
    silent: int = 0

    def __post_init__(self) -> None:
        exact_integer(self.colluders, name="colluders", least=0)
        exact_integer(self.silent, name="silent", least=0)

    def plan(self, inner: UpdatePlan, names: tuple[str, ...], graph: "Graph | None" = None) -> "MaskedPlan":
        """Return the plan of the same training under masks: of all pairs, or of the edges of a graph."""
        event, parties = _read_event(inner), len(names)
        if self.silent > (most := (parties - 1) // 2):
            raise ParameterError("federated.too_many_silent", parties=parties, most=most)
        settings = MaskingSettings(
            federation="in one process",
            number=0,
            parties=names,
            width=inner.width,
            threshold=parties - self.silent,
            edges=None if graph is None else graph.edges,
        )
        allowed = {"parties": parties, "colluders": self.colluders, "silent": self.silent}
        if graph is not None:
            allowed = {"parties": self._find_smallest_group(graph)}
        parts = NoiseShares(variance=1, **allowed).parts
        shares = NoiseShares(variance=_find_variance(inner, event, parts), **allowed)
        return MaskedPlan(inner=inner, shares=shares, settings=settings)

    def _find_smallest_group(self, graph: "Graph") -> int:
        """Return how many shares are in the smallest sum that is visible, whoever colludes or falls silent.

        On a graph every party is an observer, who sees the sum of each component of the others.
        """
        size = max(self.colluders, 1) + self.silent
        if size >= len(graph.parties) or math.comb(len(graph.parties), size) > _MAX_COALITIONS:
            raise ParameterError("federated.too_many_coalitions", size=size, most=_MAX_COALITIONS)
        return min(
            len(group)
            for coalition in itertools.combinations(graph.parties, size)
            for group in graph.find_components(coalition)
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class MaskedPlan(WrappedPlan):
    """A plan whose noise is shared by the parties, and whose sums are masked."""

    shares: NoiseShares
    settings: MaskingSettings

    @property
    def noise(self) -> None:
        """None: no message needs a whole noise."""
        return

    @property
    def noise_event(self) -> "Event":
        """What the shared noise costs."""
        return SummedGaussianEvent.of(_read_event(self.inner), parts=self.shares.parts, variance=self.shares.variance)

    @property
    def share_event(self) -> GaussianEvent:
        """What the share of one party would cost by itself, under the adjacency of the target."""
        event = _read_event(self.inner)
        grown = 1 if event.adjacency is self.target.adjacency else 4  # one record removed and another added
        return replace(
            event,
            variance=self.shares.share,
            sensitivity_squared=grown * event.sensitivity_squared,
            adjacency=self.target.adjacency,
        )

    def add_noise(self, exact: Sequence[Integers], sources: "Sequence[Source]") -> Sequence[Integers]:
        """Add its share of the noise to what each party computed."""
        return [
            np.asarray(one).astype(np.int64) + self.shares.draw(len(one), source)
            for one, source in zip(exact, sources, strict=True)
        ]

    def find_spread(self, parties: int) -> Fraction:
        """Return the variance of the noise in a total, in times that of a whole noise without masks."""
        return self.shares.share * parties / _read_event(self.inner).variance

    def find_bytes(self, parties: int) -> int:
        """Return how many bytes a party sends in a round: masked numbers, keys and shares."""
        return count_masking_bytes(self.settings)[0] if parties else 0

    def add_up(
        self,
        contributions: Mapping[str, object],
        *,
        parties: int,  # noqa: ARG002 - stated in the settings
        number: int,
        source: "Source",
    ) -> "RoundSum":
        """Run the messages of a masked round, and return the sum."""
        given: dict[str, Any] = dict(contributions)
        found = sum_masked(
            given, threshold=self.settings.threshold, edges=self.settings.edges, number=number, source=source
        )
        return replace(found, spread=self.find_spread(len(found.accepted)))

    def receive(
        self,
        transport: "Transport",
        number: int,
        names: Sequence[str],  # noqa: ARG002 - all of the settings
        state: State,
        *,
        parties: int,  # noqa: ARG002 - stated in the settings
        source: "Source",  # noqa: ARG002 - parties draw their own secrets
    ) -> "RoundSum":
        """Run the messages of a masked round with parties elsewhere, and return the sum."""
        assert isinstance(transport, MessageTransport)  # noqa: S101 - for the type checker: Federation.run refuses others
        found = run_round(
            self.get_round(transport.digest, number),
            lambda step, messages: transport.exchange(
                number, step, messages, state if step == "numbers" else np.zeros(0)
            ),
        )
        return replace(found, spread=self.find_spread(len(found.accepted)))

    def get_round(self, federation: str, number: int) -> MaskingSettings:
        """Return the settings of a round of a federation over a network, which its digest names."""
        return replace(self.settings, federation=federation, number=number)

    def finish(self, states: Sequence[State], spread: Fraction, *, seeded: bool) -> Any:
        """Return the model, from the states after all rounds, with the event of the shared noise."""
        model = self.inner.finish(states, spread, seeded=seeded)
        model.event_ = self.event
        return model


def _read_event(inner: UpdatePlan) -> GaussianEvent:
    """Return what the whole noise of one party costs; refuse a plan whose noise cannot be shared."""
    if inner.noise is None:
        raise ParameterError("federated.masks_need_one_step")
    event = inner.noise.event
    if not isinstance(event, GaussianEvent):
        raise ParameterError("federated.masks_need_delta")
    if event.dimension != inner.width:
        raise ParameterError("federated.estimator_with_several_noises")
    return event


def _find_variance(inner: UpdatePlan, event: GaussianEvent, parts: int) -> Fraction:
    """Return the least variance, nearly that of a whole noise, with which shared noise keeps the target."""
    variance, extra = event.variance, _LEAST_EXTRA
    while extra <= 4 * _MOST_EXTRA:
        shared = SummedGaussianEvent.of(event, parts=parts, variance=variance)
        if keeps(inner.compose(shared, inner.rounds), inner.guarantee):
            return variance
        variance, extra = event.variance * (1 + extra), extra * 4
    raise ParameterError("federated.masks_need_wider_noise")
