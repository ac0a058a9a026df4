"""What is not there, and what one may not see: the same error for both, in the same words.

Whoever may not see a data set must not learn from an error that it exists. So there is one way to say it, and the
message speaks only of what the caller passed.
"""

from celosia.core.errors import QueryError
from celosia.core.exact import safe_repr


class NotFoundError(QueryError):
    """There is no such thing for whoever asks. Over HTTP it is a 404, and goes by the name of its parent."""

    def __init__(self, kind: str, name: object) -> None:
        super().__init__(f"There is no {kind} {safe_repr(name)} that you may see.")
