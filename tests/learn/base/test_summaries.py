"""Estimators that learn from sums: in one go, in chunks, or from noisy numbers that were summed elsewhere."""

import pickle
from typing import Any, ClassVar, Literal

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import celosia as cl
from celosia.core import BudgetExceededError, CelosiaError, InputError, LaplaceEvent, ParameterError, UnboundedDataError
from celosia.learn.base.exact import ExactSums
from celosia.learn.base.fit_spec import FitSpec
from celosia.learn.base.summaries import SummaryEstimator
from celosia.learn.privacy.parameters import axis_of
from celosia.ledger import InMemoryBudget
from celosia.noise import Seeded
from celosia.statistics import (
    ContributionBounds,
    Learner,
    Part,
    Products,
    Provenance,
    RowSensitivity,
    SummaryRequest,
    check_learner,
    moments_up_to,
)
from celosia.statistics.base.target import Target


class Sums(SummaryEstimator):
    """Keeps the noisy numbers themselves: the smallest estimator that learns from sums."""

    def __init__(
        self,
        *,
        epsilon: Any = 1.0,
        delta: Any = None,
        rho: Any = None,
        bounds: Any = None,
        bounds_y: Any = None,
        classes: Any = None,
        adjacency: Any = None,
        budget: Any = None,
        source: Any = None,
    ) -> None:
        self.epsilon, self.delta, self.rho, self.bounds, self.bounds_y = epsilon, delta, rho, bounds, bounds_y
        self.classes, self.adjacency, self.budget, self.source = classes, adjacency, budget, source

    def build_request(self, spec: FitSpec) -> SummaryRequest:
        kinds = spec.kinds
        measure = Products(tuple(map(axis_of, kinds)), moments_up_to(1, len(kinds)))
        part = Part(measure=measure, columns=tuple(range(len(kinds))), by_class=spec.classes is not None)
        return spec.request([part], measure.row_sensitivity)

    def solve_noisy(self, noisy: NDArray[np.int64], request: SummaryRequest, spec: FitSpec) -> None:  # noqa: ARG002 - kept as it is
        self.noisy_ = noisy
        self.noise_scale_ = request.noise.variance**0.5

    def solve_exact(self, values: NDArray[np.float64], target: NDArray[Any] | None) -> None:
        self.plain_ = values.sum(axis=0), target


class NumberSums(Sums):
    """With a target that is a number."""

    learns: ClassVar[Literal["features", "number", "classes"]] = "number"


class ClassSums(Sums):
    """With classes."""

    learns: ClassVar[Literal["features", "number", "classes"]] = "classes"


X = np.random.default_rng(7).uniform(-1, 6, size=(500, 2))
Y = np.random.default_rng(8).uniform(0, 9, size=500)
LABELS = np.random.default_rng(9).integers(0, 3, size=500)


def test_chunks_and_one_go_give_the_same_model() -> None:
    whole = NumberSums(bounds=(0, 5), bounds_y=(0, 10), source=Seeded(7)).fit(X, Y)
    chunked = NumberSums(bounds=(0, 5), bounds_y=(0, 10), source=Seeded(7))
    chunked.partial_fit(X[:3], Y[:3]).partial_fit(X[3:], Y[3:]).finish()
    assert whole.noisy_.tolist() == chunked.noisy_.tolist()
    assert len(whole.noisy_) == 4
    assert whole.n_features_in_ == 2


def test_classes_are_summed_apart() -> None:
    model = ClassSums(bounds=(0, 5), classes=[0, 1, 2, 3], epsilon=60000, source=Seeded(7)).fit(X, LABELS)
    counts = model.noisy_.reshape(4, 3)[:, 0]
    assert np.abs(counts - np.bincount(LABELS, minlength=4)).max() <= 20
    chunked = ClassSums(bounds=(0, 5), epsilon=60000, source=Seeded(7))
    chunked.partial_fit(X[:9], LABELS[:9], classes=[0, 1, 2, 3]).partial_fit(X[9:], LABELS[9:]).finish()
    assert chunked.noisy_.tolist() == model.noisy_.tolist()


