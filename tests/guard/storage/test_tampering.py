"""Whatever is changed in the guard's tables without a line in the log is found, and data sets so changed are shut."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa

import celosia as cl
from celosia.core.errors import LedgerError
from celosia.guard.auth.identity import Identity
from celosia.guard.config.settings import Config
from celosia.guard.roles import Role
from celosia.guard.schema.requests import QueryRequest
from celosia.guard.service import Guard
from tests.guard.copies import dump_store, open_copy

if TYPE_CHECKING:
    from collections.abc import Iterator
CONFIG = Config(store="memory://", slot_milliseconds=0)
SCHEMA = '[columns.age]\nkind = "integer"\nlow = 0\nhigh = 120\n'
LOCAL, AUDITOR = Identity.local(), Identity(name="alda", role=Role.AUDITOR)
COUNT = QueryRequest(dataset="deaths", sql="SELECT COUNT(*) FROM deaths", epsilon="0.1")

CHANGES = {
    "a role": "UPDATE celosia_users SET role = 'owner' WHERE name = 'ana'",
    "a user more": "INSERT INTO celosia_users VALUES ('eve', 'owner', '2026')",
    "a user's name": "UPDATE celosia_users SET name = 'anna' WHERE name = 'eva'",
    "a key that comes back": "UPDATE celosia_keys SET revoked = NULL",
    "a key that ends": "UPDATE celosia_keys SET revoked = '2026'",
    "a key for longer": "UPDATE celosia_keys SET expires = NULL",
    "a key of one's own": "UPDATE celosia_keys SET digest = '00'",
    "a key more": "INSERT INTO celosia_keys VALUES ('0', 'ana', '00', '2026', NULL, NULL)",
    "a key less": "DELETE FROM celosia_keys",
    "somebody else's key": "UPDATE celosia_keys SET \"user\" = 'eva'",
    "other rows": "UPDATE celosia_datasets SET source = '/other.csv'",
    "other bounds": "UPDATE celosia_datasets SET schema = replace(schema, '120', '1')",
    "an old version": "UPDATE celosia_datasets SET version = 1",
    "an old revision": "UPDATE celosia_datasets SET revision = 1",
    "another title": "UPDATE celosia_datasets SET title = 'x'",
    "other analysts": "UPDATE celosia_datasets SET analysts = '[\"ana\"]'",
    "another table": "UPDATE celosia_datasets SET relation = 'x'",
    "a data set less": "DELETE FROM celosia_datasets",
    "a retired one that comes back": "UPDATE celosia_datasets SET retired = NULL WHERE name = 'births'",
    "one more that is retired": "UPDATE celosia_datasets SET retired = 1",
    "a source that is free again": "UPDATE celosia_datasets SET former = NULL",
}


@pytest.fixture(scope="module")
def dumped(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The store of a guard in which something of every kind was done."""
    data = tmp_path_factory.mktemp("deaths") / "deaths.csv"
    data.write_text("age\n" + "7\n" * 100)
    with Guard.open(CONFIG) as guard:
        for name in ("ana", "eva"):
            guard.add_user(LOCAL, name, "analyst", dt.datetime.now(dt.UTC) + dt.timedelta(days=1))
        guard.add_key(LOCAL, "ana")
        guard.revoke(LOCAL, "eva")
        guard.add_dataset(LOCAL, "deaths", str(data), SCHEMA, analysts=["ana", "eva"])
        guard.set_budget(LOCAL, cl.PureDP(epsilon=1), dataset="deaths")
        guard.new_version(LOCAL, "deaths")
        guard.share_dataset(LOCAL, "deaths", None)
        for name in ("births", "newer"):
            data.with_stem(name).write_text("age\n1\n")
        guard.add_dataset(LOCAL, "births", str(data.with_stem("births")), SCHEMA)
        guard.update_dataset(LOCAL, "births", source=str(data.with_stem("newer")), title="Births")
        guard.update_dataset(LOCAL, "births", retired=True)
        return dump_store(guard)


@pytest.fixture
def guard(dumped: bytes) -> Iterator[Guard]:
    with open_copy(dumped, CONFIG) as guard:
        yield guard


def tamper(guard: Guard, statement: str) -> None:
    with guard.ledger.store.transaction() as connection:
        connection.execute(sa.text("PRAGMA defer_foreign_keys = on"))
        connection.execute(sa.text(statement))
        if "anna" in statement:
            connection.execute(sa.text("UPDATE celosia_keys SET \"user\" = 'anna' WHERE \"user\" = 'eva'"))


def test_what_was_done_in_the_open_is_found_in_order(guard: Guard) -> None:
    assert guard.verify(AUDITOR).ok
    ana = Identity(name="ana", role=Role.ANALYST)
    assert guard.ask(ana, COUNT, "k").state == "committed"
    assert guard.verify(AUDITOR).ok


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_without_a_line_is_found(guard: Guard, change: str) -> None:
    tamper(guard, CHANGES[change])
    found = guard.verify(AUDITOR)
    assert not found.ok
    assert "is not what the log says" in str(found.problem)
    assert guard.ledger.verify().ok  # the log itself is whole


def test_a_broken_log_is_told_first(guard: Guard) -> None:
    tamper(guard, "UPDATE celosia_log SET body = '{}' WHERE sequence = 2")
    tamper(guard, CHANGES["a role"])
    assert "is not what the log says" not in str(guard.verify(AUDITOR).problem)


@pytest.mark.parametrize("change", ["other rows", "other bounds", "an old version", "another table"])
def test_a_data_set_so_changed_answers_nothing(guard: Guard, change: str) -> None:
    ana = Identity(name="ana", role=Role.ANALYST)
    tamper(guard, CHANGES[change])
    with pytest.raises(LedgerError, match="is not what the log says"):
        guard.ask(ana, COUNT, "k")
    with pytest.raises(LedgerError, match="is not what the log says"):
        guard.catalogue.check("deaths")
    assert not guard.ledger.reservations()


def test_a_data_set_that_changes_meanwhile_is_looked_at_again(guard: Guard) -> None:
    before = guard.catalogue.find("deaths")
    assert before is not None
    guard.share_dataset(LOCAL, "deaths", ["ana"])
    with pytest.raises(LedgerError, match="is being changed"):
        guard.catalogue.confirm(before)


def test_passwords_are_in_no_digest(guard: Guard) -> None:
    from celosia.guard.storage.tampering import row_digest

    row = {"name": "a", "title": "", "relation": "t", "schema": "", "analysts": None, "version": 1, "revision": 1}
    one, other = (
        row | {"source": f"postgresql://ana:{word}@db/x", "public": f'[{{"source": "postgresql://ana:{word}@db/y"}}]'}
        for word in ("secret", "other")
    )
    assert row_digest(one) == row_digest(other)
    assert row_digest(one) != row_digest(one | {"source": "postgresql://ana:secret@db/z"})
    assert guard.verify(AUDITOR).ok
