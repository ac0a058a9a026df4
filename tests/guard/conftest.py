"""Limits of requests in these tests do not depend on how busy the machine is."""

from __future__ import annotations

import pytest

from celosia.serving.limits import Rates


@pytest.fixture(autouse=True)
def _rates_without_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop the clock of request rates, unless a test brings its own: a slow test would be given more requests."""
    monkeypatch.setitem(Rates.__init__.__kwdefaults__, "clock", lambda: 1)  # type: ignore[arg-type] # it has defaults
