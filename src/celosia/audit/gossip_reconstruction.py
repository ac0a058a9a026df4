"""The reconstruction attack on gossip: a neighbour solves its messages for the noisy inputs of the others.

Parties that add noise once and then average send known linear functions of their noisy inputs. After a few steps an
observer has as many equations as there are others, and rebuilds what each of them put in: averaging has hidden nothing
beyond their own noise. El Mrini, Cyffers and Bellet, *Privacy attacks in decentralized learning*, 2024.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from celosia.core import ParameterError
from celosia.core.exact import exact_integer, safe_repr
from celosia.core.messages.message import Message
from celosia.federated import Weights
from celosia.federated.disclosure.views import check_weights, list_observers
from celosia.plots import Labels, matrices

if TYPE_CHECKING:
    import altair as alt
    from numpy.typing import ArrayLike

_LEAST_SINGULAR: Final = 1e-9  # relative: equations below it say nothing that rounding has left
_DETERMINED: Final = 1e-6  # how far a resolution may be from 1
_FULL_DIGITS: Final = 16.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GossipReconstruction:
    """What observers rebuilt: ``estimates`` has a row for each observer, NaN where a noisy input is not determined.

    ``errors`` has the distance of each estimate from the noisy input. See ``rebuild_inputs``.

    >>> from celosia.federated import make_graph, metropolis_weights
    >>> print(rebuild_inputs(metropolis_weights(make_graph("star", 3)), [4, 5, 6], steps=1))
    1 rebuilt 2 of 2 noisy inputs.
    2 rebuilt 1 of 2 noisy inputs.
    3 rebuilt 1 of 2 noisy inputs.
    After 1 step; the largest error is 0.
    """

    parties: tuple[str, ...]
    observers: tuple[tuple[str, ...], ...]
    steps: int
    estimates: NDArray[np.float64] = field(repr=False)
    errors: NDArray[np.float64] = field(repr=False)

    @property
    def complete(self) -> tuple[tuple[str, ...], ...]:
        """The observers that rebuilt the inputs of all others."""
        others = [len(self.parties) - len(one) for one in self.observers]
        found = np.isfinite(self.estimates).sum(axis=1)
        return tuple(one for one, most, count in zip(self.observers, others, found, strict=True) if count == most)

    def get_rebuilt(self, observer: str | Iterable[str]) -> Mapping[str, float]:
        """Return what one observer rebuilt, by party."""
        wanted = {observer} if isinstance(observer, str) else set(observer)
        rows = [row for row, one in enumerate(self.observers) if set(one) == wanted]
        if not rows:
            raise ParameterError("audit.unknown_observer", observer=safe_repr(observer))
        values = dict(zip(self.parties, self.estimates[rows[0]].tolist(), strict=True))
        return {name: value for name, value in values.items() if np.isfinite(value)}

    def __str__(self) -> str:
        counts = np.isfinite(self.estimates).sum(axis=1).tolist()
        others = [len(self.parties) - len(one) for one in self.observers]
        worst = f"{np.nanmax(self.errors):.1g}" if np.isfinite(self.errors).any() else "–"
        lines = [
            f"{' + '.join(one)} rebuilt {count} of {most} noisy inputs."
            for one, count, most in zip(self.observers, counts, others, strict=True)
        ]
        steps = "1 step" if self.steps == 1 else f"{self.steps} steps"
        return "\n".join([*lines, f"After {steps}; the largest error is {worst}."])

    def draw(self, *, language: str = "en") -> "alt.LayerChart":
        """Draw who rebuilt what, and how exactly: the darker, the more digits are right."""
        rebuilt = np.isfinite(self.errors)
        digits = np.clip(-np.log10(np.where(rebuilt, np.maximum(self.errors, 1e-16), 1.0)), 0, _FULL_DIGITS)
        own = np.array([[name in one for name in self.parties] for one in self.observers])
        texts = [["–" if np.isnan(one) else f"{one:.0e}" if one else "0" for one in row] for row in self.errors]
        labels = Labels(
            title=Message("audit.rebuilt_title", steps=self.steps),
            subtitle=Message("audit.rebuilt_subtitle"),
            x=Message("audit.rebuilt_party"),
            y=Message("audit.rebuilt_observer"),
            language=language,
        )
        names = [" + ".join(one) for one in self.observers]
        return matrices(names, self.parties, np.where(own, np.nan, digits), labels=labels, texts=texts)


def rebuild_inputs(
    weights: Weights, inputs: "ArrayLike", *, steps: int, coalitions: Iterable[Iterable[str]] = ()
) -> GossipReconstruction:
    """Run gossip, and let each party and some coalitions rebuild the noisy inputs of the others from what they receive.

    Parameters
    ----------
    weights
        Those of the averaging.
    inputs
        One number for each party, with its noise.
    steps
        How many times the parties send and average.
    coalitions
        Lists of parties that put together what they see.

    Examples
    --------
    >>> from celosia.federated import make_graph, metropolis_weights
    >>> weights = metropolis_weights(make_graph("creditors"))
    >>> found = rebuild_inputs(weights, [3, 1, 4, 1, 5, 9, 2], steps=3)
    >>> [name for (name,) in found.complete]
    ['1', '2', '3', '4', '6', '7']
    >>> {name: round(value, 6) for name, value in found.get_rebuilt("5").items()}
    {'4': 1.0}
    """
    checked, rounds = check_weights(weights), exact_integer(steps, name="steps")
    values = np.asarray(inputs, dtype=np.float64)
    if values.shape != (len(checked.graph.parties),) or not np.isfinite(values).all():
        raise ParameterError("audit.wrong_inputs", parties=len(checked.graph.parties))
    observers = list_observers(checked.graph, coalitions)
    sent = _gossip(checked.matrix, values, rounds)
    powers = _gossip(checked.matrix, np.eye(len(values)), rounds)
    estimates = np.array([_solve(checked, powers, sent, one) for one in observers])
    return GossipReconstruction(
        parties=checked.graph.parties,
        observers=observers,
        steps=rounds,
        estimates=estimates,
        errors=np.abs(estimates - values),
    )


def _gossip(matrix: NDArray[np.float64], start: NDArray[np.float64], steps: int) -> NDArray[np.float64]:
    """Return what the parties send in each step."""
    sent = [start]
    for _ in range(steps - 1):
        sent.append(matrix @ sent[-1])
    return np.array(sent)


def _solve(
    weights: Weights, powers: NDArray[np.float64], sent: NDArray[np.float64], observer: tuple[str, ...]
) -> NDArray[np.float64]:
    """Return the inputs that the messages to an observer determine, and NaN for the others."""
    own = weights.graph.find_places(observer)
    others = np.setdiff1d(np.arange(len(weights.matrix)), own)
    senders = np.setdiff1d(np.flatnonzero(weights.graph.adjacency[own].any(axis=0)), own)
    known = powers[:, senders][:, :, own] @ sent[0, own]
    left, sizes, right = np.linalg.svd(powers[:, senders][:, :, others].reshape(-1, len(others)), full_matrices=False)
    kept = sizes > _LEAST_SINGULAR * sizes[0]
    solution = right[kept].T @ ((left[:, kept].T @ (sent[:, senders] - known).ravel()) / sizes[kept])
    determined = (right[kept] ** 2).sum(axis=0) > 1 - _DETERMINED
    estimates = np.full(len(weights.matrix), np.nan)
    estimates[others] = np.where(determined, solution, np.nan)
    return estimates
