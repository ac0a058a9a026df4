"""A line of a history says what was asked, what it cost, and how it ended, in the words of a session."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest

import celosia as cl
from celosia.ledger.budget_account import InMemoryBudget
from celosia.query.history import Entry, QueryResult, make_entry

EVENT = cl.mechanisms.Laplace(epsilon="0.1", sensitivity=1).event
COST = cl.PureDP(epsilon="0.1")


def test_every_state_has_its_word() -> None:
    cases: list[tuple[str, str]] = [
        ("committed", "answered"),
        ("failed", "failed"),
        ("reserved", "reserved"),
        ("repeated", "repeated"),
    ]
    for state, word in cases:
        reservation = InMemoryBudget(cl.PureDP(epsilon=1)).reserve(EVENT, question="How many?")
        entry = make_entry(replace(reservation, state=state), COST)  # type: ignore[arg-type]
        assert entry == Entry(question="How many?", event=EVENT, cost=COST, state=word)
        with pytest.raises(FrozenInstanceError):
            entry.state = "answered"  # type: ignore[misc]


def test_what_was_asked_may_have_no_answer() -> None:
    reservation = InMemoryBudget(cl.PureDP(epsilon=1)).reserve(EVENT, question="How many?")
    assert QueryResult(reservation=reservation, release=None).release is None
