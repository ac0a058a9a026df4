"""Types of the API's replies, from which the OpenAPI document is made.

Records (guarantees, events, releases) are objects with a kind or a version and exact numbers, as
:mod:`celosia.core.record` and :mod:`celosia.query` write them.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

_Record = Annotated[dict[str, Any], Field(description="A record: a kind, a version, and exact numbers as texts.")]
_Moment = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
_Role = Literal["owner", "curator", "analyst", "auditor"]


class _Reply(BaseModel):
    """A reply."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ProblemReply(_Reply):
    """Problem details (RFC 9457).

    ``error`` is the class that the Python client raises; ``code`` and ``fields`` say what happened in any language.
    """

    type: str
    title: str
    status: int
    detail: str
    error: str
    code: str
    fields: dict[str, Any]
    request: Annotated[str, Field(description="The number of the request in the server's log.")]


class MessageReply(_Reply):
    """A sentence: its code and fields for programs, and its English text."""

    code: str
    fields: dict[str, Any]
    text: str


class HealthReply(_Reply):
    """Whether the server can reach its store."""

    status: str


class ColumnReply(_Reply):
    """A column: its kind, its declared fields, and its null rule."""

    name: str
    kind: str
    fields: dict[str, Any]
    null: Any


class TableReply(_Reply):
    """A table: its privacy unit, its contribution bounds, its columns."""

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
    """A data set as its owner declared it, without counts."""

    name: str
    title: str
    version: str
    tables: list[TableReply]
    retired: bool


class ChangedDatasetReply(DatasetReply):
    """A data set after a change; the notes say what the change means for past spending."""

    notes: list[MessageReply]


class DatasetsReply(_Reply):
    """The data sets that the caller may see.

    ``formats`` are the versions of plans, previews and releases that the guard reads and writes.
    """

    datasets: list[DatasetReply]
    formats: dict[str, int]


class PreviewReply(_Reply):
    """The cost and the expected error of a query."""

    version: Literal[3]
    cost: _Record
    remaining: _Record
    affordable: bool
    cells: int | None
    complexity: Annotated[int, Field(description="Points for the work of the database.")]
    level: float
    aggregates: list[dict[str, Any]]
    bounds: list[dict[str, Any]]
    notes: list[MessageReply]


class AnswerReply(_Reply):
    """The state of a query or a fit; all three states are paid for. ``release`` is present once it is committed."""

    id: str
    state: Literal["committed", "reserved", "failed"]
    dataset: str
    question: str
    at: _Moment
    cost: _Record | None
    release: (
        Annotated[dict[str, Any], Field(description="The released table, version 3, or a fitted model, version 1.")]
        | None
    )
    repeated: bool


class AnswersReply(_Reply):
    """The caller's queries, latest first, without releases."""

    queries: list[AnswerReply]


class ApprovalReply(_Reply):
    """A query that costs more than one query may, and the decision about it.

    ``answer`` is the id of its answer, once the same request was sent again with the same key.
    """

    id: str
    analyst: str
    key: str
    dataset: str
    question: str
    cost: _Record
    request: dict[str, Any]
    at: _Moment
    state: Literal["pending", "granted", "denied"]
    by: str | None
    reason: str | None
    answer: str | None


class ApprovalsReply(_Reply):
    """Approvals, latest first."""

    approvals: list[ApprovalReply]


class WindowReply(_Reply):
    """The limit of a period, and what remains until it begins again."""

    seconds: int
    limit: _Record
    spent: _Record | None
    remaining: _Record | None
    renews: _Moment | None


class BudgetLine(_Reply):
    """A budget: of a data set, of an analyst, or of an analyst on a data set."""

    dataset: str | None
    analyst: str | None
    accountant: str
    allow_real: bool
    least_cost: str | None
    analyst_share: str | None
    approval_above: str | None
    limit: _Record
    spent: _Record
    remaining: _Record
    window: WindowReply | None


class BudgetReply(_Reply):
    """The budgets that the caller may see."""

    lines: list[BudgetLine]


class LogLineReply(_Reply):
    """A line of the log, with the hash of the one before and its own."""

    sequence: int
    at: _Moment
    kind: str
    body: dict[str, Any]
    previous: str
    hash: str


class LogReply(_Reply):
    """Lines of the log, the oldest first."""

    lines: list[LogLineReply]


class VerificationReply(_Reply):
    """Whether the log is intact."""

    ok: bool
    lines: int
    head: Annotated[str | None, Field(description="The number and the hash of the last line: keep it elsewhere.")]
    problem: str | None


class KeyReply(_Reply):
    """A key without its secret."""

    id: str
    created: _Moment
    expires: _Moment | None
    revoked: _Moment | None


class UserReply(_Reply):
    """A user with all keys, also expired and revoked ones."""

    name: str
    role: _Role
    keys: list[KeyReply]


class UsersReply(_Reply):
    """All users."""

    users: list[UserReply]


class NewKeyReply(_Reply):
    """A new key, shown only once."""

    name: str
    key: str
