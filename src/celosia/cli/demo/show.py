"""Print the demonstration: answers beside the truth, the shrinking budget, and the attack.

It prints what matters in any release: the private value, its interval and its cost. The column of true values exists
only because the table is synthetic.
"""

from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from celosia.cli.costs import cost
from celosia.cli.demo.answers import Answer
from celosia.cli.demo.attack import Attack
from celosia.cli.demo.story import Story
from celosia.cli.language import join_values, say, translate, write_number
from celosia.cli.terminal import print_line, print_whole
from celosia.core import Guarantee, PureDP
from celosia.core.messages.message import Message

_BAR_WIDTH = 24


def print_story(story: Story, files: list[Path]) -> None:
    """Print the whole demonstration to standard output."""
    console = Console(highlight=False)
    console.print(Text(say("cli_demo.what", rows=story.rows)))
    console.print()
    print_whole(_answers((*story.answers, story.survey)))
    console.print()
    console.print(Text(say("cli_demo.synthetic")))
    _print_budget(console, story)
    _print_attack(console, story.attack)
    if files:
        console.print()
        console.print(Text(say("cli_demo.charts_and_report")))
        for file in files:
            print_line(f"  {file}")


def share_left(budget: Guarantee, left: Guarantee | None) -> float:
    """Return the remaining share of a pure budget."""
    if not isinstance(budget, PureDP) or not isinstance(left, PureDP) or not budget.epsilon:
        return 0.0
    return float(left.epsilon / budget.epsilon)


def _answers(answers: tuple[Answer, ...]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1), leading=0)
    table.add_column(say("cli_demo.question"), ratio=1, min_width=14)
    table.add_column(say("cli_demo.true"), justify="right", style="dim", no_wrap=True)
    table.add_column(say("cli_demo.private"), justify="right", style="bold", no_wrap=True)
    table.add_column(say("cli_demo.interval"), justify="right")
    table.add_column("ε", justify="right", no_wrap=True)
    for answer in answers:
        spent = cost(answer.guarantee).removeprefix("ε = ")
        for line in answer.lines[:-1]:
            table.add_row(*line, spent)
            spent = ""
        table.add_row(*answer.lines[-1], spent, end_section=True)
    return table


def _print_budget(console: Console, story: Story) -> None:
    _heading(console, say("cli_demo.the_budget"))
    console.print(Text(say("cli_demo.one_budget", budget=cost(story.budget))))
    console.print()
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 1))
    table.add_column(ratio=1)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    for answer in story.answers:
        left = Message("cli_demo.amount_left", left=cost(_left(answer)))
        table.add_row(answer.title, _bar(console, share_left(story.budget, answer.left)), left)
    print_whole(table)
    question, refusal = story.refused
    console.print()
    console.print(Text(f"{say('cli_demo.one_more')} ") + Text(question, style="bold"))
    console.print(Text(say("cli_demo.refused", reason=refusal), style="yellow"))
    console.print()
    console.print(Text(say("cli_demo.survey_apart", cost=cost(story.survey.guarantee))))


def _print_attack(console: Console, attack: Attack) -> None:
    _heading(console, say("cli_demo.two_averages"))
    console.print(Text(say("cli_demo.plain_database_answers")))
    console.print()
    for question, value in zip(attack.questions, attack.plain, strict=True):
        console.print(Text(f"  {question}"))
        console.print(Text(f"  = {write_number(value, '.8f')}"))
    console.print()
    console.print(Text(f"  {write_sum(attack)} = {write_number(attack.revealed, 'g')}"))
    console.print()
    console.print(Text(say("cli_demo.that_is_her_age"), style="bold"))
    found = join_values(write_number(attempt.age, ",.0f") for attempt in attack.tries)
    console.print(Text(say("cli_demo.session_with_noise", cost=cost(attack.cost), ages=found)))
    console.print(Text(translate(attack.verdict)))


def write_sum(attack: Attack) -> str:
    """Return the sum that reveals the age."""
    sides = zip((attack.rows, attack.rows - 1), attack.plain, strict=True)
    return " − ".join(f"{write_number(rows)} × {write_number(average, '.8f')}" for rows, average in sides)


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
