"""Run the demonstration: queries until the budget is used up, one too many, and an attack.

The results for the terminal and the report are computed here once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from celosia.cli.demo.answers import QUESTIONS, Answer, Columns, open_session, share_of_women
from celosia.cli.demo.attack import TRIES, Attack, attack
from celosia.core import BudgetExceededError, Guarantee, Source

STEPS = len(QUESTIONS) + 2
"""The number of steps that ``tell_story`` announces."""

_TOO_MANY = "SELECT state, COUNT(*) FROM deaths GROUP BY state"


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """The results of the demonstration.

    ``refused`` is the query that exceeded the budget, and the session's message; ``survey`` is answered outside of the
    session, by replies that are randomized one by one.
    """

    rows: int
    budget: Guarantee
    answers: tuple[Answer, ...]
    refused: tuple[str, str]
    survey: Answer
    attack: Attack


def tell_story(epsilon: Fraction, source: Source | None, step: Callable[[str], None]) -> Story:
    """Run all queries at ``epsilon`` each; ``step(code)`` announces the next one."""
    from celosia.data import deaths

    table = deaths()
    columns = Columns.of(table)
    session = open_session(table, len(QUESTIONS) * epsilon, source)
    answers = []
    for question in QUESTIONS:
        step("cli_demo.querying")
        answers.append(question(session, columns, epsilon))
    refused: str = ""
    try:
        session.sql(_TOO_MANY, epsilon=epsilon)
    except BudgetExceededError as error:
        refused = error.message
    step("cli_demo.surveying")
    survey = share_of_women(columns, epsilon, source)
    step("cli_demo.attacking")
    result = attack(table, open_session(table, 2 * TRIES * epsilon, source), epsilon)
    return Story(
        rows=table.num_rows,
        budget=session.budget,
        answers=tuple(answers),
        refused=(_TOO_MANY, refused),
        survey=survey,
        attack=result,
    )
