"""Shapes of replies, as the guard sends them and as the client reads them.

The client checks every field that it knows, and ignores those that a newer guard adds; fields with a default are newer
than version 0.1. Records (guarantees, events, releases) are objects with a kind or a version and exact numbers, as
:mod:`celosia.core.record` and :mod:`celosia.query` write them.
"""

import datetime as dt
import json
from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, ValidationError, WithJsonSchema

from celosia.core.errors import FormatError
from celosia.ledger.budgets.release_kind import RELEASE_KINDS


def _read_time(value: object) -> object:
    try:
        return dt.datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        raise FormatError("guard.time_not_understood") from None


_Record = Annotated[dict[str, Any], Field(description="A record: a kind, a version, and exact numbers as texts.")]
_TimeText = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
_Time = Annotated[
    dt.datetime,
    BeforeValidator(_read_time),
    PlainSerializer(dt.datetime.isoformat, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]


class _Reply(BaseModel):
    """A reply: nothing but the declared fields is sent."""

    model_config = ConfigDict(
        frozen=True,
        strict=True,
        json_schema_extra={"additionalProperties": False},
        json_schema_serialization_defaults_required=True,
    )

    @classmethod
    def read(cls, reply: object) -> Self:
        """Read a reply; raise ``FormatError`` if a known field is missing or of another type."""
        try:
            return cls.model_validate(reply)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
        cause = first.get("ctx", {}).get("error")
        if isinstance(cause, FormatError):
            raise cause
        if first["type"] == "missing":
            raise FormatError("guard.reply_lacks_field", name=str(first["loc"][-1]))
        raise FormatError("guard.reply_not_understood")

    def to_json(self) -> dict[str, Any]:
        """Return the reply as a JSON object."""
        return self.model_dump(mode="json")


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


class ColumnCard(_Reply):
    """A column: its kind as in schema files, its declared fields, and its null rule.

    Bounds that are not integers are strings, and so are dates and times.

    >>> ColumnCard(name="age", kind="integer", fields={"low": 0, "high": 120}, null="drop").fields["high"]
    120
    """

    name: str
    kind: str
    fields: dict[str, Any]
    null: Any


class TableCard(_Reply):
    """A table: its privacy unit, its contribution bounds, and the join key of a public table.

    ``Schema.from_toml`` reads ``schema_toml`` as the same schema.

    >>> [field for field in TableCard.model_fields if field.startswith("max_rows")]
    ['max_rows_per_group', 'max_rows_per_person']
    """

    name: str
    unit: str
    person: str | None
    max_groups_per_person: int | None
    max_rows_per_group: int | None
    max_rows_per_person: int | None
    adjacency: str
    public: bool
    key: Sequence[str]
    columns: Sequence[ColumnCard]
    schema_toml: str


class DatasetCard(_Reply):
    """A data set as its owner declared it, without counts: its private table, then the public ones to join with it.

    The owner declares the ``version`` of the data: the same query of the same version has one answer.

    >>> DatasetCard(name="deaths", title="", version="1", tables=()).to_json()
    {'name': 'deaths', 'title': '', 'version': '1', 'tables': [], 'retired': False}
    """

    name: str
    title: str
    version: str
    tables: Sequence[TableCard]
    retired: bool = False


class ChangedDatasetReply(DatasetCard):
    """A data set after a change; the notes say what the change means for past spending."""

    notes: list[MessageReply]


class SchemaReply(_Reply):
    """The text of a schema file."""

    schema_: str = Field(alias="schema")


class DatasetsReply(_Reply):
    """The data sets that the caller may see.

    ``formats`` are the versions of plans, previews and releases that the guard reads and writes.
    """

    datasets: Sequence[DatasetCard]
    formats: dict[str, int]


class PreviewReply(_Reply):
    """The cost and the expected error of a query."""

    version: Literal[3]
    cost: _Record
    remaining: _Record
    affordable: Annotated[bool, Field(description="Whether the budgets have room; the notes add the rules.")]
    cells: int | None
    complexity: Annotated[int, Field(description="Points for the work of the database.")]
    level: float
    aggregates: list[dict[str, Any]]
    bounds: list[dict[str, Any]]
    notes: list[MessageReply]


class Answer(_Reply):
    """The state of a query or a fit, and its release.

    ``state`` is ``"committed"`` if there is an answer, ``"reserved"`` while it is computed, and ``"failed"`` if the
    data could not be read or the work was interrupted; all three are paid for. ``release`` is absent in lists; ``cost``
    is the JSON of a guarantee. If ``repeated``, the data set did not pay again.

    >>> sent = {"id": "0f", "state": "reserved", "dataset": "deaths", "question": "SELECT COUNT(*) FROM deaths",
    ...         "at": "2026-01-01T00:00:00+00:00", "cost": None, "release": None, "repeated": False}
    >>> Answer.read(sent).to_json() == sent
    True
    """

    id: str
    state: Annotated[str, WithJsonSchema({"enum": ["committed", "reserved", "failed"], "type": "string"})]
    dataset: str
    question: str
    at: _Time
    cost: _Record | None
    release: (
        Annotated[dict[str, Any], Field(description="The released table, version 3, or a fitted model, version 1.")]
        | None
    )
    repeated: bool
    stored: str | None = Field(default=None, exclude=True, repr=False)  # the text of the release, sent unchanged

    @property
    def is_model(self) -> bool:
        """Whether the release is a fitted model."""
        return self.release is not None and "model" in self.release

    def to_text(self) -> str:
        """Return the JSON text; a stored release is inserted unchanged."""
        release = self.stored or json.dumps(self.release, separators=(",", ":"), allow_nan=False)
        return f'{self.model_dump_json(exclude={"release"})[:-1]},"release":{release}}}'


class AnswersReply(_Reply):
    """The caller's queries, latest first, without releases."""

    queries: Sequence[Answer]


class Approval(_Reply):
    """A query that costs more than one query may, and the decision about it.

    ``request`` is the JSON of the request, ``cost`` that of its guarantee. ``answer`` is the id of its answer, once the
    same request was sent again with the same key.
    """

    id: str
    analyst: str
    key: str
    digest: str = Field(exclude=True)
    dataset: str
    question: str
    cost: _Record
    request: dict[str, Any]
    at: _TimeText
    state: Literal["pending", "granted", "denied"] = "pending"
    by: str | None = None
    reason: str | None = None
    answer: str | None = None


class ApprovalsReply(_Reply):
    """Approvals: pending ones first, then latest first."""

    approvals: Sequence[Approval]


class WindowReply(_Reply):
    """The limit of a period, and what remains until it begins again."""

    seconds: int
    limit: _Record
    spent: _Record | None
    remaining: _Record | None
    renews: _TimeText | None


class KindReply(_Reply):
    """The releases of one kind: their number, and what they cost without the others."""

    kind: Annotated[str, WithJsonSchema({"enum": list(RELEASE_KINDS), "type": "string"})]
    releases: int
    cost: _Record


class BudgetLine(_Reply):
    """A budget: of a data set, of an analyst, or of an analyst on a data set.

    ``kinds`` is what was spent by kind of release, null where the caller may not see it. The costs need not add up to
    ``spent``.
    """

    dataset: str | None
    analyst: str | None
    accountant: str
    allow_real: bool
    least_cost: str | None = None
    analyst_share: str | None = None
    approval_above: str | None = None
    limit: _Record
    spent: _Record
    remaining: _Record
    window: WindowReply | None
    kinds: Sequence[KindReply] | None = None


class BudgetReply(_Reply):
    """The budgets that the caller may see."""

    lines: list[BudgetLine]


class LogLineReply(_Reply):
    """A line of the log, with the hash of the one before and its own."""

    sequence: int
    at: _TimeText
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
    created: _Time
    expires: _Time | None
    revoked: _Time | None


class UserReply(_Reply):
    """A user with all keys, also expired and revoked ones."""

    name: str
    role: Annotated[Literal["owner", "curator", "analyst", "auditor"], BeforeValidator(str)]
    keys: Sequence[KeyReply]


class UsersReply(_Reply):
    """All users."""

    users: Sequence[UserReply]


class NewKeyReply(_Reply):
    """A new key, shown only once."""

    name: str
    key: str
