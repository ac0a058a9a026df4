"""A protocol of another package: Warner's randomized response to one question, with yes or no."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core import InputError
from celosia.core.exact import exact_epsilon
from celosia.local import Estimate, Protocol
from celosia.local.base.estimate import build_estimate
from celosia.local.catalogue import Entry
from celosia.noise.bernoulli import bernoulli_logistic, flip_logistic

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core import Source
    from celosia.local import Aggregate
    from celosia.local.base.packing import Bytes
    from celosia.local.base.protocol import State

ANSWERS = ["no", "yes"]


@dataclass(frozen=True, kw_only=True, repr=False)
class Warner(Protocol[Estimate]):
    """One bit: the truth with probability e^epsilon / (e^epsilon + 1)."""

    question: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", exact_epsilon(self.epsilon))

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

    def encode(self, values: Any) -> NDArray[np.int64]:
        if not isinstance(values, list) or any(not isinstance(value, str) or value not in ANSWERS for value in values):
            raise InputError("values must be a list of yes and no.")
        return np.array([ANSWERS.index(value) for value in values], dtype=np.int64)

    def sample(self, items: NDArray[np.int64], source: Source) -> Bytes:
        return (items ^ ~bernoulli_logistic(self.epsilon, items.size, source=source)).astype(np.uint8)[:, None]

    def sample_one(self, item: Any, source: Source) -> int:
        return int(item) ^ (not flip_logistic(self.epsilon, source=source))

    @property
    def state_shapes(self) -> dict[str, tuple[int, ...]]:
        return {"yes": (1,)}

    def accumulate(self, state: State, payload: Bytes) -> None:
        state["yes"] += int(payload.sum())

    def estimate(self, aggregate: Aggregate[Any], candidates: Any, postprocess: str | None) -> Estimate:
        n, gap = aggregate.reports, math.tanh(float(self.epsilon) / 2)
        yes = (int(aggregate.state["yes"][0]) - n * (1 - gap) / 2) / gap
        labels = ANSWERS if candidates is None else list(candidates)
        variances = np.full(len(labels), self.variance(n))
        return build_estimate(
            labels,
            np.array([yes if answer == "yes" else n - yes for answer in labels]),
            variances=variances,
            null_variances=variances,
            reports=n,
            postprocess=postprocess,
        )


ENTRY = Entry(name="warner", kind=Warner, summary="Warner's randomized response", task="counts", options=("question",))
"""The object that the entry point ``warner = "package.module:ENTRY"`` names."""
