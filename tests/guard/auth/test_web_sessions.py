from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa

import celosia as cl
from celosia.core.errors import NotAllowedError
from celosia.guard.auth.directory import Directory
from celosia.guard.auth.identity import Identity
from celosia.guard.auth.web_sessions import WebSessions
from celosia.guard.roles import Role
from celosia.guard.storage.tables import WEB_SESSIONS, create_tables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from celosia.ledger import Ledger

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
HOUR = dt.timedelta(hours=1)


class Place:
    """A store with one user, at a time that can be set."""

    def __init__(self, ledger: Ledger) -> None:
        self.at = NOW
        self.ledger = ledger
        self.directory = Directory(ledger, clock=lambda: self.at)
        self.web_sessions = WebSessions(ledger, self.directory, clock=lambda: self.at)
        self.key = self.directory.add("ana", "analyst", by="local", expires=NOW + 5 * HOUR)
        self.ana = self.directory.check(self.key)


@pytest.fixture
def place() -> Iterator[Place]:
    with cl.open_ledger("memory://") as ledger:
        create_tables(ledger)
        yield Place(ledger)


def test_a_visit_lasts_for_its_hours(place: Place) -> None:
    secret = place.web_sessions.open(place.ana, hours=2)
    assert len(secret) == 64
    assert place.web_sessions.find_identity(secret) == place.ana
    place.at = NOW + 2 * HOUR
    with pytest.raises(NotAllowedError, match="sign in with your key"):
        place.web_sessions.find_identity(secret)


def test_a_visit_ends_with_its_key(place: Place) -> None:
    revoked, expired = place.web_sessions.open(place.ana, hours=12), place.web_sessions.open(place.ana, hours=12)
    place.at = NOW + 5 * HOUR
    with pytest.raises(NotAllowedError):
        place.web_sessions.find_identity(expired)
    place.at = NOW + HOUR
    assert place.web_sessions.find_identity(revoked).name == "ana"
    place.directory.revoke("ana", by="local")
    with pytest.raises(NotAllowedError):
        place.web_sessions.find_identity(revoked)


def test_a_visit_can_be_ended_alone(place: Place) -> None:
    one, other = place.web_sessions.open(place.ana, hours=1), place.web_sessions.open(place.ana, hours=1)
    place.web_sessions.end(one)
    place.web_sessions.end(one)
    place.web_sessions.end("nonsense")
    with pytest.raises(NotAllowedError):
        place.web_sessions.find_identity(one)
    assert place.web_sessions.find_identity(other).name == "ana"


def test_a_visit_by_a_token_does_not_outlast_the_token(place: Place) -> None:
    guest = Identity(name="oidc:eva", role=Role.AUDITOR, until=NOW + HOUR)
    secret = place.web_sessions.open(guest, hours=12)
    assert place.web_sessions.find_identity(secret) == guest
    place.at = NOW + HOUR
    with pytest.raises(NotAllowedError):
        place.web_sessions.find_identity(secret)


def test_the_store_has_no_secret_and_forgets_what_ended(place: Place) -> None:
    secret = place.web_sessions.open(place.ana, hours=1)
    place.at = NOW + 2 * HOUR
    place.web_sessions.open(place.ana, hours=1)
    with place.ledger.store.reading() as connection:
        dump = "\n".join(connection.connection.dbapi_connection.iterdump())  # type: ignore[union-attr]
        assert connection.execute(sa.select(sa.func.count()).select_from(WEB_SESSIONS)).scalar() == 1
    assert secret not in dump


def test_what_is_no_secret_lets_nobody_in(place: Place) -> None:
    cases: list[Any] = ["", "0" * 64, "x" * 64, "\ud800", None, 7, b"0" * 64]
    for secret in cases:
        with pytest.raises(NotAllowedError):
            place.web_sessions.find_identity(secret)
        place.web_sessions.end(secret)
