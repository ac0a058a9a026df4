"""Charts of fitted models: lines with bands, clusters with memberships, regions of classes, accuracy.

What is drawn of a model is post-processing and as private as the model: its axes run between the public bounds. Records
are not: they are drawn only where ``show_points=True`` asks for it, and such a picture is for those who may see the
records. A model without privacy, drawn beside, gives itself away likewise. Charts are Altair's (``celosia.plots``).
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core.errors import ParameterError
from celosia.core.exact import Exact, exact_level, safe_repr
from celosia.learn.charts.facts import (
    axis_titles,
    band_of,
    belonging,
    check_fitted,
    describe_guarantee,
    drawn_bounds,
    feature_name,
    height_of,
    records_of,
    targets_of,
    two_places,
)
from celosia.learn.charts.layers import (
    Frame,
    cloud,
    ellipses,
    ground,
    marks,
    middles,
    together,
    with_loose_axis,
    words,
)
from celosia.plots import Curve, Labels, curves
from celosia.plots.style import PALETTE

if TYPE_CHECKING:
    import altair as alt

_POINTS = 121  # of a curve


def fit_chart(
    model: Any,
    X: Any = None,  # noqa: N803 - scikit-learn's
    y: Any = None,
    *,
    plain: Any = None,
    level: Exact = 0.95,
    show_points: bool = False,
    labels: Labels | None = None,
) -> "alt.LayerChart":
    """Draw a fitted line, or the probability of the second of two classes, against the one feature there is.

    Parameters
    ----------
    model
        A fitted private regression or classifier of one feature.
    X, y
        The records. They are drawn if ``show_points`` says so, and then the picture is not private.
    plain
        A model without privacy, to compare with. Its line is not private.
    level
        Of the band around the private line, where the model knows how far off it may be.
    labels
        The title and the names of the axes.

    Examples
    --------
    >>> from celosia.learn import LinearRegression
    >>> from celosia.noise import Seeded
    >>> x = np.linspace(0, 1, 1000)[:, None]
    >>> model = LinearRegression(epsilon=5, bounds=(0, 1), bounds_y=(0, 1), source=Seeded(7)).fit(x, x[:, 0] / 2)
    >>> fit_chart(model).to_dict()["title"]["text"]
    'Private fit'
    """
    check_fitted(model, "predict", features=1)
    confidence = exact_level(level)
    low, high = drawn_bounds(model, X)
    grid = np.linspace(low[0], high[0], _POINTS)
    lines = [Curve(name="private", x=grid, y=height_of(model, grid))]
    if plain is not None:
        check_fitted(plain, "predict", features=1)
        lines.append(Curve(name="without privacy", x=grid, y=height_of(plain, grid)))
    classes, band = getattr(model, "classes_", None), band_of(model, grid, confidence)
    shown = labels or Labels(
        title="Private fit" if plain is None else "Private and non-private fit",
        subtitle=describe_guarantee(model, records=show_points)
        + ("" if band is None else f"; grey: {100 * confidence:.3g} % interval at each place"),
        x=feature_name(model, 0),
        y="Target" if classes is None else f"Probability of {classes[1]}",
    )
    chart = with_loose_axis(curves(lines, labels=shown, band=band))
    if show_points:
        values = records_of(X, 1)
        target = targets_of(y, len(values), classes)
        chart.layer = [cloud({"x": values[:, 0], "y": target}), *chart.layer]
    return chart


def clusters_chart(
    model: Any,
    points: Any = None,
    *,
    plain: Any = None,
    columns: tuple[int, int] = (0, 1),
    show_points: bool = False,
    labels: Labels | None = None,
) -> "alt.LayerChart":
    """Draw the centres of clusters over two features, and how strongly every place belongs to its cluster.

    With two features the ground is coloured by the cluster of each place, the paler the less it belongs to it; with
    more only centres are drawn. ``plain`` adds the centres of a model without privacy, as hollow diamonds. Records are
    drawn if ``show_points`` says so, in the colour of their cluster; then the picture is not private.

    >>> from celosia.learn import KMeans
    >>> from celosia.noise import Seeded
    >>> points = np.repeat([[0.2, 0.2], [0.8, 0.8]], 500, axis=0)
    >>> model = KMeans(n_clusters=2, epsilon=5, bounds=(0, 1), source=Seeded(7)).fit(points)
    >>> clusters_chart(model).to_dict()["title"]["text"]
    'Clusters'
    """
    check_fitted(model, "cluster_centers_")
    centres = np.asarray(model.cluster_centers_, dtype=np.float64)
    both = two_places(columns, centres.shape[1])
    low, high = drawn_bounds(model, points)
    names = tuple(f"cluster {place + 1}" for place in range(len(centres)))
    frame = Frame(low=low[both], high=high[both], titles=axis_titles(model, both, labels), names=names)
    layers: list[alt.Chart] = []
    if centres.shape[1] == 2:
        cluster, strength = belonging(model, frame.grid[:, np.argsort(both)])
        layers.append(ground(frame, cluster, strength))
    if show_points:
        values = records_of(points, centres.shape[1])
        cluster, _ = belonging(model, values)
        coloured = [names[place] for place in cluster]
        layers.append(cloud({"x": values[:, both[0]], "y": values[:, both[1]], "name": coloured}, frame))
    others = None
    if plain is not None:
        check_fitted(plain, "cluster_centers_", features=centres.shape[1])
        others = np.asarray(plain.cluster_centers_)[:, both]
    layers += [marks(frame, centres[:, both], others), *words(frame, centres[:, both])]
    return _add_title(layers, "Clusters", describe_guarantee(model, records=show_points), labels)


def regions_chart(
    model: Any,
    X: Any = None,  # noqa: N803 - scikit-learn's
    y: Any = None,
    *,
    show_points: bool = False,
    labels: Labels | None = None,
) -> "alt.LayerChart":
    """Draw which class is predicted where, for two features; for one, the density of every class.

    Where a class has a mean and a variance for each feature, ellipses of one and two standard deviations show its
    density. Records are drawn if ``show_points`` says so, in the colour of their own class; then the picture is not
    private.

    >>> from celosia.learn import GaussianNB
    >>> from celosia.noise import Seeded
    >>> X, y = np.repeat([[0.2, 0.2], [0.8, 0.8]], 500, axis=0), np.repeat([0, 1], 500)
    >>> model = GaussianNB(epsilon=5, bounds=(0, 1), classes=[0, 1], source=Seeded(7)).fit(X, y)
    >>> regions_chart(model).to_dict()["title"]["text"]
    'Regions of the classes'
    """
    check_fitted(model, "predict_proba")
    classes = tuple(str(label) for label in model.classes_)
    if len(classes) > len(PALETTE):
        raise ParameterError("learn.too_many_classes_to_draw", most=len(PALETTE), found=len(classes))
    normal = hasattr(model, "theta_") and hasattr(model, "var_")
    low, high = drawn_bounds(model, X)
    if model.n_features_in_ == 1 and normal:
        if show_points:
            raise ParameterError("learn.densities_with_points")
        return _class_densities(model, classes, low[0], high[0], labels)
    check_fitted(model, "predict_proba", features=2)
    frame = Frame(low=low, high=high, titles=axis_titles(model, [0, 1], labels), names=classes)
    chances = np.asarray(model.predict_proba(frame.grid))
    found = np.argmax(chances, axis=1).tolist()
    layers = [ground(frame, found, chances.max(axis=1))]
    if normal:
        layers.append(ellipses(frame, model.theta_, model.var_))
    if show_points:
        values = records_of(X, 2)
        own = [classes[int(place)] for place in targets_of(y, len(values), model.classes_)]
        layers.append(cloud({"x": values[:, 0], "y": values[:, 1], "name": own}, frame))
    layers += words(frame, model.theta_ if normal else middles(frame, found))
    return _add_title(layers, "Regions of the classes", describe_guarantee(model, records=show_points), labels)


def accuracy_chart(rows: Iterable[Mapping[str, Any]], *, labels: Labels | None = None) -> "alt.LayerChart":
    """Draw accuracy against epsilon, a line with error bars for each name.

    ``rows`` have a ``name``, an ``epsilon``, a ``score`` and, if known, its ``error`` (say, a standard error). An
    infinite epsilon is the model without privacy: a dotted line across.

    >>> rows = [{"name": "ours", "epsilon": e, "score": s, "error": 0.02} for e, s in ((0.5, 0.7), (1, 0.75))]
    >>> accuracy_chart(rows).to_dict()["title"]["text"]
    'Accuracy against epsilon'
    """
    import altair as alt

    lines, bars = _accuracies([_row(row) for row in rows])
    shown = labels or Labels(title="Accuracy against epsilon", x="ε", y="Accuracy")
    chart = with_loose_axis(curves(lines, labels=shown, x_log=True))
    error = (
        alt.Chart(alt.InlineData(values=bars))
        .mark_rule(strokeWidth=1.5)
        .encode(x="epsilon:Q", y="low:Q", y2="high:Q", color=chart.layer[-1].encoding.color)
    )
    chart.layer = [error, *chart.layer]
    return chart


def _accuracies(rows: list[dict[str, Any]]) -> tuple[list[Curve], list[dict[str, Any]]]:
    """Return a line for each name, one across for each without privacy, and the ends of the error bars."""
    private = [row for row in rows if np.isfinite(row["epsilon"])]
    epsilons = sorted({row["epsilon"] for row in private})
    if len(epsilons) < 2:
        raise ParameterError("learn.too_few_epsilons")
    names = list(dict.fromkeys(row["name"] for row in private))
    lines = []
    for name in names:
        mine = sorted((row["epsilon"], row["score"]) for row in private if row["name"] == name)
        x, y = zip(*mine, strict=True)
        lines.append(Curve(name=name, x=x, y=y))
    for row in rows:
        if np.isinf(row["epsilon"]):
            name = f"{row['name']}, without privacy" if row["name"] in names else row["name"]
            lines.append(Curve(name=name, x=[epsilons[0], epsilons[-1]], y=[row["score"]] * 2))
    bars = [row | {"low": row["score"] - row["error"], "high": row["score"] + row["error"]} for row in private]
    return lines, bars


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    if not {"name", "epsilon", "score"} <= set(row):
        raise ParameterError("learn.incomplete_score_row", row=safe_repr(row))
    epsilon, score, error = (float(row.get(key, 0.0)) for key in ("epsilon", "score", "error"))
    if not (epsilon > 0 and np.isfinite(score) and 0 <= error < np.inf):
        raise ParameterError("learn.score_row_out_of_range", row=safe_repr(row))
    return {"name": str(row["name"]), "epsilon": epsilon, "score": score, "error": error}


def _class_densities(
    model: Any,
    classes: tuple[str, ...],
    low: float,
    high: float,
    labels: Labels | None,
) -> "alt.LayerChart":
    """Draw the density of every class along the one feature, times how frequent the class is."""
    grid = np.linspace(low, high, _POINTS)
    lines = []
    for name, mean, variance, prior in zip(classes, model.theta_, model.var_, model.class_prior_, strict=True):
        height = np.exp(-((grid - mean[0]) ** 2) / (2 * variance[0])) / np.sqrt(2 * np.pi * variance[0])
        lines.append(Curve(name=name, x=grid, y=prior * height))
    shown = labels or Labels(
        title="Densities of the classes",
        subtitle=describe_guarantee(model),
        x=feature_name(model, 0),
        y="Share times density",
    )
    return curves(lines, labels=shown)


def _add_title(layers: "list[alt.Chart]", title: str, subtitle: str, labels: Labels | None) -> "alt.LayerChart":
    return together(layers, title if labels is None else labels.title, labels.subtitle if labels else subtitle)
