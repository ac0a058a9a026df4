"""Four roles and one table of permissions, the only place where access is decided.

Duties are separated: a user who sets budgets and bounds cannot query, one who queries cannot read the log, and only
analysts get answers. The table is small enough to read, and tests cover all of it.
"""

from enum import StrEnum
from typing import TYPE_CHECKING, Final

from celosia.core.errors import NotAllowedError, ParameterError
from celosia.core.exact import safe_repr

if TYPE_CHECKING:
    from celosia.guard.auth.identity import Identity


class Role(StrEnum):
    """The role of a user.

    >>> Role.of("analyst") is Role.ANALYST
    True
    """

    OWNER = "owner"
    CURATOR = "curator"
    ANALYST = "analyst"
    AUDITOR = "auditor"

    @classmethod
    def of(cls, word: object) -> "Role":
        """Return the role of a name.

        >>> Role.of("king")
        Traceback (most recent call last):
        ...
        celosia.core.errors.ParameterError: role must be one of owner, curator, analyst, auditor, not 'king'.
        """
        if isinstance(word, str) and word in cls._value2member_map_:
            return cls(word)
        raise ParameterError(f"role must be one of {', '.join(cls)}, not {safe_repr(word)}.")


class Permission(StrEnum):
    """A permission; its value completes the sentence "a … may not …".

    >>> Permission.ASK.value
    'ask questions'
    """

    READ_SCHEMAS = "see data sets"
    PREVIEW = "preview questions"
    ASK = "ask questions"
    READ_ANSWERS = "read answers"
    READ_OWN_BUDGET = "see the own budget"
    READ_BUDGETS = "see all budgets"
    SET_BUDGETS = "set budgets"
    SET_SCHEMAS = "change schemas"
    SET_VERSIONS = "declare new versions of data"
    ADD_DATASETS = "add data sets"
    MANAGE_USERS = "manage users and keys"
    READ_LOG = "read the log"


PERMISSIONS: Final[dict[Role, frozenset[Permission]]] = {
    Role.OWNER: frozenset(
        {
            Permission.READ_SCHEMAS,
            Permission.READ_BUDGETS,
            Permission.SET_BUDGETS,
            Permission.SET_VERSIONS,
            Permission.ADD_DATASETS,
            Permission.MANAGE_USERS,
        }
    ),
    Role.CURATOR: frozenset(
        {
            Permission.READ_SCHEMAS,
            Permission.READ_BUDGETS,
            Permission.SET_BUDGETS,
            Permission.SET_SCHEMAS,
            Permission.SET_VERSIONS,
            Permission.ADD_DATASETS,
        }
    ),
    Role.ANALYST: frozenset(
        {
            Permission.READ_SCHEMAS,
            Permission.PREVIEW,
            Permission.ASK,
            Permission.READ_ANSWERS,
            Permission.READ_OWN_BUDGET,
        }
    ),
    Role.AUDITOR: frozenset({Permission.READ_SCHEMAS, Permission.READ_BUDGETS, Permission.READ_LOG}),
}
"""The permissions of each role."""


def require(identity: "Identity", *permissions: Permission) -> None:
    """Raise ``NotAllowedError`` unless the identity has one of the permissions."""
    if not PERMISSIONS[identity.role].intersection(permissions):
        article = "An" if identity.role.value[0] in "ao" else "A"
        raise NotAllowedError(f"{article} {identity.role} may not {permissions[0]}.")
