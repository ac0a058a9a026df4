"""FedProx against FedAvg where most devices are slow, on Synthetic(1, 1) (Li and others 2020, arXiv 1812.06127).

An experiment without privacy, of why parties should be pulled together: a softmax of ten classes, learned by local
steps at some of 30 devices in each round. Slow devices do part of their epochs. FedAvg drops them; FedProx keeps what
they did, and pulls local weights towards those of the round. Nothing here belongs to the package.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.federated import make_synthetic

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

CLASSES = 10
ASKED = 10  # devices in a round
EPOCHS = 20  # local ones, of a device that is not slow
BATCH = 10
STEP_SIZE = 0.01
SHOWN = 10  # rounds at the end, over which the accuracy is averaged


@dataclass(frozen=True, slots=True, kw_only=True)
class Devices:
    """The records of all devices, one after the other, with a column of ones; a fifth of each is for the test."""

    rows: Numbers = field(repr=False)
    labels: NDArray[np.int64] = field(repr=False)
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]
    test_rows: Numbers = field(repr=False)
    test_labels: NDArray[np.int64] = field(repr=False)


def load_devices(seed: int) -> Devices:
    """Return Synthetic(1, 1) of 30 devices."""
    example, rng = make_synthetic(1, 1, parties=30, seed=seed), np.random.default_rng(seed)
    parts: list[tuple[Any, ...]] = []
    for features, labels in example.parties.values():
        order = rng.permutation(len(labels))
        cut = len(labels) // 5
        values = np.column_stack([features, np.ones(len(labels))])
        parts.append((values[order[cut:]], labels[order[cut:]], values[order[:cut]], labels[order[:cut]]))
    rows, own, test_rows, test_labels = zip(*parts, strict=True)
    sizes = np.array([len(part) for part in own])
    return Devices(
        rows=np.concatenate(rows),
        labels=np.concatenate(own),
        starts=np.cumsum(sizes) - sizes,
        sizes=sizes,
        test_rows=np.concatenate(test_rows),
        test_labels=np.concatenate(test_labels),
    )


def train(devices: Devices, *, mu: float, keep: bool, slow: float, rounds: int, seed: int) -> Numbers:
    """Return the accuracy on the test after each round.

    ``slow`` is the share of the devices asked that do 1 to 19 epochs instead of 20; ``keep`` is whether what they did
    counts. Equal seeds ask equal devices, and make equal ones slow.
    """
    rng = np.random.default_rng(seed)
    weights = np.zeros((devices.rows.shape[1], CLASSES))
    found = np.zeros(rounds)
    for number in range(rounds):
        asked = rng.choice(len(devices.sizes), ASKED, replace=False)
        fewer = rng.integers(1, EPOCHS, ASKED)
        late = np.arange(ASKED) < round(slow * ASKED)
        order = np.random.default_rng((seed, number))
        chosen = asked if keep else asked[~late]
        epochs = np.where(late, fewer, EPOCHS) if keep else np.full(len(chosen), EPOCHS)
        local = descend(devices, chosen, epochs, weights, mu, order)
        weights = np.average(local, axis=0, weights=devices.sizes[chosen])
        found[number] = (np.argmax(devices.test_rows @ weights, axis=1) == devices.test_labels).mean()
    return found


def descend(
    devices: Devices, chosen: NDArray[np.int64], epochs: NDArray[np.int64], start: Numbers, mu: float, rng: Any
) -> Numbers:
    """Return the local weights of devices after their epochs, each step taken by all that are not done."""
    sizes = devices.sizes[chosen]
    batches = -(-sizes // BATCH)
    steps = epochs * batches
    local = np.tile(start, (len(chosen), 1, 1))
    orders = np.zeros((len(chosen), int(batches.max()) * BATCH), dtype=np.int64)
    for step in range(int(steps.max())):
        active = np.flatnonzero(step < steps)
        for place in active[step % batches[active] == 0]:  # an epoch begins
            orders[place, : sizes[place]] = devices.starts[chosen[place]] + rng.permutation(sizes[place])
        first = step % batches[active] * BATCH
        columns = first[:, None] + np.arange(BATCH)
        there = columns < sizes[active, None]
        places = orders[active[:, None], columns]
        rows = devices.rows[places]
        logits = rows @ local[active]
        chances = np.exp(logits - logits.max(axis=2, keepdims=True))
        chances /= chances.sum(axis=2, keepdims=True)
        chances -= devices.labels[places][:, :, None] == np.arange(CLASSES)
        chances *= (there / there.sum(axis=1, keepdims=True))[:, :, None]
        slope = rows.transpose(0, 2, 1) @ chances + mu * (local[active] - start)
        local[active] -= STEP_SIZE * slope
    return local


def accuracy(*, mu: float, keep: bool, slow: float, rounds: int = 60, seeds: int = 5) -> Numbers:
    """Return the accuracy of the last rounds, one mean for each seed."""
    return np.array(
        [
            train(load_devices(seed), mu=mu, keep=keep, slow=slow, rounds=rounds, seed=seed)[-SHOWN:].mean()
            for seed in range(seeds)
        ]
    )
