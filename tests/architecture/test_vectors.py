"""The vectors for clients in other languages are what the code gives, and what the written format gives."""

from __future__ import annotations

import hashlib
import hmac
import json
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

import celosia.local
from celosia.local.base.protocol import Protocol
from tests.local import reference_client as reference
from tests.local.wire_vectors import PROTOCOLS, files, read

if TYPE_CHECKING:
    from decimal import Decimal
    from pathlib import Path

FEWEST = 10


@pytest.fixture(scope="module")
def committed(root: Path) -> dict[str, str]:
    folder = root / "clients" / "vectors"
    return {file.name: file.read_text(encoding="utf-8") for file in folder.glob("*.json")}


def test_committed_vectors_are_what_the_code_gives(committed: dict[str, str]) -> None:
    made = files()
    assert committed.keys() == made.keys()
    changed = [name for name, text in made.items() if committed[name] != text]
    assert not changed, "the wire format changed; if that is meant: python -m tests.local.wire_vectors"


def test_every_protocol_has_vectors() -> None:
    exported = {getattr(celosia.local, name) for name in celosia.local.__all__}
    protocols = {kind for kind in exported if isinstance(kind, type) and issubclass(kind, Protocol)} - {Protocol}
    covered = {type(protocol) for parts in PROTOCOLS.values() for protocol, _ in parts}
    assert protocols <= covered
    assert covered == {Protocol._kinds[name] for name in reference.PLAIN | reference.MEMOISED}


@pytest.mark.parametrize("name", sorted(PROTOCOLS))
def test_another_implementation_of_the_format_gives_the_same_records(committed: dict[str, str], name: str) -> None:
    content = json.loads(committed[f"{name}.json"])
    message = content["message"].encode()
    assert sum(len(part["vectors"]) for part in content["protocols"]) >= FEWEST
    for part in content["protocols"]:
        text: str = part["protocol"]
        assert hashlib.sha256(text.encode()).hexdigest()[:6] == part["fingerprint"]
        records = []
        for vector in part["vectors"]:
            secret = bytes.fromhex(vector["secret"])
            key = hmac.digest(secret, message, "sha256")
            made = reference.record(text, read(vector), key, secret if vector["memoised"] else None)
            assert made.hex() == vector["record"]
            records.append(made)
        protocol: Protocol[Any] = Protocol.from_json(text)
        aggregate = protocol.aggregate().absorb(records)
        assert (aggregate.reports, aggregate.rejected) == (len(records), 0)


def test_hashing_is_that_of_another_implementation(committed: dict[str, str]) -> None:
    content = json.loads(committed["hashing.json"])
    for vector in content["digests"]:
        assert f"{reference.digest(read(vector), int(vector['seed'])):016x}" == vector["digest"]
    for family in content["families"]:
        seed, width, independence = int(family["seed"]), family["width"], family["independence"]
        for row, numbers in enumerate(family["coefficients"]):
            found = [reference.xxh64(reference.pair(row, i), seed) % reference.PRIME for i in range(independence)]
            assert [f"{number:016x}" for number in found] == numbers
        for vector in family["columns"]:
            word = reference.digest(read(vector))
            columns = [reference.column(word, row, width, seed, independence) for row in range(family["rows"])]
            assert columns == vector["columns"]


def test_draws_are_those_of_another_implementation(committed: dict[str, str]) -> None:
    content = json.loads(committed["draws.json"])
    key = hmac.digest(bytes.fromhex(content["secret"]), content["message"].encode(), "sha256")
    assert key.hex() == content["key"]
    stream = reference.Stream(key)
    assert [f"{stream.word():016x}" for _ in content["words"]] == content["words"]
    stream = reference.Stream(key)
    assert [str(stream.below(int(draw["bound"]))) for draw in content["below"]] == [
        draw["number"] for draw in content["below"]
    ]
    for coin in content["digits"]:
        chance: Fraction | Decimal
        if "ratio" in coin:
            chance = Fraction(coin["ratio"])
        elif "exponent" in coin:
            chance = reference.exponential(Fraction(coin["exponent"]))
        else:
            chance = reference.truth(Fraction(coin["epsilon"]), Fraction(coin["odds"]))
        assert f"{reference.digits_of(chance, 64)[0]:016x}" == coin["digits"]


def test_coins_that_tie_ask_for_a_further_word() -> None:
    third = Fraction(1, 3)
    digits, _ = reference.digits_of(third, 64)
    for following, shown in ((0, True), (2**64 - 1, False)):
        stream = reference.Stream(bytes(32))
        stream.ready = digits.to_bytes(8, "little") + following.to_bytes(8, "little")
        assert stream.coin(third) is shown
