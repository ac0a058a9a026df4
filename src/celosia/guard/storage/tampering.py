"""Check that the guard's tables agree with the log.

Every change of a user, a key or a data set is a line in the hash-chained log, in the same transaction, so the log
determines the tables. A writer to the database could add a role or a key, or put the rows of one data set under the
budget of another, without a line: this check finds it. The line of a data set holds the SHA-256 of its row without
passwords, the line of a key that of the key. Web sessions are not in the log and not compared.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import sqlalchemy as sa

from celosia.core.exact import safe_repr
from celosia.core.messages.message import Message
from celosia.guard.storage.tables import APPROVALS, DATASETS, KEYS, USERS
from celosia.ledger.store.tables import LOG
from celosia.serving.addresses import hide_secrets

if TYPE_CHECKING:
    from sqlalchemy import Connection

DATASET_LINES: Final = (
    "dataset added",
    "dataset changed",
    "dataset restored",
    "dataset retired",
    "dataset shared",
    "bounds changed",
    "schema changed",
    "version changed",
)
"""The kinds of lines about a data set, each with the digest of its row; version 0.1 wrote ``schema changed``."""

_Rows: TypeAlias = dict[str, dict[str, tuple[Any, ...]]]  # by kind and name

_TAMPERED: Final = {
    "user": "guard.user_tampered_with",
    "key": "guard.key_tampered_with",
    "data set": "guard.dataset_tampered_with",
    "approval": "guard.approval_tampered_with",
}
_USER_LINES: Final = ("user added", "key added", "key revoked")
_APPROVAL_LINES: Final = ("approval requested", "approval granted", "approval denied")
_COLUMNS: Final = ("name", "title", "source", "relation", "schema", "public", "analysts", "version", "revision")
_LATER_COLUMNS: Final = ("former", "retired")  # in the digest only where they have a value, so that older digests hold


def row_digest(row: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a data set's row, without passwords."""
    content = {name: row[name] for name in _COLUMNS}
    public = [one | {"source": hide_secrets(one["source"])} for one in json.loads(row["public"])]
    content |= {"source": hide_secrets(row["source"]), "public": public}
    content |= {name: row[name] for name in _LATER_COLUMNS if row.get(name)}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def last_digest(connection: "Connection", dataset: str) -> str | None:
    """Return the digest in the last line about a data set."""
    for _, body in _lines(connection, *DATASET_LINES, latest_first=True):
        if body.get("dataset") == dataset:
            return str(body.get("digest"))
    return None


def find_tampering(connection: "Connection") -> Message | None:
    """Return the first disagreement with the log; None if there is none."""
    expected = _replay_log(connection)
    found: _Rows = {
        "user": {row.name: (row.role,) for row in connection.execute(sa.select(USERS))},
        "key": {
            row.id: (row.user, row.digest, row.expires, row.revoked is not None)
            for row in connection.execute(sa.select(KEYS))
        },
        "data set": {row.name: (row_digest(row._asdict()),) for row in connection.execute(sa.select(DATASETS))},
        "approval": {
            row.id: (row.dataset, row.analyst, row.key, row.digest, row.state)
            for row in connection.execute(sa.select(APPROVALS))
        },
    }
    for kind, those in expected.items():
        for name in sorted(those.keys() | found[kind].keys()):
            if those.get(name) != found[kind].get(name):
                return Message(_TAMPERED[kind], name=safe_repr(name))
    return None


def _replay_log(connection: "Connection") -> _Rows:
    expected: _Rows = {kind: {} for kind in _TAMPERED}
    users, keys, datasets, approvals = expected.values()
    for kind, body in _lines(connection, *_USER_LINES, *DATASET_LINES, *_APPROVAL_LINES):
        if kind == "user added":
            users[body["user"]] = (body["role"],)
        elif kind == "key added":
            keys[body["key"]] = (body["user"], body.get("digest"), body["expires"], False)
        elif kind == "key revoked":
            keys[body["key"]] = (*keys.get(body["key"], (None, None, None))[:3], True)
        elif kind in _APPROVAL_LINES:
            asked = approvals.get(
                body["approval"], (body["dataset"], body["analyst"], body.get("key"), body.get("digest"))
            )
            approvals[body["approval"]] = (*asked[:4], kind.removeprefix("approval ").replace("requested", "pending"))
        else:
            datasets[body["dataset"]] = (body.get("digest"),)
    return expected


def _lines(connection: "Connection", *kinds: str, latest_first: bool = False) -> Iterator[tuple[str, dict[str, Any]]]:
    order = LOG.c.sequence.desc() if latest_first else LOG.c.sequence
    query = sa.select(LOG.c.kind, LOG.c.body).where(LOG.c.kind.in_(kinds)).order_by(order)
    for row in connection.execute(query):
        yield str(row.kind), json.loads(row.body)