def test_what_a_session_does_gives_the_same_model() -> None:
    kinds = {"a": cl.Real(0, 5), "b": cl.Real(0, 5)}
    model = NumberSums(epsilon=2)
    assert isinstance(check_learner(model), Learner)
    request = model.plan_fit(kinds, cl.Real(0, 10))
    held = ExactSums(request, (*kinds.values(), cl.Real(0, 10)))
    held.add(np.column_stack([X, Y]))
    model.finish_fit(
        request.release(held.combine(), Seeded(7)), request, Provenance(seeded=True, table="people", where="a > 0")
    )
    fitted = NumberSums(epsilon=2, bounds=(0, 5), bounds_y=(0, 10), source=Seeded(7)).fit(X, Y)
    assert model.noisy_.tolist() == fitted.noisy_.tolist()
    assert (model.event_, model.guarantee_) == (fitted.event_, fitted.guarantee_)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert model.provenance_ == {"table": "people", "where": "a > 0"}


def test_who_is_protected_by_a_session() -> None:
    bounding = ContributionBounds(rows=3, adjacency=cl.ReplaceOne, unit="person")
    request = Sums().plan_fit({"a": cl.Real(0, 5)}, bounding=bounding)
    assert request.guarantee == cl.PureDP(epsilon=1, adjacency=cl.ReplaceOne, unit="person")
    assert request.event.unit == "person"
    one = Sums().plan_fit({"a": cl.Real(0, 5)}, bounding=ContributionBounds(adjacency=cl.ReplaceOne, unit="person"))
    assert request.noise.variance > 9 * one.noise.variance


def test_a_replaced_row_that_may_be_left_out_costs_more() -> None:
    for droppable, scale in ((False, 2), (True, 3)):
        privacy = Target.of(epsilon=1, adjacency=cl.ReplaceOne)
        spec = FitSpec(features=(cl.Real(0, 1),), privacy=privacy, bounding=privacy.bounding, droppable=droppable)
        row_sensitivity = RowSensitivity(l1=3, l2_squared=5, replace_l1=2, replace_l2_squared=2)
        part = Part(measure=Products((cl.Real(0, 1).axis,), ((0,),)), columns=(0,))
        event = spec.request([part], row_sensitivity).event
        assert isinstance(event, LaplaceEvent)
        assert event.sensitivity == event.scale == scale


def test_nothing_is_released_before_the_end() -> None:
    account = InMemoryBudget(cl.PureDP(epsilon=1))
    model = Sums(bounds=(0, 5), budget=account).partial_fit(X)
    assert account.remaining == cl.PureDP(epsilon=1)
    assert not hasattr(model, "noisy_")
    with pytest.raises(CelosiaError):
        pickle.dumps(model)
    model.finish()
    assert account.remaining == cl.PureDP(epsilon=0)
    with pytest.raises(InputError, match="no records yet"):
        model.finish()


def test_without_privacy_nothing_is_clipped_unless_bounds_say_so() -> None:
    infinite = float("inf")
    assert Sums(epsilon=infinite).fit(X).plain_[0].tolist() == X.sum(axis=0).tolist()
    clipped = Sums(epsilon=infinite, bounds=(0, 5)).fit(X)
    assert clipped.plain_[0].tolist() == np.clip(X, 0, 5).sum(axis=0).tolist()
    assert (clipped.event_, clipped.guarantee_, clipped.noise_scale_) == (None, None, 0.0)
    mixed = Sums(epsilon=infinite, bounds={"a": cl.Boolean(), "b": cl.Real(0, 5)}).fit(X)
    assert mixed.plain_[0].tolist() == np.clip(X, 0, [1, 5]).sum(axis=0).tolist()
    target = NumberSums(epsilon=infinite, bounds_y=(0, 3)).fit(X, Y).plain_[1]
    assert target is not None
    assert target.tolist() == np.clip(Y, 0, 3).tolist()
    chunked = NumberSums(epsilon=infinite).partial_fit(X[:2], Y[:2]).partial_fit(X[2:], Y[2:]).finish()
    assert chunked.plain_[1] is not None
    assert chunked.plain_[1].tolist() == Y.tolist()


