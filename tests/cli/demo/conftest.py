"""One story, told once for the tests of all that show it."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import pytest

from celosia.cli.demo.story import Story, tell_story
from celosia.noise import Seeded


@dataclass
class Told:
    """A story, and the steps that were announced while it was told."""

    story: Story
    steps: list[str] = field(default_factory=list)


@pytest.fixture(scope="session")
def told() -> Told:
    """A story at half an epsilon a question."""
    steps: list[str] = []
    return Told(tell_story(Fraction(1, 2), Seeded(7), steps.append), steps)


@pytest.fixture(scope="session")
def story(told: Told) -> Story:
    """The story alone."""
    return told.story
