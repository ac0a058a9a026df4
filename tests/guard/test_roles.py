from __future__ import annotations

import pytest

from celosia.core.errors import NotAllowedError, ParameterError
from celosia.core.messages.message import Message
from celosia.guard.auth.identity import Identity
from celosia.guard.roles import PERMISSIONS, Permission, Role, require

P = Permission
# Written out a second time, so that a slip of the table is seen.
TABLE = {
    P.READ_SCHEMAS: {"owner", "curator", "analyst", "auditor"},
    P.PREVIEW: {"analyst"},
    P.ASK: {"analyst"},
    P.READ_ANSWERS: {"analyst"},
    P.READ_OWN_BUDGET: {"analyst"},
    P.READ_BUDGETS: {"owner", "curator", "auditor"},
    P.SET_BUDGETS: {"owner", "curator"},
    P.SET_SCHEMAS: {"curator"},
    P.SET_VERSIONS: {"owner", "curator"},
    P.ADD_DATASETS: {"owner", "curator"},
    P.MANAGE_USERS: {"owner"},
    P.READ_LOG: {"auditor"},
    P.APPROVE: {"owner", "curator"},
}


def test_every_role_has_its_permissions_and_no_other() -> None:
    for role in list(Role):
        for permission in list(Permission):
            identity = Identity(name="somebody", role=role)
            if role.value in TABLE[permission]:
                require(identity, permission)
                assert identity.may(permission)
            else:
                with pytest.raises(NotAllowedError, match=f"An? {role} may not {Message(permission.value)}"):
                    require(identity, permission)
                assert not identity.may(permission)


def test_nobody_but_an_analyst_asks_and_analysts_change_nothing() -> None:
    changing = {P.SET_BUDGETS, P.SET_SCHEMAS, P.SET_VERSIONS, P.ADD_DATASETS, P.MANAGE_USERS}
    assert [role for role in Role if P.ASK in PERMISSIONS[role]] == [Role.ANALYST]
    assert not PERMISSIONS[Role.ANALYST] & changing
    assert not PERMISSIONS[Role.AUDITOR] & changing


def test_one_of_several_permissions_is_enough() -> None:
    require(Identity(name="ana", role=Role.ANALYST), P.READ_BUDGETS, P.READ_OWN_BUDGET)


def test_a_role_that_is_none_is_refused() -> None:
    cases: list[object] = ["king", "", "Owner", None, 3, ["owner"]]
    for word in cases:
        with pytest.raises(ParameterError, match="role must be one of owner, curator, analyst, auditor"):
            Role.of(word)
