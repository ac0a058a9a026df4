"""Who asks: a name, a role, and the key that said so.

An identity is made by the guard alone, from a key or a token that it has checked, or by a command on the machine that
holds the store. The name is what budgets are counted by, so it must mean the same person for ever: names that come
from elsewhere are prefixed and can never be those of a local user.
"""

import datetime as dt
from dataclasses import dataclass
from typing import Final

from celosia.guard.roles import PERMISSIONS, Permission, Role, require

LOCAL: Final = "local"
"""The name of whoever works on the machine itself; no user can have it."""

OIDC_PREFIX: Final = "oidc:"
"""Begins the names that an identity provider vouches for; names of users here have no colon."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Somebody whose key or token was checked.

    ``key_id`` is the public part of the key that was shown, None for a token. ``until`` is when what was shown ends:
    a sign-in must not outlive it.

    >>> Identity(name="ana", role=Role.ANALYST, key_id="0123456789ab").name
    'ana'
    """

    name: str
    role: Role
    key_id: str | None = None
    until: dt.datetime | None = None

    @classmethod
    def local(cls) -> "Identity":
        """Return the owner who works on the machine, and needs no key.

        >>> Identity.local()
        Identity(name='local', role=<Role.OWNER: 'owner'>, key_id=None, until=None)
        """
        return cls(name=LOCAL, role=Role.OWNER)

    def may(self, permission: Permission) -> bool:
        """Whether the role includes a permission: pages show only what can be done.

        >>> Identity.local().may(Permission.ASK)
        False
        """
        return permission in PERMISSIONS[self.role]

    def require(self, *permissions: Permission) -> None:
        """Refuse whoever has none of the permissions.

        >>> Identity.local().require(Permission.MANAGE_USERS)
        """
        require(self, *permissions)
