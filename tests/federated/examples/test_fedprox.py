"""The FedProx paper's claim, on its records: what slow devices did is worth keeping, if weights are pulled together.

An experiment without privacy (benchmarks/tables/fedprox.py).
"""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.tables.fedprox import accuracy, descend, load_devices

ROUNDS, SEEDS = 20, 2


def test_slow_devices_are_worth_keeping() -> None:
    dropped = accuracy(mu=0, keep=False, slow=0.9, rounds=ROUNDS, seeds=SEEDS)
    kept = accuracy(mu=1, keep=True, slow=0.9, rounds=ROUNDS, seeds=SEEDS)
    assert ((kept - dropped) > 0.2).all()
    pulled_only = accuracy(mu=1, keep=False, slow=0.9, rounds=ROUNDS, seeds=SEEDS)  # the mutant still drops them
    assert not ((pulled_only - dropped) > 0.2).all()


@pytest.mark.thorough
def test_the_claim_holds_as_published() -> None:
    """The paper: 22 points on average, over records where parties differ."""
    means = {
        (mu, slow): accuracy(mu=mu, keep=mu > 0, slow=slow).mean()
        for mu, slow in ((0, 0.0), (0, 0.9), (1, 0.0), (1, 0.9))
    }
    assert means[1, 0.9] - means[0, 0.9] > 0.2
    assert means[1, 0.0] - means[0, 0.0] > 0.05
    assert means[0, 0.0] == pytest.approx(0.703, abs=0.02)


def test_a_local_step_is_that_of_one_device() -> None:
    devices = load_devices(3)
    chosen, start = np.array([4, 9]), np.full((devices.rows.shape[1], 10), 0.01)
    both = descend(devices, chosen, np.array([2, 1]), start, 0.5, np.random.default_rng(1))
    rng = np.random.default_rng(1)
    orders = {place: rng.permutation(devices.sizes[device]) for place, device in enumerate(chosen)}
    place, weights = 1, start.copy()
    for batch in np.split(orders[place], range(10, len(orders[place]), 10)):
        rows, labels = devices.rows[devices.starts[9] + batch], devices.labels[devices.starts[9] + batch]
        chances = np.exp(rows @ weights)
        chances /= chances.sum(axis=1, keepdims=True)
        chances[np.arange(len(batch)), labels] -= 1
        weights -= 0.01 * (rows.T @ chances / len(batch) + 0.5 * (weights - start))
    assert both[1] == pytest.approx(weights, abs=1e-9)
