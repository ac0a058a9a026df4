from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from celosia.cli.demo.answers import QUESTIONS
from celosia.cli.demo.story import STEPS, tell_story
from celosia.core import ParameterError, PureDP

if TYPE_CHECKING:
    from celosia.cli.demo.story import Story
    from tests.cli.demo.conftest import Told


pytestmark = pytest.mark.xdist_group("cli demo")  # the story is told once for all of them


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


def test_every_step_is_announced(told: Told) -> None:
    assert told.story.rows == 200_000
    assert len(told.steps) == STEPS
    assert told.steps[-1] == "cli_demo.attacking"


def test_no_epsilon_no_story() -> None:
    with pytest.raises(ParameterError):
        tell_story(Fraction(0), None, lambda _: None)
