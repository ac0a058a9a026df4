"""A ``with`` block closes, also after an error, and does not hide the error."""

from __future__ import annotations

import pytest

from celosia.core.closing import Closing


class Counted(Closing):
    closed = 0

    def close(self) -> None:
        self.closed += 1


def test_a_block_closes_once_and_yields_the_object() -> None:
    with Counted() as counted:
        assert counted.closed == 0
    assert counted.closed == 1


def test_an_error_closes_and_goes_on() -> None:
    counted = Counted()
    with pytest.raises(ValueError, match="inside"), counted:
        raise ValueError("inside")
    assert counted.closed == 1
