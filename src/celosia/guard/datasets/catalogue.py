"""The catalogue of data sets: their sources and their declarations.

Owners and curators declare the version of a data set: while it stays, the same query has the same answer. The revision
grows with every change, and every process reads it before a query, so that all agree. Nothing is ever removed: a data
set added again under another name would have a new budget for the same people. It is updated or retired instead, and
keeps its budget; its former sources stay its own.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Unpack

import sqlalchemy as sa

from celosia.core.errors import LedgerError, ParameterError
from celosia.core.exact import safe_repr
from celosia.data.schema_file import parse_schema_file
from celosia.data.sources.classify import SPARK, has_tables
from celosia.data.sources.files import find_files
from celosia.guard.auth.directory import now
from celosia.guard.datasets.changes import Changes, describe_change
from celosia.guard.datasets.dataset import Dataset, PublicTable
from celosia.guard.datasets.declarations import check_same_unit, replace_bounds, schema_text
from celosia.guard.schema.requests import ONE_LINE
from celosia.guard.storage.tables import DATASETS, format_time
from celosia.guard.storage.tampering import last_digest, row_digest
from celosia.ledger.store.statements import Statement
from celosia.serving.addresses import hide_secrets
from celosia.serving.errors import NotFoundError

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from celosia.ledger import Ledger

BEING_CHANGED: Final = "guard.dataset_being_changed"
"""The code of the error of ``Catalogue.confirm`` for a data set that has changed since it was looked up."""

_AS_JSON: Final = ("public", "analysts", "former")  # columns of a row
_NAME: Final = re.compile(r"[^\W\d]\w{0,62}")
_BY_NAME: Final = Statement(sa.select(DATASETS).where(DATASETS.c.name == sa.bindparam("wanted")))
_MAX_TEXT_LENGTH: Final = 10_000


class Catalogue:
    """The data sets of a store."""

    def __init__(self, ledger: "Ledger") -> None:
        self._ledger = ledger

    def find(self, name: str, *, connection: "Connection | None" = None) -> Dataset | None:
        """Return the current data set, or as an open connection sees it; None if there is none."""
        if connection is not None:
            return _find_row(connection, name)
        with self._ledger.store.reading() as own:
            return _find_row(own, name)

    def all(self) -> tuple[Dataset, ...]:
        """Return all data sets, by name."""
        with self._ledger.store.reading() as connection:
            return _all(connection)

    def check(self, name: str) -> None:
        """Open a data set as a query would; raise the error if that fails."""
        known = self._require(name)
        self.confirm(known)
        _check_columns(known)

    def confirm(self, dataset: Dataset) -> None:
        """Raise ``LedgerError`` if a data set does not agree with the log: its rows may have been replaced."""
        with self._ledger.store.reading() as connection:
            found, digest = _find_row(connection, dataset.name), last_digest(connection, dataset.name)
        if found is None or digest != row_digest(_row(found)):
            raise LedgerError("guard.dataset_differs_from_log", name=safe_repr(dataset.name))
        if found != dataset:
            raise LedgerError(BEING_CHANGED, name=safe_repr(dataset.name))

    def add(self, dataset: Dataset, *, by: str) -> Dataset:
        """Add a data set, after opening its tables and checking its columns."""
        normalized = _normalize(dataset)
        _check_columns(normalized)
        with self._ledger.store.transaction() as connection:
            others = _all(connection)
            if any(other.name.casefold() == normalized.name.casefold() for other in others):
                raise ParameterError("guard.dataset_exists", name=safe_repr(normalized.name))
            _check_places(normalized, others)
            connection.execute(sa.insert(DATASETS).values(**_row(normalized), created=format_time(now())))
            body = {
                "source": hide_secrets(normalized.source),
                "relation": normalized.relation,
                "schema": normalized.schema,
            }
            public = [
                {"name": one.name, "source": hide_secrets(one.source), "key": list(one.key)}
                for one in normalized.public
            ]
            allowed = None if normalized.analysts is None else list(normalized.analysts)
            self._record(connection, "dataset added", normalized, by, **body, public=public, analysts=allowed)
        return normalized

    def update(
        self, name: str, *, by: str, dry_run: bool = False, **changes: Unpack[Changes]
    ) -> tuple[Dataset, Dataset]:
        """Change what is given, for the same privacy unit and the same budget; return the data set before and after.

        A ``dry_run`` checks the change alone.
        """
        retired, title, schema = changes.get("retired"), changes.get("title"), changes.get("schema")
        source, table = changes.get("source"), changes.get("table")
        before = self._require(name, retired=retired is False)
        after = replace(before, retired=before.retired if retired is None else retired)
        if title is not None:
            after = replace(after, title=_check_title(title))
        if schema is not None:
            file = parse_schema_file(_check_text(schema, "schema"))
            check_same_unit(before.schema_file, file)
            after = replace(after, schema=schema_text(file))
        if source is not None or table is not None:
            after = _replace_source(after, source, table)
        if after == before:
            raise ParameterError("guard.nothing_to_change", name=safe_repr(name))
        if replace(after, title=before.title, retired=before.retired) != before:
            _check_columns(after)
        if dry_run:
            return before, after
        kind = "changed" if after.retired == before.retired else "retired" if after.retired else "restored"
        return before, self._change(before, after, f"dataset {kind}", by, **describe_change(before, after))

    def set_bounds(self, name: str, column: str, low: object, high: object, *, by: str) -> Dataset:
        """Replace the bounds of a column."""
        before = self._require(name)
        file = replace_bounds(before.schema_file, column, low, high)
        after = replace(before, schema=schema_text(file))
        new, old = (repr(one.schema[column]) for one in (file, before.schema_file))
        return self._change(before, after, "bounds changed", by, column=column, declared=new, was=old)

    def new_version(self, name: str, *, by: str) -> Dataset:
        """Declare that the rows have changed, so that stored answers are not reused."""
        before = self._require(name)
        after = _make_new_version(before)
        _check_columns(after)
        return self._change(before, after, "version changed", by, version=after.version)

    def share(self, name: str, analysts: Sequence[str] | None, *, by: str, dry_run: bool = False) -> Dataset:
        """Set which analysts may see a data set; None for all. A ``dry_run`` checks the change alone."""
        before = self._require(name)
        allowed = None if analysts is None else tuple(sorted(set(analysts)))
        after = replace(before, analysts=allowed)
        if dry_run:
            return after
        return self._change(before, after, "dataset shared", by, analysts=None if allowed is None else list(allowed))

    def _require(self, name: str, *, retired: bool = False) -> Dataset:
        """Return a data set that can be changed; a retired one only where that is asked for."""
        found = self.find(name)
        if found is None:
            raise NotFoundError("guard.no_dataset", name=name)
        if found.retired and not retired:
            raise ParameterError("guard.dataset_retired", name=safe_repr(name), plain_name=name)
        return found

    def _change(self, before: Dataset, after: Dataset, kind: str, by: str, **body: Any) -> Dataset:
        after = replace(after, revision=before.revision + 1)
        with self._ledger.store.transaction() as connection:
            if _find_row(connection, before.name) != before:
                raise ParameterError("guard.dataset_changed_meanwhile", name=safe_repr(before.name))
            _check_places(after, _all(connection))
            connection.execute(sa.update(DATASETS).where(DATASETS.c.name == before.name).values(**_row(after)))
            self._record(connection, kind, after, by, **body)
        return after

    def _record(self, connection: "Connection", kind: str, dataset: Dataset, by: str, **body: Any) -> None:
        own: dict[str, Any] = {
            "dataset": dataset.name,
            "revision": dataset.revision,
            "by": by,
            "digest": row_digest(_row(dataset)),
        }
        self._ledger.record(kind, {**own, **body}, connection=connection)


# ------------------------------------------------------------------------------------------------------------ checking


def _normalize(given: Dataset) -> Dataset:
    """Return a data set as it is stored: names checked, paths absolute, schemas canonical, public tables read."""
    name: object = given.name
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ParameterError("core.name_not_an_identifier", name=safe_repr(given.name))
    title = _check_title(given.title)
    file = parse_schema_file(_check_text(given.schema, "schema"))
    source = _make_absolute(_check_text(given.source, "source"))
    relation = given.relation or (file.name if has_tables(source) else None)
    public = tuple(
        _read_public_schema(replace(one, source=_make_absolute(_check_text(one.source, "public"))))
        for one in given.public
    )
    names = [given.name.casefold(), *(one.name.casefold() for one in public)]
    if len(set(names)) != len(names):
        raise ParameterError("guard.table_name_twice")
    analysts = None if given.analysts is None else tuple(sorted(set(given.analysts)))
    return replace(
        given, title=title, source=source, relation=relation, schema=schema_text(file), public=public, analysts=analysts
    )


def _check_title(value: object) -> str:
    title = _check_text(value, "title") if value != "" else ""
    if not re.fullmatch(ONE_LINE, title):
        raise ParameterError("guard.control_characters", name="title")
    return title


def _check_text(value: object, name: str) -> str:
    longest = 1_000_000 if name == "schema" else _MAX_TEXT_LENGTH
    if not isinstance(value, str) or not 0 < len(value) <= longest or "\0" in value:
        raise ParameterError("guard.invalid_text", name=name, most=longest)
    return value


def _make_absolute(source: str) -> str:
    """Return an absolute path; addresses and variables stay."""
    prefix = SPARK if source.startswith(SPARK) else ""
    place = source.removeprefix(prefix)
    if not place or "://" in place or place.startswith("${"):
        return source
    if "${" not in place:
        find_files(place)  # raises if the files do not exist
    return prefix + str(Path(place).expanduser().absolute())


def _replace_source(dataset: Dataset, source: str | None, table: str | None) -> Dataset:
    """Return a data set with other rows, as a new version; with another password alone the rows are the same."""
    place = dataset.source if source is None else _make_absolute(_check_text(source, "source"))
    relation = dataset.relation if table is None else _check_text(table, "table")
    named = has_tables(place) or place.startswith("${")
    after = replace(dataset, source=place, relation=relation if named else None)
    old, new = ((hide_secrets(one.source), one.relation) for one in (dataset, after))
    if old == new:
        return after
    return _make_new_version(replace(after, former=tuple(dict.fromkeys((*(dataset.former or ()), old)))))


def _make_new_version(dataset: Dataset) -> Dataset:
    public = tuple(_read_public_schema(replace(one, schema="")) for one in dataset.public)
    return replace(dataset, public=public, version=dataset.version + 1)


def _read_public_schema(public: PublicTable) -> PublicTable:
    return replace(public, schema=public.open_tables().schema.to_toml())


def _check_columns(dataset: Dataset) -> None:
    """Check the names and types of the columns, as a query would."""
    from celosia.query.engines.registry import open_engine

    with open_engine({one.name: one for one in dataset.open_tables()}) as engine:
        engine.check_types()


def _check_places(dataset: Dataset, others: Sequence[Dataset]) -> None:
    own, public = dataset.places(), dataset.public_places()
    rest = [other for other in others if other.name != dataset.name]
    if own & public or any(public & other.places() or own & other.public_places() for other in rest):
        raise ParameterError("guard.public_and_private_table")
    sources = dataset.sources()
    shared = next((other.name for other in rest if own & other.places() or sources & other.sources()), None)
    if shared is not None:
        raise ParameterError("guard.source_already_shared", name=safe_repr(dataset.name), other=safe_repr(shared))


# ------------------------------------------------------------------------------------------------------------- storing


def _row(dataset: Dataset) -> dict[str, Any]:
    row = asdict(dataset)
    return row | {name: None if row[name] is None else json.dumps(row[name]) for name in _AS_JSON}


def _dataset(row: Any) -> Dataset:
    found = {field.name: getattr(row, field.name) for field in fields(Dataset)}
    public = tuple(PublicTable(**one) for one in json.loads(row.public))
    analysts = None if row.analysts is None else tuple(json.loads(row.analysts))
    former = None if row.former is None else tuple((source, relation) for source, relation in json.loads(row.former))
    return Dataset(**found | {"public": public, "analysts": analysts, "former": former, "retired": bool(row.retired)})


def _find_row(connection: "Connection", name: object) -> Dataset | None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        return None  # not a name; a database may even refuse the string
    row = _BY_NAME.first(connection, {"wanted": name})
    return None if row is None else _dataset(row)


def _all(connection: "Connection") -> tuple[Dataset, ...]:
    return tuple(map(_dataset, connection.execute(sa.select(DATASETS).order_by(DATASETS.c.name))))
