"""Ledgers for the tests of this room: in memory, in a file, in PostgreSQL; and processes that are forked and killed."""

from __future__ import annotations

import os
import traceback
from typing import TYPE_CHECKING

import pytest

from celosia.core import GuaranteedEvent, PureDP, Release
from celosia.ledger.opening import open_ledger

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from celosia.core import Event
    from celosia.core.exact import Exact
    from celosia.ledger import Ledger


@pytest.fixture
def event() -> Callable[[Exact], Event]:
    """An event that costs an epsilon, and nothing else is known of it."""
    return lambda epsilon: GuaranteedEvent(guarantee=PureDP(epsilon=epsilon))


@pytest.fixture
def release() -> Callable[[Event], Release[int]]:
    """An answer to an event, with noise that nobody can repeat."""
    return lambda event: Release(value=42, event=event, guarantee=PureDP(epsilon=1))


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    """A ledger in memory, with a budget of 1 for the data set "deaths"."""
    with open_ledger("memory://") as opened:
        opened.set_budget(PureDP(epsilon=1), dataset="deaths")
        yield opened


@pytest.fixture(scope="session")
def imported() -> None:
    """Import what a reservation needs, which every forked child would import again."""
    event = GuaranteedEvent(guarantee=PureDP(epsilon=1))
    with open_ledger("memory://") as opened:
        opened.set_budget(PureDP(epsilon=1), dataset="deaths")
        opened.commit(
            opened.reserve(event, dataset="deaths"), Release(value=42, event=event, guarantee=event.guarantee)
        )


@pytest.fixture
def forked(imported: None) -> Iterator[Callable[[Callable[[], None]], int]]:  # noqa: ARG001
    """Run something in a forked child and return its number; all that are left are waited for at the end."""
    children: list[int] = []

    def fork(work: Callable[[], None]) -> int:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                work()
                code = 0
            except BaseException:  # noqa: BLE001 - nothing of the child may go on in the parent's tests
                traceback.print_exc()
            finally:
                os._exit(code)
        children.append(child)
        return child

    yield fork
    for child in children:
        try:
            os.waitpid(child, 0)
        except ChildProcessError:
            continue
