"""Charts of comparisons draw the errors that the comparison has, and nothing else."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

from celosia.core import ParameterError
from celosia.federated import Comparison, MethodResult, bytes_chart, epsilons_chart, rounds_chart
from celosia.federated.comparison import CENTRAL, NON_PRIVATE

if TYPE_CHECKING:
    from collections.abc import Callable


def result(method: str, epsilon: str | None, *scores: float, rounds: tuple[float, ...] = (), sent: int = 80) -> Any:
    mean = sum(scores) / len(scores)
    return MethodResult(
        method=method,
        epsilon=None if epsilon is None else Fraction(epsilon),
        rounds=len(rounds) + 1,
        scores=scores,
        round_scores=(*rounds, mean),
        bytes_sent=sent,
        seconds=1.0,
    )


FOUND = Comparison(
    results=(
        result("one-shot", "1", 0.5, 0.7),
        result("SGD", "1", 0.8, rounds=(0.2, 0.4), sent=300),
        result(CENTRAL, "1", 0.9, sent=900),
        result("one-shot", "0.3", 0.1, 0.3),
        result("SGD", "0.3", 0.6, rounds=(0.1, 0.3), sent=300),
        result(CENTRAL, "0.3", 0.7, sent=900),
        result(NON_PRIVATE, None, 0.95, sent=900),
    ),
    metric="R²",
    parties=7,
    repetitions=2,
    seeded=False,
)


def list_rows(chart: Any) -> list[dict[str, Any]]:
    """Return the rows of all layers; those of a single layer are the chart's."""
    drawn = chart.to_dict()
    held = [drawn, *drawn["layer"]]
    return [row for one in held for row in drawn["datasets"].get(one.get("data", {}).get("name"), [])]


def lines(chart: Any) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for row in list_rows(chart):
        if "y_high" in row:
            continue
        found.setdefault(row["name"], []).append((row["x"], pytest.approx(row["y"])))
    return found


def test_errors_by_round_are_at_one_epsilon() -> None:
    assert lines(rounds_chart(FOUND)) == {
        "one-shot": [(1, 0.4), (3, 0.4)],
        "SGD": [(1, 0.8), (2, 0.6), (3, 0.2)],
        "one place, private": [(1, 0.1), (3, 0.1)],
        "without privacy": [(1, 0.05), (3, 0.05)],
    }
    assert lines(rounds_chart(FOUND, epsilon="0.3"))["SGD"] == [(1, 0.9), (2, 0.7), (3, 0.4)]
    assert lines(rounds_chart(FOUND, epsilon=0.3)) == lines(rounds_chart(FOUND, epsilon="0.3"))


def test_errors_by_epsilon_have_bands_over_repetitions() -> None:
    chart = epsilons_chart(FOUND)
    assert lines(chart) == {
        "one-shot": [(0.3, 0.8), (1, 0.4)],
        "SGD": [(0.3, 0.4), (1, 0.2)],
        "one place, private": [(0.3, 0.3), (1, 0.1)],
        "without privacy": [(0.3, 0.05), (1, 0.05)],
    }
    ends = [(row["y"], row["y_high"]) for row in list_rows(chart) if "y_high" in row]  # the others have one run
    assert ends == [(pytest.approx(0.72), pytest.approx(0.88)), (pytest.approx(0.32), pytest.approx(0.48))]


def test_errors_by_bytes_go_on_where_nothing_more_is_sent() -> None:
    found = lines(bytes_chart(FOUND))
    assert found["SGD"] == [(100, 0.8), (200, 0.6), (300, 0.2), (900, 0.2)]
    assert found["one-shot"] == [(80, 0.4), (900, 0.4)]
    assert found["without privacy"][0] == (900, 0.05)


def test_charts_are_in_spanish_and_say_what_an_error_is() -> None:
    chart = epsilons_chart(FOUND, language="es").to_dict()
    assert chart["title"]["text"] == "Error por ε"
    assert "experimento" in " ".join(chart["title"]["subtitle"])
    assert "sin privacidad" in lines(epsilons_chart(FOUND, language="es"))
    perfect = Comparison(results=(result("a", "1", 1.0),), metric="accuracy", parties=2, repetitions=1, seeded=False)
    drawn = rounds_chart(perfect, language="es").to_dict()["layer"][-1]["encoding"]["y"]
    assert "clases" in drawn["title"]
    assert drawn["scale"].get("type") != "log"  # an error of 0 has no logarithm


def test_charts_refuse_what_was_not_compared() -> None:
    one = Comparison(results=FOUND.results[:3], metric="R²", parties=7, repetitions=2, seeded=False)
    bad: list[tuple[Callable[[], object], str]] = [
        (lambda: epsilons_chart(one), "two epsilons"),
        (lambda: rounds_chart(FOUND, epsilon=2), "epsilon=2 is not among"),
        (lambda: bytes_chart(FOUND, epsilon="0.5"), "not among"),
        (lambda: rounds_chart(FOUND, epsilon=-1), "epsilon"),
    ]
    for call, words in bad:
        with pytest.raises(ParameterError, match=words):
            call()
