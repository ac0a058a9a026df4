"""Flower's own privacy for whole parties: the accuracy at the same true epsilon, on breast cancer.

199 parties with two records each take five steps of gradient descent in each of ten rounds. The clipping, the mean and
the noise are Flower's own code, called without a network: that would change nothing but time. The step, and the length
to which movements are cut, are the best of several, which is not paid for; and the model is the mean of those after the
later rounds. Both favour Flower, as does that its server is trusted with the movements, except for ``LocalDpMod``.

One of n parties is replaced by any other. Then the mean of n movements, none longer than the clip C, changes by at most
2C/n, and its noise has the deviation zC/n (z is the ``noise_multiplier``), so that T rounds are Gaussian DP of 2√T/z,
exactly. Adaptive clips cost the same, for 4/z'² + 1/b² = 4/z², where z' is what the wrapper makes of z, and b the
deviation of the noise in its count. A message of ``LocalDpMod`` changes by at most 2C, and has the deviation that its
epsilon and delta are turned into.
"""

from __future__ import annotations

import functools
import importlib
import itertools
import logging
import os
import tempfile
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

os.environ |= {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_HOME": tempfile.mkdtemp(),
}

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict
from flwr.clientapp.mod import LocalDpMod
from flwr.serverapp.strategy import (
    DifferentialPrivacyServerSideAdaptiveClipping,
    DifferentialPrivacyServerSideFixedClipping,
    FedAvg,
)
from scipy.optimize import brentq
from scipy.stats import norm

from benchmarks.peers.people import load, splits
from benchmarks.peers.stopwatch import main

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

PARTIES, RECORDS, ROUNDS, STEPS, DELTA, SPLITS = 199, 2, 10, 5, 1e-5, 10
STEP_SIZES = (1, 4, 16)  # for features from -1 to 1
CLIPS = (1.5, 3, 6)
TINY = 1e-9  # Flower divides by how far a model has moved


def find_mu(epsilon: float) -> float:
    """Return the Gaussian DP that is epsilon and delta (Dong, Roth and Su 2019)."""

    def excess(mu: float) -> float:
        least = norm.cdf(mu / 2 - epsilon / mu) - np.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
        return float(least) - DELTA

    return float(brentq(excess, 1e-3, 50))


def move(weights: Numbers, rows: Numbers, labels: Numbers, step: float) -> Numbers:
    """Return the weights of each party after its steps of logistic regression."""
    local = np.repeat(weights[None], PARTIES, axis=0)
    for _ in range(STEPS):
        chances = 1 / (1 + np.exp(-np.einsum("prd,pd->pr", rows, local)))
        local -= step * np.einsum("prd,pr->pd", rows, chances - labels) / RECORDS
    return local + TINY


def reply(message: Message, weights: Numbers) -> Message:
    """Return the reply of a party; all weigh the same."""
    content = RecordDict({"arrays": ArrayRecord([weights]), "metrics": MetricRecord({"num-examples": 1})})
    return Message(content=content, reply_to=message)


def train(strategy: Any, rows: Numbers, labels: Numbers, step: float, modify: Any = None) -> Numbers:
    """Return the mean of the weights after the later rounds."""
    grid = SimpleNamespace(get_node_ids=lambda: range(1, PARTIES + 1))
    arrays, later = ArrayRecord([np.zeros(rows.shape[2])]), []
    for number in range(1, ROUNDS + 1):
        messages = list(strategy.configure_train(number, arrays, ConfigRecord(), grid))
        local = move(arrays.to_numpy_ndarrays()[0], rows, labels, step)
        replies = [reply(message, weights) for message, weights in zip(messages, local, strict=True)]
        if modify is not None:
            replies = [
                modify(message, None, lambda *_, own=one: own) for message, one in zip(messages, replies, strict=True)
            ]
        arrays, _ = strategy.aggregate_train(number, replies)
        if number > ROUNDS // 2:
            later.append(arrays.to_numpy_ndarrays()[0])
    return np.asarray(np.mean(later, axis=0))


def average() -> FedAvg:
    """Return federated averaging of all parties, and no rounds of evaluation."""
    return FedAvg(fraction_evaluate=0.0, min_train_nodes=PARTIES, min_available_nodes=PARTIES)


def fix_clip(epsilon: float, clip: float) -> tuple[Any, Any]:
    """Return the strategy whose server cuts movements to a length, and adds noise to their mean."""
    multiplier = 2 * ROUNDS**0.5 / find_mu(epsilon)
    return DifferentialPrivacyServerSideFixedClipping(average(), multiplier, clip, PARTIES), None


def adapt_clip(epsilon: float, clip: float) -> tuple[Any, Any]:
    """Return the strategy whose server adapts the length, from a first one.

    Its noise is for the length of the next round, which is often shorter. That is taken for enough here.
    """
    multiplier = 2 * ROUNDS**0.5 / find_mu(epsilon)
    strategy = DifferentialPrivacyServerSideAdaptiveClipping(
        average(),
        multiplier,
        PARTIES,
        initial_clipping_norm=clip,
        clipped_count_stddev=max(PARTIES / 20, multiplier),  # a twentieth is usual, and must be more than half of z
    )
    return strategy, None


def add_local_noise(epsilon: float, clip: float) -> tuple[Any, Any]:
    """Return plain averaging, and what cuts and noises each message; no server is trusted."""
    own = 2 * clip * (2 * np.log(1.25 / DELTA)) ** 0.5  # the deviation at epsilon 1
    deviation = 2 * clip * ROUNDS**0.5 / find_mu(epsilon)
    return average(), LocalDpMod(clip, 2 * clip, own / deviation, DELTA)


def score(
    make: Callable[[float, float], tuple[Any, Any]], epsilon: float, step: float, clip: float, *, count: int = SPLITS
) -> float:
    """Return the mean accuracy over some of the splits."""
    people = load("breast")
    scaled = np.column_stack([2 * people.unit() - 1, np.ones(len(people.X))])
    found = []
    for taken, test in splits(len(scaled), count):
        strategy, modify = make(epsilon, clip)
        rows, labels = scaled[taken].reshape(PARTIES, RECORDS, -1), people.y[taken].reshape(PARTIES, RECORDS)
        weights = train(strategy, rows, labels, step, modify)
        found.append(float(((scaled[test] @ weights > 0) == (people.y[test] > 0)).mean()))
    return float(np.mean(found))


def accuracy(make: Callable[[float, float], tuple[Any, Any]], epsilon: float) -> float:
    """Return the mean accuracy over all splits, with new noise, of the step and clip that were best on half of them."""
    logging.disable(logging.CRITICAL)
    np.random.seed(0)  # noqa: NPY002 - what Flower draws from
    task = importlib.import_module("flwr.supercore.task_identity").TaskIdentity  # which 1.32 does not have
    task.task_id, task.run_id, task.node_id = 1, 1, 1  # messages want to be of a run
    best = max(itertools.product(STEP_SIZES, CLIPS), key=lambda one: score(make, epsilon, *one, count=SPLITS // 2))
    return score(make, epsilon, *best)


MAKERS = {"fixed": fix_clip, "adaptive": adapt_clip, "local": add_local_noise}
CASES = {
    f"{name}-{epsilon}": functools.partial(accuracy, make, epsilon)
    for epsilon in (1, 4)
    for name, make in MAKERS.items()
}

if __name__ == "__main__":
    main(CASES)
