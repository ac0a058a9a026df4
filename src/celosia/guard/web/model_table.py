"""A fitted model as tables: its columns with their declared bounds, and its learned numbers by feature.

Learned numbers keep the names that they have in scikit-learn. They are noisy and released; the rest was declared.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from celosia.core.messages.numerals import format_number
from celosia.guard.datasets.cards import make_column_card
from celosia.guard.schema.replies import ColumnCard

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from celosia.core.guarantees import Guarantee

_BY_FEATURE: Final = ("coef_", "theta_", "var_", "components_", "mean_", "scale_")
_MAX_ROWS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTable:
    """A model: its name and parameters, the columns that it was fitted to, and rows of learned numbers."""

    name: str
    guarantee: "Guarantee"
    parameters: tuple[tuple[str, str], ...]
    columns: tuple[ColumnCard, ...]
    where: str | None
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def model_table(document: "Mapping[str, Any]", code: str) -> ModelTable:
    """Return the tables of a stored model, with numbers in a language's format."""
    from celosia.data.schema.schema import Schema
    from celosia.learn.io.model_file import model_from_json
    from celosia.learn.io.specification import specify

    model = model_from_json(document)
    given, shared = specify(model)["parameters"], ("epsilon", "delta", "rho", "adjacency")
    labels, learned = _categories(model) if hasattr(model, "feature_log_prob_") else _features(model)
    rows = [
        (label, *("" if values[place] is None else format_number(float(values[place]), code) for _, values in learned))
        for place, label in enumerate(labels[:_MAX_ROWS])
    ]
    return ModelTable(
        name=type(model).__name__,
        guarantee=model.guarantee_,
        parameters=tuple((name, str(value)) for name, value in given.items() if name not in shared),
        columns=tuple(
            make_column_card(name, kind) for name, kind in Schema.from_toml(model.provenance_["schema"]).items()
        ),
        where=model.provenance_.get("where"),
        headings=tuple(name for name, _ in learned),
        rows=tuple(rows),
    )


def _features(model: Any) -> tuple[list[str], list[tuple[str, list[Any]]]]:
    """Return the features, and the numbers that a model has for each of them; an intercept comes last."""
    features = [str(name) for name in model.feature_names_in_]
    lines = _name_lines(model)
    if not hasattr(model, "intercept_"):
        return features, [(name, list(values)) for name, values in lines]
    intercepts = dict(_name_series(model, "coef_", np.atleast_1d(model.intercept_)))
    return [*features, "intercept_"], [(name, [*values, intercepts.get(name)]) for name, values in lines]


def _name_lines(model: Any) -> "Iterator[tuple[str, Any]]":
    for name in _BY_FEATURE:
        values = getattr(model, name, None)
        if values is not None:
            yield from _name_series(model, name, values if np.ndim(values) == 2 else [values])


def _name_series(model: Any, name: str, series: Any) -> "Iterator[tuple[str, Any]]":
    """Yield each of several series with a name: that of its class, or its number."""
    classes = [str(label) for label in getattr(model, "classes_", ())]
    labels = classes[-len(series) :] if classes else [str(place + 1) for place in range(len(series))]
    alone = len(series) == 1 and not classes and name != "components_"
    yield from ((name if alone else f"{name}[{label}]", values) for label, values in zip(labels, series, strict=True))


def _categories(model: Any) -> tuple[list[str], list[tuple[str, list[Any]]]]:
    """Return the categories of all features, and their probabilities in each class."""
    labels = [
        f"{name} = {value}"
        for name, domain in zip(model.feature_names_in_, model.domains_, strict=True)
        for value in domain
    ]
    chances = np.exp(np.concatenate(model.feature_log_prob_, axis=1))
    return labels, [(f"P[{label}]", list(line)) for label, line in zip(model.classes_, chances, strict=True)]
