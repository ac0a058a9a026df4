"""``celosia demo``: the first private answers, beside the true ones.

What is printed is what a newcomer should look for in any release: the private value, how far off it may be, and what it
cost. The column of true values exists because the table is synthetic, and says so. Costs are added only where the
guarantees are of one kind; the rest is listed apart.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from celosia.core import ApproxDP, Guarantee, ParameterError, PureDP, Source
from celosia.core.exact import exact_epsilon, show

if TYPE_CHECKING:
    from celosia.cli.answers import Answer

__all__ = ["demo"]

_STEPS = 10  # the table, six questions, three files

_WHAT = (
    "Six questions about a table of {rows:,} deaths. Each answer is computed exactly and then blurred with noise, so "
    "that it would be almost as likely had any one person been left out: at most exp(ε) times more or less likely. "
    "The smaller ε is, the stronger the promise and the wider the interval."
)
_SYNTHETIC = (
    "The true values are shown only because the table is synthetic and about nobody: a real release would not have "
    "that column. In 95 of 100 releases or more an interval holds its true value; where an answer has several "
    "numbers, all of their intervals hold at once, which makes each of them wider."
)
_SEEDED = "Warning: with --seed {seed} anybody can repeat the noise and take it away: these answers protect nobody."


def demo(*, epsilon: str = "1", output: Path | None = None, seed: int | None = None) -> None:
    """Print private answers about the synthetic deaths at ``epsilon`` each, and save charts into ``output``.

    Parameters
    ----------
    epsilon
        What each answer may cost, as text, so that "0.1" is exactly one tenth.
    output
        The directory for the charts, made if it is missing; ``None`` draws none.
    seed
        Repeats the noise of this seed, for teaching; ``None`` takes the operating system's randomness.

    >>> demo(epsilon="-1")
    Traceback (most recent call last):
    ...
    celosia.core.errors.ParameterError: epsilon must be greater than 0, not '-1'.
    """
    budget = exact_epsilon(epsilon)
    source = _source(seed)
    if output is not None:
        _make_directory(output)
    with _progress() as step:
        rows, answers = _ask(budget, source, step)
        files = [] if output is None else _draw(answers, output, step)
    _print(rows, answers, files)


def _source(seed: int | None) -> Source | None:
    if seed is None:
        return None
    from celosia.noise.source import Seeded

    source = Seeded(seed)
    Console(stderr=True).print(Text(_SEEDED.format(seed=seed), style="yellow"), soft_wrap=True)
    return source


def _make_directory(output: Path) -> None:
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"The directory {str(output)!r} cannot be made: {error.strerror}."
        raise ParameterError(message) from error


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """Yield a function that announces the next step; nothing is shown where nobody watches a terminal."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("Loading", total=_STEPS)

        def step(description: str) -> None:
            progress.update(task, advance=1, description=description)

        yield step


def _ask(epsilon: Fraction, source: Source | None, step: Callable[[str], None]) -> tuple[int, "list[Answer]"]:
    from celosia.cli.answers import QUESTIONS, Columns
    from celosia.data import deaths

    table = deaths()
    columns = Columns.of(table)
    answers = []
    for question in QUESTIONS:
        step("Asking")
        answers.append(question(columns, epsilon, source))
    return table.num_rows, answers


def _draw(answers: "list[Answer]", output: Path, step: Callable[[str], None]) -> list[Path]:
    from celosia.cli.charts import age_histogram, laplace_neighbours
    from celosia.plots import save

    step("Drawing")
    neighbours = laplace_neighbours()
    files = []
    for name in ("laplace-neighbours.svg", "laplace-neighbours.html"):
        files.append(save(neighbours, output / name))
        step("Drawing")
    for answer in answers:
        if answer.bars is not None:
            chart = age_histogram(answer.bars, promise=_cost(answer.guarantee))
            files.append(save(chart, output / "age-histogram.svg"))
    return files


def _print(rows: int, answers: "list[Answer]", files: list[Path]) -> None:
    console = Console(highlight=False)
    console.print(Text(_WHAT.format(rows=rows)))
    console.print()
    console.print(_table(answers))
    console.print()
    console.print(Text(_SYNTHETIC))
    console.print()
    for line in _spent(answers):
        console.print(line)
    if files:
        console.print()
        console.print(Text("Charts:"))
        for file in files:
            console.print(Text(f"  {file}"), soft_wrap=True)


def _table(answers: "list[Answer]") -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1), leading=0)
    table.add_column("Question", ratio=1, min_width=14)
    table.add_column("True", justify="right", style="dim", no_wrap=True)
    table.add_column("Private", justify="right", style="bold", no_wrap=True)
    table.add_column("95 % interval", justify="right")
    table.add_column("ε", justify="right", no_wrap=True, min_width=8)
    for answer in answers:
        table.add_row(
            answer.question,
            answer.true,
            answer.private,
            answer.interval,
            _cost(answer.guarantee).removeprefix("ε = ").replace(", ", "\n"),
            end_section=True,
        )
    return table


def _spent(answers: "list[Answer]") -> Iterator[Text]:
    """One line for each kind of guarantee: adding different kinds is an error, and not only of taste."""
    pure = [a.guarantee for a in answers if isinstance(a.guarantee, PureDP) and not a.local]
    approximate = [a.guarantee for a in answers if isinstance(a.guarantee, ApproxDP)]
    local = [a.guarantee for a in answers if a.local]
    yield Text("Spent for each person in the table (kinds of promise are not added up):")
    for guarantees, what in (
        (pure, "pure, {n} answers added"),
        (approximate, "approximate, the histogram by age"),
        (local, "local, the survey: nobody saw a true reply"),
    ):
        if guarantees:
            yield Text(f"  {_cost(sum(guarantees[1:], guarantees[0])):<18} {what.format(n=len(guarantees))}")


def _cost(guarantee: Guarantee) -> str:
    if isinstance(guarantee, ApproxDP):
        return f"ε = {_plain(guarantee.epsilon)}, δ = {_plain(guarantee.delta)}"
    return f"ε = {_plain(guarantee.epsilon)}" if isinstance(guarantee, PureDP) else repr(guarantee)


def _plain(number: Fraction) -> str:
    return show(number).strip("'").replace("e-0", "e-")
