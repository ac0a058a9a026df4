from __future__ import annotations

import json
import math
import sys
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.accounting import Best
from celosia.cli.account.events import PricedEvent
from celosia.cli.account.show import at_least, at_most, finite, price_object, print_price, waiting
from celosia.core import ExponentialEvent
from celosia.core.messages.message import Message

EVENT = ExponentialEvent(epsilon=1)
NUMBERS = st.floats(1e-300, 1e300)


def answer(**epsilons: float | None) -> Best:
    from fractions import Fraction

    known = {name: value for name, value in epsilons.items() if value is not None}
    winner = min(known, key=lambda name: known[name])
    return Best(
        epsilon=known[winner], delta=Fraction(1, 10**6), accountant=winner, epsilons=dict(epsilons), event=EVENT
    )


@given(NUMBERS)
def test_bounds_are_rounded_up_and_by_little(number: float) -> None:
    low, high = Decimal(at_most(number)), Decimal(at_least(number))
    assert low <= Decimal(repr(number)) <= high
    assert float(high) <= number * (1 + 2e-5)
    assert float(low) >= number * (1 - 2e-5)


@pytest.mark.parametrize(
    ("number", "text"),
    [(100.0, "100"), (0.1, "0.1"), (17.4236571, "17.4237"), (1e-12, "1e-12"), (2e22, "2e22"), (0.0, "0")],
)
def test_numbers_are_short(number: float, text: str) -> None:
    assert at_least(number) == text


def test_json_holds_no_infinity() -> None:
    assert [finite(value) for value in (1.0, math.inf, None, math.nan)] == [1.0, None, None, None]
    shown = price_object(answer(basic=1.0, advanced=math.inf, pld=None))
    assert json.loads(json.dumps(shown, allow_nan=False)) == {
        "delta": 1e-6,
        "epsilon": {"basic": 1.0, "advanced": None, "pld": None},
        "best": "basic",
    }


def test_the_table_marks_the_best_only(capsys: pytest.CaptureFixture[str]) -> None:
    priced = PricedEvent(event=EVENT, sentence=Message("A choice"))
    print_price(priced, answer(basic=2.0, renyi=1.5, gdp=math.inf, pld=None), as_json=False)
    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith("A choice.\n")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert "renyi * 1.5 Rényi privacy, the best order" in lines
    assert lines.count("gdp – gives no bound here") == lines.count("pld – gives no bound here") == 1
    assert out.count("*") == 1
    assert "when to stop" not in out  # a sum may be watched


def test_an_epsilon_of_zero_is_not_left_without_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    print_price(PricedEvent(event=EVENT, sentence=Message("Much noise")), answer(basic=1.0, zcdp=0.0), as_json=False)
    assert "ε = 0: this δ alone covers all that neighbours can differ in." in capsys.readouterr().out


def test_there_is_no_bar_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with waiting("Pricing") as say:
        say("Still pricing")
    assert capsys.readouterr() == ("", "")


def test_a_terminal_is_shown_one_on_standard_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with waiting("Pricing") as say:
        say("Still pricing")
    out, err = capsys.readouterr()
    assert out == ""
    assert "ricing" in err
