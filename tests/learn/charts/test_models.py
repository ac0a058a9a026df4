from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from sklearn.cluster import KMeans as PlainKMeans
from sklearn.linear_model import LinearRegression as PlainLine
from sklearn.linear_model import LogisticRegression as PlainLogistic

from celosia.core import InputError, ParameterError
from celosia.learn.charts import facts
from celosia.learn.charts.models import accuracy_chart, clusters_chart, fit_chart, regions_chart
from celosia.learn.cluster.fuzzy_c_means import FuzzyCMeans
from celosia.learn.cluster.k_means import KMeans
from celosia.learn.linear_model.linear import LinearRegression
from celosia.learn.linear_model.logistic import LogisticRegression
from celosia.learn.naive_bayes.gaussian import GaussianNB
from celosia.noise import Seeded
from celosia.plots import save

if TYPE_CHECKING:
    from pathlib import Path

RNG = np.random.default_rng(4)
X = RNG.uniform(0, 10, size=(2000, 1))
Y = 3 * X[:, 0] + 5 + RNG.normal(size=2000)
LABELS = (RNG.uniform(size=2000) < 1 / (1 + np.exp(5 - X[:, 0]))).astype(np.int64)
POINTS = np.vstack([RNG.normal(0.3, 0.08, (500, 2)), RNG.normal(0.7, 0.08, (500, 2))])
CLASSES = np.repeat([0, 1], 500)
LINE = LinearRegression(epsilon=5, bounds=(0, 10), bounds_y=(0, 40), source=Seeded(1)).fit(X, Y)
SECRET = 0.123456789  # a value that no chart may show unless it was asked to


def numbers(chart: Any) -> list[dict[str, Any]]:
    held = [part.data for part in (chart, *chart.layer)]
    return [row for data in held for row in (data["values"] if isinstance(data, dict) else getattr(data, "values", []))]


