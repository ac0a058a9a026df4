"""Private fuzzy c-means against the textbook's algorithm, written down once more."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer

import celosia as cl
from celosia.accounting import PureAccountant
from celosia.core import ParameterError
from celosia.learn.cluster.fuzzy_c_means import FuzzyCMeans
from celosia.ledger import InMemoryBudget
from celosia.noise import Seeded

ROWS = load_breast_cancer().data[:, [0, 1]]  # mean radius and texture
BOUNDS = (0, [30, 40])


def memberships(rows: NDArray[np.float64], centres: NDArray[np.float64], m: float) -> NDArray[np.float64]:
    """Bezdek's formula, as it is printed."""
    distances = np.linalg.norm(rows[:, None] - centres, axis=-1)
    return np.asarray(1 / ((distances[:, :, None] / distances[:, None, :]) ** (2 / (m - 1))).sum(axis=2))


def objective(rows: NDArray[np.float64], centres: NDArray[np.float64], m: float = 2.0) -> float:
    u = memberships(rows, centres, m)
    return float((u**m * ((rows[:, None] - centres) ** 2).sum(axis=-1)).sum())


def textbook(rows: NDArray[np.float64], clusters: int, m: float = 2.0) -> NDArray[np.float64]:
    centres = rows[np.random.default_rng(0).choice(len(rows), clusters, replace=False)] + 1e-3
    for _ in range(500):
        weights = memberships(rows, centres, m) ** m
        centres = (weights.T @ rows) / weights.sum(axis=0)[:, None]
    return np.asarray(centres)


@pytest.mark.parametrize("m", [1.5, 2.0, 3.0])
def test_without_privacy_it_is_the_textbook(m: float) -> None:
    model = FuzzyCMeans(n_clusters=2, m=m, epsilon=float("inf"), random_state=0).fit(ROWS)
    expected = textbook(ROWS, 2, m)
    order, wanted = model.cluster_centers_[:, 0].argsort(), expected[:, 0].argsort()
    np.testing.assert_allclose(model.cluster_centers_[order], expected[wanted], atol=1e-5)
    assert model.guarantee_ is None
    assert -model.score(ROWS) == pytest.approx(objective(ROWS, model.cluster_centers_, m), rel=1e-9)


def test_memberships_of_new_points() -> None:
    for m in (1.1, 2.0, 2.7):
        model = FuzzyCMeans(n_clusters=3, m=m, bounds=BOUNDS, source=Seeded(7)).fit(ROWS)
        points = np.random.default_rng(7).uniform(0, 30, size=(50, 2))
        found = model.predict_membership(points)
        np.testing.assert_allclose(found, memberships(points, model.cluster_centers_, m), atol=1e-7)
        np.testing.assert_allclose(found.sum(axis=1), 1)
        assert found.argmax(axis=1).tolist() == model.predict(points).tolist()


def test_a_point_on_a_centre_belongs_to_it_alone() -> None:
    model = FuzzyCMeans(n_clusters=2, bounds=BOUNDS, source=Seeded(7)).fit(ROWS)
    np.testing.assert_allclose(model.predict_membership(model.cluster_centers_), np.eye(2), atol=1e-12)
    model.cluster_centers_ = np.array([[1.0, 2.0], [1.0, 2.0]])
    np.testing.assert_allclose(model.predict_membership([[1.0, 2.0]]), [[0.5, 0.5]])


@pytest.mark.parametrize(("epsilon", "most"), [(1.0, 1.23), (2.0, 1.09), (5.0, 1.04)])
def test_the_objective_comes_near_the_best(epsilon: float, most: float) -> None:
    best = objective(ROWS, textbook(ROWS, 2))
    found = [
        objective(ROWS, FuzzyCMeans(epsilon=epsilon, bounds=BOUNDS, source=Seeded(seed)).fit(ROWS).cluster_centers_)
        for seed in range(20)
    ]
    assert np.mean(found) / best < most


def test_a_fuzziness_that_makes_no_sense_is_refused() -> None:
    cases: list[object] = [
        1,
        1.0,
        0.5,
        float("inf"),
        float("nan"),
        True,
        "2",
        None,
        2j,
        10**400,
        1001,
        np.nextafter(np.longdouble(1), 2),
    ]
    for m in cases:
        payer = InMemoryBudget(cl.PureDP(epsilon=1))
        with pytest.raises(ParameterError, match="m must be a number above 1"):
            FuzzyCMeans(m=m, bounds=BOUNDS, budget=payer).fit(ROWS)  # type: ignore[arg-type]
        assert not payer.history


@pytest.mark.parametrize("m", [np.nextafter(1.0, 2), np.float32(1.5), np.int64(3), 1000])
def test_every_other_fuzziness_gives_centres_in_the_box(m: float) -> None:
    for given in ({"epsilon": 1}, {"epsilon": float("inf"), "random_state": 0}, {"epsilon": 1, "method": "published"}):
        found = FuzzyCMeans(m=m, bounds=BOUNDS, **given).fit(ROWS).cluster_centers_
        assert ((found >= 0) & (found <= np.array([30, 40]))).all()


