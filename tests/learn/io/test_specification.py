"""A specification is an estimator without code: what comes back is equal, and nothing else is taken."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import celosia as cl
from celosia import learn
from celosia.core.errors import CelosiaError, FormatError, ParameterError
from celosia.core.strict_json import DecimalText, read_json
from celosia.learn.io.model_file import model_to_json
from celosia.learn.io.specification import PARAMETERS, make_estimator, restore, specify
from celosia.noise import Seeded

NEVER_SENT = {"bounds", "bounds_y", "budget", "categories", "source"}
EXACT = st.one_of(
    st.integers(1, 10**9), st.fractions(Fraction(1, 10**9), 100), st.floats(1e-9, 100), st.sampled_from(["0.1", "1e-6"])
)
NUMBERS = st.one_of(st.integers(-(2**63), 2**63), st.floats(allow_nan=False, allow_infinity=False))
LABELS = st.one_of(
    st.just("public"), st.lists(st.one_of(st.booleans(), st.integers(-(2**63), 2**63), st.text(max_size=5)), max_size=3)
)
VALUES: dict[str, Any] = {
    "epsilon": EXACT,
    "delta": EXACT,
    "rho": EXACT,
    "adjacency": st.sampled_from([None, "add-remove", cl.ReplaceOne]),
    "classes": LABELS,
    "priors": st.lists(NUMBERS, max_size=3).map(tuple),
    "class_prior": st.lists(st.floats(0, 1), max_size=3).map(np.array),
    "method": st.sampled_from(["auto", "functional", "published"]),
    **dict.fromkeys(("fit_intercept", "fit_prior", "whiten", "with_mean", "with_std"), st.booleans()),
}


def test_the_list_has_every_model_and_decides_about_every_parameter() -> None:
    models = [getattr(learn, name) for name in learn.__all__]
    assert set(PARAMETERS) == {model.__name__ for model in models if hasattr(model, "plan_fit")}
    for name, known in PARAMETERS.items():
        parameters = set(getattr(learn, name)().get_params(deep=False))
        assert known.keys() == parameters - NEVER_SENT, name


@given(st.data())
@settings(max_examples=60)
def test_a_specification_makes_an_equal_estimator(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(PARAMETERS)))
    chosen = data.draw(st.sets(st.sampled_from(sorted(PARAMETERS[name]))))
    given_values = {parameter: data.draw(st.none() | VALUES.get(parameter, NUMBERS)) for parameter in sorted(chosen)}
    estimator = getattr(learn, name)(**given_values)
    written = specify(estimator)
    sent = read_json(json.dumps(written), decimal=DecimalText)  # as a guard reads it
    made = make_estimator(**sent)
    assert type(made) is type(estimator)
    assert specify(made) == written
    for parameter, value in made.get_params(deep=False).items():
        if parameter not in {"epsilon", "delta", "rho", "adjacency"}:
            wanted = getattr(estimator, parameter)
            assert value == (list(wanted) if isinstance(wanted, tuple | np.ndarray) else wanted), parameter
            assert type(value) is type(wanted) or isinstance(wanted, tuple | np.ndarray), parameter


def test_exact_numbers_are_sent_exactly() -> None:
    for value, text in (
        (0.1, "3602879701896397/36028797018963968"),
        ("0.1", "1/10"),
        (Fraction(1, 3), "1/3"),
        (2, "2"),
    ):
        assert specify(learn.PCA(epsilon=value))["parameters"]["epsilon"] == text
    assert specify(learn.PCA()) == specify(learn.PCA(epsilon="1.0")) == {"model": "PCA", "parameters": {"epsilon": "1"}}
    assert specify(learn.PCA(rho=2)) == specify(learn.PCA(epsilon=None, rho="2.0"))
    assert specify(learn.PCA(epsilon=3, rho=2))["parameters"]["epsilon"] == "3"  # refused by the fit, and not hidden


def _each(model: str, name: str, *values: object) -> list[tuple[str, dict[str, object]]]:
    return [(model, {name: value}) for value in values]


def test_what_is_no_specification_is_refused() -> None:
    cases: list[tuple[object, object]] = [
        ("KMeans", {}), ("celosia.learn.PCA", {}), ("load", {}), ("PrivateSearchCV", {}), (7, {}), (None, {}),
        (["PCA"], {}), ("PCA", []), ("PCA", None), ("PCA", {7: 1}), *(("PCA", {name: None}) for name in NEVER_SENT),
        *_each("PCA", "n_components", [True], 1.5, "1.", ".5", "0x1", "١", "1e999", 2**64, [1], {}),
        ("PCA", {"epsilon": True}), ("PCA", {"n_components": True}),
        *_each("PCA", "epsilon", 0.5, b"1", [], {}, "one", "1" * 401),
        *_each("PCA", "whiten", 0, 1, "true", []),
        *_each("GaussianNB", "priors", 1, "1", {}, [[1]], [None], [True], [1] * 10_001),
        *_each("GaussianNB", "classes", 1, {}, [None], [1.5], [[1]], ["x" * 401]),
    ]  # fmt: skip
    for model, parameters in cases:
        with pytest.raises((ParameterError, FormatError)):
            make_estimator(model, parameters)


class Ridge(learn.Ridge):
    """One that only has the name of a model."""


def test_what_cannot_be_sent_is_refused() -> None:
    ridge: Any = learn.Ridge  # with parameters of any type
    cases: list[object] = [
        None, 3, learn.KMeans(), learn.PCA, Ridge(), ridge(source=Seeded(1)), ridge(bounds=(0, 1)),
        ridge(alpha=lambda: 1), ridge(alpha="1"), ridge(epsilon=float("inf")),
        ridge(alpha=True),
        learn.GaussianNB(priors=iter([1])), learn.GaussianNB(classes=[1.5]), ridge(fit_intercept=1),
    ]  # fmt: skip
    for estimator in cases:
        with pytest.raises(ParameterError):
            specify(estimator)


def test_learned_attributes_are_taken_over_and_others_stay() -> None:
    rows = np.linspace(0, 10, 100)[:, None]
    options: dict[str, Any] = {"epsilon": 1, "bounds": (0, 10)}
    fitted = learn.StandardScaler(**options, source=Seeded(1)).fit(rows)
    document = model_to_json(fitted)
    document["parameters"]["bounds"] = None
    waiting = learn.StandardScaler(**options).partial_fit(rows)
    waiting.bounds = None
    waiting.old_ = 7
    restore(waiting, document)
    assert waiting.mean_ == fitted.mean_
    assert (waiting.event_, waiting.guarantee_) == (fitted.event_, fitted.guarantee_)
    assert not vars(waiting).keys() & {"_held", "old_"}
    state = dict(vars(waiting))
    for wrong in (document | {"model": "PCA"}, document | {"event": None}, {}, None, [document]):
        with pytest.raises(CelosiaError):
            restore(waiting, wrong)
        assert vars(waiting) == state
