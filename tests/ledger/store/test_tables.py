from __future__ import annotations

from sqlalchemy import inspect

from celosia.ledger.opening import open_ledger
from celosia.ledger.store.tables import ANSWERS, HEAD, LOG, METADATA, REQUESTS, RESERVATIONS


def test_a_ledger_has_these_tables_and_no_others(shared: str) -> None:
    with open_ledger(shared) as ledger, ledger.store.reading() as connection:
        found = set(inspect(connection).get_table_names())
    assert found == {table.name for table in (ANSWERS, HEAD, LOG, REQUESTS, RESERVATIONS)} == set(METADATA.tables)
    assert all(name.startswith("celosia_") for name in found)
