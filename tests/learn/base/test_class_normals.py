"""From noisy moments to normal distributions: exact without noise, and reasonable whatever the noise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from celosia.learn.base.class_moments import NoisyMoments
from celosia.learn.base.class_normals import class_normals, column_normals, least_count


def _moments(z: NDArray[np.float64], labels: NDArray[np.int64], noise: float = 1e-12) -> NoisyMoments:
    cells = range(int(labels.max()) + 1)
    return NoisyMoments(
        counts=np.array([float((labels == c).sum()) for c in cells]),
        sums=np.array([z[labels == c].sum(axis=0) for c in cells]),
        shortfalls=np.array([(1 - z[labels == c] ** 2).sum(axis=0) for c in cells]),
        count_noise=noise,
        sum_noise=np.full(z.shape[1], noise),
        shortfall_noise=np.full(z.shape[1], noise),
    )


Z = hnp.arrays(np.float64, (12, 3), elements=st.floats(-1, 1).map(lambda x: round(x, 3)))


@given(Z)
def test_without_noise_they_are_means_and_variances(z: NDArray[np.float64]) -> None:
    labels = np.repeat([0, 1, 2], 4)
    found = class_normals(_moments(z, labels))
    assert found.shares == pytest.approx([1 / 3] * 3)
    for c in range(3):
        np.testing.assert_allclose(found.means[c], z[labels == c].mean(axis=0), atol=1e-9)
        np.testing.assert_allclose(found.variances[c], z[labels == c].var(axis=0), atol=1e-9)


@given(Z)
def test_without_noise_columns_are_means_and_variances(z: NDArray[np.float64]) -> None:
    found = column_normals(_moments(z, np.zeros(12, dtype=np.int64)))
    np.testing.assert_allclose(found.means[0], z.mean(axis=0), atol=1e-9)
    np.testing.assert_allclose(found.variances[0], z.var(axis=0), atol=1e-9)


ANY = st.floats(-1e6, 1e6)


@given(
    st.integers(1, 4).flatmap(
        lambda d: st.tuples(
            hnp.arrays(np.float64, 3, elements=ANY),
            hnp.arrays(np.float64, (3, d), elements=ANY),
            hnp.arrays(np.float64, (3, d), elements=ANY),
        )
    ),
    st.floats(1e-6, 1e6),
)
def test_whatever_the_noise_made_of_them_they_are_distributions(
    noisy: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]], noise: float
) -> None:
    counts, sums, shortfalls = noisy
    d = sums.shape[1]
    moments = NoisyMoments(
        counts=counts, sums=sums, shortfalls=shortfalls, count_noise=noise,
        sum_noise=np.full(d, noise), shortfall_noise=np.full(d, noise),
    )  # fmt: skip
    found = class_normals(moments)
    assert found.shares.sum() == pytest.approx(1)
    assert (found.shares > 0).all()
    assert (np.abs(found.means) <= 1).all()
    assert (found.variances > 0).all()
    assert np.isfinite(found.variances).all()
    columns = column_normals(moments)
    assert (np.abs(columns.means) <= 1).all()
    assert ((columns.variances > 0) & (columns.variances <= 1)).all()


def test_means_that_noise_could_have_told_apart_are_drawn_together_and_others_are_not() -> None:
    z = np.repeat([[0.9, 0.01], [-0.9, -0.01]], 50, axis=0)
    labels = np.repeat([0, 1], 50)
    apart = np.diff(class_normals(_moments(z, labels, noise=1.0)).means, axis=0)[0]
    assert abs(apart[0]) > 1.79
    assert abs(apart[1]) == pytest.approx(0.01)


def test_noise_is_added_to_variances_alike_for_all_classes() -> None:
    rng = np.random.default_rng(0)
    z, labels = rng.uniform(-0.1, 0.1, (400, 5)), np.repeat([0, 0, 0, 1], 100)
    sure, unsure = (class_normals(_moments(z, labels, noise=noise)).variances for noise in (1e-9, 20.0))
    assert (unsure.mean(axis=1) > 2 * sure.mean(axis=1)).all()
    assert unsure[0].mean() == pytest.approx(unsure[1].mean(), rel=0.2)


def test_few_rows_are_not_divided_by() -> None:
    assert least_count(0.0) == 1.0
    assert least_count(100.0) == 300.0
