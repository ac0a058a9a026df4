"""Users and their keys, in the ledger's store.

A key is ``celosia_``, twelve hexadecimal digits as its id, and 64 as its secret (256 bits from the system's source).
Only the SHA-256 of the key is stored: a random key of that length needs no slow hash. An unknown id is compared with a
dummy digest, so that it takes the time of a wrong key. Each change and its line in the log are one transaction; the log
holds ids of keys, never keys.
"""

import datetime as dt
import hashlib
import hmac
import re
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import sqlalchemy as sa

from celosia.core.errors import NotAllowedError, ParameterError
from celosia.core.exact import safe_repr
from celosia.guard.auth.identity import LOCAL, Identity
from celosia.guard.roles import Role
from celosia.guard.storage.tables import KEYS, USERS, format_time, parse_time
from celosia.ledger.store.statements import Statement
from celosia.noise.source import SYSTEM
from celosia.serving.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

    from celosia.core import Source
    from celosia.ledger import Ledger

INVALID: Final = "guard.key_not_valid"
"""The one message of every failed authentication."""

_KEY: Final = re.compile(r"celosia_([0-9a-f]{12})_[0-9a-f]{64}", re.ASCII)
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._@+-]{0,63}", re.ASCII)
_BY_ID: Final = Statement(
    sa.select(KEYS.c.digest, KEYS.c.expires, KEYS.c.revoked, USERS.c.name, USERS.c.role)
    .join_from(KEYS, USERS)
    .where(KEYS.c.id == sa.bindparam("wanted"))
)
_NO_DIGEST: Final = "0" * 64  # no known text has this digest


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyCard:
    """A key without its secret; ``id`` is its public part.

    >>> KeyCard(id="0123456789ab", created=dt.datetime(2026, 1, 1, tzinfo=dt.UTC)).expires is None
    True
    """

    id: str
    created: dt.datetime
    expires: dt.datetime | None = None
    revoked: dt.datetime | None = None

    def state(self, at: dt.datetime) -> str:
        """Return ``valid``, ``expired`` or ``revoked``.

        >>> at = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
        >>> KeyCard(id="0123456789ab", created=at, expires=at).state(at)
        'expired'
        """
        if self.revoked is not None:
            return "revoked"
        return "valid" if self.expires is None or at < self.expires else "expired"


@dataclass(frozen=True, slots=True, kw_only=True)
class UserCard:
    """A user with all keys, also expired and revoked ones.

    >>> UserCard(name="ana", role=Role.ANALYST, keys=()).role.value
    'analyst'
    """

    name: str
    role: Role
    keys: tuple[KeyCard, ...]


