"""Web sessions: a random secret in a cookie, its hash in the store.

A web session ends after some hours, at sign-out, or with the key that opened it: each page checks the key, so revoking
it also ends the session. Only the SHA-256 of the secret is stored, so a reader of the store cannot sign in.
"""

import datetime as dt
import hashlib
import re
from typing import TYPE_CHECKING, Final

import sqlalchemy as sa

from celosia.core.errors import NotAllowedError
from celosia.guard.auth.directory import Directory, draw_hexadecimal, now
from celosia.guard.auth.identity import Identity
from celosia.guard.roles import Role
from celosia.guard.storage.tables import WEB_SESSIONS, format_time, parse_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from celosia.ledger import Ledger

_SECRET: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)


class WebSessions:
    """The web sessions of a store."""

    def __init__(
        self, ledger: "Ledger", directory: Directory, *, clock: "Callable[[], dt.datetime] | None" = None
    ) -> None:
        self._ledger = ledger
        self._directory = directory
        self._now = clock or now

    def open(self, identity: Identity, *, hours: int) -> str:
        """Open a web session and return its secret; it ends no later than the key or token of the identity."""
        secret, at = draw_hexadecimal(64), self._now()
        until = at + dt.timedelta(hours=hours)
        if identity.until is not None:
            until = min(until, identity.until)
        row = {
            "name": identity.name,
            "role": identity.role.value,
            "key_id": identity.key_id,
            "until": format_time(until),
        }
        with self._ledger.store.transaction() as connection:
            connection.execute(sa.delete(WEB_SESSIONS).where(WEB_SESSIONS.c.until <= format_time(at)))  # expired ones
            connection.execute(sa.insert(WEB_SESSIONS).values(digest=_digest(secret), **row))
        return secret

    def find_identity(self, secret: str) -> Identity:
        """Return the identity of a web session; raise ``NotAllowedError`` if it or its key has ended."""
        identity = self._find_identity(secret) if _is_secret(secret) else None
        if identity is None:
            raise NotAllowedError("guard.not_signed_in")
        return identity

    def _find_identity(self, secret: str) -> Identity | None:
        query = sa.select(WEB_SESSIONS).where(
            WEB_SESSIONS.c.digest == _digest(secret), WEB_SESSIONS.c.until > format_time(self._now())
        )
        with self._ledger.store.reading() as connection:
            row = connection.execute(query).first()
        if row is None or row.key_id is not None:
            return None if row is None else self._directory.find_holder(row.key_id)
        return Identity(name=row.name, role=Role(row.role), until=parse_time(row.until))

    def end(self, secret: str) -> None:
        """End a web session; an unknown one is ignored."""
        if _is_secret(secret):
            with self._ledger.store.transaction() as connection:
                connection.execute(sa.delete(WEB_SESSIONS).where(WEB_SESSIONS.c.digest == _digest(secret)))


def _is_secret(secret: object) -> bool:
    return isinstance(secret, str) and _SECRET.fullmatch(secret) is not None


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
