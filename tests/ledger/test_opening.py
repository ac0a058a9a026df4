from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

import celosia as cl
from celosia.core import ParameterError, PureDP
from celosia.ledger import Ledger
from celosia.ledger.opening import open_ledger

if TYPE_CHECKING:
    from pathlib import Path


def test_a_ledger_begins_once_and_is_opened_again(shared: str) -> None:
    with pytest.raises(ParameterError, match="there is no ledger"):
        open_ledger(shared, create=False)
    with open_ledger(shared) as first:
        first.set_budget(PureDP(epsilon=1), dataset="deaths")
        head = first.head
    with open_ledger(shared) as again:
        assert again.head == head
        assert [line.kind for line in again.entries()] == ["opened", "budget"]


def test_the_room_is_the_function() -> None:
    with cl.open_ledger("memory://") as ledger:
        assert repr(ledger) == "<Ledger in memory>"
        assert isinstance(ledger, Ledger)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        getattr(cl.ledger, "nothing")  # noqa: B009 - type checkers know it as a function


def test_two_ledgers_in_memory_are_two() -> None:
    with open_ledger("memory://") as one, open_ledger("memory://") as other:
        one.set_budget(PureDP(epsilon=1), dataset="deaths")
        assert not other.budgets
        assert one.head != other.head


def test_time_is_what_the_clock_says() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    with open_ledger("memory://", clock=lambda: now) as ledger:
        assert next(ledger.entries()).at == now


def test_the_room_is_light_until_a_ledger_is_opened(tmp_path: Path) -> None:
    script = """
import sys
import celosia.ledger
assert "sqlalchemy" not in sys.modules
celosia.open_ledger("memory://")
assert "sqlalchemy" in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True, cwd=tmp_path)


def test_a_relative_path_is_of_the_folder_in_which_it_was_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with open_ledger("sqlite:///budget.db") as ledger:
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        ledger.record("note", {})
    assert (tmp_path / "budget.db").is_file()
    assert list((tmp_path / "elsewhere").iterdir()) == []
