from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from celosia.core import LaplaceEvent, ParameterError
from celosia.ledger import Request, Reservation


def test_a_repr_does_not_show_question_or_answer() -> None:
    event = LaplaceEvent(scale=10, sensitivity=1)
    reservation = Reservation(
        id="ab", dataset="deaths", event=event, at=datetime.now(UTC), question="SELECT canary", answer="canary"
    )
    assert repr(reservation) == "<Reservation ab: reserved, LaplaceEvent on 'deaths'>"


def test_a_request_has_printable_texts() -> None:
    cases: list[Any] = ["", "x" * 201, 7, None, "a\tb", "a\x00"]
    for wrong in cases:
        with pytest.raises(ParameterError, match="key must be a text"):
            Request(key=wrong, digest="d")
        with pytest.raises(ParameterError, match="digest must be a text"):
            Request(key="k", digest=wrong)
