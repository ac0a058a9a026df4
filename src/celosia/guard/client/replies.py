"""Read a guard's replies on the client: tables without rows, budgets, and past queries."""

import dataclasses
import datetime as dt
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any

from celosia.core.errors import CelosiaError, EngineError, FormatError, GuardUnreachableError
from celosia.core.exact import exact_adjacency, safe_repr
from celosia.core.guarantees import Guarantee, RenyiDP
from celosia.data.schema.schema import Schema
from celosia.data.sources.classify import Frame
from celosia.data.table import Table
from celosia.guard.schema.replies import Answer, BudgetReply, DatasetCard, TableCard
from celosia.query.serial.json_fields import FORMATS
from celosia.query.serial.records import record_from_json


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


def read_tables(reply: object) -> dict[str, Table]:
    """Return the tables of a data set by name, with their schemas and without rows."""
    tables = [_read_table(card) for card in DatasetCard.read(reply).tables]
    named = {table.name: table for table in tables}
    if not named or len(named) != len(tables):
        raise FormatError("guard.invalid_dataset_tables")
    return named


def _read_table(card: TableCard) -> Table:
    given = card.model_dump(exclude={"unit", "adjacency", "columns", "schema_toml", "key"})
    try:
        schema, adjacency = Schema.from_toml(card.schema_toml), exact_adjacency(card.adjacency)
        return Table(**given, key=tuple(card.key), source=Frame(None), schema=schema, adjacency=adjacency)
    except CelosiaError as error:
        raise FormatError("guard.table_not_understood", error=error) from None


def read_budget(reply: object, dataset: str) -> Budget:
    """Return the budget of a data set from the guard's lines of all budgets that apply to it."""
    lines = [line for line in BudgetReply.read(reply).lines if line.dataset in (dataset, None)]
    own = [line for line in lines if line.dataset == dataset and line.analyst is None]
    if len(own) != 1:
        raise FormatError("guard.reply_without_budget", dataset=dataset)
    left = [line.remaining for line in [*own, *lines]]
    left += [line.window.remaining for line in lines if line.window is not None and line.window.remaining is not None]
    return Budget(
        limit=_guarantee(own[0].limit),
        spent=_guarantee(own[0].spent),
        remaining=reduce(_smaller, [_guarantee(one) for one in left]),
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


def read_past_query(answer: Answer) -> PastQuery:
    """Return a past query from the guard's answer."""
    return PastQuery(
        id=answer.id,
        dataset=answer.dataset,
        question=answer.question,
        at=answer.at,
        state="repeated" if answer.repeated else "answered" if answer.state == "committed" else answer.state,
        cost=None if answer.cost is None else _guarantee(answer.cost),
    )


def read_answer(reply: object) -> dict[str, Any]:
    """Return the release of an answer, a table or a model, as it was sent."""
    answer = Answer.read(reply)
    if answer.release is not None:
        return answer.release
    if answer.state == "failed":
        raise EngineError("guard.question_failed")
    raise EngineError("guard.question_without_answer", state=read_past_query(answer).state)


def _guarantee(value: object) -> Guarantee:
    return record_from_json(Guarantee, value)  # type: ignore[type-abstract] # one of its kinds
