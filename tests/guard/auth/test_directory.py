from __future__ import annotations

import datetime as dt
import hashlib
import re
import threading
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa

import celosia as cl
from celosia.core.errors import NotAllowedError, ParameterError
from celosia.guard.auth.directory import INVALID, Directory, draw_hexadecimal, is_user_name
from celosia.guard.roles import Role
from celosia.guard.storage.tables import KEYS, create_tables
from celosia.serving.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from celosia.ledger import Ledger

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
DAY = dt.timedelta(days=1)


class Clock:
    def __init__(self) -> None:
        self.at = NOW

    def __call__(self) -> dt.datetime:
        return self.at


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    with cl.open_ledger("memory://") as opened:
        create_tables(opened)
        yield opened


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def users(ledger: Ledger, clock: Clock) -> Directory:
    return Directory(ledger, clock=clock)


def log_of(ledger: Ledger) -> list[tuple[str, dict[str, Any]]]:
    return [(line.kind, line.body) for line in ledger.entries(after=1)]


def test_a_key_lets_its_user_in(users: Directory) -> None:
    key = users.add("ana", "analyst", by="local")
    assert re.fullmatch(r"celosia_[0-9a-f]{12}_[0-9a-f]{64}", key)
    identity = users.check(key)
    assert (identity.name, identity.role, identity.key_id) == ("ana", Role.ANALYST, key[8:20])


def test_only_the_hash_of_a_key_is_stored_and_the_log_has_its_name_alone(users: Directory, ledger: Ledger) -> None:
    key = users.add("ana", "analyst", by="local")
    secret = key.rpartition("_")[2]
    with ledger.store.reading() as connection:
        dump = "\n".join(connection.connection.dbapi_connection.iterdump())  # type: ignore[union-attr]
        digest = connection.execute(sa.select(KEYS.c.digest)).scalar()
    assert digest == hashlib.sha256(key.encode()).hexdigest()
    assert secret not in dump
    assert log_of(ledger) == [
        ("user added", {"by": "local", "role": "analyst", "user": "ana"}),
        ("key added", {"by": "local", "digest": digest, "expires": None, "key": key[8:20], "user": "ana"}),
    ]
    assert ledger.verify().ok


def test_all_that_is_no_valid_key_is_refused_in_the_same_words(users: Directory, clock: Clock) -> None:
    key = users.add("ana", "analyst", by="local", expires=NOW + DAY)
    revoked = users.add_key("ana", by="local")
    users.revoke(revoked[8:20], by="local")
    wrong = [
        "",
        "celosia_",
        key[:-1],
        key + "0",
        key.upper(),
        f" {key}",
        f"{key}\n",
        key[:-1] + ("0" if key[-1] != "0" else "1"),
        f"celosia_{'0' * 12}_{'0' * 64}",
        key.replace("_", "-"),
        revoked,
        "é" * 100,
        "\ud800",
    ]
    messages = set()
    for text in wrong:
        with pytest.raises(NotAllowedError) as caught:
            users.check(text)
        messages.add(caught.value.code)
    clock.at = NOW + DAY
    with pytest.raises(NotAllowedError) as caught:
        users.check(key)
    assert messages | {caught.value.code} == {INVALID}


def test_a_key_of_one_user_with_the_name_of_another_key_lets_nobody_in(users: Directory) -> None:
    ana, eva = users.add("ana", "analyst", by="local"), users.add("eva", "owner", by="local")
    with pytest.raises(NotAllowedError):
        users.check(ana[:8] + eva[8:20] + ana[20:])


def test_an_unknown_name_is_compared_too(users: Directory, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[str, str]] = []

    def compare(a: str, b: str) -> bool:
        compared.append((a, b))
        return False

    monkeypatch.setattr("hmac.compare_digest", compare)
    known = users.add("ana", "analyst", by="local")
    for text in (known, f"celosia_{'0' * 12}_{'0' * 64}", "nonsense"):
        with pytest.raises(NotAllowedError):
            users.check(text)
    assert len(compared) == 3
    assert all(len(a) == len(b) == 64 for a, b in compared)


def test_a_key_ends_when_it_said(users: Directory, clock: Clock) -> None:
    key = users.add("ana", "analyst", by="local", expires=NOW + DAY)
    clock.at = NOW + DAY - dt.timedelta(microseconds=1)
    assert users.check(key).until == NOW + DAY
    assert users.find_holder(key[8:20]) is not None
    clock.at = NOW + DAY
    assert users.find_holder(key[8:20]) is None