class Directory:
    """The users of a store."""

    def __init__(
        self, ledger: "Ledger", *, source: "Source" = SYSTEM, clock: "Callable[[], dt.datetime] | None" = None
    ) -> None:
        self._ledger = ledger
        self._source = source
        self._now = clock or now

    def add(self, name: str, role: str, *, by: str, expires: dt.datetime | None = None) -> str:
        """Add a user and return the first key, which is not stored."""
        if not is_user_name(name):
            raise ParameterError("guard.invalid_user_name", reserved=repr(LOCAL), name=safe_repr(name))
        role = Role.of(role)
        with self._ledger.store.transaction() as connection:
            if _user_exists(connection, name):
                raise ParameterError("guard.user_exists", name=safe_repr(name), plain_name=name)
            connection.execute(sa.insert(USERS).values(name=name, role=role.value, created=format_time(self._now())))
            self._ledger.record("user added", {"user": name, "role": role.value, "by": by}, connection=connection)
            return self._add_key(connection, name, by, expires)

    def add_key(self, name: str, *, by: str, expires: dt.datetime | None = None) -> str:
        """Add a key to a user; earlier keys stay valid until they are revoked."""
        with self._ledger.store.transaction() as connection:
            if not _user_exists(connection, name):
                raise NotFoundError("guard.no_user", name=name)
            return self._add_key(connection, name, by, expires)

    def _add_key(self, connection: "Connection", name: str, by: str, expires: dt.datetime | None) -> str:
        created = self._now()
        if expires is not None and (expires.tzinfo is None or expires <= created):
            raise ParameterError("guard.expiry_not_in_future", expires=safe_repr(expires.isoformat()))
        identifier, secret = draw_hexadecimal(12, self._source), draw_hexadecimal(64, self._source)
        key = f"celosia_{identifier}_{secret}"
        until = None if expires is None else format_time(expires)
        row = {
            "id": identifier,
            "user": name,
            "digest": _digest(key),
            "created": format_time(created),
            "expires": until,
        }
        connection.execute(sa.insert(KEYS).values(**row))
        body = {"user": name, "key": identifier, "digest": row["digest"], "expires": until, "by": by}
        self._ledger.record("key added", body, connection=connection)
        return key

    def revoke(self, target: str, *, by: str) -> tuple[str, ...]:
        """Revoke all keys of a user, or one key by its id; return the ids of the revoked keys."""
        with self._ledger.store.transaction() as connection:
            column = KEYS.c.user if _user_exists(connection, target) else KEYS.c.id
            query = sa.select(KEYS.c.id, KEYS.c.user, KEYS.c.revoked).where(column == target)
            keys = connection.execute(query).all() if is_user_name(target) else []
            if not keys:
                raise NotFoundError("guard.no_user_or_key", name=target)
            ended = [key for key in keys if key.revoked is None]
            self._check_owner_left(connection, {key.id for key in ended})
            at = format_time(self._now())
            for key in ended:
                connection.execute(sa.update(KEYS).where(KEYS.c.id == key.id).values(revoked=at))
                body = {"user": key.user, "key": key.id, "by": by}
                self._ledger.record("key revoked", body, connection=connection)
            return tuple(key.id for key in ended)

    def _check_owner_left(self, connection: "Connection", ended: "set[str]") -> None:
        """Raise ``ParameterError`` if the keys that end are the last valid ones of owners."""
        query = sa.select(KEYS.c.id).join_from(KEYS, USERS).where(
            USERS.c.role == Role.OWNER.value,
            KEYS.c.revoked.is_(None),
            sa.or_(KEYS.c.expires.is_(None), KEYS.c.expires > format_time(self._now())),
        )  # fmt: skip
        valid: set[str] = set(connection.execute(query).scalars())
        if valid and valid <= ended:
            raise ParameterError("guard.last_owner_key")

    def users(self) -> tuple[UserCard, ...]:
        """Return all users with their keys, by name."""
        with self._ledger.store.reading() as connection:
            users = connection.execute(sa.select(USERS).order_by(USERS.c.name)).all()
            keys = connection.execute(sa.select(KEYS).order_by(KEYS.c.created, KEYS.c.id)).all()
        owned: dict[str, list[KeyCard]] = {user.name: [] for user in users}
        for key in keys:
            created, expires, revoked = parse_time(key.created), parse_time(key.expires), parse_time(key.revoked)
            assert created is not None  # noqa: S101 - for the type checker: the column is never null
            owned[key.user].append(KeyCard(id=key.id, created=created, expires=expires, revoked=revoked))
        return tuple(UserCard(name=user.name, role=Role(user.role), keys=tuple(owned[user.name])) for user in users)

    def exists(self, name: str) -> bool:
        """Whether there is a user of this name."""
        with self._ledger.store.reading() as connection:
            return _user_exists(connection, name)

    def check(self, key: str) -> Identity:
        """Return the identity of a key; every invalid key gets the same message in the same time."""
        form = _KEY.fullmatch(key)
        found = self._find_key(form[1] if form else "")
        stored = _NO_DIGEST if found is None else found[0]
        same = hmac.compare_digest(_digest(key), stored)
        if found is None or not same or found[1] is None:
            raise NotAllowedError(INVALID)
        return found[1]

    def find_holder(self, key_id: str, *, connection: "Connection | None" = None) -> Identity | None:
        """Return the identity of a valid key by its id, or as an open connection sees it; None if it has ended."""
        found = self._find_key(key_id, connection)
        return None if found is None else found[1]

    def _find_key(self, key_id: str, connection: "Connection | None" = None) -> tuple[str, Identity | None] | None:
        """Return the digest of a key, and its identity if it is valid."""
        reading = self._ledger.store.reading() if connection is None else nullcontext(connection)
        with reading as page:
            row = _BY_ID.first(page, {"wanted": key_id})
        if row is None:
            return None
        until = parse_time(row.expires)
        if row.revoked is not None or (until is not None and until <= self._now()):
            return row.digest, None
        return row.digest, Identity(name=row.name, role=Role(row.role), key_id=key_id, until=until)


def is_user_name(name: object) -> bool:
    """Whether a user may have this name: without a colon, which names of identity providers have."""
    return isinstance(name, str) and name != LOCAL and _NAME.fullmatch(name) is not None


def _user_exists(connection: "Connection", name: object) -> bool:
    # A database may refuse a string that is no user name.
    query = sa.select(USERS.c.name).where(USERS.c.name == name)
    return is_user_name(name) and connection.execute(query).first() is not None


def draw_hexadecimal(digits: int, source: "Source" = SYSTEM) -> str:
    """Return random hexadecimal digits, four bits each."""
    words = source.words(-(-digits // 16)).tolist()
    return "".join(f"{word:016x}" for word in words)[:digits]


def now() -> dt.datetime:
    """Return the current time in UTC."""
    return dt.datetime.now(dt.UTC)


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
