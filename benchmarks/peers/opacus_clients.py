"""Federated averaging with Opacus at each party: the accuracy at the same true epsilon, on breast cancer.

Five parties hold seven tenths of the records; every party takes one step of DP-SGD on all its records in each round,
and the server averages. Opacus finds the noise of all steps by its accountant. Features are scaled by public bounds to
-1 to 1. The step is the best of several, which is not paid for: that favours Opacus.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
import torch
from opacus import GradSampleModule
from opacus.accountants.utils import get_noise_multiplier
from opacus.optimizers import DPOptimizer
from torch import nn

from benchmarks.peers.people import load, splits
from benchmarks.peers.stopwatch import main

if TYPE_CHECKING:
    from numpy.typing import NDArray

PARTIES, ROUNDS, DELTA, SPLITS = 5, 50, 1e-5, 10
STEPS = (0.3, 1.0, 3.0, 10.0)
CLIP = 1.0


def _train(rows: NDArray[np.float64], labels: NDArray[np.int64], noise: float, step: float) -> nn.Module:
    parts = np.array_split(np.arange(len(rows)), PARTIES)
    models = [GradSampleModule(nn.Linear(rows.shape[1], 1)) for _ in parts]
    optimizers = [
        DPOptimizer(
            torch.optim.SGD(model.parameters(), lr=step),
            noise_multiplier=noise,
            max_grad_norm=CLIP,
            expected_batch_size=len(part),
        )
        for model, part in zip(models, parts, strict=True)
    ]
    features = [torch.tensor(rows[part], dtype=torch.float32) for part in parts]
    targets = [torch.tensor(labels[part], dtype=torch.float32) for part in parts]
    loss, state = nn.BCEWithLogitsLoss(), {name: torch.zeros_like(one) for name, one in models[0].state_dict().items()}
    later = []
    for number in range(ROUNDS):
        for model, optimizer, held, wanted in zip(models, optimizers, features, targets, strict=True):
            model.load_state_dict(state)
            optimizer.zero_grad()
            loss(model(held).squeeze(-1), wanted).backward()
            optimizer.step()
        sent = [model.state_dict() for model in models]
        state = {name: torch.stack([one[name] for one in sent]).mean(dim=0) for name in state}
        if number >= ROUNDS // 2:
            later.append(state)
    models[0].load_state_dict({name: torch.stack([one[name] for one in later]).mean(dim=0) for name in state})
    return models[0]


def accuracy(epsilon: float) -> float:
    """Return the mean accuracy over the splits, of the best step."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    people = load("breast")
    rows = 2 * people.unit() - 1
    noise = get_noise_multiplier(target_epsilon=epsilon, target_delta=DELTA, sample_rate=1.0, steps=ROUNDS)
    found = []
    for step in STEPS:
        scores = []
        for train, test in splits(len(rows), SPLITS):
            model = _train(rows[train], people.y[train], noise, step)
            with torch.no_grad():
                guessed = model(torch.tensor(rows[test], dtype=torch.float32)).squeeze(-1).numpy() > 0
            scores.append((guessed == (people.y[test] > 0)).mean())
        found.append(float(np.mean(scores)))
    return max(found)


CASES = {"breast-1": lambda: accuracy(1), "breast-5": lambda: accuracy(5)}

if __name__ == "__main__":
    main(CASES)
