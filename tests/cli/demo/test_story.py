from __future__ import annotations

from fractions import Fraction

import pytest

from celosia.cli.demo.answers import QUESTIONS
from celosia.cli.demo.story import STEPS, Story, tell_story
from celosia.core import ParameterError, PureDP
from celosia.noise import Seeded


@pytest.fixture(scope="module")
def said() -> list[str]:
    return []


@pytest.fixture(scope="module")
def story(said: list[str]) -> Story:
    return tell_story(Fraction(1, 2), Seeded(7), said.append)


def test_the_budget_is_used_up_exactly(story: Story) -> None:
    assert story.budget == PureDP(epsilon=Fraction(len(QUESTIONS), 2))
    assert story.answers[-1].left == PureDP(epsilon=0)


def test_one_question_more_is_refused_in_words(story: Story) -> None:
    question, refusal = story.refused
    assert question.startswith("SELECT state, COUNT(*)")
    assert "budget" in refusal.lower() or "left" in refusal.lower()


def test_the_survey_and_the_attack_are_paid_for_elsewhere(story: Story) -> None:
    assert story.survey.left is None
    assert story.attack.cost == PureDP(epsilon=1)


def test_every_step_is_announced(story: Story, said: list[str]) -> None:
    assert story.rows == 200_000
    assert len(said) == STEPS
    assert said[-1] == "Attacking"


def test_the_same_seed_tells_the_same_story(story: Story) -> None:
    again = tell_story(Fraction(1, 2), Seeded(7), lambda _: None)
    assert [answer.private for answer in again.answers] == [answer.private for answer in story.answers]
    assert again.attack == story.attack


def test_no_epsilon_no_story() -> None:
    with pytest.raises(ParameterError):
        tell_story(Fraction(0), None, lambda _: None)
