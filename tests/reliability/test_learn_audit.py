"""Whole fits under attack: one record at the far end of the bounds, and everything that noise was added to.

The attacker sees all noisy numbers of a fit, more than the model tells, knows all records but one, and looks along the
direction in which that one moves the numbers. What it proves must stay below the claim. With a tenth of the noise, or
with records that are not clipped while the noise stays what it was, the same attacker must convict. And a model must
know nothing but the noisy numbers: when those are the same, so is every attribute, whatever the records were.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from unittest import mock

import numpy as np
import pytest
from numpy.typing import NDArray

from celosia import learn
from celosia.audit import distinguish, lower_bound
from celosia.core import ReplaceOne
from celosia.learn.base import exact
from celosia.learn.sgd.noisy_descent import PNSGD
from celosia.noise import Seeded
from celosia.statistics.base.noise import Noise

Array = NDArray[np.float64]
World = tuple[Array, Array]

ONE_PASS = ("GaussianNB", "LinearRegression", "PCA", "Ridge", "StandardScaler")
SUMS = (*ONE_PASS, "CategoricalNB", "FuzzyCMeans", "KMeans", "LogisticRegression")
FINER = ("FuzzyCMeans", "LogisticRegression")  # many noises, and all but the first depend on those before

_ROWS = np.zeros((8, 1))
_TARGET = np.array([1.0, 1, 0, 0, 0, 0, 0, 0])
WITHOUT: World = (_ROWS, _TARGET)
WITH: World = (np.append(_ROWS, [[1.0]], axis=0), np.append(_TARGET, 1.0))
FAR: World = (np.append(_ROWS, [[100.0]], axis=0), np.append(_TARGET, 1.0))


def model_of(name: str, **given: Any) -> Any:
    kind = getattr(learn, name)
    known = kind().get_params()
    plain: dict[str, Any] = {"bounds": (0, 1), "bounds_y": (0, 1), "classes": [0, 1], "n_clusters": 2}
    if "categories" in known:
        plain = {"categories": 2, "classes": [0, 1]}
    if "n_clusters" in known:
        plain["max_iter"] = 3
    if name == "LogisticRegression":  # the other method's noise is no noise on numbers
        plain["method"] = "gradient"
    return kind(**({"epsilon": 1} | {key: value for key, value in plain.items() if key in known} | given))


class Watched:
    """All that noise is added to, divided by the noise's size; ``shrink`` makes the noise smaller than is claimed."""

    def __init__(self, shrink: float = 1.0) -> None:
        self.shrink = shrink
        self.seen: list[Array] = []

    @contextlib.contextmanager
    def __call__(self, shrink: float | None = None) -> Iterator[None]:
        release, factor = Noise.release, self.shrink if shrink is None else shrink

        def watched(noise: Noise, summary: NDArray[Any], source: Any = None) -> NDArray[np.int64]:
            noisy = release(noise, summary, source)
            exact = np.minimum(np.maximum(summary, -(2**62)), 2**62).astype(np.int64)
            shown: NDArray[np.int64] = exact + np.rint((noisy - exact) * factor).astype(np.int64)
            self.seen.append(np.ravel(shown) / noise.variance**0.5)
            return shown

        with mock.patch.object(Noise, "release", watched):
            yield

    def look(self, model: Any, world: World) -> Array:
        self.seen = []
        model.fit(*world)
        return np.concatenate(self.seen)


def attack(name: str, worlds: tuple[World, World], *, shrink: float = 1.0, samples: int = 32, **given: Any) -> float:
    """Return the epsilon that the attacker proves about the fits of an estimator on two neighbours."""
    watched = Watched(shrink)
    with watched(0.0):
        exact = [watched.look(model_of(name, source=Seeded(0), **given), world) for world in worlds]
    along = exact[1] - exact[0]

    def run(place: int, count: int, source: Any) -> Array:
        model = model_of(name, source=source, **given)
        with watched():
            return np.array([watched.look(model, worlds[place]) @ along for _ in range(count)])

    return prove(run, [float(numbers @ along) for numbers in exact], samples)


def prove(run: Callable[[int, int, Any], Array], exact: Sequence[float], samples: int, *, delta: float = 0.0) -> float:
    """Return the epsilon that outputs on the two sides of the middle between the exact ones prove.

    The attacker knows where to look before it sees an output: 32 outputs can prove an epsilon of 1.2. Looking for the
    best of many edges takes most of them, and proves no more.
    """
    source = Seeded(5)
    first, second = (run(place, samples, source) >= sum(exact) / 2 for place in (0, 1))
    if exact[0] > exact[1]:
        first, second = second, first
    sides = ((second, first), (~first, ~second))
    return max(
        lower_bound(int(one.sum()), samples, int(other.sum()), samples, delta=delta, failure=5e-4)
        for one, other in sides
    )


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.sampled(3)
def test_nobody_proves_more_than_is_claimed(name: str) -> None:
    for worlds, adjacency in (((WITHOUT, WITH), None), (((WITH[0][1:], WITH[1][1:]), WITHOUT), ReplaceOne)):
        assert attack(name, worlds, adjacency=adjacency) <= 1


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.sampled(3)
def test_a_tenth_of_the_noise_is_found_out(name: str) -> None:
    assert attack(name, (WITHOUT, WITH), shrink=0.03 if name in FINER else 0.1, samples=96) > 1


