"""Rows of the parties' tables in memory, for updates that need rows and not sums.

They are clean, within the bounds of the schema and on its grid; rows without a value are dropped or filled in as the
schema declares. A gradient protects a row, so that tables of persons with several rows are refused.
"""

import copy
from typing import TYPE_CHECKING, Any

from celosia.core.adjacency import ReplaceOne
from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr
from celosia.federated.parties.outline import Outline
from celosia.federated.parties.party import Party, read_from

if TYPE_CHECKING:
    import pyarrow as pa

    from celosia.data.schema.columns import Kind
    from celosia.federated.parties.table import PartyTable


def read_tables(estimator: Any, parties: tuple[Party, ...]) -> tuple[Any, tuple[Party, ...]]:
    """Return the estimator with the bounds of the schema, and parties with the rows of their tables.

    Tables that are withheld are not read. Arrays are returned as they are, and so is their estimator.
    """
    known = parties[0].table
    if known is None:
        return estimator, parties
    if known.table.person is not None:
        raise ParameterError("federated.gradients_for_rows", person=safe_repr(known.table.person))
    model = _set_bounds(estimator, known)
    if known.table.adjacency is ReplaceOne:
        _check_number(known, parties)
    return model, tuple(_read_rows(one) for one in parties)


def _set_bounds(estimator: Any, known: "PartyTable") -> Any:
    """Return a copy of an estimator with the bounds, and the classes, of a schema."""
    name = type(estimator).__name__
    for given in ("bounds", "bounds_y"):
        if getattr(estimator, given, None) is not None:
            raise ParameterError("learn.bounds_already_in_schema", name=given)
    if known.target is None:
        raise ParameterError("learn.target_missing", estimator=name)
    kinds = known.kinds
    label = kinds.pop(known.target)
    model = copy.deepcopy(estimator).set_params(bounds=kinds)
    if model.learns == "number":
        return model.set_params(bounds_y=label)
    classes = _find_classes(label)
    if model.classes not in (None, "public") and sorted(map(str, model.classes)) != sorted(map(str, classes)):
        raise ParameterError("learn.classes_already_in_schema")
    return model.set_params(classes=classes)


def _find_classes(label: "Kind") -> list[Any]:
    domain = label.domain()
    if domain is None:
        raise ParameterError("learn.target_without_classes", kind=repr(label))
    if len(domain) != 2:
        raise ParameterError("federated.more_than_two_classes", found=len(domain))
    return list(domain)


def _check_number(known: "PartyTable", parties: tuple[Party, ...]) -> None:
    """Under replace-one the number of rows is public, and must be stated; that of rows with a value is not public."""
    dropping = [name for name, kind in known.kinds.items() if kind.nullable]
    if dropping:
        raise ParameterError("federated.rows_dropped", column=safe_repr(dropping[0]))
    for one in parties:
        if one.records is None:
            raise ParameterError("federated.records_not_stated", name=safe_repr(one.name))


def _read_rows(party: Party) -> Party:
    table = party.table
    assert table is not None  # noqa: S101 - for the type checker: all parties have tables
    if party.is_remote:
        features, target = _split(table, table.make_empty())
        return Party(party.name, records=party.records, outline=Outline(X=features, y=target))
    features, target = _split(table, read_from(party, table.read_rows))
    return Party(party.name, features, target, party.records)


def _split(table: "PartyTable", rows: "pa.Table") -> tuple[Any, Any]:
    target = rows.column(table.target).to_numpy()
    return rows.select(list(table.features)), target
