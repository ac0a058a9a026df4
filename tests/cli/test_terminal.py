"""What is printed is whole, and nothing in it commands a terminal."""

from __future__ import annotations

import io
import json
import re

import pytest
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from celosia.cli.account.show import print_json
from celosia.cli.terminal import has_width, print_file, print_line, print_whole, printable

EVIL = "a\x1b[2Jb\rc\ad\u202ee\x9b31mf\u2066g\x7fh\udc80"
WRITTEN = r"a\x1b[2Jb\rc\x07d\u202ee\x9b31mf\u2066g\x7fh\udc80"


def is_tame(text: str) -> bool:
    return all(x.isprintable() for x in text.replace("\n", ""))


def terminal(width: int) -> tuple[Console, io.StringIO]:
    out = io.StringIO()
    return Console(file=out, width=width, force_terminal=True, color_system=None), out


def table(columns: int, rows: int, cell: str) -> Table:
    made = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1))
    for i in range(columns):
        made.add_column(f"title{i}", justify="right", no_wrap=bool(i % 2))
    for j in range(rows):
        made.add_row(*(Text(f"{cell}{i}x{j}") for i in range(columns)))
    return made


def test_what_is_not_printable_is_written_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert printable(EVIL) == WRITTEN
    family = "\U0001f468\u200d\U0001f469"
    assert [printable(text) for text in ("", "café", "ñ 日本", family)] == ["", "café", "ñ 日本", family]
    print_line(f"one\n{EVIL}", stderr=True)
    print_line(f"two\n{EVIL}")
    made = Table("title" + EVIL, "plain")
    made.add_row(EVIL, Text(EVIL, style="bold"))
    print_whole(made)
    print_json({"key" + EVIL[:-1]: [EVIL[:-1]]})
    out, err = capsys.readouterr()
    assert err == f"one\n{WRITTEN}\n"
    assert is_tame(out)
    assert out.count(WRITTEN) == 3  # the line, the title and the cell; rich has taken some out of its own texts
    assert json.loads(out[out.index("{") :]) == {"key" + EVIL[:-1]: [EVIL[:-1]]}


def test_a_file_is_printed_as_it_is_unless_somebody_looks(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    print_file(f"a,{EVIL[:-1]}\n")
    assert capsys.readouterr().out == f"a,{EVIL[:-1]}\n"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    print_file(f"a,{EVIL}\n")
    assert capsys.readouterr().out == f"a,{WRITTEN}\n"


@pytest.mark.parametrize("width", [1, 20, 40, 80, 400])
@pytest.mark.parametrize("columns", [1, 3, 12])
def test_no_cell_is_cut_whatever_the_width(width: int, columns: int) -> None:
    console, out = terminal(width)
    print_whole(table(columns, 3, "cell"), console)
    text = re.sub(r"\s", "", out.getvalue())
    assert "…" not in text
    for i in range(columns):
        assert f"title{i}" in text
        assert all(f"cell{i}x{j}" in text for j in range(3))


def test_words_are_wrapped_where_that_is_enough() -> None:
    console, out = terminal(40)
    made = Table("Name", "What", box=None, pad_edge=False)
    made.add_row("ana", "one word after another, " * 4)
    print_whole(made, console)
    assert max(map(len, out.getvalue().splitlines())) <= 40
    assert "Name: " not in out.getvalue()
    print_whole(table(12, 1, "cell"), console)
    assert "title0: cell0x0\ntitle1: cell1x0\n" in out.getvalue()


def test_a_pipe_gets_all_columns_on_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    out = io.StringIO()
    console = Console(file=out, width=80)
    print_whole(table(12, 1, "a long cell indeed, number "), console)
    assert len(out.getvalue().splitlines()) == 3
    assert console.width == 80
    assert not has_width(console)
    monkeypatch.setenv("COLUMNS", "80")
    assert has_width(console)
