"""The records of ``celosia federated simulate``: invented parties, or a file with a column that names the party.

Bounds and classes are public, so they are options, or come from a schema; they are never read from the data. A fifth of
the records of each party is kept apart, and no model is trained on it.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from celosia.cli.completion import offer
from celosia.core.errors import ParameterError
from celosia.core.exact import exact, safe_repr
from celosia.core.messages.message import Message

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

EXAMPLES: Final = ("debt", "synthetic")
"""The invented parties."""

_TEST = 5  # one of so many records is kept apart
_LARGE = 5  # of the ten classes of the synthetic parties, those from this on are one, the others the other


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedParties:
    """The options that name the records."""

    data: Annotated[
        str,
        typer.Option(
            metavar="DATA",
            help="debt or synthetic, which are invented, or a CSV or Parquet file.",
            autocompletion=offer(EXAMPLES),
        ),
    ] = "debt"
    party: Annotated[str | None, typer.Option(metavar="COLUMN", help="The column that says whose a record is.")] = None
    target: Annotated[str | None, typer.Option(metavar="COLUMN", help="The column that is to be predicted.")] = None
    features: Annotated[
        str | None, typer.Option(metavar="COLUMNS", help="The columns to learn from, a,b; by default all others.")
    ] = None
    bounds: Annotated[
        str | None, typer.Option(metavar="LOW,HIGH", help="The public bounds of every column to learn from.")
    ] = None
    target_bounds: Annotated[
        str | None, typer.Option(metavar="LOW,HIGH", help="The public bounds of a target that is a number.")
    ] = None
    classes: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="The public values of a target that is a class; two, but for one-shot."),
    ] = None
    schema: Annotated[
        Path | None, typer.Option(metavar="SCHEMA", help="A schema file with all bounds, in place of these options.")
    ] = None

    def read(self, seed: int) -> "SimulatedRecords":
        """Return the records; which of them are kept apart follows from a seed."""
        if self.data in EXAMPLES and not Path(self.data).exists():
            return self._make_example(seed)
        if not Path(self.data).suffix and not Path(self.data).exists():
            raise ParameterError("cli.no_such_parties", name=safe_repr(self.data))
        if self.party is None or self.target is None:
            raise ParameterError("cli.parties_without_columns", data=safe_repr(self.data))
        return self._read_file(seed)

    def _make_example(self, seed: int) -> "SimulatedRecords":
        given = [name for name in ("party", "target", "features", "bounds", "classes") if getattr(self, name)]
        if given:
            raise ParameterError("cli.option_of_files", option=given[0], data=self.data)
        from celosia.federated import make_debt, make_synthetic

        example = make_debt() if self.data == "debt" else make_synthetic()
        parties: dict[str, Any] = dict(example.parties)
        if self.data == "synthetic":
            parties = {name: (rows, labels >= _LARGE) for name, (rows, labels) in parties.items()}
        return _divide(parties, seed, bounds=example.bounds, bounds_y=example.bounds_y, remark=self._remark())

    def _remark(self) -> Message:
        return Message("cli_federated.about_debt" if self.data == "debt" else "cli_federated.about_synthetic")

    def _read_file(self, seed: int) -> "SimulatedRecords":
        """Return the records of a file, divided by the column of parties."""
        import numpy as np

        from celosia.cli.collect.options import read_file

        table = read_file(self.data)
        others = [name for name in table.column_names if name not in {self.party, self.target}]
        features = others if self.features is None else [part.strip() for part in self.features.split(",")]
        public = self._read_public(features)
        owners = _column(table, self.party).astype(str)
        labels = _column(table, self.target)
        if public["bounds_y"] is None:
            labels = labels.astype(str) if isinstance(public["classes"][0], str) else labels
        rows = np.column_stack([_number(table, name) for name in features])
        targets = labels if public["bounds_y"] is None else _number(table, self.target)
        parties = {str(name): (rows[owners == name], targets[owners == name]) for name in np.unique(owners)}
        return _divide(parties, seed, **public)

    def _read_public(self, features: list[str]) -> dict[str, Any]:
        """Return the bounds of features, and bounds or classes of the target."""
        if self.schema is not None:
            return self._read_schema(features)
        if self.bounds is None or (self.target_bounds is None) == (self.classes is None):
            raise ParameterError("cli.bounds_not_public")
        if self.target_bounds is not None:
            ends = _pair(self.target_bounds, "target_bounds")
            return {"bounds": _pair(self.bounds, "bounds"), "bounds_y": ends}
        classes = [part.strip() for part in (self.classes or "").split(",")]
        return {"bounds": _pair(self.bounds, "bounds"), "bounds_y": None, "classes": classes}

    def _read_schema(self, features: list[str]) -> dict[str, Any]:
        from celosia.data.schema.columns import Boolean, Category
        from celosia.data.schema_file import read_schema_file
        from celosia.learn.sgd.unit_rows import interval_of

        schema = read_schema_file(self.schema or Path()).schema
        for name in (*features, str(self.target)):
            if name not in schema:
                raise ParameterError("cli.column_not_in_schema", name=safe_repr(name), known=", ".join(schema))
        texts = [name for name in features if schema[name].axis is None]
        if texts:
            raise ParameterError("cli.feature_not_numeric", column=safe_repr(texts[0]))
        low, high = zip(*(interval_of(schema[name]) for name in features), strict=True)
        target = schema[str(self.target)]
        public: dict[str, Any] = {"bounds": (list(low), list(high)), "bounds_y": None}
        if isinstance(target, Boolean | Category):
            return public | {"classes": list(target.domain())}
        if target.axis is None:
            raise ParameterError("cli.target_without_classes", target=safe_repr(self.target))
        return public | {"bounds_y": interval_of(target)}


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedRecords:
    """Records of parties, records that are kept apart, and what is public about them."""

    parties: "dict[str, tuple[NDArray[Any], NDArray[Any]]]"
    test: "tuple[NDArray[Any], NDArray[Any]]"
    bounds: Any
    bounds_y: Any
    classes: list[Any]
    remark: Message | None

    @property
    def count(self) -> int:
        """How many records are trained on."""
        return sum(len(targets) for _, targets in self.parties.values())


def _divide(
    parties: "dict[str, tuple[NDArray[Any], NDArray[Any]]]",
    seed: int,
    *,
    bounds: Any,
    bounds_y: Any,
    classes: list[Any] | None = None,
    remark: Message | None = None,
) -> SimulatedRecords:
    """Keep a part of the records of each party apart."""
    from celosia.federated import split_test

    trained, test = split_test(parties, share=1 / _TEST, seed=seed)
    if not len(test[1]):
        raise ParameterError("cli.no_records_to_score", least=_TEST)
    return SimulatedRecords(
        parties=trained,
        test=test,
        bounds=bounds,
        bounds_y=bounds_y,
        classes=[False, True] if classes is None else classes,
        remark=remark,
    )


def _pair(text: str, name: str) -> tuple[float, float]:
    parts = text.split(",")
    if len(parts) != 2:
        raise ParameterError("cli.not_two_bounds", name=name, value=safe_repr(text))
    low, high = (float(exact(part.strip(), name=name)) for part in parts)
    return low, high


def _column(table: "pa.Table", name: str | None) -> "NDArray[np.generic]":
    """Return a column without nulls."""
    if table.column_names.count(name) != 1:
        raise ParameterError("cli.unknown_column", name=safe_repr(name), known=", ".join(table.column_names))
    if table[name].null_count:
        raise ParameterError("cli.column_has_nulls", column=name)
    found: NDArray[np.generic] = table[name].to_numpy()
    return found


def _number(table: "pa.Table", name: str | None) -> "NDArray[np.float64]":
    import numpy as np

    found = _column(table, name)
    if found.dtype.kind not in "biuf":
        raise ParameterError("cli.feature_not_numeric", column=safe_repr(name))
    return found.astype(np.float64)
