"""Four roles and one table of permissions, the only place where access is decided.

Duties are separated: a user who sets budgets and bounds cannot query, one who queries cannot read the log, and only
analysts get answers. The table is small enough to read, and tests cover all of it.
"""

from enum import StrEnum
from typing import TYPE_CHECKING, Final

from celosia.core.errors import NotAllowedError, ParameterError
from celosia.core.exact import safe_repr
from celosia.core.messages.message import Message

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
        raise ParameterError("guard.unknown_role", known=", ".join(cls), value=safe_repr(word))


class Permission(StrEnum):
    """A permission; its value is the code of the words that complete the sentence "a … may not …".

    >>> print(Message(Permission.ASK.value))
    ask questions
    """

    READ_SCHEMAS = "guard.permission_read_schemas"
    PREVIEW = "guard.permission_preview"
    ASK = "guard.permission_ask"
    READ_ANSWERS = "guard.permission_read_answers"
    READ_OWN_BUDGET = "guard.permission_read_own_budget"
    READ_BUDGETS = "guard.permission_read_budgets"
    SET_BUDGETS = "guard.permission_set_budgets"
    SET_SCHEMAS = "guard.permission_set_schemas"
    SET_VERSIONS = "guard.permission_set_versions"
    ADD_DATASETS = "guard.permission_add_datasets"
    MANAGE_USERS = "guard.permission_manage_users"
    READ_LOG = "guard.permission_read_log"
    APPROVE = "guard.permission_approve"


_OWNER, _CURATOR, _ANALYST, _AUDITOR = Role
_ROLES: Final = {
    Permission.READ_SCHEMAS: {_OWNER, _CURATOR, _ANALYST, _AUDITOR},
    Permission.PREVIEW: {_ANALYST},
    Permission.ASK: {_ANALYST},
    Permission.READ_ANSWERS: {_ANALYST},
    Permission.READ_OWN_BUDGET: {_ANALYST},
    Permission.READ_BUDGETS: {_OWNER, _CURATOR, _AUDITOR},
    Permission.SET_BUDGETS: {_OWNER, _CURATOR},
    Permission.SET_SCHEMAS: {_CURATOR},
    Permission.SET_VERSIONS: {_OWNER, _CURATOR},
    Permission.ADD_DATASETS: {_OWNER, _CURATOR},
    Permission.MANAGE_USERS: {_OWNER},
    Permission.READ_LOG: {_AUDITOR},
    Permission.APPROVE: {_OWNER, _CURATOR},
}
PERMISSIONS: Final = {role: frozenset(one for one, roles in _ROLES.items() if role in roles) for role in Role}
"""The permissions of each role."""

_REFUSALS: Final = {
    Role.OWNER: "guard.owner_not_permitted",
    Role.CURATOR: "guard.curator_not_permitted",
    Role.ANALYST: "guard.analyst_not_permitted",
    Role.AUDITOR: "guard.auditor_not_permitted",
}


def require(identity: "Identity", *permissions: Permission) -> None:
    """Raise ``NotAllowedError`` unless the identity has one of the permissions."""
    if not PERMISSIONS[identity.role].intersection(permissions):
        raise NotAllowedError(_REFUSALS[identity.role], action=Message(permissions[0].value))
