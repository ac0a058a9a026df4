"""What both kinds of private clustering share: parameters, payment, and what centres say about points."""

import inspect
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import check_clustering

import celosia as cl
from celosia.accounting import PureAccountant
from celosia.core import BudgetExceededError, InputError, ParameterError, ReplaceOne, UnboundedDataError
from celosia.learn.cluster.base import Clusterer
from celosia.learn.cluster.fuzzy_c_means import FuzzyCMeans
from celosia.learn.cluster.k_means import KMeans
from celosia.ledger import InMemoryBudget
from celosia.noise import Seeded
from celosia.statistics.base.target import Target

ROWS = np.repeat([[1.0, 9.0], [8.0, 2.0]], 300, axis=0) + np.random.default_rng(7).normal(scale=0.3, size=(600, 2))
Kind = type[KMeans] | type[FuzzyCMeans]
KINDS: list[Kind] = [KMeans, FuzzyCMeans]


def account() -> InMemoryBudget:
    return InMemoryBudget(cl.PureDP(epsilon=1))


def flat(event: Any) -> list[Any]:
    """The events that an event is made of."""
    inner = getattr(event, "events", [event.event] if hasattr(event, "event") else None)
    return [event] if inner is None else [one for part in inner for one in flat(part)]


def test_the_same_source_gives_the_same_centres() -> None:
    for kind in KINDS:
        first, second = (kind(n_clusters=2, bounds=(0, 10), source=Seeded(7)).fit(ROWS) for _ in range(2))
        assert first.cluster_centers_.tolist() == second.cluster_centers_.tolist()
        other = kind(n_clusters=2, bounds=(0, 10), source=Seeded(8)).fit(ROWS)
        assert first.cluster_centers_.tolist() != other.cluster_centers_.tolist()
        assert first.seeded_


def test_clusters_are_found_and_promised() -> None:
    given_cases: list[dict[str, Any]] = [{"epsilon": 2}, {"epsilon": 3, "delta": 1e-6}, {"rho": 0.5}]
    for kind, given, adjacency in product(KINDS, given_cases, ("add-remove", "replace-one")):
        model = kind(n_clusters=2, bounds=(0, 10), adjacency=adjacency, source=Seeded(7), **given).fit(ROWS)
        found = model.cluster_centers_[np.argsort(model.cluster_centers_[:, 0])]
        assert np.abs(found - [[1, 9], [8, 2]]).max() < 1
        assert model.guarantee_ is not None
        assert model.event_ is not None
        assert model.guarantee_.adjacency == model.event_.adjacency
        assert model.noise_scale_ > 0
        assert 4 <= model.n_iter_ <= 16


@pytest.mark.parametrize("kind", KINDS)
def test_passes_grow_with_epsilon_and_a_public_size_and_never_with_a_private_one(kind: Kind) -> None:
    def passes(rows: int = 600, **given: Any) -> int:
        model = kind(n_clusters=2, bounds=(0, 10), source=Seeded(7), **given).fit(np.resize(ROWS, (rows, 2)))
        assert model.event_ is not None
        assert len(flat(model.event_)) == model.n_iter_
        return model.n_iter_

    several: list[dict[str, Any]] = [{}, {"delta": 1e-6}]
    for more in several:
        found = [passes(epsilon=epsilon, **more) for epsilon in ("0.01", "0.1", 1, 4, 1000)]
        assert found == sorted(found)
        assert found[0] == 4  # noise bears no more
        assert found[-1] == 16
    assert passes(60) == passes(600) == passes(6000)
    assert passes(epsilon="0.1") < passes(epsilon="0.1", expected_rows=20_000)
    swapped = [passes(rows, epsilon="0.5", adjacency="replace-one") for rows in (60, 600, 60_000)]
    assert swapped == sorted(swapped)
    assert swapped[0] < swapped[-1]
    assert swapped[1] == passes(epsilon="0.5", adjacency="replace-one", expected_rows=600)
    assert passes(max_iter=2, epsilon=1000) == 3


