"""Read the form of a model as a request, with the fields of ``POST /v1/models``.

Nothing is checked here: the guard checks the request as it checks one of the API. Bounds and categories come from the
schema.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from celosia.guard.schema.requests import FitRequest

if TYPE_CHECKING:
    from celosia.guard.schema.replies import ColumnCard, TableCard

MODELS: Final[dict[str, bool]] = {
    "LinearRegression": True,
    "Ridge": True,
    "LogisticRegression": True,
    "GaussianNB": True,
    "CategoricalNB": True,
    "PCA": False,
    "StandardScaler": False,
}
"""The models of the form, and whether they have a target."""

_FEATURE: Final = "feature "  # of the names of check boxes


def read_fit(form: Mapping[str, str], dataset: str, table: str, cost: Mapping[str, str]) -> FitRequest:
    """Return the request of a form; ``cost`` is the privacy target, which has no default here."""
    model = form.get("model", "")
    return FitRequest(
        dataset=dataset,
        model=model,
        parameters=dict(cost),
        features=chosen_features(form),
        target=form.get("target") or None if MODELS.get(model, True) else None,
        table=table,
        where=form.get("condition", "").strip() or None,
    )


def chosen_features(form: Mapping[str, str]) -> list[str]:
    """Return the names of the ticked features."""
    return [name.removeprefix(_FEATURE) for name in form if name.startswith(_FEATURE)]


def usable_columns(table: "TableCard") -> "list[ColumnCard]":
    """Return the columns that a model can use: all but those of any text."""
    return [column for column in table.columns if column.kind != "text"]
