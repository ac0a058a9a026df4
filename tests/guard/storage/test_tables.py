from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

import celosia as cl
from celosia.guard.storage.tables import DATASETS, KEYS, USERS, WEB_SESSIONS, create_tables, format_time, parse_time

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


def test_postgresql_takes_them_too(postgres: str) -> None:
    with cl.open_ledger(postgres) as ledger:
        create_tables(ledger)
        create_tables(ledger)


@given(MOMENTS, MOMENTS)
def test_moments_are_read_back_and_their_texts_follow_each_other(one: datetime, other: datetime) -> None:
    assert parse_time(format_time(one)) == one
    assert (format_time(one) < format_time(other)) == (one < other)


def test_moments_of_other_zones_are_written_in_utc() -> None:
    madrid = datetime(2026, 1, 1, 12, tzinfo=timezone(timedelta(hours=1)))
    assert format_time(madrid) == "2026-01-01T11:00:00.000000+00:00"
