"""Private k-means against scikit-learn's, and against the figures of other libraries."""

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.cluster import KMeans as Plain
from sklearn.datasets import load_breast_cancer, make_blobs

from celosia.learn.cluster.k_means import KMeans
from celosia.noise import Seeded

HIGH = np.array([
    30, 40, 200, 2600, 0.2, 0.4, 0.5, 0.25, 0.35, 0.1, 3, 5, 25, 600, 0.04, 0.15, 0.4, 0.06, 0.08, 0.03, 40, 50, 260,
    4500, 0.25, 1.1, 1.3, 0.3, 0.7, 0.25,
])  # fmt: skip


def inertia(rows: NDArray[np.float64], centres: NDArray[np.float64]) -> float:
    return float(((rows[:, None] - centres) ** 2).sum(axis=-1).min(axis=1).sum())


def test_without_privacy_it_is_scikit_learn() -> None:
    rows, _ = make_blobs(300, 3, centers=4, random_state=7)
    ours = KMeans(n_clusters=4, epsilon=float("inf"), n_init=3, random_state=0).fit(rows)
    theirs = Plain(4, n_init=3, random_state=0).fit(rows)
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, atol=1e-6)
    assert ours.predict(rows).tolist() == theirs.predict(rows).tolist()
    assert ours.score(rows) == pytest.approx(theirs.score(rows))
    assert ours.labels_.tolist() == theirs.labels_.tolist()
    assert ours.inertia_ == pytest.approx(theirs.inertia_)
    assert ours.event_ is None
    assert ours.guarantee_ is None
    bounded = KMeans(n_clusters=4, epsilon=float("inf"), bounds=(-5, 5), n_init=3, random_state=0, max_iter=9).fit(rows)
    again = Plain(4, n_init=3, random_state=0, max_iter=9).fit(np.clip(rows, -5, 5))
    np.testing.assert_allclose(bounded.cluster_centers_, again.cluster_centers_, atol=1e-6)


# Mean inertia against the best without privacy, of diffprivlib 0.6.6 on the same data and bounds, 20 seeds each.
@pytest.mark.parametrize(
    ("scaled", "clusters", "epsilon", "theirs"),
    [
        *[(True, 2, 0.5, 9.6), (True, 2, 1, 5.1), (True, 2, 2, 2.6), (True, 2, 5, 1.85)],
        *[(False, 2, 0.5, 7.3), (False, 2, 1, 5.0), (False, 2, 2, 3.2), (False, 2, 5, 2.0), (False, 3, 1, 9.1)],
    ],
)
@pytest.mark.sampled(3)
def test_breast_cancer_is_clustered_better_than_elsewhere(
    scaled: bool,  # noqa: FBT001
    clusters: int,
    epsilon: float,
    theirs: float,
) -> None:
    rows, high = load_breast_cancer().data, HIGH
    if scaled:
        rows, high = rows / HIGH, np.ones(30)
    best = Plain(clusters, n_init=2, random_state=0).fit(rows).inertia_
    found = [
        inertia(
            rows,
            KMeans(n_clusters=clusters, epsilon=epsilon, bounds=(0, high), source=Seeded(seed))
            .fit(rows)
            .cluster_centers_,
        )
        for seed in range(10)
    ]
    assert np.mean(found) / best < 0.6 * theirs


@pytest.mark.parametrize("features", [2, 10])
def test_clusters_far_apart_are_all_found(features: int) -> None:
    rows, _ = make_blobs(20_000, features, centers=8, cluster_std=0.5, random_state=3)
    best = Plain(8, n_init=5, random_state=0).fit(rows).inertia_
    model = KMeans(n_clusters=8, epsilon=2, bounds=(-15, 15), source=Seeded(7)).fit(rows)
    assert inertia(rows, model.cluster_centers_) / best < 1.5


def test_clusters_across_the_first_direction_are_found() -> None:
    # The first split is along all features at once: here that direction tells nothing.
    rows = np.repeat([[1.0, 9.0], [8.0, 2.0]], 500, axis=0)
    model = KMeans(n_clusters=2, epsilon=1, bounds=(0, 10), source=Seeded(3)).fit(rows)
    assert inertia(rows, model.cluster_centers_) < 1000


def test_a_large_epsilon_comes_near_the_best() -> None:
    rows = load_breast_cancer().data / HIGH
    best = Plain(2, n_init=5, random_state=0).fit(rows).inertia_
    model = KMeans(n_clusters=2, epsilon=1000, bounds=(0, 1), max_iter=10, source=Seeded(7)).fit(rows)
    assert inertia(rows, model.cluster_centers_) < 1.01 * best