@pytest.mark.parametrize("name", ["GaussianNB", "LinearRegression", "PCA", "StandardScaler"])
@pytest.mark.sampled(2)
def test_records_that_are_not_clipped_are_found_out(name: str) -> None:
    assert attack(name, (WITHOUT, FAR)) <= 1  # clipped: no more than the far end of the bounds
    with not_clipped():
        assert attack(name, (WITHOUT, FAR)) > 1


@contextlib.contextmanager
def not_clipped() -> Iterator[None]:
    """Records are read without bounds: the noise is what it was."""

    def opened(reading: Array) -> Array:
        wide = reading.copy()
        wide[[0, 3]], wide[[1, 4]] = -1e12, 1e12
        return wide

    centre, powers = exact._fill_centred, exact._fill_powers
    with (
        mock.patch.object(exact, "_fill_centred", lambda values, reading, out: centre(values, opened(reading), out)),
        mock.patch.object(
            exact, "_fill_powers", lambda values, codes, reading, table: powers(values, codes, opened(reading), table)
        ),
    ):
        yield


@pytest.mark.parametrize("name", SUMS)
def test_a_model_knows_nothing_but_the_noisy_numbers(name: str) -> None:
    release = Noise.release

    def blind(noise: Noise, summary: NDArray[Any], source: Any = None) -> NDArray[np.int64]:
        return release(noise, np.zeros(summary.shape, dtype=np.int64), source)

    told = []
    with mock.patch.object(Noise, "release", blind):
        for rows, target in (WITHOUT, WITH, (np.ones((20, 1)), np.ones(20))):
            fitted = model_of(name, source=Seeded(3)).fit(rows, target)
            told.append({key: repr(value) for key, value in vars(fitted).items() if key != "source"})
    assert told[0] == told[1] == told[2]


# ---- projected noisy gradient descent: nobody sees anything but the end


def last_weights(name: str, shrink: float, amplification: str) -> float:
    """Return the epsilon that an attacker proves from the last weights alone; the replaced record comes last."""
    draw = PNSGD._noise
    worlds = (WITHOUT, (WITH[0][1:], WITH[1][1:]))
    given = {"delta": 1e-5, "order": "fixed", "amplification": amplification}

    def run(place: int, count: int, source: Any, factor: float = shrink) -> Array:
        model = model_of(name, source=source, **given)
        with mock.patch.object(PNSGD, "_noise", lambda *seen: draw(*seen) * factor):
            fits = [model.fit(*worlds[place]) and (np.sum(model.coef_), np.sum(model.intercept_)) for _ in range(count)]
        return np.array([slope - height for slope, height in fits])

    exact = [float(run(place, 1, Seeded(0), 0.0)[0]) for place in (0, 1)]
    return prove(run, exact, 32, delta=1e-5)


@pytest.mark.parametrize("amplification", ["iteration", "none"])
@pytest.mark.parametrize("name", ["PNSGDClassifier", "PNSGDRegressor"])
@pytest.mark.sampled(3)
def test_the_end_of_a_descent_tells_no_more_than_is_claimed_unless_the_noise_is_gone(
    name: str, amplification: str
) -> None:
    assert last_weights(name, 1.0, amplification) <= 1
    assert last_weights(name, 0.003, amplification) > 1


# ---- the search over parameters


@pytest.mark.thorough  # quick runs replay searches, with a mutant, in test_replay
def test_a_search_is_audited_as_a_whole() -> None:
    """The score and the parameters of the best run, with a record that only one of two candidates gets right."""
    rows = np.zeros((6, 1))
    target = np.array([0.0, 1, 0, 1, 0, 1])
    worlds = ((rows, target), (np.append(rows, [[0.0]], axis=0), np.append(target, 1.0)))
    grid = {"priors": [[1.0, 0.0], [0.0, 1.0]]}  # always the one class, or always the other

    def run(place: int, count: int, source: Any) -> Array:
        search = learn.PrivateSearchCV(model_of("GaussianNB"), grid, epsilon=1, repetitions=4, source=source)
        found = []
        for _ in range(count):
            search.fit(*worlds[place])
            found.append((search.best_params_["priors"][1], search.best_score_))
        return np.array(found)

    assert distinguish(run, 0, 1, samples=100, failure=1e-3, source=Seeded(5)).epsilon <= 1
