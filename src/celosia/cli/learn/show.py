"""What ``celosia learn`` makes of a model: which columns it needs, and its predictions as CSV."""

import csv
import io
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core.errors import ParameterError

if TYPE_CHECKING:
    import pyarrow as pa

    from celosia.data.schema.columns import Kind


def kinds_of(model: Any) -> "dict[str, Kind | None]":
    """Return the columns that a model predicts from, with their kinds where the model knows them."""
    from celosia.data.schema.columns import Kind
    from celosia.data.schema.schema import Schema

    names = [str(name) for name in getattr(model, "feature_names_in_", ())]
    if not names:
        raise ParameterError("cli.model_without_column_names")
    schema = getattr(model, "provenance_", {}).get("schema")
    known: Any = Schema.from_toml(schema) if isinstance(schema, str) else getattr(model, "bounds", None)
    if not hasattr(known, "keys"):
        return dict.fromkeys(names)
    return {name: kind if isinstance(kind := known.get(name), Kind) else None for name in names}


def predictions_csv(model: Any, rows: "pa.Table") -> str:
    """Return predictions as CSV, one line for each row; empty where a row lacks a value."""
    present = np.ones(rows.num_rows, dtype=bool)
    for column in rows.columns:
        present &= column.is_valid().to_numpy()
    names, found = _predict(model, rows.filter(present)) if present.any() else (["prediction"], np.empty((0, 1)))
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(names)
    places = np.cumsum(present) - 1
    for place, there in zip(places.tolist(), present.tolist(), strict=True):
        writer.writerow(found[place].tolist() if there else [""] * len(names))
    return lines.getvalue()


def _predict(model: Any, rows: "pa.Table") -> tuple[list[str], Any]:
    if hasattr(model, "predict"):
        return ["prediction"], np.asarray(model.predict(rows)).reshape(-1, 1)
    if not hasattr(model, "transform"):
        raise ParameterError("cli.model_cannot_predict", type=type(model).__name__)
    columns = np.asarray(model.transform(rows))
    return [str(name) for name in model.get_feature_names_out()], columns