@pytest.mark.parametrize("kind", KINDS)
def test_centres_leave_the_saddle_of_an_even_square(kind: Kind) -> None:
    """Four centres on the middles of the sides cost 1.33 of the best, and passes leave them slowly."""
    square = np.random.default_rng(3).uniform(size=(4_000, 2))
    quarters = np.array([[0.25, 0.25], [0.25, 0.75], [0.75, 0.25], [0.75, 0.75]])
    best = kind(n_clusters=4, epsilon=1000, bounds=(0, 1), source=Seeded(1)).fit(square)
    best.cluster_centers_ = quarters
    for epsilon in (5, 1000):
        model = kind(n_clusters=4, epsilon=epsilon, bounds=(0, 1), expected_rows=4_000, source=Seeded(7)).fit(square)
        assert model.score(square) / best.score(square) < 1.03


def test_replace_one_needs_about_twice_the_noise() -> None:
    for kind in KINDS:
        one, two = (
            kind(n_clusters=2, bounds=(0, 10), adjacency=near, max_iter=3, source=Seeded(7)).fit(ROWS).noise_scale_
            for near in ("add-remove", "replace-one")
        )
        assert two == pytest.approx(2 * one, rel=1e-3)


def test_nothing_of_the_records_is_kept() -> None:
    for kind in KINDS:
        model = kind(n_clusters=2, bounds=(0, 10), source=Seeded(7)).fit(ROWS)
        learned = {name for name in vars(model) if name.endswith("_")}
        assert learned == {
            "cluster_centers_", "event_", "guarantee_", "n_features_in_", "n_iter_", "noise_scale_", "seeded_",
        }  # fmt: skip
        for name in ("labels_", "inertia_", "u_"):
            assert not hasattr(model, name)


@pytest.mark.parametrize("kind", KINDS)
def test_labels_of_a_fit_without_privacy_do_not_stay_in_a_private_model(kind: Kind) -> None:
    model = kind(n_clusters=2, epsilon=float("inf"), bounds=(0, 10), random_state=0, source=Seeded(7))
    assert model.fit_predict(ROWS).tolist() == model.labels_.tolist() == model.predict(ROWS).tolist()
    check_clustering(kind.__name__, kind(epsilon=float("inf")))
    with pytest.raises(InputError, match="minimum of 2"):
        model.fit(ROWS[:1])
    with pytest.raises(InputError):
        model.set_params(epsilon=1).fit(ROWS[:, 0])
    assert hasattr(model, "labels_")  # nothing was learned: the model is what it was
    model.fit(ROWS)
    assert not hasattr(model, "labels_")
    assert not hasattr(model, "inertia_")


@pytest.mark.parametrize("kind", KINDS)
def test_with_a_delta_the_noise_that_moves_centres_least_is_taken(kind: Kind) -> None:
    for features, epsilon, laplace in (
        (1, 1, True),
        (2, 1, False),
        (2, 2, True),
        (5, 1, False),
        (5, 40, True),
        (30, 1, False),
    ):
        given: dict[str, Any] = {"n_clusters": 2, "bounds": (0, 10), "adjacency": "replace-one", "source": Seeded(7)}
        given["max_iter"] = 3
        rows = np.resize(ROWS, (200, features))
        model = kind(epsilon=epsilon, delta=1e-6, **given).fit(rows)
        assert model.guarantee_ == cl.ApproxDP(epsilon=epsilon, delta=1e-6, adjacency=ReplaceOne)
        assert model.event_ is not None
        names = {type(event).__name__ for event in flat(model.event_)}
        assert names == {"LaplaceEvent" if laplace else "GaussianEvent"}
        told = model.preview(200).error
        pure = kind(epsilon=epsilon, **given)
        rho = kind(rho=Target.of(epsilon=epsilon, delta=1e-6).total_rho, **given)
        forecasts = [one.preview(200, n_features=features).error for one in (pure, rho)]
        assert told == pytest.approx(min(forecasts))
        if laplace:
            assert (
                model.cluster_centers_.tolist() == pure.set_params(source=Seeded(7)).fit(rows).cluster_centers_.tolist()
            )
            assert PureAccountant().spend(model.event_).guarantee() == pure.guarantee_