@pytest.fixture
def few_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compute a band at few places: each takes milliseconds."""
    monkeypatch.setattr(facts, "_PLACES", 5)


def test_a_line_its_band_and_the_one_without_privacy() -> None:
    chart = fit_chart(LINE, plain=PlainLine().fit(X, Y))
    rows = numbers(chart)
    assert {row["name"] for row in rows} == {"private", "without privacy", "band"}
    band = [row for row in rows if row["name"] == "band"]
    line = {round(row["x"], 6): row["y"] for row in rows if row["name"] == "private"}
    ends = [row for row in band if round(row["x"], 6) in line]
    assert len(ends) > 5
    assert all(row["y"] <= line[round(row["x"], 6)] <= row["y_high"] for row in ends)
    truth = [3 * row["x"] + 5 for row in band]
    inside = [row["y"] <= value <= row["y_high"] for row, value in zip(band, truth, strict=True)]
    assert sum(inside) >= len(inside) * 0.8
    assert "95 %" in chart.to_dict()["title"]["subtitle"][0]


@pytest.mark.usefixtures("few_places")
def test_a_wider_band_is_surer() -> None:
    widths = []
    for level in (0.5, 0.99):
        band = [row for row in numbers(fit_chart(LINE, level=level)) if row["name"] == "band"]
        widths.append(np.mean([row["y_high"] - row["y"] for row in band]))
    assert widths[0] < widths[1]


@pytest.mark.usefixtures("few_places")
def test_a_line_through_the_origin_has_a_band_too() -> None:
    model = LinearRegression(epsilon=5, bounds=(0, 10), bounds_y=(0, 40), fit_intercept=False, source=Seeded(1))
    band = [row for row in numbers(fit_chart(model.fit(X, 3 * X[:, 0]))) if row["name"] == "band"]
    assert band[0]["y"] == pytest.approx(0, abs=1e-9)
    assert all(row["y"] <= 3 * row["x"] <= row["y_high"] for row in band[1:])


def test_without_moments_there_is_no_band() -> None:
    model = LinearRegression(epsilon=5, bounds=(0, 10), bounds_y=(0, 40), method="functional", source=Seeded(1))
    assert {row["name"] for row in numbers(fit_chart(model.fit(X, Y)))} == {"private"}


def test_a_sigmoid_is_a_probability() -> None:
    model = LogisticRegression(epsilon=5, bounds=(0, 10), classes=[0, 1], source=Seeded(1)).fit(X, LABELS)
    rows = numbers(fit_chart(model, plain=PlainLogistic().fit(X, LABELS)))
    private = [row["y"] for row in rows if row["name"] == "private"]
    assert private == sorted(private)
    assert 0 <= private[0] < 0.5 < private[-1] <= 1


@pytest.mark.usefixtures("few_places")
def test_records_are_drawn_only_where_that_is_asked_for() -> None:
    secret = X.copy()
    secret[0] = SECRET
    for chart in (fit_chart(LINE, secret, Y), fit_chart(LINE)):
        assert not any(SECRET in row.values() for row in numbers(chart))
    assert any(SECRET in row.values() for row in numbers(fit_chart(LINE, secret, Y, show_points=True)))
    points = POINTS.copy()
    points[0] = SECRET
    model = KMeans(n_clusters=2, epsilon=5, bounds=(0, 1), source=Seeded(1)).fit(POINTS)
    assert not any(SECRET in row.values() for row in numbers(clusters_chart(model, points)))
    assert any(SECRET in row.values() for row in numbers(clusters_chart(model, points, show_points=True)))
    bayes = GaussianNB(epsilon=5, bounds=(0, 1), classes=[0, 1], source=Seeded(1)).fit(POINTS, CLASSES)
    assert not any(SECRET in row.values() for row in numbers(regions_chart(bayes, points, CLASSES)))
    assert any(SECRET in row.values() for row in numbers(regions_chart(bayes, points, CLASSES, show_points=True)))


@pytest.mark.usefixtures("few_places")
def test_axes_run_between_the_bounds_and_not_between_the_records() -> None:
    narrow = RNG.uniform(4, 6, size=(2000, 1))
    model = LinearRegression(epsilon=5, bounds=(0, 10), bounds_y=(0, 40), source=Seeded(1)).fit(
        narrow, 3 * narrow[:, 0]
    )
    across = [row["x"] for row in numbers(fit_chart(model, narrow, 3 * narrow[:, 0]))]
    assert (min(across), max(across)) == (0, 10)


@pytest.mark.parametrize("kind", [KMeans, FuzzyCMeans])
def test_clusters(kind: Any, tmp_path: Path) -> None:
    model = kind(n_clusters=2, epsilon=5, bounds=(0, 1), source=Seeded(1)).fit(POINTS)
    chart = clusters_chart(model, plain=PlainKMeans(2, random_state=0).fit(POINTS), columns=(1, 0))
    shown = [row for row in numbers(chart) if row.get("series") == "private centre"]
    np.testing.assert_allclose([[row["y"], row["x"]] for row in shown], model.cluster_centers_)
    assert len([row for row in numbers(chart) if row.get("series") == "centre without privacy"]) == 2
    assert "cluster 1" in save(chart, tmp_path / "clusters.svg").read_text()
    # Each tile has the colour of the cluster that the model gives to its middle, whichever column is across.
    tiles = [row for row in numbers(chart) if "fill" in row]
    middles = np.array([[(row["y"] + row["y2"]) / 2, (row["x"] + row["x2"]) / 2] for row in tiles])
    blue = [int(row["fill"][1:3], 16) < int(row["fill"][5:7], 16) for row in tiles]
    assert blue == (model.predict(middles) == 0).tolist()


def test_clusters_of_more_features_have_no_ground() -> None:
    model = KMeans(n_clusters=2, epsilon=5, bounds=(0, 1), source=Seeded(1)).fit(
        np.column_stack([POINTS, POINTS[:, 0]])
    )
    assert not any("fill" in row for row in numbers(clusters_chart(model, columns=(0, 2))))


def test_regions_are_those_of_the_model(tmp_path: Path) -> None:
    bayes = GaussianNB(epsilon=5, bounds=(0, 1), classes=[0, 1], source=Seeded(1)).fit(POINTS, CLASSES)
    chart = regions_chart(bayes, POINTS, CLASSES, show_points=True)
    assert {row.get("ring") for row in numbers(chart)} >= {"0 1", "0 2", "1 1", "1 2"}
    assert "Regions of the classes" in save(chart, tmp_path / "regions.svg").read_text()
    plain = LogisticRegression(epsilon=5, bounds=(0, 1), classes=[0, 1], source=Seeded(1)).fit(POINTS, CLASSES)
    tiles = [row for row in numbers(regions_chart(plain)) if "fill" in row]
    middles = np.array([[(row["x"] + row["x2"]) / 2, (row["y"] + row["y2"]) / 2] for row in tiles])
    blue = [int(row["fill"][1:3], 16) < int(row["fill"][5:7], 16) for row in tiles]
    assert blue == (plain.predict(middles) == 0).tolist()


def test_one_feature_has_densities_that_sum_to_one() -> None:
    bayes = GaussianNB(epsilon=5, bounds=(0, 1), classes=[0, 1], source=Seeded(1)).fit(POINTS[:, :1], CLASSES)
    rows = numbers(regions_chart(bayes))
    mass = sum(
        np.trapezoid(
            [row["y"] for row in rows if row["name"] == name], [row["x"] for row in rows if row["name"] == name]
        )
        for name in ("0", "1")
    )
    assert mass == pytest.approx(1, abs=0.02)


def test_densities_are_drawn_without_records() -> None:
    values, labels = np.linspace(0, 1, 100)[:, None], np.repeat([0, 1], 50)
    model = GaussianNB(epsilon=5, bounds=(0, 1), classes=[0, 1], source=Seeded(7)).fit(values, labels)
    with pytest.raises(ParameterError, match="without records"):
        regions_chart(model, values, labels, show_points=True)


def test_accuracy_against_epsilon(tmp_path: Path) -> None:
    rows = [
        {"name": name, "epsilon": epsilon, "score": score, "error": 0.01}
        for name in ("ours", "theirs")
        for epsilon, score in ((1, 0.8), (0.5, 0.7), (math.inf, 0.9))
    ]
    chart = accuracy_chart([*rows, {"name": "a coin", "epsilon": math.inf, "score": 0.5}])
    names = list(dict.fromkeys(row["name"] for row in numbers(chart) if "x" in row))
    assert names == ["ours", "theirs", "ours, without privacy", "theirs, without privacy", "a coin"]
    bars = [row for row in numbers(chart) if "low" in row]
    assert len(bars) == 4
    assert all(row["high"] - row["low"] == pytest.approx(0.02) for row in bars)
    assert "a coin" in save(chart, tmp_path / "accuracy.svg").read_text()


@pytest.mark.usefixtures("few_places")
def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(ParameterError, match="1 feature"):
        fit_chart(LinearRegression(epsilon=5, bounds=(0, 1), bounds_y=(0, 1)).fit(POINTS, CLASSES))
    with pytest.raises(ParameterError, match="fitted model"):
        fit_chart(LinearRegression())
    with pytest.raises(ParameterError, match="level"):
        fit_chart(LINE, level=2)
    with pytest.raises(InputError, match="show_points needs"):
        fit_chart(LINE, show_points=True)
    with pytest.raises(InputError, match="target for each"):
        fit_chart(LINE, X, Y[:-1], show_points=True)
    model = KMeans(n_clusters=2, epsilon=5, bounds=(0, 1), source=Seeded(1)).fit(POINTS)
    for columns in ((0, 0), (0, 2), (0,)):
        with pytest.raises(ParameterError, match="columns must be"):
            clusters_chart(model, columns=columns)  # type: ignore[arg-type] # one is too few
    with pytest.raises(ParameterError, match="fitted model"):
        regions_chart(LINE)
    three = GaussianNB(epsilon=5, bounds=(0, 1), classes=[0, 1, 2], source=Seeded(1)).fit(POINTS[:, :1], CLASSES)
    with pytest.raises(ParameterError, match="two classes"):
        fit_chart(three)


def test_rows_that_make_no_sense_are_refused() -> None:
    cases: list[list[dict[str, Any]]] = [
        [],
        [{"name": "a", "epsilon": 1, "score": 0.5}],
        [{"name": "a", "epsilon": 1}],
        [{"name": "a", "epsilon": -1, "score": 0.5}, {"name": "a", "epsilon": 1, "score": 0.5}],
        [{"name": "a", "epsilon": 1, "score": math.nan}, {"name": "a", "epsilon": 2, "score": 0.5}],
    ]
    for rows in cases:
        with pytest.raises(ParameterError, match="rows must have"):
            accuracy_chart(rows)
