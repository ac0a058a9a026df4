from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

import celosia as cl
from celosia.guard.datasets.catalogue import Catalogue
from celosia.guard.storage.tables import DATASETS, KEYS, USERS, WEB_SESSIONS, create_tables, format_time, parse_time
from celosia.guard.storage.tampering import find_tampering

MOMENTS = st.datetimes(
    min_value=datetime(1970, 1, 2),  # noqa: DTZ001 - the zone comes below
    max_value=datetime(2999, 12, 30),  # noqa: DTZ001 - the zone comes below
    timezones=st.just(UTC),
)


def test_the_tables_are_made_once_and_stay() -> None:
    with cl.open_ledger("memory://") as ledger:
        create_tables(ledger)
        with ledger.store.transaction() as connection:
            connection.execute(sa.insert(USERS).values(name="ana", role="analyst", created="x"))
        create_tables(ledger)
        with ledger.store.reading() as connection:
            assert connection.execute(sa.select(USERS.c.name)).scalars().all() == ["ana"]
            names = sa.inspect(connection).get_table_names()
    assert {table.name for table in (DATASETS, KEYS, USERS, WEB_SESSIONS)} <= set(names)


OLD_DATASETS = """CREATE TABLE celosia_datasets (name VARCHAR(64) NOT NULL PRIMARY KEY, title TEXT NOT NULL,
    source TEXT NOT NULL, relation TEXT, schema TEXT NOT NULL, public TEXT NOT NULL, analysts TEXT,
    version INTEGER NOT NULL, revision INTEGER NOT NULL, created VARCHAR(32) NOT NULL)"""
OLD_ROW = {
    "name": "deaths", "title": "Deaths", "source": "postgresql://ana:${PASSWORD}@db/x", "relation": "deaths",
    "schema": '[columns.age]\nkind = "integer"\nlow = 0\nhigh = 120\n', "public": "[]", "analysts": '["ana"]',
    "version": 3, "revision": 7,
}  # fmt: skip
OLD_DIGEST = "c60c056dee98c0e3b862b331c84b0d99d82e5edcd9209b2d45b2f1db7e207a8a"  # as version 0.1 wrote it


def test_postgresql_takes_them_too(postgres: str) -> None:
    with cl.open_ledger(postgres) as ledger:
        create_tables(ledger)
        create_tables(ledger)


def test_a_store_of_an_older_version_is_opened_and_agrees_with_its_log(shared: str) -> None:
    with cl.open_ledger(shared) as ledger:
        with ledger.store.transaction() as connection:
            connection.execute(sa.text("DROP TABLE IF EXISTS celosia_datasets"))
            connection.execute(sa.text(OLD_DATASETS))
            connection.execute(sa.text("DROP INDEX celosia_reservations_answer"))
            columns = ", ".join([*OLD_ROW, "created"])
            places = ", ".join(f":{name}" for name in [*OLD_ROW, "created"])
            insert = sa.text(f"INSERT INTO celosia_datasets ({columns}) VALUES ({places})")
            connection.execute(insert, {**OLD_ROW, "created": "2026"})
        ledger.record("dataset added", {"dataset": "deaths", "digest": OLD_DIGEST})
        for _ in range(2):  # the second time there is nothing to add
            create_tables(ledger)
        [found] = Catalogue(ledger).all()
        assert (found.retired, found.former, found.version, found.analysts) == (False, None, 3, ("ana",))
        Catalogue(ledger).confirm(found)
        Catalogue(ledger).update("deaths", retired=True, by="olga")
        with ledger.store.reading() as connection:
            assert find_tampering(connection) is None
            indexes = {index["name"] for index in sa.inspect(connection).get_indexes("celosia_reservations")}
        assert "celosia_reservations_answer" in indexes


@given(MOMENTS, MOMENTS)
def test_moments_are_read_back_and_their_texts_follow_each_other(one: datetime, other: datetime) -> None:
    assert parse_time(format_time(one)) == one
    assert (format_time(one) < format_time(other)) == (one < other)


def test_moments_of_other_zones_are_written_in_utc() -> None:
    madrid = datetime(2026, 1, 1, 12, tzinfo=timezone(timedelta(hours=1)))
    assert format_time(madrid) == "2026-01-01T11:00:00.000000+00:00"