def test_what_was_begun_is_finished_as_it_was_begun() -> None:
    cases: list[tuple[float, float]] = [(1, float("inf")), (float("inf"), 1)]
    for first, then in cases:
        model = NumberSums(epsilon=first, bounds=(0, 5), bounds_y=(0, 10)).partial_fit(X, Y).set_params(epsilon=then)
        model.partial_fit(X, Y).finish()
        assert (model.guarantee_ is None) == (first == float("inf"))


def test_records_that_wait_are_no_model() -> None:
    model = Sums(bounds=(0, 5)).partial_fit(X)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    check_is_fitted(model.finish())


def test_where_a_model_comes_from_is_forgotten_with_it() -> None:
    model = Sums()
    request = model.plan_fit({"a": cl.Real(0, 5)})
    model.finish_fit(np.zeros(2, dtype=np.int64), request, Provenance(seeded=False, table="people"))
    assert model.provenance_ == {"table": "people"}
    model.set_params(bounds=(0, 5)).fit(X)
    assert not hasattr(model, "provenance_")


def test_a_solution_that_fails_leaves_nothing_half_done() -> None:
    class Failing(Sums):
        def solve_noisy(self, noisy: NDArray[np.int64], request: SummaryRequest, spec: FitSpec) -> None:  # noqa: ARG002 - fails
            self.noisy_ = noisy
            raise InputError

    model = Failing()
    with pytest.raises(InputError):
        model.finish_fit(np.zeros(2, dtype=np.int64), model.plan_fit({"a": cl.Real(0, 5)}), Provenance(seeded=False))
    assert not [name for name in vars(model) if name.endswith("_")]


def test_what_is_refused_costs_nothing() -> None:
    cases: list[tuple[Sums, Any, type[Exception]]] = [
        (NumberSums(bounds=(0, 5)), Y, UnboundedDataError),
        (NumberSums(bounds_y=(0, 5)), Y, UnboundedDataError),
        (ClassSums(bounds=(0, 5)), LABELS, UnboundedDataError),
        (ClassSums(bounds=(0, 5), classes=[0, 1]), LABELS, InputError),
        (NumberSums(bounds=(0, 5), bounds_y=(0, 5)), Y[:3], InputError),
        (NumberSums(bounds=(0, 5), bounds_y=(0, 5)), None, InputError),
        (NumberSums(bounds=(0, 5), bounds_y=(0, 5), epsilon=-1), Y, ParameterError),
        (NumberSums(bounds=(0, 5), bounds_y=(0, 5), epsilon="1e-30"), Y, ParameterError),
        (NumberSums(bounds=(0, 5), bounds_y=(0, 5), epsilon=2), Y, BudgetExceededError),
    ]
    for model, y, error in cases:
        account = InMemoryBudget(cl.PureDP(epsilon=1))
        model.set_params(budget=account)
        with pytest.raises(error):
            model.fit(X, y)
        assert account.remaining == cl.PureDP(epsilon=1)
        assert account.history == ()
        assert not [name for name in vars(model) if name.endswith("_")]
        model.set_params(budget=None)


def test_a_session_refuses_what_it_cannot_do() -> None:
    column = {"a": cl.Real(0, 5)}
    for model, target in (
        (Sums(), cl.Real(0, 1)),
        (NumberSums(), None),
        (ClassSums(), cl.Text()),
        (NumberSums(), cl.Category("a", "b")),
        (Sums(bounds=(0, 1)), None),
        (NumberSums(bounds_y=(0, 1)), cl.Real(0, 1)),
        (ClassSums(classes=["a", "c"]), cl.Category("a", "b")),
        (Sums(epsilon=float("inf")), None),
    ):
        with pytest.raises(ParameterError):
            model.plan_fit(column, target)
