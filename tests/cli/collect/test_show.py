"""Simulations on paper: tables that fit, charts with all series, CSV with all rows, JSON without surprises."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from celosia.cli.collect.show import (
    csv_text,
    format_protocols,
    key_text,
    largest,
    print_run,
    print_sweep,
    run_object,
)
from celosia.local import DirectEncoding, HierarchicalHistogram
from celosia.local.catalogue import build
from celosia.local.simulation import simulate
from celosia.noise import Seeded

if TYPE_CHECKING:
    from celosia.local.simulation import Simulation

VALUES = np.repeat(np.arange(5), [400, 200, 100, 50, 0])


def counted(epsilon: int = 2, domain: Any = 5) -> Simulation:
    values = VALUES if domain == 5 else [domain[value] for value in VALUES]
    return simulate(DirectEncoding(domain=domain, epsilon=epsilon), values, source=Seeded(7))


def mean(epsilon: int = 2) -> Simulation:
    return simulate(build("duchi", epsilon=epsilon, low=0, high=4), VALUES, task="mean", source=Seeded(7))


def test_a_run_shows_the_largest_values_and_all_metrics(capsys: pytest.CaptureFixture[str]) -> None:
    print_run(counted(), top=2)
    out = capsys.readouterr().out
    assert "95 % interval" in out
    assert "and 3 more" in out
    names = ("Total error", "Mean error", "MSE", "RMSE", "RMSE / range", "√(MSE / range)", "Pearson", "Intervals")
    for name in (*names, "Report", "Clients", "Update", "Estimate", "most frequent", "least frequent"):
        assert name in out
    assert max(map(len, out.splitlines())) <= 80


def test_values_cannot_play_tricks_on_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_run(counted(domain=["\x1b[31mred", "[bold]b", "x" * 100, "d", "e"]), top=5)
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\\x1b[31mred" in out
    assert "[bold]b" in out
    assert "x" * 100 in out
    assert "…" not in out


def test_means_have_no_counts(capsys: pytest.CaptureFixture[str]) -> None:
    print_run(mean(), top=5)
    out = capsys.readouterr().out
    assert "mean" in out
    assert "Pearson" not in out
    print_sweep([mean(1), mean(2)])
    assert "Interval from" in capsys.readouterr().out


def test_words_and_quantiles_say_more(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["sun"] * 3000 + ["fog"]
    run = simulate(build("pem", epsilon=6, alphabet="abcdefghijklmnopqrstuvwxyz", length=3), words, task="words")
    print_run(run, top=5)
    out = capsys.readouterr().out
    assert "missed" in out
    assert "Found" in out
    print_run(simulate(HierarchicalHistogram(domain=5, epsilon=2), VALUES, task="ranges"), top=5)
    assert "50 % quantile" in capsys.readouterr().out


def test_a_sweep_has_a_column_for_each_epsilon(capsys: pytest.CaptureFixture[str]) -> None:
    print_sweep([counted(1), counted(2), counted(4)])
    out = capsys.readouterr().out
    assert out.splitlines()[0].split() == ["Epsilon", "1", "2", "4"]
    assert "√(MSE / range)" in out
    assert max(map(len, out.splitlines())) <= 80


def test_csv_has_all_rows_of_all_runs() -> None:
    rows = list(csv.DictReader(io.StringIO(csv_text([counted(1), counted(2)]))))
    assert len(rows) == 10
    assert {row["epsilon"] for row in rows} == {"1", "2"}
    assert rows[0]["true"] == "400"
    assert float(rows[0]["low"]) <= float(rows[0]["high"])
    assert float(next(csv.DictReader(io.StringIO(csv_text([mean()]))))["true"]) == pytest.approx(VALUES.mean())


def test_json_holds_what_json_can() -> None:
    for run in (counted(), mean()):
        told = json.loads(json.dumps(run_object(run, top=2), allow_nan=False))
        assert told["seeded"] is True
        assert len(told["rows"]) <= 2
        assert told["guarantee"]["kind"] == "PureDP"
    assert run_object(mean(), top=1)["metrics"] is None


def test_texts_are_shown_as_they_are_written() -> None:
    doctor = "\U0001f469\u200d\u2695\ufe0f"
    assert [key_text(key) for key in ("café", doctor, "línea\nnueva", "", " ", -3)] == [
        *("café", doctor, "línea\\nnueva", '""', '" "', "-3")
    ]
    assert key_text("\u202eabc") == "\\u202eabc"


@pytest.mark.parametrize("width", ["60", "80"])
def test_narrow_terminals_lose_no_column(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: str
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    print_sweep([counted(epsilon) for epsilon in range(1, 10)])
    out = capsys.readouterr().out
    assert out.count("Epsilon") == out.count("Total error") > 1
    assert "…" not in out.replace("… in %", "").replace("… expected", "")
    print_run(counted(domain=["a" * 30, "b", "c", "d", "e"]), top=5)
    out += capsys.readouterr().out
    assert "aaaaaaaa" in out
    assert max(map(len, out.splitlines())) <= int(width)


def test_nothing_found_covers_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    words = build("pem", epsilon=1, alphabet="ab", length=2)
    print_run(simulate(words, ["ab", "ba", "a"], task="words", source=Seeded(7)), top=3)
    out = capsys.readouterr().out
    assert "100.0 % hold" not in out
    assert "1 values" not in out
    run = simulate(words, ["ab", "ba", "a"], task="words", source=Seeded(7))
    assert run_object(run, top=1)["covered"] is None
    assert [row[4:] for row in csv.reader(io.StringIO(csv_text([run])))][1:] == [["", ""]] * 3


def test_protocols_are_described_by_what_they_have_in_common() -> None:
    one, other = (build("grr", epsilon=epsilon, domain=("a", "b", "c")) for epsilon in (1, 2))
    assert format_protocols([one, other]) == "DirectEncoding(domain of 3 values)"
    assert format_protocols([one]) == "DirectEncoding(domain of 3 values, epsilon=1)"
    assert "f=1/2" in format_protocols([build("rappor")])


def test_equal_values_are_not_chosen_by_their_errors() -> None:
    values = np.arange(2000)
    run = simulate(build("cms", epsilon=2), values, source=Seeded(7))
    shown = largest(run)[:200]
    held = (run.low[shown] <= run.true[shown]) & (run.true[shown] <= run.high[shown])
    assert held.mean() > 0.8
    assert abs(float((run.estimated - run.true)[shown].mean())) < 0.5 * float(np.abs(run.estimated - run.true).mean())
