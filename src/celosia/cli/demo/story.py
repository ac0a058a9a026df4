"""What happens in the demonstration, in order: questions until the budget is used up, one too many, and an attack.

Everything that is shown, on the terminal and in the report, is computed here once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from celosia.cli.demo.answers import QUESTIONS, Answer, Columns, open_session, share_of_women
from celosia.cli.demo.attack import TRIES, Attack, attack
from celosia.core import BudgetExceededError, Guarantee, Source

STEPS = len(QUESTIONS) + 2
"""How often ``tell`` announces what it does next."""

_TOO_MANY = "SELECT state, COUNT(*) FROM deaths GROUP BY state"


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """All that the demonstration found out.

    ``refused`` is the question that did not fit into the budget any more, and what the session said to it; ``survey``
    is answered outside of the session, by replies that were randomized one by one.
    """

    rows: int
    budget: Guarantee
    answers: tuple[Answer, ...]
    refused: tuple[str, str]
    survey: Answer
    attack: Attack


def tell(epsilon: Fraction, source: Source | None, step: Callable[[str], None]) -> Story:
    """Ask all questions at ``epsilon`` each; ``step`` is told what comes next."""
    from celosia.data import deaths

    table = deaths()
    columns = Columns.of(table)
    session = open_session(table, len(QUESTIONS) * epsilon, source)
    answers = []
    for question in QUESTIONS:
        step("QueryBackend")
        answers.append(question(session, columns, epsilon))
    refused = ""
    try:
        session.sql(_TOO_MANY, epsilon=epsilon)
    except BudgetExceededError as error:
        refused = str(error)
    step("QueryBackend everybody")
    survey = share_of_women(columns, epsilon, source)
    step("Attacking")
    attacked = attack(table, open_session(table, 2 * TRIES * epsilon, source), epsilon)
    return Story(
        rows=table.num_rows,
        budget=session.budget,
        answers=tuple(answers),
        refused=(_TOO_MANY, refused),
        survey=survey,
        attack=attacked,
    )
