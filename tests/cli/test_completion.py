"""Completion, asked as a shell asks."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from celosia.cli.completion import offer

if TYPE_CHECKING:
    from pathlib import Path


def complete(line: str, shell: str = "bash") -> list[str]:
    words = line.split(" ")
    environment = {
        **os.environ,
        "_CELOSIA_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
        "_TYPER_COMPLETE_ARGS": line,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
        "_TYPER_COMPLETE_WORD_TO_COMPLETE": words[-1],
    }
    run = [sys.executable, "-c", "import sys; sys.argv = ['celosia']; from celosia.cli import main; main()"]
    answer = subprocess.run(run, capture_output=True, text=True, env=environment, check=False)
    assert "Traceback" not in answer.stderr
    return answer.stdout.split()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("celosia ", {"query", "schema", "demo", "account", "guard"}),
        ("celosia que", {"query"}),
        ("celosia query deaths.csv q --ch", {"--chart"}),
        ("celosia data generate exp_", {"exp_distrib_50k"}),
        ("celosia collect simulate --protocol hc", {"hcms"}),
        ("celosia ledger budget u --preset ", {"cautious", "usual", "generous"}),
        ("celosia account plot profile ran", {"randomized-response"}),
        ("celosia learn fit f.csv --model log", {"logistic"}),
        ("celosia guard user add ana --role a", {"analyst", "auditor"}),
    ],
)
@pytest.mark.sampled(3)
def test_bash_is_offered_names(line: str, offered: set[str]) -> None:
    found = complete(line)
    assert offered <= set(found)
    assert all(word.startswith(line.rsplit(" ", 1)[1]) for word in found)


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_are_offered_them_too(shell: str) -> None:
    assert "usual" in " ".join(complete("celosia ledger budget u --preset us", shell))


def test_the_script_of_a_shell_is_shown_and_installed(tmp_path: Path) -> None:
    # Without detection of the shell, its name is an argument: a test is called from none.
    environment = os.environ | {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1", "HOME": str(tmp_path)}
    line = "complete -o default -F _celosia_completion celosia"
    for option in ("--show-completion", "--install-completion"):
        run = [sys.executable, "-m", "celosia", option, "bash"]
        answer = subprocess.run(run, capture_output=True, text=True, env=environment, check=True)
        assert (line in answer.stdout) == (option == "--show-completion")
    assert line in (tmp_path / ".bash_completions" / "celosia.sh").read_text(encoding="utf-8")
    assert "celosia.sh" in (tmp_path / ".bashrc").read_text(encoding="utf-8")


def test_words_are_offered_by_their_beginning() -> None:
    assert offer(lambda: ["ana", "luis"])("") == ["ana", "luis"]
    assert offer(["ana", "luis"])("l") == ["luis"]
