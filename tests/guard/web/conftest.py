"""A guard with one data set and a user of every role."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from celosia.core import ApproxDP
from celosia.guard.auth.identity import Identity
from celosia.guard.config.sections import Limits
from celosia.guard.config.settings import Config
from celosia.guard.service import Guard
from tests.guard.copies import dump_store, open_copy
from tests.guard.web.browser import ROLES, SCHEMA, Site

if TYPE_CHECKING:
    from collections.abc import Iterator

CONFIG = Config(store="memory://", slot_milliseconds=0, limits=Limits(requests_per_minute=100_000))


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, dict[str, str]]:
    """The store of a guard that is set up, and a key for each role."""
    data = tmp_path_factory.mktemp("people") / "people.csv"
    rows = [f"{n % 90},{n % 150}.5,{'FM'[n % 2]},19{n % 90 + 10}-01-01,n{n % 3}" for n in range(400)]
    data.write_text("\n".join(["age,weight,sex,born,note", *rows]) + "\n")
    local = Identity.local()
    with Guard.open(CONFIG) as guard:
        keys = {role: guard.add_user(local, f"{role}-1", role) for role in ROLES}
        guard.add_dataset(local, "people", str(data), SCHEMA, title="People & others")
        guard.set_budget(local, ApproxDP(epsilon=3, delta="1e-6"), dataset="people")
        return dump_store(guard), keys


@pytest.fixture
def site(template: tuple[bytes, dict[str, str]]) -> Iterator[Site]:
    """A guard of its own for every test."""
    dumped, keys = template
    with open_copy(dumped, CONFIG) as guard:
        yield Site(guard, keys, [])
