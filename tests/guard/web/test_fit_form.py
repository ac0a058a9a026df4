from __future__ import annotations

from celosia.guard.web.fit_form import MODELS, read_fit
from celosia.learn.io.specification import PARAMETERS


def test_every_model_that_can_be_sent_is_offered() -> None:
    assert set(MODELS) == set(PARAMETERS)


def test_the_request_is_that_of_the_api() -> None:
    form = {"model": "Ridge", "target": "weight", "feature age": "yes", "feature a b": "yes", "condition": " age > 1 "}
    assert read_fit(form, "people", "people", {"epsilon": "0.5"}).to_json() == {
        "dataset": "people",
        "model": "Ridge",
        "parameters": {"epsilon": "0.5"},
        "features": ["age", "a b"],
        "target": "weight",
        "table": "people",
        "where": "age > 1",
    }
    assert read_fit({**form, "model": "PCA"}, "people", "people", {}).target is None
    assert (
        read_fit({**form, "target": "", "condition": ""}, "people", "people", {})
        .to_json()
        .keys()
        .isdisjoint({"target", "where"})
    )