class TestPublished:
    """The published method: noise on distances, and a multiple of the whole cube on centres."""

    def test_it_spends_less_than_it_says(self) -> None:
        payer = InMemoryBudget(cl.PureDP(epsilon=1))
        model = FuzzyCMeans(epsilon=1, bounds=BOUNDS, method="published", budget=payer).fit(ROWS)
        # Two clusters of two features: each coordinate has noise of 3 t c (d + 2) / epsilon, and c d of them a range
        # of 1 each. So epsilon d / (3 (d + 2)) is spent.
        assert model.guarantee_ == cl.PureDP(epsilon="1/6")
        assert model.event_ is not None
        assert PureAccountant().spend(model.event_).guarantee() == cl.PureDP(epsilon="1/6")
        assert payer.remaining == cl.PureDP(epsilon="5/6")
        assert model.n_iter_ == 10

    def test_what_it_spends_is_reached_by_the_worst_neighbours_and_never_exceeded(self) -> None:
        for clusters, features in ((1, 1), (2, 2), (3, 5)):
            # One record at either corner of the cube: all means are 0, or all are 1. An output at 0 or below has the
            # largest ratio of probabilities, 2^20 steps a coordinate. In exact numbers, for all iterations together.
            model = FuzzyCMeans(
                n_clusters=clusters, epsilon=2, bounds=(0, 1), method="published", adjacency="replace-one"
            )
            seed = model._published_noise(features, model.find_privacy_target())
            event = seed.noise.event
            loss = clusters * features * seed.iterations / (event.grid * event.scale)
            claimed = seed.spent.epsilon
            assert claimed == Fraction(2) * features / (3 * (features + 2))
            assert claimed * Fraction(999, 1000) < loss <= claimed
            assert float(event.scale * event.grid) == pytest.approx(3 / float(seed.part), rel=1e-5)
            one = replace(seed.noise, dimension=1).log_masses
            apart = one(0.0, [-5.0])[0] - one(1.0, [-5.0])[0]
            assert apart * clusters * features * seed.iterations == pytest.approx(float(loss), rel=1e-5)

    def test_whatever_the_distances_are_its_means_lie_in_the_cube(self) -> None:
        for m in (1.0001, 2.0, 30.0):
            random, model = np.random.default_rng(7), FuzzyCMeans(m=m)
            for scale in (0.0, 1e-9, 1.0, 1e12):
                unit = random.integers(0, 2, size=(5, 3)).astype(np.float64)
                noisy = np.abs(random.laplace(scale=scale, size=(5, 4)))
                means = model._means(unit, model._memberships(noisy, 1 / (m - 1)))
                assert ((means >= 0) & (means <= 1 + 1e-12)).all()

    def test_it_refuses_noise_that_cannot_be_drawn_before_it_is_paid_for(self) -> None:
        payer = InMemoryBudget(cl.PureDP(epsilon=1))
        with pytest.raises(ParameterError, match="64-bit"):
            FuzzyCMeans(epsilon=1e-13, bounds=BOUNDS, method="published", budget=payer).fit(ROWS)
        assert not payer.history

    def test_it_is_far_from_the_best(self) -> None:
        best = objective(ROWS, textbook(ROWS, 2))
        found = [
            objective(
                ROWS, FuzzyCMeans(bounds=BOUNDS, method="published", source=Seeded(seed)).fit(ROWS).cluster_centers_
            )
            for seed in range(10)
        ]
        assert np.mean(found) / best > 4

    def test_with_little_noise_it_settles_near_its_own_formula(self) -> None:
        model = FuzzyCMeans(epsilon=60_000, bounds=BOUNDS, method="published", source=Seeded(7)).fit(ROWS)
        assert objective(ROWS, model.cluster_centers_) < 1.5 * objective(ROWS, textbook(ROWS, 2))

    def test_its_preview_is_as_bad(self) -> None:
        told = FuzzyCMeans(bounds=BOUNDS, method="published").preview(1000)
        assert told.error == pytest.approx(25)  # half the diagonal of the box
        assert told.noise_scale > 100

    def test_it_takes_an_epsilon_alone(self) -> None:
        for given in ({"epsilon": 1, "delta": 1e-6}, {"rho": 1}):
            with pytest.raises(ParameterError, match="epsilon alone"):
                FuzzyCMeans(bounds=BOUNDS, method="published", **given).fit(ROWS)

    def test_without_privacy_it_is_the_plain_algorithm(self) -> None:
        one, other = (
            FuzzyCMeans(epsilon=float("inf"), method=method, random_state=0).fit(ROWS)
            for method in ("published", "auto")
        )
        assert one.cluster_centers_.tolist() == other.cluster_centers_.tolist()
