"""Kinds of releases: what left the house, by one word in the log.

A statement lists the spending of a budget by kind. The cost of a release is that of its event, whatever its kind.
"""

from typing import Final, Literal, TypeAlias, get_args

from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr

ReleaseKind: TypeAlias = Literal["query", "model", "local", "federated", "other"]
"""Queries, models, local collections, federated training, and all others."""

RELEASE_KINDS: Final[tuple[ReleaseKind, ...]] = get_args(ReleaseKind)
"""The kinds, in the order of a statement."""


def exact_kind(kind: object) -> ReleaseKind:
    """Return a kind of release; refuse anything else."""
    for known in RELEASE_KINDS:
        if isinstance(kind, str) and kind == known:
            return known
    raise ParameterError("ledger.unknown_release_kind", known=", ".join(RELEASE_KINDS), kind=safe_repr(kind))


def read_kind(stored: object) -> ReleaseKind:
    """Return the kind of a log line; a kind that only a later version knows is ``"other"``."""
    return "other" if isinstance(stored, str) and stored not in RELEASE_KINDS else exact_kind(stored)
