"""A protocol as somebody else would write it: Warner's randomized response to one question, with yes or no."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core import InputError
from celosia.core.exact import Exact, exact_epsilon
from celosia.local import Estimate, Protocol
from celosia.local.base.estimate import estimate_of
from celosia.noise.bernoulli import bernoulli_logistic, flip_logistic

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core import Source
    from celosia.local import Aggregate
    from celosia.local.base.packing import Bytes
    from celosia.local.base.protocol import State

ANSWERS = ["no", "yes"]


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class Warner(Protocol[Estimate]):
    """One bit: the truth with probability e^epsilon / (e^epsilon + 1)."""

    question: str

    def __init__(self, *, question: str, epsilon: Exact) -> None:
        self._set(question=question, epsilon=exact_epsilon(epsilon))

    @property
    def bits(self) -> int:
        return 1

    def variance(self, reports: int, count: float = 0.0) -> float:
        del count
        return reports / (2 * math.sinh(float(self.epsilon) / 2)) ** 2

    def outputs(self) -> Bytes:
        return np.array([[0], [1]], dtype=np.uint8)

    def log_masses(self, value: Any, payload: Bytes) -> NDArray[np.float64]:
        lie = math.exp(-float(self.epsilon))
        logs: NDArray[np.float64] = np.log(np.where(payload[:, 0] == ANSWERS.index(value), 1.0, lie) / (1 + lie))
        return logs

    def _read(self, values: Any) -> NDArray[np.int64]:
        if not isinstance(values, list) or any(not isinstance(value, str) or value not in ANSWERS for value in values):
            message = "values must be a list of yes and no."
            raise InputError(message)
        return np.array([ANSWERS.index(value) for value in values], dtype=np.int64)

    def _draw(self, read: NDArray[np.int64], source: Source) -> Bytes:
        return (read ^ ~bernoulli_logistic(self.epsilon, read.size, source=source)).astype(np.uint8)[:, None]

    def _draw_one(self, read: Any, source: Source) -> int:
        return int(read) ^ (not flip_logistic(self.epsilon, source=source))

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return {"yes": (1,)}

    def _absorb(self, state: State, payload: Bytes) -> None:
        state["yes"] += int(payload.sum())

    def _estimate(self, aggregate: Aggregate[Any], candidates: Any, postprocess: str | None) -> Estimate:
        n, gap = aggregate.reports, math.tanh(float(self.epsilon) / 2)
        yes = (int(aggregate.state["yes"][0]) - n * (1 - gap) / 2) / gap
        asked = ANSWERS if candidates is None else list(candidates)
        variances = np.full(len(asked), self.variance(n))
        return estimate_of(
            asked,
            np.array([yes if answer == "yes" else n - yes for answer in asked]),
            variances=variances,
            null_variances=variances,
            reports=n,
            postprocess=postprocess,
        )
