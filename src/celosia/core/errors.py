"""Everything Celosía raises, in one tree.

::

    CelosiaError
    ├── ParameterError       (ValueError)       a parameter that makes no sense: epsilon=-1, delta=2, two targets
    ├── UnboundedDataError   (ValueError)       bounds or labels that must be public were not given
    ├── InputError           (ValueError)       a value that cannot be released: NaN, an empty array, text
    ├── SchemaError          (ValueError)       a schema that is not complete, or does not fit the columns' types
    ├── QueryError           (ValueError)       a question that cannot be answered privately, or is not understood
    ├── FormatError          (ValueError)       JSON that is not one of our records, or of a version we do not know
    ├── GuaranteeMismatchError    (TypeError)        arithmetic between guarantees that do not speak of the same thing
    ├── NoIntervalError           (TypeError)        an error bar was asked of an answer that has none (a chosen index)
    ├── NotPricedError            (TypeError)        an accountant was given an event that it has no theorem for
    ├── ExhaustedError            (PermissionError)  the declared number of answers has been given
    ├── BudgetExceededError       (PermissionError)  a filter refused an event that does not fit into what is left
    ├── RequestConflictError      (ValueError)       an idempotency key that was used before, for another request
    ├── NotAllowedError           (PermissionError)  nobody who may do this: no valid key, or a role without the right
    ├── TooManyRequestsError      (PermissionError)  more requests than are allowed in a time
    ├── EngineError          (RuntimeError)     the database did not answer; its own words are kept back
    ├── LedgerError          (RuntimeError)     the ledger cannot be reached, or what it holds was tampered with
    ├── GuardUnreachableError     (ConnectionError)  a privacy guard did not answer
    ├── MissingExtraError         (ImportError)      a feature whose optional dependency is not installed
    └── ConformanceError     (AssertionError)   a mechanism was caught breaking its promise

A message names what the caller passed and what to do about it. It never quotes the data.
"""


class CelosiaError(Exception):
    """The root of the tree: catch this to catch everything that Celosía raises on purpose."""


class ParameterError(CelosiaError, ValueError):
    """A parameter is outside the range in which it has a meaning."""


class UnboundedDataError(CelosiaError, ValueError):
    """Bounds or labels must be known without a look at the data, and were not given."""


class InputError(CelosiaError, ValueError):
    """A value handed to a mechanism cannot be released."""


class SchemaError(CelosiaError, ValueError):
    """A schema is not complete, or does not fit the types of the columns."""


class QueryError(CelosiaError, ValueError):
    """A question is not one of those that can be answered privately; the message says which can."""


class FormatError(CelosiaError, ValueError):
    """A text is not the JSON of a record of ours."""


class GuaranteeMismatchError(CelosiaError, TypeError):
    """Two guarantees of different kind, adjacency or privacy unit were added or compared."""


class NoIntervalError(CelosiaError, TypeError):
    """The released value has no error bar."""


class NotPricedError(CelosiaError, TypeError):
    """An accountant knows no bound for an event; another one may."""


class ExhaustedError(CelosiaError, PermissionError):
    """An interactive mechanism has given all the answers that were paid for."""


class BudgetExceededError(CelosiaError, PermissionError):
    """An event does not fit into the budget; nothing was spent."""


class EngineError(CelosiaError, RuntimeError):
    """A database failed. What it said may quote the data, so it is not repeated."""


class MissingExtraError(CelosiaError, ImportError):
    """An optional dependency is not installed; the message names the extra that brings it."""


class ConformanceError(CelosiaError, AssertionError):
    """A conformance check failed: the message says which one and by how much."""


class RequestConflictError(CelosiaError, ValueError):
    """An idempotency key was used before for another request: draw a new key."""


class NotAllowedError(CelosiaError, PermissionError):
    """Whoever asks has no valid key, or a role that does not include this."""


class TooManyRequestsError(CelosiaError, PermissionError):
    """More requests came than are allowed in a time: wait, then go on."""


class LedgerError(CelosiaError, RuntimeError):
    """The ledger cannot be reached, or what it holds does not fit together."""


class GuardUnreachableError(CelosiaError, ConnectionError):
    """A privacy guard did not answer, or not in a way that is understood."""
