"""Lines are found by what they say, on SQLite and PostgreSQL, and by nothing that a question only quotes."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa

import celosia as cl
from celosia.core.errors import ParameterError
from celosia.guard.log import search
from celosia.guard.log.search import LogFilter, find_pages
from celosia.ledger.store.tables import LOG

if TYPE_CHECKING:
    from collections.abc import Iterator

    from celosia.ledger import Ledger

EVENT = cl.mechanisms.Laplace(epsilon="0.1", sensitivity=1).event


@pytest.fixture
def ledger(shared: str) -> Iterator[Ledger]:
    with cl.open_ledger(shared) as opened:
        yield opened


def fill(ledger: Ledger) -> int:
    """Write lines of every sort after those that are there, and return the number of the last one before."""
    first = ledger.head.sequence
    for name in ("deaths", "births"):
        ledger.set_budget(cl.PureDP(epsilon=9 + first), dataset=name, by="olga")
    for analyst, dataset in (("ana", "deaths"), ("eva", "births"), ("oidc:Ana", "deaths")):
        question = f'{{"analyst":"ana","dataset":"deaths"}} 100%_ {dataset} Ñandú'
        reservation = ledger.reserve(EVENT, dataset=dataset, analyst=analyst, question=question)
        ledger.fail(reservation)
    ledger.record("user added", {"user": "ana", "by": "olga"})
    return first


def find(ledger: Ledger, first: int = 0, **wanted: Any) -> list[int]:
    place = {name: wanted.pop(name) for name in ("before", "limit", "language") if name in wanted}
    pages = find_pages(ledger, LogFilter(**wanted), after=first, **place)
    return [line.sequence - first for line in chain.from_iterable(pages)]


def test_lines_are_found_by_what_they_say(ledger: Ledger) -> None:
    first = fill(ledger)
    everything = list(range(1, 10))
    assert find(ledger, first) == everything
    assert find(ledger, first, kind="failed") == [4, 6, 8]
    assert find(ledger, first, dataset="deaths") == [1, 3, 4, 7, 8]  # with the ends of its questions
    assert find(ledger, first, dataset="Deaths") == find(ledger, first, dataset="%") == []
    assert find(ledger, first, user="ana") == [3, 4, 9]
    assert find(ledger, first, user="oidc:Ana") == [7, 8]
    assert find(ledger, first, user="olga") == [1, 2, 9]
    assert find(ledger, first, user="ana", kind="reserved", dataset="deaths") == [3]
    assert find(ledger, first, text="ñANDú") == find(ledger, first, text="100%_") == [3, 5, 7]
    assert find(ledger, first, text='"analyst":"ana"') == [3, 5, 7]  # the questions that quote it, and no field
    assert find(ledger, first, since="2000-01-01", until="2999-12-31") == everything
    assert find(ledger, first, since="2999-12-31") == find(ledger, first, until="2000-01-01T12:00+02:00") == []


def test_a_text_is_found_in_the_sentence_of_the_reader(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    first = fill(ledger)
    assert find(ledger, first, text="It stays paid for") == [4, 6, 8]  # the body has only the number of the question
    assert find(ledger, first, text="of ana to deaths") == [4]
    assert find(ledger, first, text="queda pagada") == []
    assert find(ledger, first, text="queda pagada", language="es") == [4, 6, 8]
    assert find(ledger, first, text="ε = 0.1") == find(ledger, first, text="ε\xa0=\xa00,1", language="es") == [3, 5, 7]
    monkeypatch.setattr(search, "_PAGE_SIZE", 2)
    assert find(ledger, first, text="stays paid", limit=2) == [4, 6]
    assert find(ledger, first, text="stays paid", before=first + 8) == [6, 4]
    assert find(ledger, first, text="asked births at a cost", kind="reserved") == []
    assert find(ledger, first, text="asked births, at a cost", kind="reserved") == [5]


def test_days_are_whole_and_times_are_not(ledger: Ledger) -> None:
    first = fill(ledger)
    with ledger.store.reading() as connection:
        at: str = connection.execute(sa.select(LOG.c.at).where(LOG.c.sequence == first + 1)).scalar_one()
    day, time = at[:10], at.removesuffix("Z")
    assert 1 in find(ledger, first, since=day, until=day)
    assert 1 in find(ledger, first, since=time)
    assert 1 not in find(ledger, first, until=time)


def test_pages_follow_each_other_in_both_directions(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    first = fill(ledger)
    monkeypatch.setattr(search, "_PAGE_SIZE", 2)
    assert find(ledger, first) == list(range(1, 10))
    assert find(ledger, first, limit=5) == [1, 2, 3, 4, 5]
    assert find(ledger, first, before=first + 8) == [7, 6, 5, 4, 3, 2, 1]
    assert find(ledger, first, before=first + 8, limit=3, dataset="deaths") == [7, 4, 3]


def test_what_is_no_filter_is_refused() -> None:
    cases: list[dict[str, str]] = [
        {"kind": "a\0b"},
        {"dataset": "x" * 201},
        {"user": "\ud800"},
        {"text": ""},
        {"since": "yesterday"},
        {"since": "2026-13-01"},
        {"until": "9999-12-31"},
        {"until": "0001-01-01T00:00+10:00"},
    ]
    for wrong in cases:
        with pytest.raises(ParameterError):
            LogFilter(**wrong)
    assert LogFilter.parse({"kind": "", "user": "ana", "page": "3"}) == LogFilter(user="ana")
