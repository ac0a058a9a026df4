from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core import (
    ZCDP,
    ApproxDP,
    GaussianDP,
    Guarantee,
    GuaranteeMismatchError,
    ParameterError,
    PureDP,
    RenyiDP,
    ReplaceOne,
    SameChanges,
)
from celosia.ledger import Policy, Window
from celosia.ledger.budgets.policy import ACCOUNTANTS

APPROX = ApproxDP(epsilon=1, delta="1e-6")


@pytest.mark.parametrize(
    ("limit", "name"),
    [
        (PureDP(epsilon=1), "pure"),
        (APPROX, "combined"),
        (ApproxDP(epsilon=1, delta=0), "basic"),
        (ZCDP(rho=1), "zcdp"),
        (RenyiDP(orders=(2, 8), epsilons=(1, 4)), "renyi"),
        (GaussianDP(mu=1), "gdp"),
    ],
)
def test_the_accountant_follows_from_the_limit(limit: Guarantee, name: str) -> None:
    assert Policy(limit=limit).accountant == name
    assert Policy(limit=limit) == Policy(limit=limit, accountant=name)
    assert Policy(limit=limit).open().budget == limit


def test_every_accountant_but_pure_watches_over_epsilon_and_delta() -> None:
    for name in ACCOUNTANTS:
        watch = Policy(limit=APPROX, accountant=name).open()
        assert watch.budget == APPROX


def test_accountants_that_are_no_sums_are_refused() -> None:
    cases: list[Any] = ["pld", "advanced", "best", "", 7, True, ["basic"]]
    for name in cases:
        with pytest.raises(ParameterError, match="accountant must be one of"):
            Policy(limit=APPROX, accountant=name)


def test_limits_hold_between_all_neighbours() -> None:
    limit = PureDP(epsilon=1, adjacency=SameChanges)
    with pytest.raises(GuaranteeMismatchError, match="A limit cannot be for SameChanges"):
        Policy(limit=limit)
    with pytest.raises(GuaranteeMismatchError, match="limit cannot be for SameChanges"):
        Window(seconds=60, limit=limit)


def test_limits_are_guarantees_that_promise_something() -> None:
    cases: list[Any] = [1, 1.0, "1", None, float("nan"), ApproxDP(epsilon=1, delta=1)]
    for limit in cases:
        with pytest.raises(ParameterError):
            Policy(limit=limit)
        with pytest.raises(ParameterError):
            Window(seconds=60, limit=limit)


def test_a_limit_that_the_accountant_cannot_watch_is_refused_at_once() -> None:
    with pytest.raises(GuaranteeMismatchError):
        Policy(limit=ZCDP(rho=1), accountant="basic")
    with pytest.raises(GuaranteeMismatchError):
        Policy(limit=PureDP(epsilon=1), window=Window(seconds=60, limit=ZCDP(rho=1)))
    with pytest.raises(GuaranteeMismatchError, match="same neighbours"):
        Policy(limit=PureDP(epsilon=1), window=Window(seconds=60, limit=PureDP(epsilon=1, adjacency=ReplaceOne)))
    with pytest.raises(GuaranteeMismatchError, match="same unit"):
        Policy(limit=PureDP(epsilon=1), window=Window(seconds=60, limit=PureDP(epsilon=1, unit="person")))


def test_a_window_lasts_some_seconds() -> None:
    cases: list[Any] = [0, -1, 1.5, True, "60", 10**12, float("inf")]
    for seconds in cases:
        with pytest.raises(ParameterError, match="seconds must be"):
            Window(seconds=seconds, limit=PureDP(epsilon=1))


def test_other_types_are_refused() -> None:
    with pytest.raises(ParameterError, match="window must be a Window"):
        Policy(limit=PureDP(epsilon=1), window=60)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="allow_real must be"):
        Policy(limit=PureDP(epsilon=1), allow_real=1)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="has no window"):
        Policy(limit=PureDP(epsilon=1)).open_window()


@given(
    at=st.datetimes(min_value=datetime(1900, 1, 1), max_value=datetime(2200, 1, 1)),  # noqa: DTZ001 - the zone is added
    seconds=st.integers(1, 10**8),
)
def test_windows_follow_each_other_without_gaps(at: datetime, seconds: int) -> None:
    moment = at.replace(tzinfo=UTC)
    window = Window(seconds=seconds, limit=PureDP(epsilon=1))
    start, end = window.start(moment), window.end(moment)
    assert start <= moment < end
    assert end - start == timedelta(seconds=seconds)
    assert window.start(start) == start
    assert window.start(end) == end
    assert (start - datetime(1970, 1, 1, tzinfo=UTC)) % timedelta(seconds=seconds) == timedelta(0)
