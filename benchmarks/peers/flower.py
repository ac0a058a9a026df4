"""Flower's own simulation of federated averaging: Ray beneath, NumPy within, and no privacy.

A round asks every party for five steps of gradient descent on its 32 records of 50 features. Parties and rounds are
fewer than ours, because a round takes long; the number is for one party in one round.
"""

from __future__ import annotations

import os
import tempfile
from time import perf_counter
from typing import Any

os.environ |= {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_HOME": tempfile.mkdtemp(),
    "RAY_USAGE_STATS_ENABLED": "0",
}

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg
from flwr.simulation import run_simulation

from benchmarks.peers.stopwatch import main

PARTIES, ROUNDS = 100, 4
RECORDS, FEATURES, STEPS = 32, 50, 5

client = ClientApp()
server = ServerApp()
_times: list[float] = []


@client.train()
def _train(message: Message, context: Context) -> Message:
    rng = np.random.default_rng(int(context.node_config["partition-id"]))
    rows = rng.uniform(-1, 1, (RECORDS, FEATURES))
    labels = rows[:, 0] > 0
    [weights] = message.content.array_records["arrays"].to_numpy_ndarrays()
    for _ in range(STEPS):
        weights = weights - rows.T @ (1 / (1 + np.exp(-rows @ weights)) - labels) / RECORDS
    content = RecordDict({"arrays": ArrayRecord([weights]), "metrics": MetricRecord({"num-examples": RECORDS})})
    return Message(content=content, reply_to=message)


class _Timed(FedAvg):
    def configure_train(self, *given: Any, **named: Any) -> Any:
        _times.append(perf_counter())
        return super().configure_train(*given, **named)


@server.main()
def _serve(grid: Grid, context: Context) -> None:  # noqa: ARG001 - Flower's
    strategy = _Timed(fraction_train=1.0, fraction_evaluate=0.0, min_available_nodes=PARTIES)
    strategy.start(grid, ArrayRecord([np.zeros(FEATURES)]), num_rounds=ROUNDS, train_config=ConfigRecord(), timeout=250)


def party_round() -> float:
    """Seconds of one party in one round: the best round after the first, over the number of parties."""
    run_simulation(server, client, num_supernodes=PARTIES, backend_config={"client_resources": {"num_cpus": 1.0}})
    return float(np.diff(_times)[1:].min()) / PARTIES


CASES = {"party-round": party_round}

if __name__ == "__main__":
    main(CASES)
