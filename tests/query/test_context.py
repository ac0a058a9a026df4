"""One engine for all who share a context, opened when it is needed, and one secret."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

import celosia as cl
from celosia.core.errors import ParameterError
from celosia.noise import Seeded, System
from celosia.query import context as module
from celosia.query.context import SessionContext
from celosia.query.plan.nodes import Aggregate, Base, Plan
from celosia.query.planning.analysis import analyze_plan
from celosia.query.planning.strategy import read_target, strategy_for
from tests.query.samples import Pretending, code_book, rows_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from celosia.query.planning.strategy import Strategy

TABLES = {"deaths": rows_table(), "towns": code_book()}
PLAN = Plan(relation=Base("deaths"), aggregates=(Aggregate(kind="count", name="count"),))
PURE = cl.PureDP(epsilon=1)


def strategy() -> Strategy:
    return strategy_for(analyze_plan(PLAN, TABLES), read_target(PURE, epsilon=1))


def test_the_secret_is_drawn_once_from_the_source() -> None:
    assert SessionContext(TABLES, Seeded(7)).secret == SessionContext(TABLES, Seeded(7)).secret
    assert len({SessionContext(TABLES, System()).secret for _ in range(20)}) == 20


def test_the_engine_is_opened_once_by_whoever_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Pretending] = []

    def open_engine(*_: object, progress: Callable[[float], None]) -> Pretending:
        progress(1.0)
        opened.append(Pretending())
        return opened[-1]

    shares: list[float] = []
    monkeypatch.setattr(module, "open_engine", open_engine)
    context = SessionContext(TABLES, System(), progress=shares.append)
    assert not opened
    with ThreadPoolExecutor(8) as pool:
        engines = set(pool.map(lambda _: context.check(PLAN), range(40)))
    assert engines == set(opened)
    assert (opened[0].reads, shares) == (0, [1.0])
    assert 1 <= opened[0].checks <= 8  # a plan that was agreed to is not asked about again
    context.close()
    context.close()
    assert opened[0].closed == 1
    context.check(PLAN)
    assert len(opened) == 2


def test_progress_is_shown_on_a_terminal_unless_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[object] = []

    def open_engine(*_: object, progress: Callable[[float], None] | None) -> Pretending:
        given.append(progress)
        return Pretending()

    monkeypatch.setattr(module, "open_engine", open_engine)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    SessionContext(TABLES, System()).check(PLAN)
    SessionContext(TABLES, System(), progress=False).check(PLAN)
    assert given[0] is not None
    assert given[1] is None


def test_a_mark_needs_a_version() -> None:
    assert SessionContext(TABLES, System()).fingerprint(PLAN, strategy().event, PURE) is None
    marks = {
        SessionContext(TABLES, System(), version=version).fingerprint(PLAN, strategy().event, PURE)
        for version in ("1", "1", "2")
    }
    assert len(marks) == 2
    assert None not in marks


def test_public_tables_are_digested_once(monkeypatch: pytest.MonkeyPatch) -> None:
    digested: list[str] = []

    def content_digest(table: cl.data.Table) -> str:
        digested.append(table.name)
        return "digest"

    monkeypatch.setattr(module, "content_digest", content_digest)
    context = SessionContext(TABLES, System(), version="1")
    for _ in range(3):
        context.fingerprint(PLAN, strategy().event, PURE)
    assert digested == ["towns"]


def test_a_version_is_a_short_text() -> None:
    for wrong in ("", 7, "a\nb", "x" * 1_000):
        with pytest.raises(ParameterError, match="version must be"):
            SessionContext(TABLES, System(), version=wrong)  # type: ignore[arg-type]
