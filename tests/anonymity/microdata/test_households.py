"""Persons whose household is not known do not live together."""

from __future__ import annotations

import pyarrow as pa

from celosia.anonymity import Roles, read_microdata


def test_a_record_without_a_household_is_its_own() -> None:
    roles = Roles(quasi_identifiers=["age"], household="home")
    table = pa.table({"age": [1, 2, 3, 4, 5], "home": [7, None, 7, None, 5]})
    data = read_microdata(table, roles=roles)
    assert data.households.tolist() == [1, 2, 1, 3, 0]
    known = read_microdata(table.filter(pa.compute.is_valid(table["home"])), roles=roles)
    assert known.households.tolist() == [1, 1, 0]
    released = data.to_release()
    assert len(set(released["home"].to_pylist())) == 4
