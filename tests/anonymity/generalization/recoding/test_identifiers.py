"""Keyed hashing of identifiers."""

from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from celosia.anonymity import Microdata, Roles, read_microdata
from celosia.anonymity.generalization import HashIdentifiers, hash_identifiers
from celosia.core.errors import CelosiaError

if TYPE_CHECKING:
    from pathlib import Path

KEY = "correct horse battery staple"


def read() -> Microdata:
    frame = pa.table({"id": [7, 7, None, 8], "name": ["Ana", "Luis", "Eva", "Ana"], "age": [1, 2, 3, 4]})
    return read_microdata(frame, roles=Roles(identifiers=["id", "name"], quasi_identifiers=["age"]))


def compute(text: str, digits: int = 32) -> str:
    return hmac.new(KEY.encode(), text.encode(), hashlib.sha256).hexdigest()[:digits]


def test_hashes_are_hmac_of_the_value_as_text() -> None:
    done = hash_identifiers(read(), ["id", "name"], key=KEY)
    assert done.get_column("id").to_pylist() == [compute("7"), compute("7"), None, compute("8")]
    assert done.get_column("name").to_pylist() == [compute(name) for name in ("Ana", "Luis", "Eva", "Ana")]


def test_hashed_columns_remain_identifiers_unless_declared_pseudonyms() -> None:
    data = read()
    assert "id" not in hash_identifiers(data, ["id"], key=KEY).to_frame().column_names
    done = hash_identifiers(data, ["id"], key=KEY, pseudonyms=True)
    assert (done.roles.identifiers, done.roles.others) == (("name",), ("id",))
    assert done.to_frame().column_names == ["id", "age"]
    assert data.roles.identifiers == ("id", "name")


def test_the_key_is_read_from_a_variable_or_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = hash_identifiers(read(), ["id"], key=KEY.encode()).table
    monkeypatch.setenv("SURVEY_KEY", KEY)
    (tmp_path / "key").write_text(KEY + "\n")
    for place in ("env:SURVEY_KEY", f"file:{tmp_path / 'key'}"):
        step = HashIdentifiers(columns=["id"], key=place)
        assert step.apply(read()).table.equals(expected)
        assert KEY not in repr(step)


def test_another_key_gives_other_hashes() -> None:
    one, two = (hash_identifiers(read(), ["name"], key=key).get_column("name").to_pylist() for key in (KEY, KEY + "2"))
    assert not set(one) & set(two)


def test_bad_input_is_refused_without_showing_the_key() -> None:
    for make, code in (
        (lambda: HashIdentifiers(columns=["id"], key=KEY), "anonymity_recoding.key_place_unknown"),
        (lambda: HashIdentifiers(columns=["id"], key="env:"), "anonymity_recoding.key_place_unknown"),
        (
            lambda: HashIdentifiers(columns=["id"], key="env:NOT_SET_ANYWHERE").apply(read()),
            "anonymity_recoding.key_not_found",
        ),
        (lambda: HashIdentifiers(columns=[], key="env:A"), "anonymity_recoding.no_column_given"),
        (lambda: HashIdentifiers(columns=["id"], key="env:A", digits=65), "anonymity_recoding.too_many_digits"),
        (lambda: hash_identifiers(read(), ["id"], key="x" * 15), "anonymity_recoding.key_too_short"),
        (lambda: hash_identifiers(read(), ["age"], key=KEY), "anonymity_recoding.not_an_identifier"),
    ):
        with pytest.raises(CelosiaError) as caught:
            make()
        assert caught.value.code == code
        assert KEY not in str(caught.value)
