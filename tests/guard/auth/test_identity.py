from __future__ import annotations

import dataclasses

import pytest

from celosia.core.errors import NotAllowedError
from celosia.guard.auth.directory import is_user_name
from celosia.guard.auth.identity import LOCAL, OIDC_PREFIX, Identity
from celosia.guard.roles import Permission, Role


def test_an_identity_cannot_be_changed() -> None:
    identity = Identity(name="ana", role=Role.ANALYST)
    with pytest.raises(dataclasses.FrozenInstanceError):
        identity.role = Role.OWNER  # type: ignore[misc]


def test_the_local_identity_is_an_owner_without_a_key_that_no_user_can_be() -> None:
    local = Identity.local()
    assert (local.name, local.role, local.key_id) == (LOCAL, Role.OWNER, None)
    assert not is_user_name(LOCAL)
    assert not is_user_name(f"{OIDC_PREFIX}ana")


def test_permissions_can_be_asked_and_required() -> None:
    local = Identity.local()
    local.require(Permission.MANAGE_USERS)
    assert local.may(Permission.MANAGE_USERS)
    with pytest.raises(NotAllowedError, match="An owner may not ask questions"):
        local.require(Permission.ASK)
