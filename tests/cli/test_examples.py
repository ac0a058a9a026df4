"""Every ``--help`` has an example, and every example is a command line of this version."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click
import pytest
import typer
from typer.testing import CliRunner

from celosia.cli.app import app
from celosia.cli.examples import EXAMPLES, add_examples

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = typer.main.get_command(app)


def walk(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    """Yield every command and group below one, by what one types for it."""
    if path:
        yield " ".join(path), command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from walk(found, (*path, name))


COMMANDS = dict(walk(ROOT))


def test_every_command_has_an_example_and_every_help_shows_one() -> None:
    leaves = {path for path, command in COMMANDS.items() if not isinstance(command, click.Group)}
    assert set(EXAMPLES) == leaves
    for path in COMMANDS:
        help_text = CliRunner().invoke(app, [*path.split(), "--help"], env={"COLUMNS": "300"})
        assert help_text.exit_code == 0
        assert f"celosia {path}" in help_text.stdout.partition("Example")[2], path


def test_every_example_parses() -> None:
    for path, lines in EXAMPLES.items():
        for line in lines:
            words = shlex.split(line)
            count = len(path.split())
            assert words[: count + 1] == ["celosia", *path.split()]
            COMMANDS[path].make_context(path, words[count + 1 :])  # raises where an option is not there


def test_an_example_that_does_not_parse_would_be_found() -> None:
    for wrong in ("--no-such-option", "--chart"):
        with pytest.raises(click.UsageError):
            COMMANDS["limits"].make_context("limits", ["f.csv", "--schema", "s", wrong])


def test_examples_that_are_cheap_run() -> None:
    for path in ("account presets", "account game", "account pure", "collect protocols", "data list", "learn models"):
        result = CliRunner().invoke(app, shlex.split(EXAMPLES[path][0])[1:])
        assert result.exit_code == 0, result.stderr


def test_a_group_shows_some_of_its_commands() -> None:
    group = click.Group("ledger", commands={"head": click.Command("head")})
    assert (add_examples(group, "ledger").epilog or "").count("celosia ledger") == 3
