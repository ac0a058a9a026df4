"""Meta's Opacus: logistic regression by DP-SGD, one epoch over 100,000 records of 50 features in batches of 1,000."""

from __future__ import annotations

import warnings
from time import perf_counter

import torch
from opacus import PrivacyEngine
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.peers.stopwatch import main

ROWS, FEATURES, BATCH = 100_000, 50, 1_000


def epoch() -> float:
    """Seconds for one epoch, the best of three after one to warm up."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    features = torch.randn(ROWS, FEATURES)
    labels = (features[:, 0] > 0).float()
    model: nn.Module = nn.Linear(FEATURES, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(TensorDataset(features, labels), batch_size=BATCH)
    model, optimizer, loader = PrivacyEngine().make_private(
        module=model, optimizer=optimizer, data_loader=loader, noise_multiplier=1.0, max_grad_norm=1.0
    )
    loss = nn.BCEWithLogitsLoss()
    times = []
    for _ in range(4):
        start = perf_counter()
        for batch, target in loader:
            optimizer.zero_grad()
            loss(model(batch).squeeze(-1), target).backward()
            optimizer.step()
        times.append(perf_counter() - start)
    return min(times[1:])


CASES = {"logistic-epoch": epoch}

if __name__ == "__main__":
    main(CASES)
