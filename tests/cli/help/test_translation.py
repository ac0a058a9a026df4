"""Every text of the help and every error of click has its Spanish, and none is left over."""

from __future__ import annotations

import ast
import gettext
import inspect
import string
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest
import typer
from typer.testing import CliRunner

import celosia.cli
from celosia.cli.app import app
from celosia.cli.help.translation import load_texts, translate_click, translate_command
from tests.cli.test_examples import COMMANDS, ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType


def list_help() -> Iterator[str]:
    for command in (ROOT, *COMMANDS.values()):
        for text in (command.help, command.short_help, *(getattr(one, "help", None) for one in command.params)):
            if text:
                yield text
        for part in (command.epilog or "").split("\n\n"):
            if part and not part.startswith("celosia "):
                yield "Example:" if part.startswith("Example: ") else part


def list_constants(*modules: Path) -> set[str]:
    trees = [ast.parse(path.read_text("utf-8")) for path in modules]
    return {
        node.value
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def list_click(module: ModuleType) -> Iterator[str]:
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("_", "ngettext"):
            yield from (one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str))


def find_gaps(text: str) -> set[str | None]:
    return {name for _, name, _, _ in string.Formatter().parse(text)} - {None}


def test_every_text_of_the_help_has_its_spanish() -> None:
    texts = load_texts("es")["help"]
    shown = set(list_help())
    assert len(shown) > 200
    assert not shown - texts.keys()
    # Typer drops the help of arguments with some versions of click: it is in the code, and may be shown again.
    written = list_constants(*Path(celosia.cli.__path__[0]).rglob("*.py")) | {"Example:", "Examples:"}
    assert not texts.keys() - shown - written
    for english, spanish in texts.items():
        assert spanish.strip() == spanish != ""
        assert english.count("\n\n") == spanish.count("\n\n"), english


def test_every_error_of_click_has_its_spanish() -> None:
    texts = load_texts("es")["click"]
    said = {text for module in (click.exceptions, click.parser) for text in list_click(module)}
    assert said <= texts.keys()
    for english, spanish in texts.items():
        assert find_gaps(english) == find_gaps(spanish), english


@pytest.mark.parametrize("path", ["", "query", "account plot profile", "guard user add"])
def test_help_is_in_spanish(path: str) -> None:
    environment = {"COLUMNS": "400", "NO_COLOR": "1"}
    english = CliRunner().invoke(app, [*path.split(), "--help"], env=environment).stdout
    spanish = CliRunner().invoke(app, [*path.split(), "--lang", "es", "--help"], env=environment).stdout
    command = COMMANDS[path] if path else ROOT
    help_text = str(command.help).split("\n\n")[0]
    assert help_text in english
    assert load_texts("es")["help"][str(command.help)].split("\n\n")[0] in spanish
    for word in ("Uso:", "Opciones", "Ejemplo", "Muestra este mensaje y termina."):
        assert word in spanish
        assert word not in english
    for word in ("Usage:", "Options", "Example", "Show this message", "[required]", help_text):
        assert word not in spanish
    assert CliRunner().invoke(app, [*path.split(), "--help"], env=environment).stdout == english


def test_english_stays_as_it_is() -> None:
    root = typer.main.get_command(app)
    assert translate_command(root, "en") is root
    before = gettext.gettext("Missing option")
    with translate_click("es"):
        assert gettext.gettext("Missing option") == "Falta la opción"
        assert gettext.gettext("of another program") == "of another program"
        assert gettext.ngettext("one", "many", 2) == "many"
    assert gettext.gettext("Missing option") == before
    assert not load_texts("en")
