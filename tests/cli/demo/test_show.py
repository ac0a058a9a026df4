from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from celosia.cli.demo.show import print_story, share_left
from celosia.core import ApproxDP, PureDP

if TYPE_CHECKING:
    from celosia.cli.demo.story import Story

pytestmark = pytest.mark.xdist_group("cli demo")  # the story is told once for all of them


def printed(story: Story, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: int) -> str:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")
    print_story(story, [Path("out") / "report.html"])
    return capsys.readouterr().out


@pytest.mark.parametrize("columns", [60, 80, 120, 200])
def test_nothing_is_wider_than_the_terminal(
    story: Story, columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = printed(story, capsys, monkeypatch, columns)
    assert max(len(line) for line in text.splitlines()) <= columns


def test_the_budget_shrinks_question_by_question(
    story: Story, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = printed(story, capsys, monkeypatch, 80)
    bars = [line.count("█") for line in text.splitlines() if "░" in line]
    assert bars == sorted(bars, reverse=True)
    assert (len(bars), bars[0], bars[-1]) == (7, 21, 0)
    assert "ε = 0 left" in text
    assert "Refused. " in text


def test_the_attack_is_told(story: Story, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    text = " ".join(printed(story, capsys, monkeypatch, 80).split())
    assert "= 24 That is the age of the only woman who died of epilepsy in Nayarit." in text
    assert "In 5 tries the attacker is wrong by" in text


def test_files_are_named(story: Story, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert "  out/report.html" in printed(story, capsys, monkeypatch, 80)


def test_a_share_is_a_part_of_a_pure_budget() -> None:
    assert share_left(PureDP(epsilon="0.3"), PureDP(epsilon="0.1")) == pytest.approx(1 / 3)
    assert share_left(PureDP(epsilon=1), None) == 0
    assert share_left(ApproxDP(epsilon=1, delta=0), ApproxDP(epsilon=1, delta=0)) == 0
