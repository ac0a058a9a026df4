"""Model cards: they say what was promised, never less, and nothing that is not public."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.exceptions import NotFittedError

import celosia as cl
from celosia.core import ReplaceOne
from celosia.core.errors import ParameterError
from celosia.learn.io.card import card
from celosia.learn.io.model_file import load
from celosia.ledger import InMemoryBudget
from celosia.noise import Seeded
from tests.learn.io.test_model_file import CASES, X, fitted, shared_model

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.sampled(3)
def test_every_model_has_one(name: str) -> None:
    model = shared_model(name)
    for text in (model.card(), model.card("html")):
        for words in (name, "Guarantee", "Data bounds", "Noise", "Post-processing", "Proof", "Provenance", "Seeded"):
            assert words in text
        assert "None" not in text
        assert "nothing was clipped" not in text
        assert str(model.n_features_in_) in text
        page = text.split("proofs/")[1].split(".md")[0]
        assert (ROOT / "proofs" / f"{page}.md").is_file()


def scaler(**changed: Any) -> Any:
    return fitted("StandardScaler", source=None, **changed)


def test_it_says_what_was_promised() -> None:
    text = card(scaler(epsilon=1))
    assert "whether or not any one row was in the data" in text
    assert "a factor of at most 2.72, which is e to 1." in text
    assert "PureDP(epsilon=1)" in text
    assert "Warning" not in text
    assert "except with a probability of at most 1e-06" in card(fitted("LogisticRegression", source=None))
    replaced = card(scaler(adjacency=ReplaceOne))
    assert "whatever any one row held; how many there were is public" in replaced


def test_it_says_the_price_of_what_was_run_and_not_what_is_stated() -> None:
    laplace = card(scaler(epsilon=1, delta="1e-6"))  # whose noise needs no delta
    assert "Guarantee: ApproxDP(epsilon=1, delta=0)." in laplace
    assert "except with a probability" not in laplace
    model = scaler(epsilon=1)
    model.guarantee_ = cl.PureDP(epsilon="0.01")
    assert "Guarantee: PureDP(epsilon=1)." in card(model)
    assert "a factor of at most 2.72" in card(model)
    model.guarantee_ = cl.PureDP(epsilon=1, adjacency=ReplaceOne)
    with pytest.raises(cl.CelosiaError):
        card(model)


def test_values_that_no_fit_leaves_are_an_error_of_ours() -> None:
    model = scaler(epsilon=1)
    model.n_samples_seen_ = {"x": 1}
    with pytest.raises(cl.core.FormatError, match="card cannot be written"):
        card(model)


def test_a_rho_is_told_as_an_epsilon_too() -> None:
    text = card(scaler(epsilon=None, rho="0.1"))
    epsilon = 0.1 + 2 * math.sqrt(0.1 * math.log(1e6))
    shown = float(text.split("which is e to ")[1].split(",")[0])
    assert epsilon <= shown <= epsilon * 1.01
    assert "except with a probability of at most 1e-06" in text


def test_no_number_is_rounded_down() -> None:
    cases: list[Any] = ["0.001", "0.1", "1/3", 1, 2.5, 10, 100, 1000]
    for epsilon in cases:
        text = card(scaler(epsilon=epsilon))
        factor = text.split("a factor of at most ")[1].split(",")[0]
        exact = float(cl.PureDP(epsilon=epsilon).epsilon)
        if exact > 230:
            assert factor == "more than 10^100"
        else:
            assert math.exp(exact) <= float(factor) <= math.exp(exact) * 1.011


def test_persons_are_named() -> None:
    table = cl.table(
        pa.table({"who": [1, 1, 2], "age": [0.2, 0.4, 0.9]}), schema=cl.Schema(age=cl.Real(0, 1)), name="visits",
        person="who", max_groups_per_person=1, max_rows_per_group=2,
    )  # fmt: skip
    session = cl.Session(table, budget=cl.PureDP(epsilon=1))
    text = card(session.fit(cl.learn.StandardScaler(), ["age"], where="age < 0.95"))
    assert "any one person, with all its rows, was in the data" in text
    for words in ("| age | Real(0, 1) |", "| Table | visits |", "| Rows where | age \\< 0.95 |"):
        assert words in text


def test_categories_are_listed() -> None:
    assert "| ward | one of 0, 1, 2 |" in card(fitted("CategoricalNB"))


def test_a_logistic_model_from_a_session_has_its_own_method() -> None:
    frame = pa.table({"age": [0.2, 0.8], "ill": [False, True]})
    table = cl.table(frame, schema=cl.Schema(age=cl.Real(0, 1), ill=cl.Boolean()), name="t")
    text = card(cl.Session(table, budget=cl.PureDP(epsilon=1)).fit(cl.learn.LogisticRegression(), ["age"], "ill"))
    assert "| Method | functional |" in text
    assert "proofs/functional.md" in text
    assert "## Expected loss of accuracy" in text


def test_no_privacy_is_said_first() -> None:
    model = cl.learn.StandardScaler(epsilon=float("inf")).fit(X)
    text = card(model)
    assert text.startswith("# StandardScaler, fitted without privacy\n\n## No guarantee\n\n> **Warning.**")
    assert "nothing was clipped" in text
    assert "Proof" not in text


def test_seeded_noise_is_a_warning() -> None:
    assert "protects nobody" in card(fitted("StandardScaler"))
    assert "protects nobody" not in card(scaler())


def test_real_arithmetic_is_a_warning() -> None:
    assert "floating-point" in card(fitted("PNSGDRegressor"))
    assert "floating-point" not in card(fitted("PNSGDRegressor", amplification="none"))


def test_published_formulas_are_a_warning() -> None:
    assert "published formulas, for comparison" in card(fitted("LinearRegression", method="published"))


def test_the_loss_is_forecast_for_public_numbers_of_rows() -> None:
    text = card(fitted("LinearRegression"))
    assert "| 1,000 |" in text
    assert "| 100,000 |" in text
    one = card(fitted("LinearRegression"), rows=5000)
    assert "| 5,000 |" in one
    assert "| 1,000 |" not in one
    expected = fitted("LinearRegression").preview(5000).error
    assert f"| {expected:.3g} |" in one


def test_the_models_own_noisy_number_of_rows_is_taken() -> None:
    model = scaler()
    assert f"| {max(model.n_samples_seen_, 1):,} |" in card(model)


def test_names_are_escaped() -> None:
    model = fitted("GaussianNB")
    assert "weight\\|x" in card(model)
    assert "weight|x" in card(model, "html")
    named = cl.learn.StandardScaler(bounds=(0, 1)).fit(X.rename(columns={"age": "<script>x</script>"}))
    assert "<script>" not in card(named, "html")


def test_long_lists_of_columns_are_cut_off() -> None:
    model = cl.learn.StandardScaler(bounds=(0, 1), source=Seeded(7)).fit(np.zeros((5, 300)))
    text = card(model)
    assert "And 100 more." in text
    assert "feature 199" in text
    assert "feature 200" not in text


@pytest.mark.parametrize("name", ["LinearRegression", "GaussianNB", "KMeans"])
def test_a_model_from_a_file_has_the_same_card(name: str, tmp_path: Path) -> None:
    model = shared_model(name)
    model.save(tmp_path / "model.json")
    before, after = (card(each).split("| Stored")[0] for each in (model, load(tmp_path / "model.json")))
    assert before.strip() == after.strip()


def test_nothing_is_spent() -> None:
    account = InMemoryBudget(cl.PureDP(epsilon=1))
    model = scaler(budget=account)
    card(model)
    assert len(account.history) == 1


def test_bad_arguments() -> None:
    cases: list[tuple[dict[str, Any], str]] = [({"format": "pdf"}, "format must be"), ({"rows": 0}, "rows must be")]
    for given, words in cases:
        with pytest.raises(ParameterError, match=words):
            card(scaler(), **given)


def test_a_model_must_be_fitted() -> None:
    with pytest.raises(NotFittedError):
        card(cl.learn.StandardScaler())
