"""Progress bar for long work, shown on a terminal after two seconds.

Of a query it shows the share of the files read so far, which depends on their size and not on their content.
"""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

_DELAY_SECONDS = 2.0  # seconds


class Bar:
    """Draw a bar on the terminal. A call sets the share that is done; 1 removes the bar."""

    def __init__(
        self, console: "Console | None" = None, clock: Callable[[], float] = time.monotonic, *, text: str = "Reading"
    ) -> None:
        self._console, self._clock, self._text = console, clock, text
        self._started: float | None = None
        self._drawn: Progress | None = None

    def __call__(self, share: float) -> None:
        """Set the share of the work that is done."""
        if share >= 1:
            self._remove()
            return
        if self._started is None:
            self._started = self._clock()
        if self._drawn is None and self._clock() - self._started >= _DELAY_SECONDS:
            self._draw()
        if self._drawn is not None:
            self._drawn.update(self._drawn.task_ids[0], completed=share)

    def _draw(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        console = self._console or Console(stderr=True)
        if not console.is_terminal:
            return
        columns = (TextColumn(self._text), BarColumn(), TimeElapsedColumn())
        self._drawn = Progress(*columns, console=console, transient=True)
        self._drawn.add_task(self._text, total=1.0)
        self._drawn.start()

    def _remove(self) -> None:
        if self._drawn is not None:
            self._drawn.stop()
        self._drawn, self._started = None, None
