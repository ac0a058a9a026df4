"""Our federations under the newest Flower: the integers of one process, and no code of the server at a party.

The environment has Flower and what Celosía needs; Celosía itself is this checkout. The case ``let-in`` shows that the
attack of ``agents`` is one: with Flower's own programs in reach of a SuperNode, both parties run what the server sent.
"""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np

from benchmarks.peers.stopwatch import main

if TYPE_CHECKING:
    from collections.abc import Iterator

ROUNDS = 3
NAMES = ("north", "south")
DESCRIPTION = """
[training]
name = "trial"
features = ["a", "b"]
target = "y"
rounds = 3

[parties.north]
records = 40

[parties.south]
records = 40

[estimator]
type = "LinearRegression"
bounds = [[-1, -1], [1, 1]]
bounds_y = [-2, 2]

[update]
type = "SGD"
records = 40

[privacy]
epsilon = 4
delta = "1e-5"
adjacency = "replace-one"

[server]
seed = 5
deadline = {deadline}
"""
# What the server bundles: it writes down the job of each process that runs it.
SPY = """\
import os
with open({trace!r}, "a") as file:
    file.write(open(os.environ["CELOSIA_FEDERATION_JOB"]).read() + chr(10))
"""
# The messages that an agent expects, and an agent.
AGENT = """\
from flwr.agentapp import AgentApp
from flwr.app import ConfigRecord
from celosia.federated.network import flower
make = flower.make_records
def make_more(parcel):
    records = make(parcel)
    records["agent"] = ConfigRecord({"text": "go"})
    return records
flower.make_records = make_more
agent = AgentApp()
"""
REFUSED = "flwr-agentapp is not run"


def write_federation(folder: Path, deadline: float) -> dict[str, str]:
    """Write a description and the records of its parties, and return their files."""
    (folder / "federation.toml").write_text(DESCRIPTION.format(deadline=deadline), encoding="utf-8")
    files = {}
    for name in NAMES:
        rng = np.random.default_rng(list(name.encode()))
        features = rng.uniform(-1, 1, (40, 2))
        rows = np.column_stack([features, features @ [1.0, -0.5]]).tolist()
        files[name] = str(folder / f"{name}.csv")
        lines = ["a,b,y", *(",".join(map(repr, row)) for row in rows)]
        Path(files[name]).write_text("\n".join(lines), encoding="utf-8")
    return files


@contextmanager
def plant_spy(folder: Path, more: str = "") -> Iterator[Path]:
    """Let the server's bundle write the jobs of the processes that run it into a file, which is given."""
    from celosia.federated.network import launch

    trace = folder / "trace"
    trace.touch()
    spy = SPY.format(trace=str(trace)) + more
    with patch.object(launch, "_BRIDGE", spy + launch._BRIDGE):  # noqa: SLF001 - a server sends whatever it likes
        yield trace


def find_victims(trace: Path) -> int:
    """Return how many processes of parties ran the server's bundle; the server itself must have."""
    jobs = trace.read_text(encoding="utf-8")
    if "checkpoint" not in jobs:
        raise RuntimeError("the server has not run its bundle")
    return jobs.count('"party"')


def time_rounds() -> float:
    """Return the seconds of three rounds of a server and two parties, each in processes of its own.

    Fails if the model is not that of one process, bit for bit, or if a party ran the server's bundle.
    """
    from celosia.federated.network.description import load_description
    from celosia.federated.network.operate import run
    from celosia.learn.io.model_file import load

    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        files = write_federation(folder, deadline=250)
        description = load_description(folder)
        near: Any = description.describe(files).run()
        with plant_spy(folder) as trace:
            start = perf_counter()
            told = list(run(description, files, folder / "model.json"))
            taken = perf_counter() - start
        far: Any = load(folder / "model.json")
        if not (np.array_equal(near.coef_, far.coef_) and near.intercept_ == far.intercept_):
            raise RuntimeError("the integers are not those of one process")
        if [one["answered"] for one in told if "round" in one] != [len(NAMES)] * ROUNDS:
            raise RuntimeError("a party has not answered")
        if find_victims(trace):
            raise RuntimeError("a party ran the code of the server")
    return taken


def attack(deadline: float = 60) -> tuple[int, int]:
    """Let a server say that its run is one of agents; return how many parties ran its code, and how many refused.

    A SuperNode starts another program for agents, which loads the bundle in a way of its own.
    """
    from celosia.core.errors import EngineError
    from celosia.federated.network import launch
    from celosia.federated.network.description import load_description
    from celosia.federated.network.operate import run

    def start_lying(name: str, *words: str) -> str:
        line = start(name, *words)
        return line.replace("celosia.federated.network.superlink_process", "benchmarks.peers.lying_superlink")

    start = launch._run_module  # noqa: SLF001 - the server's
    app = launch._APP.replace('"bridge:client"', '"bridge:client"\nagentapp = "bridge:agent"')  # noqa: SLF001
    with (
        tempfile.TemporaryDirectory() as made,
        plant_spy(Path(made), AGENT) as trace,
        patch.object(launch, "_APP", app),
        patch.object(launch, "_run_module", start_lying),
    ):
        files = write_federation(Path(made), deadline)
        try:
            list(run(load_description(made), files, Path(made) / "model.json"))
        except EngineError:
            logs = [file.read_text(encoding="utf-8") for file in Path(made).glob("nodes/*/party-*.log")]
            return find_victims(trace), sum(REFUSED in log for log in logs)
        raise RuntimeError("the parties took part in a run of agents")


def count_refusals() -> float:
    """Return how many parties refused to run an agent of the server; fails if one ran it."""
    ran, refused = attack()
    if ran:
        raise RuntimeError("a party ran the code of the server")
    return float(refused)


def count_victims() -> float:
    """Return how many parties run an agent of the server where Flower's own programs are in reach."""
    from celosia.federated.network import launch

    with patch.object(launch, "find_loaders", list):
        ran, _ = attack()
    return float(ran)


CASES = {"three-rounds": time_rounds, "agents": count_refusals, "let-in": count_victims}

if __name__ == "__main__":
    main(CASES)
