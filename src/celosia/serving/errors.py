"""One error for what does not exist and for what the caller may not see.

A caller without access must not learn from an error that a data set exists. The message names only what the caller
passed.
"""

from celosia.core.errors import QueryError
from celosia.core.exact import safe_repr


class NotFoundError(QueryError):
    """The object does not exist, or the caller may not see it. Over HTTP it is a 404 with the name of its parent."""

    def __init__(self, code: str, /, name: object) -> None:
        super().__init__(code, name=safe_repr(name))
