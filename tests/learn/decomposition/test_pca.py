"""PCA: the row sensitivity is exact, neighbours stay within it, and without privacy it equals scikit-learn."""

import itertools
import math
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA as PlainPCA  # noqa: N811 - the same name
from sklearn.exceptions import NotFittedError

import celosia as cl
from celosia.core import AddRemove, InputError, ParameterError, ReplaceOne, UnboundedDataError
from celosia.learn.decomposition import pca as pca_module
from celosia.learn.decomposition.pca import PCA, triangle_row_sensitivity
from celosia.ledger import InMemoryBudget
from celosia.noise import Seeded
from celosia.statistics.base.noise import RowSensitivity

if TYPE_CHECKING:
    from numpy.typing import NDArray

INF = float("inf")


def features(row: tuple[int, ...], rows: int, sums: int) -> "NDArray[np.int64]":
    """What one row adds: the count, the sums, the distinct products. Written anew, with weights."""
    pairs = itertools.combinations_with_replacement(row, 2)
    return np.array([rows, *(sums * value for value in row), *(a * b for a, b in pairs)], dtype=np.int64)


def measured(reaches: tuple[int, ...], rows: int, sums: int) -> RowSensitivity:
    """The row sensitivity by trying all pairs of rows of integers."""
    lattice = itertools.product(*(range(-far, far + 1) for far in reaches))
    table = np.array([features(row, rows, sums) for row in lattice])
    gaps = table[:, None] - table[None]
    return RowSensitivity(
        l1=int(np.abs(table).sum(axis=1).max()),
        l2_squared=int((table**2).sum(axis=1).max()),
        replace_l1=int(np.abs(gaps).sum(axis=2).max()),
        replace_l2_squared=int((gaps**2).sum(axis=2).max()),
    )


CASES = [
    ((3,), 2, 1),
    ((2, 2), 5, 1),
    ((1, 1, 1), 1, 1),
    ((2, 1), 3, 2),
    ((2, 2, 1), 7, 1),
    ((2, 2, 1), 7, 3),
    ((5, 4), 9, 3),
]


# --------------------------------------------------------------------------------------------------- the sensitivity


def test_the_row_sensitivity_is_what_brute_force_finds() -> None:
    for reaches, rows, sums in CASES:
        claimed, found = triangle_row_sensitivity(reaches, rows, sums), measured(reaches, rows, sums)
        assert (claimed.l1, claimed.l2_squared) == (found.l1, found.l2_squared)
        assert found.replace_l1 <= claimed.replace_l1 <= found.replace_l1 + sums + 1  # attained between integers
        squares = [far**2 for far in reaches]
        signs = itertools.product((1, -1), repeat=len(reaches))
        off = min(abs(sum(s * q for s, q in zip(sign, squares, strict=True)) - sums**2) for sign in signs)
        assert found.replace_l2_squared <= claimed.replace_l2_squared <= found.replace_l2_squared + off**2


def test_it_is_attained_where_signs_balance() -> None:
    for reaches, sums in [((1, 1, 1), 1), ((2, 2, 1), 1), ((2, 2, 1), 3)]:
        assert (
            measured(reaches, 1, sums).replace_l2_squared
            == triangle_row_sensitivity(reaches, 1, sums).replace_l2_squared
        )


def test_a_tenth_less_would_be_too_little() -> None:
    for part in ("l1", "l2_squared", "replace_l1", "replace_l2_squared"):
        short = [
            getattr(measured(reaches, rows, sums), part)
            > Fraction(9, 10) * getattr(triangle_row_sensitivity(reaches, rows, sums), part)
            for reaches, rows, sums in CASES
        ]
        assert any(short)


