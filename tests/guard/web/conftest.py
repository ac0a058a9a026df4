"""A guard with one data set and a user of every role."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from celosia.core import ApproxDP
from celosia.guard.auth.identity import Identity
from celosia.guard.config.settings import Config, Limits
from celosia.guard.service import Guard
from tests.guard.web.browser import ROLES, SCHEMA, Site

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """A guard of its own for every test."""
    data = tmp_path / "people.csv"
    rows = [f"{n % 90},{n % 150}.5,{'FM'[n % 2]},19{n % 90 + 10}-01-01,n{n % 3}" for n in range(400)]
    data.write_text("\n".join(["age,weight,sex,born,note", *rows]) + "\n")
    config = Config(
        store="memory://",
        slot_milliseconds=0,
        limits=Limits(requests_per_minute=100_000),
    )
    with Guard.open(config) as guard:
        local = Identity.local()
        keys = {role: guard.add_user(local, f"{role}-1", role) for role in ROLES}
        guard.add_dataset(local, "people", str(data), SCHEMA, title="People & others")
        guard.set_budget(local, ApproxDP(epsilon=3, delta="1e-6"), dataset="people")
        yield Site(guard, keys, [])
