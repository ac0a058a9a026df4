"""An audit of a whole round of a federation: how well all messages distinguish two neighbours.

One party gets a neighbour's records, and the round is run many times on either side, with what the parties really
compute and add. The observer sees all messages; under masks, the sum of the parties that do not collude with it. The
claim is what an accountant says of one round. Jagielski, Ullman and Oprea, *Auditing differentially private machine
learning*, 2020.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from celosia.accounting import best
from celosia.audit.distinguish import Distinction, compare
from celosia.audit.draws import gather
from celosia.core import EngineError, ParameterError
from celosia.core.exact import Exact, exact_delta, exact_integer, safe_repr
from celosia.federated import Federation
from celosia.noise import Seeded

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from celosia.core import Source
    from celosia.federated.updates.plan import UpdatePlan

Rows = NDArray[np.int64]
Events = Mapping[str, Callable[[Any], NDArray[np.bool_]]]

_PILOT: Final = 2000
_CHUNK: Final = 4096
_LEVELS: Final = (0.001, 0.003, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundAudit:
    """What was found, beside the epsilon that is claimed for a round at the same delta. See `audit_round`.

    >>> from celosia.audit import distinguish
    >>> found = distinguish(lambda value, count, source: [value] * count, 0, 1, samples=2_000)
    >>> RoundAudit(found=found, claimed=1.0).is_broken
    True
    """

    found: Distinction
    claimed: float

    @property
    def is_broken(self) -> bool:
        """Whether more was found than is claimed."""
        return self.found.epsilon > self.claimed

    def __str__(self) -> str:
        return f"{'BROKEN' if self.is_broken else 'Nothing found'}: claimed epsilon {self.claimed:.4g}, {self.found}"


def audit_round(  # noqa: PLR0913 - what to run, on what, and how hard to look
    federation: Federation,
    party: str,
    records: Any,
    *,
    state: "ArrayLike | None" = None,
    samples: int = 20_000,
    delta: Exact = "0.01",
    failure: float = 1e-6,
    source: "Source | None" = None,
) -> RoundAudit:
    """Return a lower bound on the epsilon of one round, beside the claim.

    Parameters
    ----------
    federation
        All its records are in this process. **Audit with made-up records**: an audit pays nothing, and its result is
        not private. A few records that a party contributes fully tell most.
    party, records
        Who has other records on the other side, and which: those of a neighbour, as for a ``Federation``.
    state
        The public state before the round; by default that of the first round.
    samples
        How many rounds to run on each side.
    delta
        Claim and finding are for it. A small one needs more samples than one has.
    failure
        The probability that a federation which keeps its claim is found to break it.
    source
        A seeded one by default, so that the same call gives the same answer.

    Examples
    --------
    >>> from celosia.federated import OneShot
    >>> from celosia.learn import StandardScaler
    >>> update = OneShot(StandardScaler(bounds=(0, 1)))
    >>> federation = Federation(parties={"north": [[1.0], [1.0]], "south": [[0.2]]}, update=update, epsilon=2)
    >>> audit = audit_round(federation, "north", [[1.0]], samples=4000)
    >>> audit.is_broken, 0.5 < audit.found.epsilon < audit.claimed < 2
    (False, True)
    """
    count = exact_integer(samples, name="samples", least=100)
    plan, near = federation.plan(), _replace_records(federation, party, records).plan()
    if plan.event != near.event:
        raise ParameterError("audit.neighbours_cost_differently", party=safe_repr(party))
    start = plan.start() if state is None else np.asarray(state, dtype=np.float64)
    seen = _list_seen(federation, party)
    drawn = Seeded(0) if source is None else source

    def draw(of: "UpdatePlan", number: int) -> Rows:
        return np.concatenate(
            [
                _draw(of, federation.names, seen, start, min(_CHUNK, number - done), drawn)
                for done in range(0, number, _CHUNK)
            ]
        )

    events = _make_events(draw(plan, _PILOT), draw(near, _PILOT))
    first, second = gather(draw(plan, count)), gather(draw(near, count))
    stated = exact_delta(delta)
    found = [
        compare(first, second, None, None, delta=float(stated), failure=failure / 2, events=chosen)
        for chosen in (events, None)
    ]
    claimed = best(plan.get_round_event(1), stated).guarantee
    return RoundAudit(found=max(found, key=lambda one: one.epsilon), claimed=float(claimed.epsilon))


def _replace_records(federation: Federation, party: str, records: Any) -> Federation:
    if party not in federation.names:
        raise ParameterError("audit.unknown_party", party=safe_repr(party))
    features, target = records if isinstance(records, tuple) else (records, None)
    parties = [replace(one, X=features, y=target) if one.name == party else one for one in federation.parties]
    return replace(federation, parties=parties)


def _list_seen(federation: Federation, party: str) -> list[int] | None:
    """Return whose sum is seen under masks; None where all messages are."""
    if federation.masks is None:
        return None
    others = [place for place, name in enumerate(federation.names) if name != party]
    known = set(others[: federation.masks.colluders])
    return [place for place in range(len(federation.names)) if place not in known]


def _draw(
    plan: "UpdatePlan", names: tuple[str, ...], seen: list[int] | None, state: Any, count: int, source: "Source"
) -> Rows:
    """Return what the observer sees of so many rounds, in rows."""
    sources = [source] * (len(names) * count)
    computed = plan.compute(names * count, state, sources)
    exact = [one for one in computed if one is not None]
    if len(exact) < len(computed):
        raise EngineError("audit.party_without_result")
    sent = np.stack(plan.add_noise(exact, sources)).reshape(count, len(names), plan.width)
    return sent.reshape(count, -1) if seen is None else sent[:, seen].sum(axis=1)


def _make_events(first: Rows, second: Rows) -> Events:
    """Return thresholds on the direction in which the means of pilot rounds differ."""
    away = second.mean(axis=0) - first.mean(axis=0)
    scores = first @ away, second @ away
    cuts = np.unique(np.concatenate([np.quantile(one, (*_LEVELS, *(1 - np.array(_LEVELS)))) for one in scores]))

    def above(cut: float) -> Callable[[Any], NDArray[np.bool_]]:
        return lambda rows: np.asarray(rows @ away > cut)

    def below(cut: float) -> Callable[[Any], NDArray[np.bool_]]:
        return lambda rows: np.asarray(rows @ away <= cut)

    events = {f"the difference of the sides is seen above {cut:.6g}": above(cut) for cut in cuts.tolist()}
    return events | {f"the difference of the sides is seen up to {cut:.6g}": below(cut) for cut in cuts.tolist()}
