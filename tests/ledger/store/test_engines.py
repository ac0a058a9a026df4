from __future__ import annotations

import stat
from typing import TYPE_CHECKING, Any

import pytest

from celosia.core import LedgerError, ParameterError
from celosia.ledger.opening import open_ledger
from celosia.ledger.store.engines import make_engine

if TYPE_CHECKING:
    from pathlib import Path


def test_other_urls_are_refused_without_quoting_them() -> None:
    cases: list[Any] = [
        "",
        "budget.db",
        "oracle://scott:tiger@db/x",
        "sqlite+aiosqlite:///x.db",
        "http://x",
        "postgresql://h:99999999x/d",
        None,
        7,
    ]
    for url in cases:
        with pytest.raises(ParameterError, match="url must be memory://, sqlite:///") as caught:
            make_engine(url)
        assert "tiger" not in str(caught.value)
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None


def test_a_file_is_a_path_and_nothing_more() -> None:
    cases: list[str] = ["sqlite://", "sqlite:///:memory:", "sqlite:///x.db?mode=ro", "sqlite://host/x.db"]
    for url in cases:
        with pytest.raises(ParameterError, match="sqlite:/// and a path, nothing more"):
            make_engine(url)


def test_a_file_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "budget.db"
    with open_ledger(f"sqlite:///{path}") as ledger:
        ledger.record("note", {})
        for file in tmp_path.iterdir():
            assert stat.S_IMODE(file.stat().st_mode) == 0o600, file


def test_files_that_cannot_be_ledgers_are_told(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="there is no folder"):
        make_engine(f"sqlite:///{tmp_path / 'nowhere' / 'budget.db'}")
    with pytest.raises(ParameterError, match="there is no ledger"):
        make_engine(f"sqlite:///{tmp_path / 'budget.db'}", create=False)
    with pytest.raises(LedgerError, match="cannot be opened"):
        make_engine(f"sqlite:///{tmp_path}")
    (tmp_path / "text.db").write_text("Not a database, but text that is long enough to look at. " * 50)
    with pytest.raises(LedgerError, match="is not a database, or is damaged") as caught:
        open_ledger(f"sqlite:///{tmp_path / 'text.db'}")
    assert "long enough" not in str(caught.value)


def test_a_password_is_never_shown() -> None:
    engine, kind, name = make_engine("postgresql://ana:canary@localhost:1/budget")
    assert (kind, name) == ("postgresql", "postgresql://localhost/budget")
    assert "canary" not in repr(engine) + str(engine.url)
    with pytest.raises(LedgerError) as caught:
        open_ledger("postgresql://ana:canary@localhost:1/budget?connect_timeout=2")
    assert "did not answer" in str(caught.value)
    assert "canary" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_postgresql_commits_to_disk(postgres: str) -> None:
    with open_ledger(f"{postgres}&options=-csynchronous_commit%3Doff") as ledger, ledger.store.reading() as connection:
        assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "on"
        assert connection.exec_driver_sql("SHOW lock_timeout").scalar() == "1min"


def test_a_writer_that_is_stopped_loses_the_lock(postgres: str) -> None:
    engine, _, _ = make_engine(postgres)
    with engine.connect() as connection:
        for name in ("idle_in_transaction_session_timeout", "lock_timeout"):
            assert connection.exec_driver_sql(f"SHOW {name}").scalar() == "1min"
    engine.dispose()
