"""What routes have in common: a document of what can go wrong."""

from __future__ import annotations

import pytest

from celosia.guard.routing import problems
from celosia.serving.problems import MEDIA_TYPE


def test_every_problem_is_declared_as_one() -> None:
    entries = problems(429, 401, 503)
    assert list(entries) == [401, 429, 503]
    for entry in entries.values():
        assert list(entry["content"]) == [MEDIA_TYPE]
    assert "Retry-After" in entries[429]["headers"]
    with pytest.raises(KeyError):
        problems(418)
