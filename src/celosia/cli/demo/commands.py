"""``celosia demo``: the first private answers, beside the true ones.

The queries go through a session with a budget until it is used up; then an attack that works on a plain database is
tried on a session. Charts and a report are saved as files, each written atomically.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from celosia.cli.language import say
from celosia.cli.terminal import print_line
from celosia.core import ParameterError, Source
from celosia.core.exact import exact_epsilon
from celosia.core.messages.message import Message
from celosia.core.messages.system_errors import describe_os_error

if TYPE_CHECKING:
    from celosia.cli.demo.story import Story

_STEPS = 15  # loading, nine of the story, four charts and a report


def demo(
    *,
    epsilon: Annotated[
        str, typer.Option(metavar="NUMBER", help="The cost of each answer: 1, 0.1 or 1/3. Smaller is more private.")
    ] = "1",
    output: Annotated[Path, typer.Option(metavar="DIR", help="The directory for the charts and the report.")] = Path(
        "celosia-demo"
    ),
    no_output: Annotated[bool, typer.Option("--no-output", help="Draw no charts and write no report.")] = False,
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="Repeat the same noise every time. For teaching: not private.")
    ] = None,
) -> None:
    """Print private answers about the synthetic deaths at ``epsilon`` each, and save charts and a report.

    Parameters
    ----------
    epsilon
        The cost of each answer, as text, so that "0.1" is exactly one tenth.
    output
        The directory for the charts and the report, made if it is missing.
    no_output
        Draw no charts and write no report.
    seed
        Repeats the noise of this seed, for teaching; ``None`` takes the operating system's randomness.
    """
    each = exact_epsilon(epsilon)
    source = _source(seed)
    if not no_output:
        _make_directory(output)
    with _progress() as step:
        step("cli_demo.loading")
        from celosia.cli.demo.show import print_story
        from celosia.cli.demo.story import tell_story

        story = tell_story(each, source, step)
        files = [] if no_output else _draw(story, output, step)
    print_story(story, files)


def _source(seed: int | None) -> Source | None:
    if seed is None:
        return None
    from celosia.noise.source import Seeded

    source = Seeded(seed)
    print_line(Message("cli_demo.seeded", seed=str(seed)), style="yellow", stderr=True)
    return source


def _make_directory(output: Path) -> None:
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ParameterError(
            "cli.directory_not_made", path=repr(str(output)), reason=describe_os_error(error)
        ) from error


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """Yield a function that announces the next step by a code; nothing is shown outside a terminal."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(say("cli_demo.loading"), total=_STEPS)

        def step(code: str) -> None:
            progress.update(task, advance=1, description=say(code))

        yield step


def _draw(story: "Story", output: Path, step: Callable[[str], None]) -> list[Path]:
    from celosia.cli.demo.charts import draw_charts
    from celosia.cli.demo.report import report
    from celosia.cli.writing import write_whole
    from celosia.plots import save

    step("cli.drawing")
    charts = draw_charts(story)
    files = [output / "report.html"]
    for name, chart in charts.items():
        files.append(save(chart, output / f"{name}.svg"))
        step("cli.drawing")
    pictures = {name: (output / f"{name}.svg").read_text(encoding="utf-8") for name in charts}
    write_whole(files[0], report(story, pictures), name="output")
    return files
