"""The K-norm mechanism keeps its guarantee, and states its event."""

import numpy as np
import pytest

from celosia.core import InputError, KNormEvent, ParameterError, PureDP, ReplaceOne
from celosia.mechanisms import KNorm
from celosia.noise import Seeded


def test_it_states_what_it_runs() -> None:
    mechanism = KNorm(epsilon="0.5", sensitivity=10, width=3, blocks=2, adjacency=ReplaceOne, unit="person")
    event = KNormEvent(scale=20, sensitivity=10, width=3, blocks=2, adjacency=ReplaceOne, unit="person")
    assert mechanism.event == event
    assert mechanism.guarantee == PureDP(epsilon="0.5", adjacency=ReplaceOne, unit="person")
    release = mechanism.release(np.zeros((2, 3), dtype=np.int64), source=Seeded(1))
    assert (release.event, release.guarantee, release.seeded) == (event, mechanism.guarantee, True)
    assert KNormEvent.from_json(event.to_json()) == event


def test_bad_input_is_refused() -> None:
    mechanism = KNorm(epsilon=1, sensitivity=10, width=2)
    for value in ([[1, 2, 3]], [[1.0, 2.0]], [1, 2], [[1, 2], [3, 4]]):
        with pytest.raises(InputError, match="1 vectors of 2 integers"):
            mechanism.release(value)
    for wrong in ({"epsilon": 0}, {"sensitivity": 0}, {"width": 17}, {"blocks": 0}, {"sensitivity": 10**30}):
        with pytest.raises(ParameterError):
            KNorm(**({"epsilon": 1, "sensitivity": 10, "width": 2} | wrong))  # type: ignore[arg-type]
