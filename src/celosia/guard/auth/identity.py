"""The identity of a caller: a name, a role, and the key that proved it.

Only the guard makes an identity, from a key or token that it has checked; a command on the machine of the store makes
its own. Budgets are counted by name, so a name must always mean the same person: names of an identity provider have a
prefix, which local users cannot have.
"""

import datetime as dt
from dataclasses import dataclass
from typing import Final

from celosia.guard.roles import PERMISSIONS, Permission, Role, require

LOCAL: Final = "local"
"""The name of the owner on the machine itself; no user can have it."""

OIDC_PREFIX: Final = "oidc:"
"""Prefix of names from an identity provider; local names have no colon."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """An authenticated caller.

    ``key_id`` is the public part of the key, None for a token. ``until`` is the expiry of the key or token, which a web
    session must not outlive.

    >>> Identity(name="ana", role=Role.ANALYST, key_id="0123456789ab").name
    'ana'
    """

    name: str
    role: Role
    key_id: str | None = None
    until: dt.datetime | None = None

    @classmethod
    def local(cls) -> "Identity":
        """Return the owner on the machine, who needs no key.

        >>> Identity.local()
        Identity(name='local', role=<Role.OWNER: 'owner'>, key_id=None, until=None)
        """
        return cls(name=LOCAL, role=Role.OWNER)

    def may(self, permission: Permission) -> bool:
        """Whether the role has a permission.

        >>> Identity.local().may(Permission.ASK)
        False
        """
        return permission in PERMISSIONS[self.role]

    def require(self, *permissions: Permission) -> None:
        """Raise ``NotAllowedError`` unless the identity has one of the permissions.

        >>> Identity.local().require(Permission.MANAGE_USERS)
        """
        require(self, *permissions)
