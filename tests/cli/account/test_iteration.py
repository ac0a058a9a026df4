from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from celosia.accounting import best
from celosia.cli.account.iteration import Run, describe_run
from celosia.cli.app import app
from celosia.core import Event
from celosia.core.iterations import PNSGDEvent

RUN = "--records 100 --step-size 0.1 --lipschitz 1 --smoothness 1 --sigma 2 --delta 1e-6"


def run(arguments: str) -> str:
    result = CliRunner().invoke(
        app, ["account", "iteration", *arguments.split()], env={"COLUMNS": "80", "NO_COLOR": "1"}
    )
    assert result.exit_code == 0, result.stderr
    return result.stdout


def priced(arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(f"{arguments} --json"))
    return found


def test_the_price_and_what_it_is_for() -> None:
    found = priced(RUN)
    event = Event.from_json(json.dumps(found["event"]))
    assert event == PNSGDEvent(records=100, step_size="0.1", lipschitz=1, smoothness=1, variance=4)
    assert found["arithmetic"] == event.arithmetic == "real"
    assert found["epsilon"] == best(event, "1e-6").epsilons
    first, middle, last = (record["epsilon"] for record in found["records"])
    assert first < middle < last
    assert [record["place"] for record in found["records"]] == [1, 50, 100]


def test_the_same_run_on_a_grid_is_always_offered() -> None:
    plain = priced(RUN)["every_step_released"]
    assert plain["arithmetic"] == "integer"
    event = Event.from_json(json.dumps(plain["event"]))
    assert event.arithmetic == "integer"
    assert plain["epsilon"] == best(event, "1e-6").epsilons


def test_the_output_says_that_the_noise_is_real_valued() -> None:
    text = run(RUN)
    assert "Real-valued noise" in text
    assert "with noise on a grid and every step released: ε = " in text
    assert "By the record's place: number 1 pays ε = 0." in text


def test_a_secret_order_helps_everybody_and_hides_the_place() -> None:
    known, secret = priced(RUN), priced(f"{RUN} --secret-order")
    assert secret["epsilon"][secret["best"]] < known["epsilon"][known["best"]]
    assert secret["records"] == []
    assert "secret random order" in secret["priced"]


def test_all_options_reach_the_event() -> None:
    event = Run(
        records=7,
        step_size="1/2",
        lipschitz="3",
        smoothness="2",
        sigma="5",
        epochs=2,
        diameter="4",
        secret_order=True,
    ).event()
    assert event == PNSGDEvent(
        records=7,
        step_size="1/2",
        lipschitz=3,
        smoothness=2,
        variance=25,
        epochs=2,
        diameter=4,
        order="secret permutation",
    )
    stopped = Run(records=1, step_size="1", lipschitz="1", smoothness="1", sigma="1", secret_stop=True).event()
    assert stopped.stop == "secret uniform"
    assert "over 1 record, 1 epoch, secret random stop" in describe_run(stopped, "1")


def test_the_sentence_holds_all_that_the_price_depends_on() -> None:
    sentence = priced(f"{RUN} --epochs 3 --diameter 4")["priced"]
    for words in ("100 records", "3 epochs", "step size 0.1", "Lipschitz constant 1", "smoothness 1", "diameter 4"):
        assert words in sentence


def test_a_worst_record_that_gains_nothing_is_explained() -> None:
    assert "nothing comes after the last record" in run(RUN)
    assert "nothing comes after the last record" not in run(f"{RUN} --epochs 10 --diameter 4")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("--sigma 0", "sigma must be greater than 0"),
        ("--records 0", "records must be at least 1"),
        ("--step-size 3", "step_size must be at most 2 / smoothness"),
        ("--epochs 2 --secret-stop", "epochs must be 1 with --secret-stop, not 2"),
        ("--delta 1", "delta must be greater than 0 and less than 1"),
        ("--diameter -1", "diameter must be greater than 0"),
    ],
)
def test_what_makes_no_sense_is_one_line(change: str, message: str) -> None:
    result = CliRunner().invoke(app, ["account", "iteration", *RUN.split(), *change.split()])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr
