"""Read a guard's replies on the client: tables without rows, budgets, and past queries.

The client checks the type of every field that it uses, and ignores fields that a newer guard adds.
"""

import dataclasses
import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any, Final

from celosia.core.errors import CelosiaError, EngineError, FormatError, GuardUnreachableError
from celosia.core.exact import exact_adjacency, safe_repr
from celosia.core.guarantees import Guarantee, RenyiDP
from celosia.data.schema.schema import Schema
from celosia.data.sources.classify import Frame
from celosia.data.table import Table
from celosia.query.serial.json_fields import FORMATS, read_boolean, read_integer, read_list, read_text
from celosia.query.serial.records import record_from_json

_STATES: Final = {"committed": "answered"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PastQuery:
    """A past query: its text, its cost and its state.

    ``state`` is ``"answered"``, ``"repeated"`` (from the store, at no cost to the data set), ``"failed"``, or
    ``"reserved"`` while it is computed; all are paid for.
    """

    id: str
    dataset: str
    question: str
    at: dt.datetime
    state: str
    cost: Guarantee | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The budget of a data set, its spent part, and the remainder for this analyst."""

    limit: Guarantee
    spent: Guarantee
    remaining: Guarantee


def read_formats(reply: object, url: str) -> None:
    """Check that a guard uses the same formats of plans, previews and releases."""
    if not isinstance(reply, dict) or not isinstance(reply.get("datasets"), list):
        raise GuardUnreachableError("guard.reply_not_from_guard", url=url)
    found = reply.get("formats")
    theirs = found if isinstance(found, dict) else {}
    for name, version in FORMATS.items():
        if theirs.get(name) != version:
            raise FormatError(
                "guard.guard_version_differs", url=url, name=name, found=safe_repr(theirs.get(name)), wanted=version
            )


def read_tables(card: object) -> dict[str, Table]:
    """Return the tables of a data set by name, with their schemas and without rows."""
    tables = [_table(item) for item in read_list(_field(card, "tables"), "tables")]
    named = {table.name: table for table in tables}
    if not named or len(named) != len(tables):
        raise FormatError("guard.invalid_dataset_tables")
    return named


def _table(value: object) -> Table:
    try:
        return Table(
            name=read_text(_field(value, "name"), "name"),
            source=Frame(None),
            schema=Schema.from_toml(read_text(_field(value, "schema_toml"), "schema_toml")),
            person=_text_or_none(value, "person"),
            max_groups_per_person=_whole_or_none(value, "max_groups_per_person"),
            max_rows_per_group=_whole_or_none(value, "max_rows_per_group"),
            max_rows_per_person=_whole_or_none(value, "max_rows_per_person"),
            adjacency=exact_adjacency(read_text(_field(value, "adjacency"), "adjacency")),
            public=read_boolean(_field(value, "public"), "public"),
            key=tuple([read_text(name, "key") for name in read_list(_field(value, "key"), "key")]),
        )
    except FormatError:
        raise
    except CelosiaError as error:
        raise FormatError("guard.table_not_understood", error=error) from None


def read_budget(reply: object, dataset: str) -> Budget:
    """Return the budget of a data set from the guard's lines of all budgets that apply to it."""
    lines = [_fields(line) for line in read_list(_field(reply, "lines"), "lines")]
    lines = [line for line in lines if line.get("dataset") in (dataset, None)]
    own = [line for line in lines if line.get("dataset") == dataset and line.get("analyst") is None]
    if len(own) != 1:
        raise FormatError("guard.reply_without_budget", dataset=dataset)
    left = [_guarantee(line, "remaining") for line in [*own, *lines]]
    windows = [_fields(line["window"]) for line in lines if line.get("window") is not None]
    left += [_guarantee(window, "remaining") for window in windows if window.get("remaining") is not None]
    return Budget(
        limit=_guarantee(own[0], "limit"), spent=_guarantee(own[0], "spent"), remaining=reduce(_smaller, left)
    )


def _smaller(one: Guarantee, other: Guarantee) -> Guarantee:
    """Return the smaller of two guarantees, number by number; one of another kind is ignored."""
    if type(one) is not type(other) or isinstance(one, RenyiDP):
        return one
    numbers = {field.name: getattr(one, field.name) for field in dataclasses.fields(one)}
    smaller = {
        name: min(number, getattr(other, name)) for name, number in numbers.items() if isinstance(number, Fraction)
    }
    return dataclasses.replace(one, **smaller)


def read_past_query(reply: object) -> PastQuery:
    """Return a past query from the guard's reply."""
    state = read_text(_field(reply, "state"), "state")
    repeated = read_boolean(_field(reply, "repeated"), "repeated")
    time = read_text(_field(reply, "at"), "at")
    try:
        at = dt.datetime.fromisoformat(time)
    except ValueError:
        raise FormatError("guard.time_not_understood") from None
    return PastQuery(
        id=read_text(_field(reply, "id"), "id"),
        dataset=read_text(_field(reply, "dataset"), "dataset"),
        question=read_text(_field(reply, "question"), "question"),
        at=at,
        state="repeated" if repeated else _STATES.get(state, state),
        cost=None if _field(reply, "cost") is None else _guarantee(reply, "cost"),
    )


def read_answer(reply: object) -> dict[str, Any]:
    """Return the release of an answer, a table or a model, as it was sent."""
    past = read_past_query(reply)
    if (released := _field(reply, "release")) is None:
        if past.state == "failed":
            raise EngineError("guard.question_failed")
        raise EngineError("guard.question_without_answer", state=past.state)
    return dict(_fields(released))


def _fields(value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise FormatError("guard.reply_not_understood")
    return value


def _field(value: object, name: str) -> Any:
    found = _fields(value)
    if name not in found:
        raise FormatError("guard.reply_lacks_field", name=name)
    return found[name]


def _guarantee(value: object, name: str) -> Guarantee:
    return record_from_json(Guarantee, _field(value, name))  # type: ignore[type-abstract] # one of its kinds


def _text_or_none(value: object, name: str) -> str | None:
    return None if _field(value, name) is None else read_text(_field(value, name), name)


def _whole_or_none(value: object, name: str) -> int | None:
    return None if _field(value, name) is None else read_integer(_field(value, name), name)
