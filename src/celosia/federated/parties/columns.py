"""The columns that a federation learns from, where parties have tables or frames: found by name, and the same for all.

A federation has only tables, or none. The bounds of tables are in their schemas and those of arrays in the estimator,
and parties whose bounds were stated in two ways would sum in different steps.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from celosia.core.errors import ParameterError
from celosia.core.exact import exact_adjacency, safe_repr
from celosia.core.messages.message import name_unit
from celosia.data.table import Table
from celosia.federated.parties.party import Party
from celosia.federated.parties.table import PartyTable
from celosia.ledger.budget_account import as_account

if TYPE_CHECKING:
    from celosia.core.adjacency import Adjacency


def choose_columns(parties: tuple[Party, ...], features: object, target: object) -> tuple[Party, ...]:
    """Return the parties with these columns of their tables or frames; arrays have no names to choose by.

    >>> import pyarrow as pa
    >>> frame = pa.table({"age": [34, 71], "sex": ["F", "M"], "cost": [3.0, 4.0]})
    >>> party, remote = choose_columns((Party("north", frame), Party("south")), ["age"], "cost")
    >>> party.X.column_names, party.y.to_pylist(), remote.is_remote
    (['age'], [3.0, 4.0], True)
    """
    tables = [one for one in parties if isinstance(one.X, Table | PartyTable)]
    if features is None:
        if tables:
            raise ParameterError("federated.table_without_features", name=safe_repr(tables[0].name))
        if target is not None:
            raise ParameterError("federated.target_without_features")
        return parties
    names, label = _check_names(features, target)
    if tables and len(tables) < len(parties):
        other = next(one for one in parties if one not in tables)
        raise ParameterError("federated.tables_and_others", name=safe_repr(other.name), table=safe_repr(tables[0].name))
    if not tables:
        return tuple(one if one.is_remote else _choose_of_frame(one, names, label) for one in parties)
    found = tuple(_choose_of_table(one, names, label) for one in parties)
    _check_alike(found)
    return found


def find_adjacency(parties: tuple[Party, ...], given: "Adjacency | str | None", budget: object) -> Any:
    """Return the adjacency of a training: that of the tables if there are any; refuse a budget that protects others."""
    table = parties[0].table
    if table is None:
        return given
    adjacency, unit = table.table.adjacency, table.table.unit
    if given is not None and exact_adjacency(given) is not adjacency:
        raise ParameterError("federated.tables_decide_adjacency", value=adjacency.value)
    limit = None if budget is None else as_account(budget).limit
    if limit is not None and (limit.unit, limit.adjacency) != (unit, adjacency):
        raise ParameterError(
            "federated.budget_not_for_tables",
            unit=name_unit(limit.unit),
            adjacency=limit.adjacency.value,
            table_unit=name_unit(unit),
            table_adjacency=adjacency.value,
        )
    return adjacency


def _check_names(features: object, target: object) -> tuple[tuple[str, ...], str | None]:
    names = tuple(features) if isinstance(features, Sequence) and not isinstance(features, str) else ()
    columns = names if target is None else (*names, target)
    if not names or not all(isinstance(name, str) for name in columns) or len(set(columns)) < len(columns):
        raise ParameterError("federated.not_columns", features=safe_repr(features), target=safe_repr(target))
    return names, target if isinstance(target, str) else None


def _choose_of_table(party: Party, features: tuple[str, ...], target: str | None) -> Party:
    held = party.X
    table: Table = held.table if isinstance(held, PartyTable) else held
    if party.y is not None:
        raise ParameterError("federated.table_with_target", name=safe_repr(party.name))
    if table.public:
        raise ParameterError("federated.table_public", name=safe_repr(party.name))
    chosen = PartyTable(table=table, features=features, target=target)
    _check_present(party, chosen.names, table.schema)
    return Party(party.name, chosen, records=party.records)


def _choose_of_frame(party: Party, features: tuple[str, ...], target: str | None) -> Party:
    """Return the party with columns of its frame; choosing them reads no record."""
    import narwhals as nw

    frame = nw.from_native(party.X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame) or party.y is not None:
        raise ParameterError("federated.features_of_arrays", name=safe_repr(party.name))
    _check_present(party, features if target is None else (*features, target), frame.columns)
    label = None if target is None else frame.get_column(target).to_native()
    return Party(party.name, frame.select(features).to_native(), label, party.records)


def _check_present(party: Party, names: tuple[str, ...], known: Any) -> None:
    missing = [name for name in names if name not in known]
    if missing:
        raise ParameterError("federated.no_such_column", name=safe_repr(party.name), column=safe_repr(missing[0]))


def _check_alike(parties: tuple[Party, ...]) -> None:
    """Refuse tables that declare a column differently, or protect other units: their sums could not be added."""
    first, *others = parties
    known = first.table
    assert known is not None  # noqa: S101 - for the type checker: all have tables
    for one in others:
        table = one.table
        assert table is not None  # noqa: S101 - for the type checker: all have tables
        for column, kind in known.kinds.items():
            if table.kinds[column] != kind:
                raise ParameterError(
                    "federated.kinds_differ",
                    column=safe_repr(column),
                    name=safe_repr(one.name),
                    kind=repr(table.kinds[column]),
                    first=safe_repr(first.name),
                    wanted=repr(kind),
                )
        if table.limits != known.limits:
            raise ParameterError(
                "federated.tables_protect_differently", name=safe_repr(one.name), first=safe_repr(first.name)
            )
