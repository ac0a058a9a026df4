"""What every engine has, and what a request is."""

from __future__ import annotations

import pytest

from celosia.query.engines.base import Engine, Request
from celosia.query.planning.measurements import Measurement
from celosia.statistics import RowCount
from celosia.testing.engines.reference_engine import ReferenceEngine


def test_an_engine_must_answer() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Engine()  # type: ignore[abstract]


def test_what_a_plan_needs_is_a_request() -> None:
    request: Request = Measurement(measure=RowCount(), columns=(), answers=())
    assert (request.columns, request.distinct) == ((), None)


def test_an_engine_is_closed_when_it_is_left() -> None:
    closed = []

    class Careful(ReferenceEngine):
        def close(self) -> None:
            closed.append(True)

    with Careful({}) as engine:
        assert isinstance(engine, Engine)
        assert not closed
    assert closed
    ReferenceEngine({}).close()  # has nothing to close
