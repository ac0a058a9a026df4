"""One round: every party sends the noisy sums of its records, and the model is solved from their total.

Least squares, naive Bayes, principal components and scalers depend on records only through sums. Sums add up over the
parties, so one noisy message of each is enough: whatever is computed from the total, such as any number of gradient or
proximal rounds on it, is post-processing and costs nothing. The sums are integers, the same as for all records in one
place. Each party adds the noise that its message alone needs, so the total of n parties has n times the variance of a
fit in one place.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core.errors import InputError, ParameterError
from celosia.core.exact import safe_repr
from celosia.core.guarantees import ApproxDP, PureDP
from celosia.federated.parties.party import read_from
from celosia.federated.updates.plan import State, UpdatePlan, Weights
from celosia.federated.updates.shape import copy_estimator, read_example, set_privacy
from celosia.learn.base.fit_spec import read_spec
from celosia.learn.base.summaries import SummaryEstimator
from celosia.ledger.budget_account import as_account
from celosia.statistics.base.summary_request import Provenance, SummaryRequest
from celosia.statistics.base.target import is_infinite

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from celosia.core import Source
    from celosia.federated.contributions import RoundSum
    from celosia.federated.parties.party import Party
    from celosia.learn.base.exact import ExactSums
    from celosia.query.answering.fitting import Fitting
    from celosia.statistics.base.noise import Noise
    from celosia.statistics.base.target import Target

_MAX_SUM = 2**62 - 1


@dataclass(frozen=True, slots=True, eq=False)
class OneShot:
    """Fit an estimator of ``celosia.learn`` that learns from sums, in one round.

    Parameters
    ----------
    estimator
        ``LinearRegression``, ``Ridge``, ``GaussianNB``, ``CategoricalNB``, ``PCA`` or ``StandardScaler``, with public
        bounds and classes; of tables, these are in the schema. The federation sets its privacy parameters.

    Examples
    --------
    >>> from celosia.learn import Ridge
    >>> OneShot(Ridge(bounds=(0, 1), bounds_y=(0, 1)))
    OneShot(Ridge)
    """

    estimator: Any

    def __post_init__(self) -> None:
        if not isinstance(self.estimator, SummaryEstimator):
            raise ParameterError("federated.estimator_not_from_sums", type=safe_repr(type(self.estimator).__name__))

    def plan(self, parties: "tuple[Party, ...]", privacy: Mapping[str, Any], rounds: int = 1) -> "OneShotPlan":
        """Read and check the records of all parties, and plan the sums; nothing is summed or released."""
        if rounds != 1:
            raise ParameterError("federated.one_shot_has_one_round", rounds=rounds)
        if parties[0].table is not None:
            return self._plan_tables(parties, privacy)
        model = copy_estimator(self.estimator, privacy)
        request = read_example(model, parties, model.plan_sums)
        held = [one for one in parties if not one.is_remote]
        for one in held:
            _check_records(model, one)
        return OneShotPlan(
            model=model,
            request=request,
            sums={one.name: partial(_sum_records, model, one, request) for one in held},
            records=_read_weights(parties),
        )

    def _plan_tables(self, parties: "tuple[Party, ...]", privacy: Mapping[str, Any]) -> "OneShotPlan":
        """Plan sums that the engines of the parties' tables compute, from their schemas alone."""
        if privacy["rho"] is None and is_infinite(privacy["epsilon"]):
            raise ParameterError("learn.sums_need_privacy")
        model = set_privacy(self.estimator, privacy)
        limit = None if privacy["budget"] is None else as_account(privacy["budget"]).limit
        exact = limit is None or isinstance(limit, PureDP | ApproxDP)
        tables = {one.name: one.table for one in parties if one.table is not None}
        fittings = {name: table.plan_sums(model, exact=exact) for name, table in tables.items()}
        for one in parties:
            if not one.is_remote:
                read_from(one, partial(tables[one.name].check, fittings[one.name].plan))
        first = fittings[parties[0].name]
        return OneShotPlan(
            model=model,
            request=first.request,  # the same for all: it follows from the schema and the limits
            sums={one.name: partial(_sum_table, one, fittings[one.name]) for one in parties if not one.is_remote},
            records=_read_weights(parties),
            schema=first.schema,
        )

    def __repr__(self) -> str:
        return f"OneShot({type(self.estimator).__name__})"


def _read_weights(parties: "tuple[Party, ...]") -> dict[str, int]:
    """Return how many records parties have, publicly; the same for all where that is not stated for all."""
    stated = all(one.records is not None for one in parties)
    return {one.name: one.records or 1 if stated else 1 for one in parties}


def _check_records(model: Any, party: "Party") -> None:
    """Raise for records that cannot be summed, before they are paid for."""
    classes = getattr(model, "classes_", None)
    read_from(party, lambda: model.read_data(party.X, party.y, classes, first=False))


def _sum_records(model: SummaryEstimator, party: "Party", request: SummaryRequest, _: "Source") -> "NDArray[Any]":
    found: ExactSums = read_from(party, lambda: model.sum_records(party.X, party.y, request))
    return found.combine()


def _sum_table(party: "Party", fitting: "Fitting", source: "Source") -> "NDArray[Any]":
    table = party.table
    assert table is not None  # noqa: S101 - for the type checker: the sums are planned for one
    found: NDArray[Any] = read_from(party, partial(table.read_sums, fitting, source))
    return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OneShotPlan(UpdatePlan):
    """The plan of one round; ``sums`` computes the exact sums of parties in this process, which are never shown."""

    model: Any
    request: SummaryRequest
    sums: "Mapping[str, Callable[[Source], NDArray[Any]]]" = field(repr=False)
    records: Mapping[str, int] = field(repr=False)
    schema: str | None = None
    rounds: int = 1

    def __post_init__(self) -> None:
        # A request that draws several noises states the first of them only: messages would have too little.
        if type(self.request).release is not SummaryRequest.release:
            raise ParameterError("federated.estimator_with_several_noises")

    @property
    def width(self) -> int:
        """How many integers a party sends."""
        return self.request.width

    @property
    def target(self) -> "Target":
        """The privacy target."""
        return read_spec(self.request).privacy

    @property
    def noise(self) -> "Noise":
        """The noise of a party's sums."""
        return self.request.noise

    def start(self) -> State:
        """Return a total of 0."""
        return np.zeros(self.width, dtype=np.int64)

    def compute(
        self,
        parties: "Sequence[str]",
        state: State,  # noqa: ARG002 - sums do not depend on it
        sources: "Sequence[Source]",
    ) -> "Sequence[NDArray[np.int64] | None]":
        """Sum the records of parties, exactly."""
        return [self.sums[name](source) for name, source in zip(parties, sources, strict=True)]

    def find_weights(self, parties: "Sequence[str]") -> Weights:
        """Return how many records parties state, or 1 for all."""
        return np.array([self.records[name] for name in parties], dtype=np.int64)

    def find_center(self, state: State) -> None:
        """Return None: what the sums of other parties are is not known before."""

    def advance(self, state: State, found: "RoundSum") -> State:  # noqa: ARG002 - there is one round
        """Return the total."""
        if max(map(abs, found.total), default=0) > _MAX_SUM:
            raise InputError("core.too_many_rows")
        return found.total.astype(np.int64)

    def finish(self, states: "Sequence[State]", spread: "Fraction", *, seeded: bool) -> Any:
        """Return the model of the total."""
        widened = replace(self.request, noise=self.request.noise.widen(spread))
        return self.model.finish_fit(states[-1], widened, Provenance(seeded=seeded, schema=self.schema))
