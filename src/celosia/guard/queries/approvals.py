"""Approvals of queries that cost more than an analyst may spend on one query.

The first request files the approval; nothing is spent. A curator grants or denies it, with a reason. The same request
with the same idempotency key is then answered: the ledger takes each key once, so an approval pays for one answer. A
decision can be changed until that answer. Every step is a line in the log, within the same transaction.
"""

import json
import re
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa

from celosia.core.errors import ParameterError, RequestConflictError
from celosia.core.exact import safe_repr
from celosia.core.strict_json import read_json
from celosia.guard.auth.directory import draw_hexadecimal, now
from celosia.guard.schema.replies import Approval
from celosia.guard.schema.requests import ONE_LINE
from celosia.guard.storage.tables import APPROVALS, format_time
from celosia.ledger.reservations.records import find_request
from celosia.ledger.store.statements import Statement
from celosia.serving.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from celosia.core.guarantees import Guarantee
    from celosia.ledger import Ledger, Request

STATES: Final = ("pending", "granted", "denied")
"""The states of an approval."""

_MAX_PENDING: Final = 100
_BY_KEY: Final = Statement(
    sa.select(APPROVALS.c.id, APPROVALS.c.digest, APPROVALS.c.state).where(
        APPROVALS.c.analyst == sa.bindparam("analyst_"), APPROVALS.c.key == sa.bindparam("key_")
    )
)
_MAX_REASON_LENGTH: Final = 1_000


class Approvals:
    """The approvals of a store."""

    def __init__(self, ledger: "Ledger") -> None:
        self._ledger = ledger

    @staticmethod
    def find_granted(connection: sa.Connection, analyst: str, request: "Request") -> str | None:
        """Return the id of the approval of a request if it is granted; raise if its key was for another request."""
        known = _BY_KEY.first(connection, {"analyst_": analyst, "key_": request.key})
        if known is None:
            return None
        if known.digest != request.digest:
            raise RequestConflictError("guard.idempotency_key_reused", key=safe_repr(request.key))
        return str(known.id) if known.state == "granted" else None

    def file(
        self, analyst: str, request: "Request", content: "Mapping[str, Any]", *, cost: "Guarantee", question: str
    ) -> Approval:
        """File an approval, or return the one that was filed with the same key."""
        with self._ledger.store.transaction() as connection:
            own = APPROVALS.c.analyst == analyst
            known = _find(connection, own & (APPROVALS.c.key == request.key))
            if known is not None:
                return known
            waiting = sa.select(sa.func.count()).where(own & (APPROVALS.c.state == "pending"))
            if connection.execute(waiting).scalar_one() >= _MAX_PENDING:
                raise ParameterError("guard.too_many_approvals", most=_MAX_PENDING)
            made = Approval(
                id=draw_hexadecimal(12),
                analyst=analyst,
                key=request.key,
                digest=request.digest,
                dataset=str(content["dataset"]),
                question=question,
                cost=json.loads(cost.to_json()),
                request=dict(content),
                at=format_time(now()),
            )
            connection.execute(sa.insert(APPROVALS).values(**_row(made)))
            names = ("dataset", "analyst", "question", "key", "digest", "cost")
            body = {"approval": made.id} | {name: getattr(made, name) for name in names}
            self._ledger.record("approval requested", body, connection=connection)
        return made

    def decide(self, id: str, *, granted: bool, reason: str, by: str) -> Approval:  # noqa: A002 - its name in the API
        """Grant or deny an approval; raise ``ParameterError`` if its answer was given."""
        text: object = reason
        if not isinstance(text, str) or len(text) > _MAX_REASON_LENGTH or "\0" in text:
            raise ParameterError("guard.invalid_text", name="reason", most=_MAX_REASON_LENGTH)
        if not re.fullmatch(ONE_LINE, text):
            raise ParameterError("guard.control_characters", name="reason")
        with self._ledger.store.transaction() as connection:
            known = _find(connection, APPROVALS.c.id == id)
            if known is None:
                raise NotFoundError("guard.no_approval", name=id)
            if known.answer is not None:
                raise ParameterError("guard.approval_used", name=safe_repr(id))
            state = "granted" if granted else "denied"
            decided = known.model_copy(update={"state": state, "by": by, "reason": reason or None})
            connection.execute(sa.update(APPROVALS).where(APPROVALS.c.id == id).values(**_row(decided)))
            body = {"approval": id, "dataset": known.dataset, "analyst": known.analyst, "by": by, "reason": reason}
            self._ledger.record(f"approval {decided.state}", body, connection=connection)
        return decided

    def list(self, *, analyst: str | None = None, state: str | None = None, limit: int) -> tuple[Approval, ...]:
        """Return approvals, of one analyst or of all, in one state or in any: pending ones first, then latest first."""
        decided = sa.case((APPROVALS.c.state == "pending", 0), else_=1)
        query = sa.select(APPROVALS).order_by(decided, APPROVALS.c.at.desc(), APPROVALS.c.id).limit(limit)
        query = query if analyst is None else query.where(APPROVALS.c.analyst == analyst)
        query = query if state is None else query.where(APPROVALS.c.state == state)
        with self._ledger.store.reading() as connection:
            return tuple(_read(connection, row) for row in connection.execute(query).all())


def _find(connection: sa.Connection, condition: "sa.ColumnElement[bool]") -> Approval | None:
    row = connection.execute(sa.select(APPROVALS).where(condition)).first()
    return None if row is None else _read(connection, row)


def _read(connection: sa.Connection, row: Any) -> Approval:
    values = row._asdict()
    paid = find_request(connection, row.analyst, row.key)
    answer = None if paid is None else paid[1].reservation.id
    return Approval(**values | {name: read_json(values[name]) for name in _AS_JSON}, answer=answer)


_AS_JSON: Final = ("cost", "request")  # columns of a row


def _row(approval: Approval) -> dict[str, Any]:
    row = {name: value for name, value in approval if name != "answer"}
    return row | {name: json.dumps(row[name], sort_keys=True) for name in _AS_JSON}
