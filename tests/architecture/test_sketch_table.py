"""The comparison of sketches in the documentation is what its script measures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

# Not part of a source distribution.
sketches = pytest.importorskip("benchmarks.tables.sketches")

BEGIN, END = "<!-- the table of sketches: python -m benchmarks.tables.sketches -->", "<!-- end of the table -->"
TIMES = ["updates, M/s", "query, µs"]


def without_times(text: str) -> str:
    """A text whose tables have lost the columns that no two machines agree on."""
    lines = []
    width = 0
    for line in text.strip().splitlines():
        cells = line.strip("| ").split(" | ")
        if cells[-len(TIMES) :] == TIMES:
            width = len(TIMES)
        elif not line.strip():
            width = 0
        lines.append(f"| {' | '.join(cells[: len(cells) - width])} |" if line.strip() else "")
    return "\n".join(lines)


def test_the_page_holds_what_is_measured(root: Path) -> None:
    page = (root / "docs" / "api" / "sketches.md").read_text(encoding="utf-8")
    assert page.count(BEGIN) == page.count(END) == 1
    shown = page.partition(BEGIN)[2].partition(END)[0]
    assert without_times(shown) == sketches.table(times=False), "python -m benchmarks.tables.sketches"


def test_an_error_that_was_edited_would_be_noticed() -> None:
    timed = "| sketch | error, measured | updates, M/s | query, µs |\n| --- | --- | --- | --- |\n| `A` | 0.1 | 5 | 6 |"
    assert without_times(timed).endswith("| `A` | 0.1 |")
    assert without_times(timed) == without_times(timed.replace("| 5 | 6 |", "| 7 | 8 |"))
    assert without_times(timed) != without_times(timed.replace("0.1", "0.2"))