@settings(max_examples=60)
@given(
    reaches=st.lists(st.integers(1, 2**16), min_size=1, max_size=6).map(tuple),
    rows=st.integers(1, 2**32),
    sums=st.integers(1, 2**16),
    data=st.data(),
)
def test_no_pair_of_rows_is_farther_apart(reaches: tuple[int, ...], rows: int, sums: int, data: Any) -> None:
    claimed = triangle_row_sensitivity(reaches, rows, sums)
    row = st.tuples(*(st.one_of(st.sampled_from([-far, 0, far]), st.integers(-far, far)) for far in reaches))
    one, other = (features(data.draw(row), rows, sums).astype(object) for _ in range(2))
    assert np.abs(one).sum() <= claimed.l1
    assert (one**2).sum() <= claimed.l2_squared
    assert np.abs(one - other).sum() <= claimed.replace_l1
    assert ((one - other) ** 2).sum() <= claimed.replace_l2_squared


@settings(max_examples=40)
@given(
    rows=st.lists(st.tuples(*[st.floats(-3, 3)] * 3), min_size=1, max_size=8),
    other=st.tuples(*[st.floats(-3, 3)] * 3),
    place=st.integers(0, 7),
    adjacency=st.sampled_from([AddRemove, ReplaceOne]),
    rho=st.sampled_from([None, 0.1]),
)
def test_neighbours_differ_by_no_more_than_what_is_noised(
    rows: list[tuple[float, ...]],
    other: tuple[float, ...],
    place: int,
    adjacency: Any,
    rho: float | None,
) -> None:
    model = PCA(bounds=([-1, 0, -2], [1, 0.7, 1]), adjacency=adjacency, rho=rho)
    place %= len(rows)
    near = [*rows[:place], *([other] if adjacency is ReplaceOne else []), *rows[place + 1 :]]
    sums = []
    for rows_ in (rows, near):
        held = model._begin(3)
        if rows_:
            held.add(np.array(rows_))
        sums.append(np.array(held.combine(), dtype=object))
    gap = sums[0] - sums[1]
    event = held.request.event
    if rho is None:
        assert np.abs(gap).sum() <= event.sensitivity
    else:
        assert (gap**2).sum() <= event.sensitivity_squared


def lower_bound(draw: Any, tries: int) -> float:
    """A lower bound of epsilon from fits to two neighbours, which holds but once in a thousand times."""
    hits = [sum(draw(end) for _ in range(tries)) for end in (1.0, -1.0)]
    likely = stats.beta.ppf(0.0005, hits[0], tries - hits[0] + 1)
    unlikely = stats.beta.ppf(0.9995, hits[1] + 1, tries - hits[1])
    return math.log(likely / unlikely)


