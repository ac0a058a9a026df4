"""Print the demonstration: answers beside the truth, the shrinking budget, and the attack.

It prints what matters in any release: the private value, its interval and its cost. The column of true values exists
only because the table is synthetic.
"""

from pathlib import Path
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from celosia.cli.costs import cost
from celosia.cli.demo.answers import Answer
from celosia.cli.demo.attack import Attack
from celosia.cli.demo.story import Story
from celosia.cli.terminal import print_line, print_whole
from celosia.core import Guarantee, PureDP

WHAT: Final = (
    "Eight queries of a table of {rows:,} deaths. Each answer is computed exactly and then blurred with noise, so "
    "that it would be almost as likely had any one person been left out: at most exp(ε) times more or less likely. The "
    "smaller ε is, the stronger the guarantee and the wider the interval."
)
"""The introduction of the demonstration."""

SYNTHETIC: Final = (
    "The true values are shown only because the table is synthetic: a real release would not have "
    "that column. In 95 of 100 releases or more an interval holds its true value; where an answer has several "
    "numbers with intervals, all of them hold at once, which makes each of them wider."
)
"""The reason for the true values, and the meaning of an interval."""

_BAR_WIDTH = 24


def print_story(story: Story, files: list[Path]) -> None:
    """Print the whole demonstration to standard output."""
    console = Console(highlight=False)
    console.print(Text(WHAT.format(rows=story.rows)))
    console.print()
    print_whole(_answers((*story.answers, story.survey)))
    console.print()
    console.print(Text(SYNTHETIC))
    _print_budget(console, story)
    _print_attack(console, story.attack)
    if files:
        console.print()
        console.print(Text("Charts and a report:"))
        for file in files:
            print_line(f"  {file}")


def share_left(budget: Guarantee, left: Guarantee | None) -> float:
    """Return the remaining share of a pure budget."""
    if not isinstance(budget, PureDP) or not isinstance(left, PureDP) or not budget.epsilon:
        return 0.0
    return float(left.epsilon / budget.epsilon)


def _answers(answers: tuple[Answer, ...]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1), leading=0)
    table.add_column("Question", ratio=1, min_width=14)
    table.add_column("True", justify="right", style="dim", no_wrap=True)
    table.add_column("Private", justify="right", style="bold", no_wrap=True)
    table.add_column("95 % interval", justify="right")
    table.add_column("ε", justify="right", no_wrap=True)
    for answer in answers:
        spent = cost(answer.guarantee).removeprefix("ε = ")
        for line in answer.lines[:-1]:
            table.add_row(*line, spent)
            spent = ""
        table.add_row(*answer.lines[-1], spent, end_section=True)
    return table


def _print_budget(console: Console, story: Story) -> None:
    _heading(console, "The budget")
    console.print(
        Text(
            f"All queries of the table share one budget of {cost(story.budget)}. Their costs add up, "
            "for all analysts together."
        )
    )
    console.print()
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 1))
    table.add_column(ratio=1)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    for answer in story.answers:
        table.add_row(answer.title, _bar(console, share_left(story.budget, answer.left)), f"{cost(_left(answer))} left")
    print_whole(table)
    question, refusal = story.refused
    console.print()
    console.print(Text("One more: ") + Text(question, style="bold"))
    console.print(Text(f"Refused. {refusal}", style="yellow"))
    console.print()
    console.print(
        Text(
            f"The survey by randomized response ({cost(story.survey.guarantee)}) is not part of it: every reply was "
            "randomized before it was collected, which is another kind of guarantee."
        )
    )


def _print_attack(console: Console, attack: Attack) -> None:
    _heading(console, "Two averages and one person")
    plain, but_one = attack.plain
    console.print(Text("The plain database answers averages only, but it answers them exactly:"))
    console.print()
    for question, value in zip(attack.questions, attack.plain, strict=True):
        console.print(Text(f"  {question}"))
        console.print(Text(f"  = {value:.8f}"))
    console.print()
    console.print(Text(f"  {attack.rows:,} × {plain:.8f} − {attack.rows - 1:,} × {but_one:.8f} = {attack.revealed:g}"))
    console.print()
    console.print(Text(f"That is the age of {attack.victim}.", style="bold"))
    found = ", ".join(f"{attempt.age:,.0f}" for attempt in attack.tries)
    console.print(
        Text(
            f"A session answers the same two questions with noise, for {cost(attack.cost)} a try, and the same sum "
            f"gives {found} years."
        )
    )
    console.print(Text(attack.verdict))


def _heading(console: Console, words: str) -> None:
    console.print()
    console.print(Text(words, style="bold underline"))
    console.print()


def _left(answer: Answer) -> Guarantee:
    return answer.guarantee if answer.left is None else answer.left


def _bar(console: Console, share: float) -> Text:
    full, empty = ("█", "░") if console.encoding.startswith("utf") else ("#", ".")
    filled = round(share * _BAR_WIDTH)
    return Text(full * filled, style="green") + Text(empty * (_BAR_WIDTH - filled), style="dim")
