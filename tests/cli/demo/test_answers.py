from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest

from celosia.cli.demo.answers import DECADES, QUESTIONS, Answer, Columns, open_session, share_of_women
from celosia.core import PureDP, ReplaceOne
from celosia.data import CAUSES, VIOLENCE, deaths
from celosia.noise import Seeded

if TYPE_CHECKING:
    import pyarrow as pa

MINORS, SEXES, MEAN, HALVES, MODE, VIOLENT, QUANTILES = range(7)


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return deaths()


@pytest.fixture(scope="module")
def columns(table: pa.Table) -> Columns:
    return Columns.of(table)


@pytest.fixture(scope="module")
def answers(table: pa.Table, columns: Columns) -> list[Answer]:
    session = open_session(table, Fraction(len(QUESTIONS)), Seeded(7))
    return [question(session, columns, Fraction(1)) for question in QUESTIONS]


def test_columns_are_positions_within_the_public_domains(columns: Columns) -> None:
    assert columns.ages.shape == columns.sexes.shape == columns.causes.shape == (200_000,)
    assert set(np.unique(columns.sexes)) == {0, 1}
    assert columns.causes.max() < len(CAUSES)
    assert columns.caused_by(tuple(CAUSES)).all()
    assert not columns.caused_by(()).any()


def test_the_true_answers_are_those_of_the_table(answers: list[Answer]) -> None:
    table = deaths().to_pandas()
    women = int((table["sex"] == "F").sum())
    violent = table["age"][table["cause"].isin(VIOLENCE)]
    mean = f"{table['age'].mean():.3f}"
    quantiles = table["age"].quantile([0.1, 0.25, 0.5, 0.75, 0.9], interpolation="lower").astype(int)
    assert [answer.true for answer in answers] == [
        "108",
        f"{women:,}\n{200_000 - women:,}",
        mean,
        mean,
        "U071",
        f"20–29\n{int(violent.between(20, 29).sum()):,}",
        "\n".join(map(str, quantiles)),
    ]


def test_private_answers_are_near_the_true_ones(answers: list[Answer]) -> None:
    assert abs(int(answers[MINORS].private) - 108) < 30
    assert abs(float(answers[MEAN].private) - float(answers[MEAN].true)) < 0.1
    assert abs(float(answers[HALVES].private) - float(answers[HALVES].true)) < 0.1
    assert answers[MODE].private == "U071"
    assert answers[VIOLENT].private.startswith("20–29")
    private, true = (np.array(text.split("\n"), dtype=float) for text in (answers[-1].private, answers[-1].true))
    assert np.abs(private - true).max() <= 1


def test_the_textbook_mean_has_the_wider_interval(answers: list[Answer]) -> None:
    ends = [np.array(answers[place].interval.split(" – "), dtype=float) for place in (MEAN, HALVES)]
    assert np.diff(ends[1]) > 1.5 * np.diff(ends[0])
    assert all(low - 0.001 <= float(answers[MEAN].true) <= high + 0.001 for low, high in ends)  # they are rounded


def test_each_answer_says_what_it_promises_and_what_is_left(answers: list[Answer]) -> None:
    assert [answer.guarantee for answer in answers] == [PureDP(epsilon=1)] * len(QUESTIONS)
    assert [answer.left for answer in answers] == [PureDP(epsilon=left) for left in range(6, -1, -1)]


def test_each_answer_says_what_was_asked_and_how_it_was_answered(answers: list[Answer]) -> None:
    assert all(answer.asked.startswith("SELECT ") for answer in answers)
    assert "age < 18 AND cause IN ('E101'" in answers[MINORS].asked
    assert [answer.mechanism.split()[0] for answer in answers] == [
        "Laplace",
        "Laplace",
        "Laplace",
        "Laplace",
        "permute-and-flip",
        "Laplace",
        "exponential",
    ]


def test_the_histogram_comes_with_its_bars(answers: list[Answer], columns: Columns) -> None:
    bars = answers[VIOLENT].bars
    assert bars is not None
    assert bars.names == DECADES
    assert bars.true.sum() == columns.caused_by(VIOLENCE).sum()
    assert (bars.low < bars.values).all()
    assert (bars.values < bars.high).all()
    assert ((bars.low <= bars.true) & (bars.true <= bars.high)).all()


def test_the_quantiles_come_in_order(answers: list[Answer]) -> None:
    ranks = answers[QUANTILES].ranks
    assert ranks is not None
    assert ranks.shares == (10, 25, 50, 75, 90)
    assert list(ranks.values) == sorted(ranks.values)


def test_decades_cover_the_ages() -> None:
    assert (len(DECADES), DECADES[0], DECADES[-1]) == (12, "0–9", "110–120")


def test_a_mode_has_no_interval_and_quantiles_have(answers: list[Answer]) -> None:
    assert answers[MODE].interval == "—"
    for _, true, private, interval in answers[QUANTILES].lines:
        low, high = map(int, interval.split(" – "))
        assert low <= int(true) <= high
        assert low <= int(private) <= high <= low + 2


def test_all_texts_of_an_answer_have_as_many_lines(answers: list[Answer]) -> None:
    assert [len(answer.lines) for answer in answers] == [1, 2, 1, 1, 1, 2, 5]


def test_the_survey_is_a_promise_of_its_own(columns: Columns) -> None:
    survey = share_of_women(columns, Fraction(1), Seeded(7))
    assert survey.guarantee == PureDP(epsilon=1, adjacency=ReplaceOne)
    low, high = (float(end.rstrip("%")) for end in survey.interval.split(" – "))
    assert low < float(survey.true.rstrip("%")) < high


@pytest.mark.thorough  # the coverage of intervals is tested with the queries
def test_the_interval_of_the_mean_holds_it_as_often_as_it_says(table: pa.Table) -> None:
    few = table.slice(0, 300)
    columns = Columns.of(few)
    truth = float(columns.ages.mean())
    session = open_session(few, Fraction(60), Seeded(11))
    held = 0
    for _ in range(60):
        low, high = QUESTIONS[MEAN](session, columns, Fraction(1)).interval.split(" – ")
        held += float(low) - 0.001 <= truth <= float(high) + 0.001
    assert held >= 50  # below with probability under 1e-3 if the level were exactly 95 %


@pytest.mark.sampled(2)
@pytest.mark.parametrize("epsilon", [Fraction(1, 10**6), Fraction(1, 10), Fraction(50)])
def test_every_question_is_answered_at_any_epsilon(table: pa.Table, columns: Columns, epsilon: Fraction) -> None:
    session = open_session(table, len(QUESTIONS) * epsilon)
    for question in QUESTIONS:
        assert question(session, columns, epsilon).private
    assert session.remaining == PureDP(epsilon=0)
    assert share_of_women(columns, epsilon).private
