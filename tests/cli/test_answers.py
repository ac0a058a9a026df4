from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from celosia.cli.answers import DECADES, QUESTIONS, Answer, Columns, _mean
from celosia.core import ApproxDP, PureDP, ReplaceOne
from celosia.data import CAUSES, VIOLENCE, deaths
from celosia.noise import Seeded


@pytest.fixture(scope="module")
def columns() -> Columns:
    return Columns.of(deaths())


@pytest.fixture(scope="module")
def answers(columns: Columns) -> list[Answer]:
    return [question(columns, Fraction(1), Seeded(7)) for question in QUESTIONS]


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
    assert [answer.true for answer in answers] == [
        "108",
        f"{women:,}\n{200_000 - women:,}",
        f"{table['age'].mean():.3f}",
        "U071",
        f"20–29\n{int(violent.between(20, 29).sum()):,}",
        f"{women / 200_000:.2%}",
    ]


def test_private_answers_are_near_the_true_ones(answers: list[Answer]) -> None:
    assert abs(int(answers[0].private) - 108) < 30
    assert abs(float(answers[2].private) - float(answers[2].true)) < 0.1
    assert answers[3].private == "U071"
    assert answers[4].private.startswith("20–29")


def test_each_answer_says_what_it_promises(answers: list[Answer]) -> None:
    assert [answer.guarantee for answer in answers[:4]] == [PureDP(epsilon=1)] * 4
    assert answers[4].guarantee == ApproxDP(epsilon=1, delta="1e-6")
    assert answers[5].guarantee == PureDP(epsilon=1, adjacency=ReplaceOne)
    assert [answer.local for answer in answers] == [False] * 5 + [True]


def test_the_histogram_comes_with_its_bars(answers: list[Answer], columns: Columns) -> None:
    bars = answers[4].bars
    assert bars is not None
    assert bars.names == DECADES
    assert bars.true.sum() == columns.caused_by(VIOLENCE).sum()
    assert (bars.low < bars.values).all()
    assert (bars.values < bars.high).all()


def test_decades_cover_the_ages() -> None:
    assert (len(DECADES), DECADES[0], DECADES[-1]) == (12, "0–9", "110–120")


def test_a_chosen_cause_has_no_interval(answers: list[Answer]) -> None:
    assert answers[3].interval == "—"


@pytest.mark.parametrize(
    ("above", "below", "expected"),
    [(60, 60, 60), (0, 120, 0), (120, 0, 120), (-5, 10, 0), (10, -5, 120), (-1, -1, 60)],
)
def test_the_mean_stays_within_the_range_whatever_the_noise(above: int, below: int, expected: float) -> None:
    assert _mean(above, below) == expected


def test_the_interval_of_the_mean_holds_it_as_often_as_it_says(columns: Columns) -> None:
    few = Columns(ages=columns.ages[:300], sexes=columns.sexes[:300], causes=columns.causes[:300])
    truth = float(few.ages.mean())
    source = Seeded(11)
    held = 0
    for _ in range(400):
        low, high = QUESTIONS[2](few, Fraction(1), source).interval.split(" – ")
        held += float(low) - 0.001 <= truth <= float(high) + 0.001
    assert held >= 365  # below with probability under 1e-3 if the level were exactly 95 %


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**6), Fraction(1, 10), Fraction(50)])
def test_every_question_is_answered_at_any_epsilon(columns: Columns, epsilon: Fraction) -> None:
    for question in QUESTIONS:
        assert question(columns, epsilon, None).private
