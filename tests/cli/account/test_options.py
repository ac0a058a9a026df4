from __future__ import annotations

import inspect
from typing import get_args

import pytest
from typer.models import OptionInfo
from typer.testing import CliRunner

from celosia.cli.account import options as account_options
from celosia.cli.app import app


def declared(name: str) -> tuple[list[str], str]:
    _, option = get_args(getattr(account_options, name))
    assert isinstance(option, OptionInfo)
    return [str(option.default), *(option.param_decls or ())], option.help or ""  # Typer keeps the first name apart


@pytest.mark.parametrize("name", [name for name in vars(account_options) if name.endswith("Option")])
def test_every_option_has_a_name_and_says_what_it_is(name: str) -> None:
    names, words = declared(name)
    assert all(given.startswith("--") for given in names)
    assert len(words) > 10


def test_steps_and_times_are_one() -> None:
    assert declared("TimesOption")[0] == ["--times"]


@pytest.mark.parametrize(
    ("group", "command"), [("account", "gaussian"), ("account calibrate", "laplace"), ("account plot", "growth")]
)
def test_a_group_alone_shows_its_commands(group: str, command: str) -> None:
    result = CliRunner().invoke(app, group.split())
    assert (result.exit_code, result.stderr) == (0, "")
    assert command in result.stdout


def test_options_that_go_together_are_declared_once() -> None:
    seen: list[tuple[account_options.NoiseOptions, str]] = []

    def command(noise: account_options.NoiseOptions, delta: account_options.DeltaOption) -> None:
        seen.append((noise, delta))

    spread = account_options.spread(command)
    assert list(inspect.signature(spread).parameters) == ["times", "grid", "adjacency", "delta"]
    spread(delta="1e-6", times=7)
    assert seen == [(account_options.NoiseOptions(times=7), "1e-6")]
    with pytest.raises(TypeError, match="delta"):
        spread(times=7)
    with pytest.raises(TypeError, match="unexpected"):
        spread(delta="1e-6", often=7)
