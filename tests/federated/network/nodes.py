"""A federation as its server and its parties see it, for the tests of the network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from celosia.federated import SGD, Federation, Party
from celosia.learn import LinearRegression
from celosia.noise import Seeded

ROUNDS = 3
NAMES = ("north", "south", "west")
FILED = ("north", "south")
DESCRIPTION = """
[training]
name = "trial"
features = ["a", "b"]
target = "y"
rounds = {rounds}
{training}

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
{server}
"""


def make_records(name: str) -> tuple[Any, Any]:
    """Return the records of a party."""
    rng = np.random.default_rng(list(name.encode()))
    features = rng.uniform(-1, 1, (40, 2))
    return features, features @ [1.0, -0.5]


def describe(*held: str, seed: int = 5, **given: Any) -> Federation:
    """Return the federation with the records of these parties."""
    parties = [
        Party(name, *make_records(name), records=40) if name in held else Party(name, records=40) for name in NAMES
    ]
    estimator = LinearRegression(bounds=([-1.0, -1.0], [1.0, 1.0]), bounds_y=(-2, 2))
    defaults: dict[str, Any] = {
        "parties": parties,
        "update": SGD(estimator=estimator, records=40),
        "epsilon": 4,
        "delta": "1e-5",
        "rounds": ROUNDS,
        "source": Seeded(seed),
    }
    return Federation(**(defaults | given))


def write_files(folder: Path, *, server: str, training: str = "", rounds: int = ROUNDS) -> dict[str, str]:
    """Write a description and the records of its parties, and return their files."""
    (folder / "federation.toml").write_text(DESCRIPTION.format(server=server, training=training, rounds=rounds))
    files = {}
    for name in FILED:
        features, target = make_records(name)
        files[name] = str(folder / f"{name}.csv")
        rows = np.column_stack([features, target]).tolist()
        Path(files[name]).write_text("a,b,y\n" + "\n".join(",".join(map(repr, row)) for row in rows))
    return files
