"""Everything Celosía raises, in one tree.

::

    CelosiaError
    ├── ParameterError       (ValueError)       a parameter that makes no sense: epsilon=-1, delta=2, two targets
    ├── UnboundedDataError   (ValueError)       bounds or labels that must be public were not given
    ├── InputError           (ValueError)       a value that cannot be released: NaN, an empty array, text
    ├── SchemaError          (ValueError)       a schema that is not complete, or does not fit the columns' types
    ├── QueryError           (ValueError)       a question that cannot be answered privately, or is not understood
    ├── FormatError          (ValueError)       JSON that is not one of our records, or of a version we do not know
    ├── GuaranteeMismatch    (TypeError)        arithmetic between guarantees that do not speak of the same thing
    ├── NoInterval           (TypeError)        an error bar was asked of an answer that has none (a chosen index)
    ├── NotPriced            (TypeError)        an accountant was given an event that it has no theorem for
    ├── Exhausted            (PermissionError)  the declared number of answers has been given
    ├── BudgetExceeded       (PermissionError)  a filter refused an event that does not fit into what is left
    ├── RequestConflict      (ValueError)       an idempotency key that was used before, for another request
    ├── NotAllowed           (PermissionError)  nobody who may do this: no valid key, or a role without the right
    ├── TooManyRequests      (PermissionError)  more requests than are allowed in a time
    ├── EngineError          (RuntimeError)     the database did not answer; its own words are kept back
    ├── LedgerError          (RuntimeError)     the ledger cannot be reached, or what it holds was tampered with
    ├── GuardUnreachable     (ConnectionError)  a privacy guard did not answer
    ├── MissingExtra         (ImportError)      a feature whose optional dependency is not installed
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


class GuaranteeMismatch(CelosiaError, TypeError):  # noqa: N818 - says what happened; the tree says that it is an error
    """Two guarantees of different kind, adjacency or privacy unit were added or compared."""


class NoInterval(CelosiaError, TypeError):  # noqa: N818 - says what happened; the tree says that it is an error
    """The released value has no error bar."""


class NotPriced(CelosiaError, TypeError):  # noqa: N818 - says what happened; the tree says that it is an error
    """An accountant knows no bound for an event; another one may."""


class Exhausted(CelosiaError, PermissionError):  # noqa: N818 - says what happened; the tree says that it is an error
    """An interactive mechanism has given all the answers that were paid for."""


class BudgetExceeded(CelosiaError, PermissionError):  # noqa: N818 - says what happened; the tree says it is an error
    """An event does not fit into the budget; nothing was spent."""


class EngineError(CelosiaError, RuntimeError):
    """A database failed. What it said may quote the data, so it is not repeated."""


class MissingExtra(CelosiaError, ImportError):  # noqa: N818 - says what happened; the tree says that it is an error
    """An optional dependency is not installed; the message names the extra that brings it."""


class ConformanceError(CelosiaError, AssertionError):
    """A conformance check failed: the message says which one and by how much."""


class RequestConflict(CelosiaError, ValueError):  # noqa: N818 - says what happened; the tree says that it is an error
    """An idempotency key was used before for another request: draw a new key."""


class NotAllowed(CelosiaError, PermissionError):  # noqa: N818 - says what happened; the tree says that it is an error
    """Whoever asks has no valid key, or a role that does not include this."""


class TooManyRequests(CelosiaError, PermissionError):  # noqa: N818 - says what happened; the tree says that it is an error
    """More requests came than are allowed in a time: wait, then go on."""


class LedgerError(CelosiaError, RuntimeError):
    """The ledger cannot be reached, or what it holds does not fit together."""


class GuardUnreachable(CelosiaError, ConnectionError):  # noqa: N818 - says what happened; the tree says that it is an error
    """A privacy guard did not answer, or not in a way that is understood."""