@pytest.mark.parametrize("expires", [NOW, NOW - DAY, dt.datetime(2027, 1, 1)])  # noqa: DTZ001 - what is refused
def test_an_end_that_is_over_or_has_no_zone_is_refused(users: Directory, ledger: Ledger, expires: dt.datetime) -> None:
    with pytest.raises(ParameterError, match="expires must be a moment to come"):
        users.add("ana", "analyst", by="local", expires=expires)
    assert users.users() == ()
    assert log_of(ledger) == []  # the user and the line about it fell with the key


def test_the_last_valid_key_of_an_owner_stays(users: Directory, ledger: Ledger, clock: Clock) -> None:
    first = users.add("olga", "owner", by="local")
    short = users.add("oscar", "owner", by="local", expires=clock() + dt.timedelta(hours=1))
    assert users.revoke(first[8:20], by="local") == (first[8:20],)  # the other is valid for an hour
    head = ledger.head
    for target in ("oscar", short[8:20]):
        with pytest.raises(ParameterError, match="last valid key of an owner"):
            users.revoke(target, by="local")
    assert ledger.head == head
    second = users.add_key("olga", by="local")
    clock.at += dt.timedelta(hours=2)
    with pytest.raises(ParameterError, match="last valid key of an owner"):
        users.revoke("olga", by="local")  # the one of oscar has expired
    assert users.revoke("oscar", by="local") == (short[8:20],)
    assert users.check(second).name == "olga"


def test_two_owners_who_revoke_each_other_at_once_do_not_both_succeed(users: Directory) -> None:
    for name in ("olga", "oscar"):
        users.add(name, "owner", by="local")
    problems: list[Exception] = []

    def revoke(name: str) -> None:
        try:
            users.revoke(name, by="x")
        except ParameterError as error:
            problems.append(error)

    threads = [threading.Thread(target=revoke, args=(name,)) for name in ("olga", "oscar")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(problems) == 1


def test_keys_are_rotated_and_revoked_one_by_one_or_together(users: Directory, ledger: Ledger, clock: Clock) -> None:
    first = users.add("ana", "analyst", by="local")
    clock.at = NOW + DAY
    second = users.add_key("ana", by="eva")
    assert users.revoke(first[8:20], by="local") == (first[8:20],)
    with pytest.raises(NotAllowedError):
        users.check(first)
    assert users.check(second).name == "ana"
    assert users.revoke("ana", by="local") == (second[8:20],)
    assert users.revoke("ana", by="local") == ()
    [card] = users.users()
    assert [key.state(clock.at) for key in card.keys] == ["revoked", "revoked"]
    assert [kind for kind, _ in log_of(ledger)] == [
        "user added",
        "key added",
        "key added",
        "key revoked",
        "key revoked",
    ]
    assert log_of(ledger)[-1][1] == {"by": "local", "key": second[8:20], "user": "ana"}
    third = users.add_key("ana", by="local")
    assert users.check(third).name == "ana"


def test_users_are_listed_without_anything_to_sign_in_with(users: Directory) -> None:
    keys = [users.add(name, role, by="local") for name, role in (("eva", "auditor"), ("ana", "analyst"))]
    found = users.users()
    assert [(card.name, card.role.value) for card in found] == [("ana", "analyst"), ("eva", "auditor")]
    assert not any(key.rpartition("_")[2] in repr(found) for key in keys)


def test_names_that_nobody_can_have_are_refused(users: Directory) -> None:
    cases: list[Any] = [
        "",
        "Ana",
        "local",
        "oidc:ana",
        "a b",
        "-ana",
        "ana\n",
        "a" * 65,
        "añа",
        None,
        7,
        "a\0",
        "\ud800",
    ]
    for name in cases:
        assert not is_user_name(name)
        with pytest.raises(ParameterError, match="name must be 1 to 64 small letters"):
            users.add(name, "analyst", by="local")
        assert not users.exists(name)
        with pytest.raises(NotFoundError):
            users.add_key(name, by="local")
        with pytest.raises(NotFoundError):
            users.revoke(name, by="local")


def test_a_name_is_given_once(users: Directory, ledger: Ledger) -> None:
    users.add("ana", "analyst", by="local")
    lines = log_of(ledger)
    with pytest.raises(ParameterError, match="There is a user 'ana' already"):
        users.add("ana", "owner", by="local")
    with pytest.raises(ParameterError, match="role must be one of"):
        users.add("eva", "king", by="local")
    assert log_of(ledger) == lines
    assert users.exists("ana")
    assert not users.exists("eva")


def test_digits_are_random_and_as_many_as_asked_for() -> None:
    drawn = {draw_hexadecimal(64) for _ in range(100)}
    assert len(drawn) == 100
    assert all(re.fullmatch("[0-9a-f]{64}", text) for text in drawn)
    assert [len(draw_hexadecimal(digits)) for digits in (1, 12, 16, 17)] == [1, 12, 16, 17]
