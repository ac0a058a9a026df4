"""Charts of simulations: numbers in order, truth and intervals in every row, names that differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.cli.collect.charts import chart
from celosia.local import DirectEncoding
from celosia.local.catalogue import build
from celosia.local.simulation import simulate
from celosia.noise import Seeded

if TYPE_CHECKING:
    from celosia.local.simulation import Simulation

VALUES = np.repeat(np.arange(5), [400, 200, 100, 50, 0])


def counted(epsilon: int = 2, domain: Any = 5) -> Simulation:
    values = VALUES if domain == 5 else [domain[value] for value in VALUES]
    return simulate(DirectEncoding(domain=domain, epsilon=epsilon), values, source=Seeded(7))


def mean(epsilon: int = 2) -> Simulation:
    return simulate(build("duchi", epsilon=epsilon, low=0, high=4), VALUES, task="mean", source=Seeded(7))


def drawn(*runs: Simulation, top: int = 3) -> list[dict[str, Any]]:
    data: Any = chart(runs, top=top).data
    rows: list[dict[str, Any]] = data.values
    return rows


def test_charts() -> None:
    rows = drawn(counted())
    assert [row["name"] for row in rows] == ["0", "1", "2"]
    assert all(row["low"] <= row["value"] <= row["high"] for row in rows)
    assert [row["true"] for row in rows] == [400, 200, 100]
    assert "error by ε" in chart([counted(1), counted(2)], top=3).to_dict()["title"]["text"]
    assert [row["name"] for row in drawn(mean(1), mean(2))] == ["ε = 1", "ε = 2"]
    alike = drawn(counted(domain=["x" * 50 + end for end in "abcde"]), top=5)
    assert len({row["name"] for row in alike}) == 5


def test_missed_words_are_owned_up_to() -> None:
    words = build("pem", epsilon=1, alphabet="ab", length=2)
    run = simulate(words, ["ab", "ba", "a"], task="words", source=Seeded(7))
    assert "were missed" in chart([run], top=3).to_dict()["title"]["subtitle"]
    assert "were missed" not in chart([counted()], top=3).to_dict()["title"]["subtitle"]
