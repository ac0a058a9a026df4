"""Every error ends with the code of its kind, whether it is raised here or told by a guard."""

from __future__ import annotations

import errno

import pytest
from typer.testing import CliRunner

from celosia.cli.app import app
from celosia.cli.exit_codes import BUDGET, EXIT_CODES, FAILED, REFUSED, USAGE, exit_code_of
from celosia.core import errors
from celosia.guard.client.transport import _make_error

CODES = {
    "ApprovalRequiredError": REFUSED,
    "BudgetExceededError": BUDGET,
    "CelosiaError": REFUSED,
    "ConformanceError": FAILED,
    "EngineError": FAILED,
    "ExhaustedError": BUDGET,
    "FormatError": USAGE,
    "GuaranteeMismatchError": USAGE,
    "GuardUnreachableError": FAILED,
    "InfeasibleError": USAGE,
    "InputError": USAGE,
    "LedgerError": FAILED,
    "MissingExtraError": FAILED,
    "NoIntervalError": USAGE,
    "NotAllowedError": REFUSED,
    "NotPricedError": USAGE,
    "ParameterError": USAGE,
    "QueryError": REFUSED,
    "RequestConflictError": USAGE,
    "SchemaError": USAGE,
    "TooManyRequestsError": REFUSED,
    "UnboundedDataError": USAGE,
}


def test_every_error_of_the_tree_has_a_code() -> None:
    assert set(CODES) == {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.CelosiaError)
    }
    for name, code in CODES.items():
        assert exit_code_of(getattr(errors, name)("no")) == code
        assert exit_code_of(_make_error({"error": name, "detail": "no"})) == code  # what a guard answered
    assert exit_code_of(_make_error({"error": "NewerError"})) == REFUSED


def test_files_that_the_caller_named_are_usage_and_a_full_disk_is_not() -> None:
    assert exit_code_of(FileNotFoundError(errno.ENOENT, "none")) == USAGE
    assert exit_code_of(OSError(errno.ENOSPC, "full")) == FAILED
    assert exit_code_of(ZeroDivisionError()) == FAILED


@pytest.mark.parametrize("name", sorted(CODES))
def test_a_command_ends_with_it_in_one_tame_line(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        message = "no \x1b[2J\r\nand \u202e no"
        raise getattr(errors, name)(message)

    monkeypatch.setattr("celosia.cli.collect.commands.exact_epsilon", fail)
    result = CliRunner().invoke(app, ["collect", "choose", "--domain", "9", "--epsilon", "1"])
    assert (result.exit_code, result.stderr) == (CODES[name], "Error: no \\x1b[2J and \\u202e no\n")


def test_the_help_says_what_codes_mean() -> None:
    help_text = " ".join(CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"}).stdout.split())
    assert EXIT_CODES in help_text