def test_fits_to_neighbours_are_as_alike_as_promised(monkeypatch: pytest.MonkeyPatch) -> None:
    source = Seeded(3)

    def seen(end: float) -> bool:
        model = PCA(epsilon=1, bounds=(-1, 1), adjacency=ReplaceOne, source=source)
        return bool(model.fit([[end, end]]).mean_.sum() > 0)

    assert lower_bound(seen, 100) <= 1
    honest = triangle_row_sensitivity

    def careless(reaches: tuple[int, ...], rows: int, sums: int) -> RowSensitivity:
        right = honest(reaches, rows, sums)
        return RowSensitivity(
            **{name: getattr(right, name) // 20 for name in ("l1", "l2_squared", "replace_l1", "replace_l2_squared")}
        )

    monkeypatch.setattr(pca_module, "triangle_row_sensitivity", careless)
    assert lower_bound(seen, 100) > 1


# ---------------------------------------------------------------------------------------------------- without privacy


def test_without_privacy_it_is_scikit_learns() -> None:
    n_components_cases: list[float | None] = [None, 2, 0.9, 1]
    for n_components, whiten in product(n_components_cases, (False, True)):
        table = load_iris().data
        ours, theirs = (
            PCA(epsilon=INF, n_components=n_components, whiten=whiten).fit(table),
            PlainPCA(n_components, whiten=whiten).fit(table),
        )
        for name in ("components_", "explained_variance_", "explained_variance_ratio_", "singular_values_", "mean_"):
            assert getattr(ours, name) == pytest.approx(getattr(theirs, name), abs=1e-6)
        assert ours.n_components_ == theirs.n_components_
        assert ours.noise_variance_ == pytest.approx(theirs.noise_variance_, abs=1e-6)
        assert ours.transform(table) == pytest.approx(theirs.transform(table), abs=1e-6)
        assert ours.inverse_transform(ours.transform(table)) == pytest.approx(
            theirs.inverse_transform(theirs.transform(table)), abs=1e-6
        )
        if not whiten:  # scikit-learn takes the scale of whitened components twice
            assert ours.get_covariance() == pytest.approx(theirs.get_covariance(), abs=1e-6)
        assert ours.event_ is None
        assert ours.guarantee_ is None


def test_with_hardly_any_noise_it_is_nearly_scikit_learns() -> None:
    adjacency_cases: list[Any] = [AddRemove, ReplaceOne]
    spent_cases: list[dict[str, Any]] = [{"epsilon": 60000}, {"rho": 60000}, {"epsilon": 60000, "delta": 1e-6}]
    for adjacency, spent in product(adjacency_cases, spent_cases):
        table = load_iris().data
        ours = PCA(bounds=([4, 2, 1, 0], [8, 5, 7, 3]), adjacency=adjacency, source=Seeded(5), **spent).fit(table)
        theirs = PlainPCA().fit(table)
        assert ours.components_ == pytest.approx(theirs.components_, abs=0.02)
        assert ours.explained_variance_ == pytest.approx(theirs.explained_variance_, rel=0.02)
        assert ours.mean_ == pytest.approx(theirs.mean_, abs=0.01)


def test_bounds_clip_without_privacy_too() -> None:
    table = np.random.default_rng(1).normal(size=(50, 3))
    assert PCA(epsilon=INF, bounds=(-1, 1)).fit(table).mean_ == pytest.approx(np.clip(table, -1, 1).mean(axis=0))


# ------------------------------------------------------------------------------------------------------- with privacy


def test_components_are_found_at_a_moderate_epsilon() -> None:
    rng = np.random.default_rng(4)
    table = rng.normal(size=(20_000, 2)) @ np.array([[3.0, 2.0, 1.0, 0.0], [0.0, 0.5, -1.0, 1.5]]) / 4
    for spent in ({"epsilon": 1}, {"epsilon": 1, "delta": 1e-6}, {"rho": 0.05}):
        model = PCA(n_components=1, bounds=(-3, 3), source=Seeded(1), **spent).fit(table)
        assert abs(model.components_[0] @ PlainPCA(1).fit(table).components_[0]) > 0.98


@settings(max_examples=20)
@given(st.integers(0, 10**6))
def test_what_is_learned_makes_sense_whatever_the_noise(seed: int) -> None:
    model = PCA(epsilon=0.01, bounds=(0, 1), source=Seeded(seed)).fit(np.full((5, 3), 0.5))
    assert (model.explained_variance_ >= 0).all()
    assert (np.diff(model.explained_variance_) <= 1e-12).all()
    assert model.components_ @ model.components_.T == pytest.approx(np.eye(3), abs=1e-9)
    assert ((model.mean_ >= 0) & (model.mean_ <= 1)).all()
    assert 0 <= model.explained_variance_ratio_.sum() <= 1 + 1e-9
    assert model.n_samples_ >= 2
    largest = np.abs(model.components_).argmax(axis=1)
    assert (model.components_[np.arange(3), largest] > 0).all()


def test_chunks_give_the_same_model() -> None:
    table = np.random.default_rng(2).uniform(size=(999, 4))
    whole = PCA(bounds=(0, 1), source=Seeded(9)).fit(table)
    parts = PCA(bounds=(0, 1), source=Seeded(9))
    for chunk in np.array_split(table, 7):
        parts.partial_fit(chunk)
    assert np.array_equal(parts.finish().components_, whole.components_)
    assert np.array_equal(parts.explained_variance_, whole.explained_variance_)


def test_the_forecast_is_what_happens() -> None:
    table = np.random.default_rng(6).uniform(-1, 1, (4000, 3))
    plain = np.cov(table.T)
    errors = []
    for seed in range(60):
        model = PCA(epsilon=2, bounds=(-1, 1), source=Seeded(seed)).fit(table)
        covariance = (model.components_.T * model.explained_variance_) @ model.components_
        errors.append((covariance - plain)[np.triu_indices(3, 1)])
    forecast = PCA(epsilon=2, bounds=(-1, 1)).preview(4000, n_features=3)
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(forecast.error, rel=0.2)
    assert forecast.noise_scale == pytest.approx(model.noise_scale_)
    assert PCA(bounds=(0, 1)).preview(100, INF, n_features=2).error == 0


def test_what_was_paid_for_is_told() -> None:
    account = InMemoryBudget(cl.PureDP(epsilon=1))
    model = PCA(epsilon="0.4", bounds=(0, 1), budget=account, source=Seeded(1)).fit(np.zeros((10, 2)))
    assert account.remaining == cl.PureDP(epsilon="0.6")
    assert model.guarantee_ == cl.PureDP(epsilon="0.4")
    assert model.event_ is not None
    assert model.event_.arithmetic == "integer"
    assert model.seeded_
    assert model.get_feature_names_out().tolist() == ["pca0", "pca1"]


# ----------------------------------------------------------------------------------------------------------- refusals


def test_a_number_of_components_that_makes_no_sense_costs_nothing() -> None:
    cases: list[Any] = [0, 4, -1, 1.5, 0.0, 1.0, "mle", True, float("nan"), [2]]
    for wrong in cases:
        account = InMemoryBudget(cl.PureDP(epsilon=1))
        with pytest.raises(ParameterError, match="n_components"):
            PCA(n_components=wrong, bounds=(0, 1), budget=account).fit(np.zeros((5, 3)))
        assert not account.history


def test_data_that_cannot_be_read_cost_nothing() -> None:
    cases: list[Any] = [np.full((3, 2), np.nan), np.full((3, 2), np.inf), np.empty((2, 0)), np.zeros(3), [["a"]]]
    for data in cases:
        account = InMemoryBudget(cl.PureDP(epsilon=1))
        with pytest.raises(InputError):
            PCA(bounds=(0, 1), budget=account).fit(data)
        assert not account.history


def test_other_refusals() -> None:
    with pytest.raises(UnboundedDataError, match="bounds"):
        PCA().fit(np.zeros((3, 2)))
    with pytest.raises(ParameterError, match="whiten"):
        PCA(bounds=(0, 1)).set_params(whiten="yes").fit(np.zeros((3, 2)))
    with pytest.raises(NotFittedError):
        PCA().transform([[1.0]])
    with pytest.raises(ParameterError, match="n_features"):
        PCA(bounds=(0, 1)).preview(100)
    with pytest.raises(ParameterError, match="n must"):
        PCA(bounds=(0, 1)).preview(1, n_features=2)


def test_bounds_go_to_the_next_step() -> None:
    epsilon_cases: list[float] = [1.0, float("inf")]
    for whiten, epsilon in product((False, True), epsilon_cases):
        rows = np.random.default_rng(7).uniform([0, -5, 10], [1, 5, 20], size=(500, 3))
        bounds = ([0, -5, 10], [1, 5, 20])
        model = PCA(n_components=2, whiten=whiten, epsilon=epsilon, bounds=bounds, source=Seeded(7)).fit(rows)
        assert model.bounds_ is not None
        corners = np.array(np.meshgrid(*np.array(bounds).T.tolist())).reshape(3, -1).T.astype(float)
        projected = model.transform(corners)
        np.testing.assert_allclose(model.bounds_, [projected.min(axis=0), projected.max(axis=0)], rtol=1e-3, atol=1e-3)
        assert PCA(epsilon=float("inf")).fit(rows).bounds_ is None
