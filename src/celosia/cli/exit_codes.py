"""The exit codes of all commands.

====  =============================================================================================
0     done
1     something failed: a database, a ledger, a server, the disk; or a check found a difference
2     usage: an option, a file or a schema that makes no sense as it was given
3     refused: a query that privacy rules out, that is not understood, or that this caller may not ask
4     the budget is used up, or does not suffice
130   interrupted
====  =============================================================================================
"""

from typing import Final

from celosia.core import errors

FAILED: Final = 1
"""Something failed that was not the caller's doing."""

USAGE: Final = 2
"""What was given makes no sense."""

REFUSED: Final = 3
"""Privacy or a permission rules it out."""

BUDGET: Final = 4
"""There is not enough left to spend."""

INTERRUPTED: Final = 130
"""Somebody pressed Ctrl-C."""

EXIT_CODES: Final = (
    "Exit codes: 0 done, 1 failed, 2 usage (an option or a file makes no sense), 3 refused (privacy or a permission "
    "rules it out), 4 the budget does not suffice."
)
"""The codes in a sentence."""

_CODES: Final[dict[type[errors.CelosiaError], int]] = {
    errors.BudgetExceededError: BUDGET,
    errors.ExhaustedError: BUDGET,
    errors.QueryError: REFUSED,
    errors.NotAllowedError: REFUSED,
    errors.ApprovalRequiredError: REFUSED,
    errors.TooManyRequestsError: REFUSED,
    errors.EngineError: FAILED,
    errors.LedgerError: FAILED,
    errors.GuardUnreachableError: FAILED,
    errors.MissingExtraError: FAILED,
    errors.ConformanceError: FAILED,
}
_NAMED_WRONGLY = (FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError, PermissionError)


def exit_code_of(error: BaseException) -> int:
    """Return the exit code that an error ends a command with."""
    if type(error) is errors.CelosiaError:  # a guard that said no more
        return REFUSED
    for kind in type(error).__mro__:
        if kind in _CODES:
            return _CODES[kind]
    return USAGE if isinstance(error, (errors.CelosiaError, *_NAMED_WRONGLY)) else FAILED
