"""Models as tables, and their page: what was fitted, to which bounds, and what was learned."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import celosia as cl
from celosia import learn
from celosia.guard.schema.requests import FitRequest
from celosia.guard.web.model_table import model_table
from celosia.learn.io.model_file import model_to_json
from celosia.noise import Seeded

if TYPE_CHECKING:
    from pathlib import Path

    from tests.guard.web.browser import Site

SCHEMA = cl.Schema(
    age=cl.Integer(0, 120), weight=cl.Real(0, 200), sex=cl.Category("F", "M"), ward=cl.Category("a", "b", "c")
)


@pytest.fixture(scope="module")
def session() -> cl.Session:
    random = np.random.default_rng(3)
    rows = {
        "age": random.integers(0, 100, 300),
        "weight": random.uniform(40, 100, 300),
        "sex": random.choice(["F", "M"], 300),
        "ward": random.choice(["a", "b", "c"], 300),
    }
    table = cl.table(pa.table(rows), schema=SCHEMA, name="people")
    return cl.Session(table, budget=cl.PureDP(epsilon=10_000), source=Seeded(5))


def shown(session: cl.Session, estimator: Any, features: list[str], target: str | None = None, **options: Any) -> Any:
    fitted = session.fit(estimator, features, target, **options)
    return fitted, model_table(json.loads(json.dumps(model_to_json(fitted))), "en")


def test_numbers_stand_beside_their_features(session: cl.Session) -> None:
    model, table = shown(session, learn.Ridge(epsilon=500, alpha=0.5), ["age"], "weight", where="age > 3")
    assert (table.headings, [row[0] for row in table.rows]) == (("coef_",), ["age", "intercept_"])
    assert float(table.rows[1][1]) == pytest.approx(model.intercept_, abs=0.01)
    assert [(column.name, column.kind, column.fields["high"]) for column in table.columns] == [
        ("age", "integer", 120), ("weight", "real", 200),
    ]  # fmt: skip
    assert (table.name, table.where, table.parameters) == ("Ridge", "age > 3", (("alpha", "0.5"),))
    _, table = shown(session, learn.LogisticRegression(epsilon=500), ["age", "weight"], "sex")
    assert (table.headings, len(table.rows)) == (("coef_[M]",), 3)
    _, table = shown(session, learn.LogisticRegression(epsilon=500), ["age"], "ward")
    assert table.headings == ("coef_[a]", "coef_[b]", "coef_[c]")
    _, table = shown(session, learn.GaussianNB(epsilon=500), ["age", "weight"], "sex")
    assert table.headings == ("theta_[F]", "theta_[M]", "var_[F]", "var_[M]")
    model, table = shown(session, learn.CategoricalNB(epsilon=500), ["ward"], "sex")
    assert (table.headings, [row[0] for row in table.rows]) == (("P[F]", "P[M]"), ["ward = a", "ward = b", "ward = c"])
    assert sum(float(row[1]) for row in table.rows) == pytest.approx(1, abs=0.001)
    _, table = shown(session, learn.PCA(epsilon=500), ["age", "weight"])
    assert table.headings == ("components_[1]", "components_[2]", "mean_")
    _, table = shown(session, learn.StandardScaler(epsilon=500, with_std=False), ["age", "weight"])
    assert table.headings[:1] in {("mean_",), ("var_",)}


def test_a_model_has_a_page(site: Site, tmp_path: Path) -> None:
    wanted: dict[str, Any] = {"dataset": "people", "model": "Ridge", "features": ["age"], "target": "weight"}
    request = FitRequest(**wanted, parameters={"epsilon": "0.5", "alpha": "0.25"}, where="note <> '<b>'")
    answer = site.guard.ask(site.guard.authenticate(site.keys["analyst"]), request, "k")
    path = f"/answers/{answer.id}"
    for lang, words in (
        ("en", ["Fitted model", "What Ridge has learned", "Use it in Python", "ε = 0.5, for every row", "1.649 times"]),
        ("es", ["Modelo ajustado", "Lo que ha aprendido Ridge", "Uso desde Python", "1,649 veces"]),
    ):
        browser = site.browser("analyst", lang=lang)
        page = browser.get(path)
        text = page.text.replace("\N{NO-BREAK SPACE}", " ")
        assert page.status_code == 200
        for word in (
            *words,
            "intercept_",
            "coef_",
            "alpha",
            "Ridge().fit(weight ~ age)",
            "note &lt;&gt; &#39;&lt;b&gt;",
        ):
            assert word in text, word
        assert "<b>" not in text
        assert f'.model("{answer.id}")' in text
        assert "data-chart=" not in text
        assert path in browser.get("/answers").text
    file = browser.get(f"{path}/answer.json")
    (tmp_path / "model.json").write_bytes(file.content)
    loaded = learn.load(tmp_path / "model.json")
    assert (type(loaded).__name__, loaded.guarantee_) == ("Ridge", cl.PureDP(epsilon="0.5"))
    for part in ("chart.json", "chart.svg", "answer.csv"):
        assert browser.get(f"{path}/{part}").status_code == 404
    other = site.anonymous_browser().sign_in(site.guard.add_user(site.local, "other-1", "analyst"))
    assert other.get(path).status_code == other.get(f"{path}/answer.json").status_code == 404
