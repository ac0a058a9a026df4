"""The shapes of what the API replies, from which its OpenAPI document is made.

What a client can rely on is said once, here. Records of the house (guarantees, events, releases) are objects with a
kind or a version and exact numbers, as :mod:`celosia.core.record` and :mod:`celosia.query` write them.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "AnswerReply",
    "AnswersReply",
    "BudgetLine",
    "BudgetReply",
    "ColumnReply",
    "DatasetReply",
    "DatasetsReply",
    "HealthReply",
    "KeyReply",
    "LogLineReply",
    "LogReply",
    "NewKeyReply",
    "PreviewReply",
    "ProblemReply",
    "TableReply",
    "UserReply",
    "UsersReply",
    "VerificationReply",
    "WindowReply",
]

_Record = Annotated[dict[str, Any], Field(description="A record: a kind, a version, and exact numbers as texts.")]
_Moment = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
_Role = Literal["owner", "curator", "analyst", "auditor"]


class _Reply(BaseModel):
    """What goes out."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ProblemReply(_Reply):
    """What went wrong (RFC 9457). ``error`` is the class that the Python client raises.

    >>> ProblemReply(type="", title="", status=401, detail="", error="NotAllowed", request="-").status
    401
    """

    type: str
    title: str
    status: int
    detail: str
    error: str
    request: Annotated[str, Field(description="The number of the request in the server's log.")]


class HealthReply(_Reply):
    """Whether the server can reach its store.

    >>> HealthReply(status="ok").status
    'ok'
    """

    status: str


class ColumnReply(_Reply):
    """A column: its kind, what was declared of it, and what becomes of nulls.

    >>> ColumnReply(name="age", kind="integer", fields={"low": 0, "high": 120}, null="drop").kind
    'integer'
    """

    name: str
    kind: str
    fields: dict[str, Any]
    null: Any


class TableReply(_Reply):
    """A table: whom it protects, how much of one person counts, its columns.

    >>> "schema_toml" in TableReply.model_fields
    True
    """

    name: str
    unit: str
    person: str | None
    max_groups_per_person: int | None
    max_rows_per_group: int | None
    max_rows_per_person: int | None
    adjacency: str
    public: bool
    key: list[str]
    columns: list[ColumnReply]
    schema_toml: str


class DatasetReply(_Reply):
    """A data set, as its owner declared it; nothing in it was counted.

    >>> DatasetReply(name="deaths", title="", version="1", tables=[]).version
    '1'
    """

    name: str
    title: str
    version: str
    tables: list[TableReply]


class DatasetsReply(_Reply):
    """The data sets that whoever asks may see.

    ``formats`` are the versions of plans, previews and releases that the guard reads and writes.

    >>> DatasetsReply(datasets=[], formats={"plan": 1}).datasets
    []
    """

    datasets: list[DatasetReply]
    formats: dict[str, int]


class PreviewReply(_Reply):
    """What a question would cost, and how far off it would be.

    >>> "cost" in PreviewReply.model_fields
    True
    """

    version: Literal[1]
    cost: _Record
    remaining: _Record
    affordable: bool
    cells: int | None
    level: float
    aggregates: list[dict[str, Any]]
    bounds: list[dict[str, Any]]
    notes: list[str]


class AnswerReply(_Reply):
    """What became of a question; all three states are paid for. ``release`` is there once it is committed.

    >>> "release" in AnswerReply.model_fields
    True
    """

    id: str
    state: Literal["committed", "reserved", "failed"]
    dataset: str
    question: str
    at: _Moment
    cost: _Record | None
    release: Annotated[dict[str, Any], Field(description="The released table, version 1.")] | None
    repeated: bool


class AnswersReply(_Reply):
    """The own questions, the latest first, without releases.

    >>> AnswersReply(queries=[]).queries
    []
    """

    queries: list[AnswerReply]


class WindowReply(_Reply):
    """What may be spent in a stretch of time, and what is left of it until it begins anew.

    >>> WindowReply(seconds=60, limit={}, spent={}, remaining={}, renews=None).seconds
    60
    """

    seconds: int
    limit: _Record
    spent: _Record | None
    remaining: _Record | None
    renews: _Moment | None


class BudgetLine(_Reply):
    """A budget: of a data set, of an analyst, or of an analyst on a data set.

    >>> "remaining" in BudgetLine.model_fields
    True
    """

    dataset: str | None
    analyst: str | None
    accountant: str
    allow_real: bool
    limit: _Record
    spent: _Record
    remaining: _Record
    window: WindowReply | None


class BudgetReply(_Reply):
    """The budgets that whoever asks may see.

    >>> BudgetReply(lines=[]).lines
    []
    """

    lines: list[BudgetLine]


class LogLineReply(_Reply):
    """A line of the log, with the hash of the one before and its own.

    >>> LogLineReply(sequence=1, at="", kind="opened", body={}, previous="", hash="").sequence
    1
    """

    sequence: int
    at: _Moment
    kind: str
    body: dict[str, Any]
    previous: str
    hash: str


class LogReply(_Reply):
    """Lines of the log, the oldest first.

    >>> LogReply(lines=[]).lines
    []
    """

    lines: list[LogLineReply]


class VerificationReply(_Reply):
    """Whether the log is as it was written.

    >>> VerificationReply(ok=True, lines=1, head=None, problem=None).ok
    True
    """

    ok: bool
    lines: int
    head: Annotated[str | None, Field(description="The number and the hash of the last line: keep it elsewhere.")]
    problem: str | None


class KeyReply(_Reply):
    """A key without its secret.

    >>> KeyReply(id="0123456789ab", created="", expires=None, revoked=None).id
    '0123456789ab'
    """

    id: str
    created: _Moment
    expires: _Moment | None
    revoked: _Moment | None


class UserReply(_Reply):
    """A user, with all keys there have been.

    >>> UserReply(name="ana", role="analyst", keys=[]).role
    'analyst'
    """

    name: str
    role: _Role
    keys: list[KeyReply]


class UsersReply(_Reply):
    """All users.

    >>> UsersReply(users=[]).users
    []
    """

    users: list[UserReply]


class NewKeyReply(_Reply):
    """A new key, which is shown this once.

    >>> NewKeyReply(name="ana", key="celosia_…").name
    'ana'
    """

    name: str
    key: str