def test_what_cannot_be_run_is_refused_and_nothing_spent() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"epsilon": 1e-14}, "64-bit"),
        ({"max_iter": 10**9}, "max_iter must be at most 1000"),
    ]
    for kind, (given, words) in product(KINDS, cases):
        payer = account()
        with pytest.raises(ParameterError, match=words):
            kind(n_clusters=2, bounds=(0, 10), budget=payer, **given).fit(ROWS)
        with pytest.raises(ParameterError, match=words):
            kind(n_clusters=2, bounds=(0, 10), **given).preview(1000, n_features=2)
        assert not payer.history


def test_bad_input_is_refused_and_nothing_spent() -> None:
    cases: list[tuple[dict[str, Any], Any, type[Exception], str]] = [
        ({"bounds": None}, ROWS, UnboundedDataError, "bounds must be given"),
        ({"bounds": (10, 0)}, ROWS, ParameterError, "low must be less"),
        ({"bounds": ([0, 0, 0], 10)}, ROWS, ParameterError, "bounds must be"),
        ({"n_clusters": 0}, ROWS, ParameterError, "n_clusters must be at least 1"),
        ({"n_clusters": 2.0}, ROWS, ParameterError, "n_clusters must be an integer"),
        ({"n_clusters": True}, ROWS, ParameterError, "n_clusters must be an integer"),
        ({"max_iter": 0}, ROWS, ParameterError, "max_iter must be at least 1"),
        ({"method": "lloyd"}, ROWS, ParameterError, "method must be one of"),
        ({"epsilon": -1}, ROWS, ParameterError, "epsilon"),
        ({"epsilon": float("nan")}, ROWS, ParameterError, "epsilon"),
        ({"n_clusters": 2**16 + 1}, ROWS, ParameterError, "n_clusters must be at most 65,536 with privacy"),
        ({}, ROWS[:, 0], InputError, "2D array"),
        ({}, np.where(ROWS > 9, np.nan, ROWS), InputError, "NaN"),
        ({}, np.where(ROWS > 9, np.inf, ROWS), InputError, "infinity"),
        ({}, sparse.csr_matrix(ROWS), InputError, "[Ss]parse"),
        ({}, [["a", "b"]] * 9, InputError, "numbers"),
    ]
    for kind, (given, rows, error, words) in product(KINDS, cases):
        payer = account()
        parameters: dict[str, Any] = {"n_clusters": 2, "bounds": (0, 10), "budget": payer} | given
        model = kind(**parameters)
        with pytest.raises(error, match=words):
            model.fit(rows)
        assert payer.remaining == cl.PureDP(epsilon=1)
        assert not payer.history
        assert not any(name.endswith("_") for name in vars(model))


def test_sample_weights_are_no_parameter() -> None:
    for kind in KINDS:
        assert "sample_weight" not in inspect.signature(kind.fit).parameters


def test_a_budget_is_charged_once_and_then_empty() -> None:
    for kind in KINDS:
        payer = account()
        model = kind(n_clusters=2, bounds=(0, 10), budget=payer, epsilon="0.6").fit(ROWS)
        assert payer.remaining == cl.PureDP(epsilon="0.4")
        assert len(payer.history) == 1
        before = model.cluster_centers_.tolist()
        with pytest.raises(BudgetExceededError):
            model.fit(ROWS)
        assert model.cluster_centers_.tolist() == before


def test_points_are_assigned_to_the_nearest_centre() -> None:
    for kind in KINDS:
        model = kind(n_clusters=3, bounds=(0, 10), source=Seeded(7)).fit(ROWS)
        distances = np.linalg.norm(ROWS[:, None] - model.cluster_centers_, axis=-1)
        np.testing.assert_allclose(model.transform(ROWS), distances, atol=1e-6)
        assert model.predict(ROWS).tolist() == distances.argmin(axis=1).tolist()
        assert model.get_feature_names_out().tolist() == [f"{kind.__name__.lower()}{place}" for place in range(3)]


def test_fit_predict_is_predict_of_the_released_centres() -> None:
    for kind in KINDS:
        model = kind(n_clusters=2, bounds=(0, 10), source=Seeded(7))
        assert model.fit_predict(ROWS).tolist() == model.predict(ROWS).tolist()


