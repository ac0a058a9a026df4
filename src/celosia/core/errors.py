"""Everything Celosía raises, in one tree, and its two warnings.

::

    CelosiaError
    ├── ParameterError       (ValueError)       a parameter that makes no sense: epsilon=-1, delta=2, two targets
    ├── UnboundedDataError   (ValueError)       bounds or labels that must be public were not given
    ├── InputError           (ValueError)       a value that cannot be released: NaN, an empty array, text
    ├── InfeasibleError      (ValueError)       a request that no file can satisfy: k above the number of records
    ├── SchemaError          (ValueError)       a schema that is not complete, or does not fit the columns' types
    ├── QueryError           (ValueError)       a query that cannot be answered privately, or cannot be parsed
    ├── FormatError          (ValueError)       JSON that is not a Celosía record, or of an unknown version
    ├── GuaranteeMismatchError    (TypeError)        arithmetic between guarantees of different kind, adjacency or unit
    ├── NoIntervalError           (TypeError)        an error bar of an answer that has none (a chosen index)
    ├── NotPricedError            (TypeError)        an event for which an accountant has no theorem
    ├── ExhaustedError            (PermissionError)  an interactive mechanism has no answers left
    ├── BudgetExceededError       (PermissionError)  an event costs more than the remaining budget
    ├── ApprovalRequiredError     (PermissionError)  an event costs more than an analyst may spend without approval
    ├── RequestConflictError      (ValueError)       an idempotency key already used for another request
    ├── NotAllowedError           (PermissionError)  no valid key, or a role without the right
    ├── TooManyRequestsError      (PermissionError)  the rate limit is exceeded
    ├── EngineError          (RuntimeError)     the database failed; its own message is withheld
    ├── LedgerError          (RuntimeError)     the ledger cannot be reached, or its records were tampered with
    ├── GuardUnreachableError     (ConnectionError)  a privacy guard did not answer
    ├── MissingExtraError         (ImportError)      an optional dependency is not installed
    └── ConformanceError     (AssertionError)   a mechanism does not keep its guarantee

Each has a stable ``code`` and ``fields``, from which :mod:`celosia.core.messages` makes its sentence in any language.
The sentence names the value that the caller passed, and the remedy. It never quotes the data.
"""

from celosia.core.messages.message import Field, Message, freeze_field, freeze_fields


class CelosiaError(Exception):
    """Root of the tree: the base class of everything that Celosía raises on purpose.

    Parameters
    ----------
    code
        A code of the catalogue, a ``Message``, or, in packages of others, the sentence itself.
    fields
        The values that the sentence names.

    >>> error = CelosiaError("core.not_positive", name="epsilon", value="-1")
    >>> error.code, str(error)
    ('core.not_positive', 'epsilon must be greater than 0, not -1.')
    """

    def __init__(self, code: str = "", /, **fields: object) -> None:
        given = code.fields if isinstance(code, Message) else {}
        self.code = code.code if isinstance(code, Message) else str(code)  # others may pass anything
        self.fields = freeze_fields({**given, **fields})
        super().__init__(self.code)

    @property
    def message(self) -> Message:
        """The sentence, with its code and fields."""
        return Message(self.code, **self.fields)

    def __str__(self) -> str:
        return str(self.message)


@freeze_field.register(CelosiaError)
def _(error: CelosiaError) -> Field:
    return error.message


class ParameterError(CelosiaError, ValueError):
    """A parameter is outside the range in which it has a meaning."""


class UnboundedDataError(CelosiaError, ValueError):
    """Bounds or labels are missing; they must be public, not read from the data."""


class InputError(CelosiaError, ValueError):
    """A value handed to a mechanism cannot be released."""


class InfeasibleError(CelosiaError, ValueError):
    """No file can satisfy a request; the message names the model or column that blocks it."""


class SchemaError(CelosiaError, ValueError):
    """A schema is not complete, or does not fit the types of the columns."""


class QueryError(CelosiaError, ValueError):
    """A query cannot be answered privately; the message lists the supported ones."""


class FormatError(CelosiaError, ValueError):
    """A string is not the JSON of a Celosía record."""


class GuaranteeMismatchError(CelosiaError, TypeError):
    """Two guarantees of different kind, adjacency or privacy unit were added or compared."""


class NoIntervalError(CelosiaError, TypeError):
    """The released value has no error bar."""


class NotPricedError(CelosiaError, TypeError):
    """An accountant has no bound for an event; another accountant may have one."""


class ExhaustedError(CelosiaError, PermissionError):
    """An interactive mechanism has given all the answers of its budget."""


class BudgetExceededError(CelosiaError, PermissionError):
    """An event costs more than the remaining budget; nothing was spent."""


class ApprovalRequiredError(CelosiaError, PermissionError):
    """A query costs more than an analyst may spend without an approval; nothing was spent.

    ``question`` is the query as the ledger would have recorded it.
    """

    question: str = ""


class EngineError(CelosiaError, RuntimeError):
    """A database failed. Its own message may quote the data, so it is withheld."""


class MissingExtraError(CelosiaError, ImportError):
    """An optional dependency is not installed; the message names the extra that brings it."""


class ConformanceError(CelosiaError, AssertionError):
    """A conformance check failed: the message names it and its excess."""


class RequestConflictError(CelosiaError, ValueError):
    """An idempotency key was already used for another request: draw a new key."""


class NotAllowedError(CelosiaError, PermissionError):
    """The caller has no valid key, or a role without the right."""


class TooManyRequestsError(CelosiaError, PermissionError):
    """The rate limit is exceeded: wait, then retry."""


class LedgerError(CelosiaError, RuntimeError):
    """The ledger cannot be reached, or its records are inconsistent."""


class GuardUnreachableError(CelosiaError, ConnectionError):
    """A privacy guard did not answer, or sent an invalid answer."""


class NotPrivateWarning(UserWarning):
    """A result does not have the privacy that it seems to have; it serves only for comparison.

    >>> issubclass(NotPrivateWarning, UserWarning)
    True
    """


class TuningWarning(UserWarning):
    """A search fits several models: it pays for each, and the choice itself is not private.

    >>> issubclass(TuningWarning, UserWarning)
    True
    """
