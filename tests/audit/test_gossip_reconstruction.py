"""An observer of gossip rebuilds what the others put in, exactly where the exposure says that it can."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.audit import rebuild_inputs
from celosia.core import ParameterError
from celosia.federated import Graph, gossip_exposures, make_graph, metropolis_weights
from celosia.mechanisms import Gaussian
from celosia.noise import Seeded
from celosia.plots.save import render
from tests.federated.topology.test_graph import graphs

CREDITORS = metropolis_weights(make_graph("creditors"))


def test_six_of_seven_observers_rebuild_every_noisy_input_after_three_steps() -> None:
    mechanism = Gaussian(rho="0.01", sensitivity=1)
    noisy = np.asarray(mechanism.release(np.arange(7) * 100, source=Seeded(7)).value, dtype=np.float64)
    found = rebuild_inputs(CREDITORS, noisy, steps=3)
    assert [name for (name,) in found.complete] == ["1", "2", "3", "4", "6", "7"]
    assert np.nanmax(found.errors) < 1e-9
    for name in "123467":
        # Noise on a grid is rebuilt to the last step.
        rebuilt = {other: round(value) for other, value in found.get_rebuilt(name).items()}
        assert rebuilt == {other: int(value) for other, value in zip("1234567", noisy, strict=True) if other != name}
    assert "5 rebuilt 1 of 6 noisy inputs." in str(found)
    assert [len(rebuild_inputs(CREDITORS, noisy, steps=steps).complete) for steps in (1, 2, 3, 5, 6)] == [0, 0, 6, 6, 7]
    spec = found.draw().to_dict()
    assert spec["title"]["text"] == "Rebuilt from the messages of 3 gossip steps"
    assert render(spec, ".svg").startswith(b"<svg")
    assert found.draw(language="es").to_dict()["title"]["text"].startswith("Reconstruido")


@given(graphs(), st.integers(1, 4), st.integers(0, 99))
def test_what_is_rebuilt_is_what_is_fully_exposed(graph: Graph, steps: int, seed: int) -> None:
    weights = metropolis_weights(graph)
    noisy = np.random.default_rng(seed).normal(size=len(graph.parties))
    found = rebuild_inputs(weights, noisy, steps=steps)
    for row, observer in enumerate(found.observers):
        exposed = gossip_exposures(weights, steps, observer) > 1 - 1e-7
        assert (np.isfinite(found.estimates[row]) == exposed).all()
    assert np.nanmax(found.errors) < 1e-6


def test_a_coalition_rebuilds_more_than_its_members() -> None:
    path = metropolis_weights(make_graph("star", ["hub", "a", "b", "c", "d"]))
    found = rebuild_inputs(path, [1, 2, 3, 4, 5], steps=5, coalitions=[["a", "b", "c"]])
    assert set(found.get_rebuilt("a")) == {"hub"}
    assert found.get_rebuilt(["c", "a", "b"]) == pytest.approx({"hub": 1, "d": 5})
    assert found.complete == (("hub",), ("a", "b", "c"))


def test_bad_views_are_refused() -> None:
    bad: list[tuple[Any, Any, dict[str, Any], str]] = [
        (CREDITORS.matrix, [1] * 7, {}, "must be Weights"),
        (CREDITORS, [1] * 6, {}, "one finite number for each of the 7"),
        (CREDITORS, [1] * 6 + [float("nan")], {}, "one finite number"),
        (CREDITORS, [1] * 7, {"steps": 0}, "steps"),
        (CREDITORS, [1] * 7, {"coalitions": [["9"]]}, "no party '9'"),
    ]
    for weights, inputs, options, words in bad:
        with pytest.raises(ParameterError, match=words):
            rebuild_inputs(weights, inputs, **({"steps": 2} | options))
    with pytest.raises(ParameterError, match="no observer"):
        rebuild_inputs(CREDITORS, [1] * 7, steps=2).get_rebuilt(["1", "2"])