def test_an_unfitted_model_says_so() -> None:
    for kind in KINDS:
        for method in ("predict", "transform", "score"):
            with pytest.raises(NotFittedError):
                getattr(kind(), method)(ROWS)


def test_frames_and_schemas() -> None:
    for kind in KINDS:
        frame = pd.DataFrame(ROWS, columns=["age", "dose"])
        schema = cl.Schema(dose=cl.Real(0, 10), age=cl.Real(0, 20))
        model = kind(n_clusters=2, bounds=schema, source=Seeded(7)).fit(frame)
        assert model.feature_names_in_.tolist() == ["age", "dose"]
        arrays = kind(n_clusters=2, bounds=([0, 0], [20, 10]), source=Seeded(7)).fit(ROWS)
        assert model.cluster_centers_.tolist() == arrays.cluster_centers_.tolist()


def test_how_rows_lie_in_memory_does_not_matter() -> None:
    for kind in KINDS:
        locked = ROWS.copy()
        locked.setflags(write=False)
        centres = [
            kind(n_clusters=2, bounds=(0, 10), source=Seeded(7)).fit(rows).cluster_centers_.tolist()
            for rows in (ROWS, locked, np.asfortranarray(ROWS), ROWS.tolist(), np.repeat(ROWS, 2, axis=1)[:, ::2])
        ]
        assert all(found == centres[0] for found in centres)


def test_values_outside_the_bounds_count_as_the_bound() -> None:
    for kind in KINDS:
        rows = ROWS.copy()
        rows[:5] = [1e300, -1e300]
        clipped = np.clip(rows, 0, 10)
        one, other = (kind(n_clusters=2, bounds=(0, 10), source=Seeded(7)).fit(data) for data in (rows, clipped))
        assert one.cluster_centers_.tolist() == other.cluster_centers_.tolist()


def test_one_record_one_feature_one_cluster() -> None:
    for kind in KINDS:
        model = kind(n_clusters=1, bounds=(3, 4), source=Seeded(7)).fit([[3.5]])
        assert model.cluster_centers_.shape == (1, 1)
        assert 3 <= model.cluster_centers_[0, 0] <= 4


def test_a_preview_spends_nothing_and_more_of_everything_is_better() -> None:
    for kind in KINDS:
        payer = account()
        model = kind(n_clusters=2, bounds=(0, [10, 20]), budget=payer)
        base = model.preview(1000, epsilon=1)
        assert model.preview(10_000, epsilon=1).error < base.error
        assert model.preview(1000, epsilon=2).error < base.error
        assert model.preview(1000, rho=100).error < base.error
        assert model.preview(1000, epsilon=float("inf")).error == 0
        assert payer.remaining == cl.PureDP(epsilon=1)
        with pytest.raises(ParameterError, match="n_features"):
            kind(bounds=(0, 1)).preview(1000)
        with pytest.raises(ParameterError, match="n must be"):
            model.preview(0)


@pytest.mark.parametrize("kind", KINDS)
def test_a_preview_is_of_the_size_of_what_noise_does(kind: Kind) -> None:
    rows = np.repeat([[2.0, 2.0], [8.0, 8.0]], 400, axis=0) + np.random.default_rng(8).normal(size=(800, 2))
    exact = kind(n_clusters=2, bounds=(0, 10), epsilon=1e4, source=Seeded(1)).fit(rows).cluster_centers_
    fits = [kind(n_clusters=2, bounds=(0, 10), source=Seeded(seed)).fit(rows).cluster_centers_ for seed in range(20)]
    moved = [np.linalg.norm(np.sort(found, axis=0) - np.sort(exact, axis=0), axis=1).mean() for found in fits]
    told = kind(n_clusters=2, bounds=(0, 10)).preview(800, epsilon=1, n_features=2).error
    assert told / 5 < float(np.mean(moved)) < told * 5


def test_clones_are_equal_and_unfitted() -> None:
    for kind in KINDS:
        model = kind(n_clusters=2, bounds=(0, 10), source=Seeded(7)).fit(ROWS)
        twin = clone(model)
        assert not hasattr(twin, "cluster_centers_")
        assert twin.get_params()["bounds"] == (0, 10)
        assert issubclass(kind, Clusterer)
