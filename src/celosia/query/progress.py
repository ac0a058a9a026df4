"""A bar for questions that take long: on a terminal, after two seconds, and nowhere else.

It shows how much of the reading is done, as a share. That depends on the size of the files, not on what is in them.
"""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

_PATIENCE = 2.0  # seconds


class Bar:
    """Draw a bar on the terminal; a call says which share is done, and 1 takes the bar away."""

    def __init__(self, console: "Console | None" = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._console, self._clock = console, clock
        self._started: float | None = None
        self._drawn: Progress | None = None

    def __call__(self, share: float) -> None:
        """Say that a share of the work is done."""
        if share >= 1:
            self._take_away()
            return
        if self._started is None:
            self._started = self._clock()
        if self._drawn is None and self._clock() - self._started >= _PATIENCE:
            self._draw()
        if self._drawn is not None:
            self._drawn.update(self._drawn.task_ids[0], completed=share)

    def _draw(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        console = self._console or Console(stderr=True)
        if not console.is_terminal:
            return
        columns = (TextColumn("Reading"), BarColumn(), TimeElapsedColumn())
        self._drawn = Progress(*columns, console=console, transient=True)
        self._drawn.add_task("Reading", total=1.0)
        self._drawn.start()

    def _take_away(self) -> None:
        if self._drawn is not None:
            self._drawn.stop()
        self._drawn, self._started = None, None
