from __future__ import annotations

import base64
import datetime as dt
import hashlib
import hmac
import http.server
import json
import threading
import time
from typing import TYPE_CHECKING, Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from celosia.core.errors import NotAllowedError
from celosia.guard.auth.directory import INVALID
from celosia.guard.auth.oidc import ALGORITHMS, PublicKeys, TokenChecker, fetch
from celosia.guard.config.sections import Oidc
from celosia.guard.roles import Role

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

ISSUER, AUDIENCE = "https://login.example", "celosia"


class Key:
    """A key of the provider: it signs tokens, and its public half is published."""

    def __init__(self, kind: str, kid: str, algorithm: str, **extra: str) -> None:
        self.private: Any = {
            "RSA": lambda: rsa.generate_private_key(65_537, 2_048),
            "weak": lambda: rsa.generate_private_key(65_537, 1_024),
            "EC": lambda: ec.generate_private_key(ec.SECP256R1()),
            "OKP": ed25519.Ed25519PrivateKey.generate,
        }[kind]()
        self.kid, self.algorithm, self.extra = kid, algorithm, extra

    def jwk(self) -> dict[str, Any]:
        public = self.private.public_key()
        written = json.loads(jwt.algorithms.get_default_algorithms()[self.algorithm].to_jwk(public))
        return {**written, "kid": self.kid, **self.extra}

    def pem(self) -> bytes:
        form = serialization.PublicFormat.SubjectPublicKeyInfo
        pem: bytes = self.private.public_key().public_bytes(serialization.Encoding.PEM, form)
        return pem

    def sign(self, claims: dict[str, Any], **header: Any) -> str:
        return jwt.encode(claims, self.private, algorithm=self.algorithm, headers={"kid": self.kid} | header)


KEYS = {
    "rsa": Key("RSA", "rsa", "RS256", use="sig"),
    "pss": Key("RSA", "pss", "PS384"),
    "ec": Key("EC", "ec", "ES256"),
    "ed": Key("OKP", "ed", "EdDSA", use="sig"),
}
STRANGER = Key("EC", "ec", "ES256")
WEAK = Key("weak", "weak", "RS256")
ENCRYPTING = Key("RSA", "enc", "RS256", use="enc")


def claims(**changed: Any) -> dict[str, Any]:
    plain = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": "ana",
        "roles": ["staff", "researchers"],
        "exp": int(time.time()) + 3_600,
        "iat": int(time.time()),
    }
    return {name: value for name, value in (plain | changed).items() if value is not None}


def config(**changed: Any) -> Oidc:
    plain: dict[str, Any] = {
        "issuer": ISSUER,
        "audience": AUDIENCE,
        "jwks": "keys.json",
        "roles": {"auditors": "auditor", "researchers": "analyst"},
    }
    return Oidc(**plain | changed)


def publish_keys(*keys: dict[str, Any]) -> str:
    own = [key.jwk() for key in (*KEYS.values(), WEAK, ENCRYPTING)]
    return json.dumps({"keys": [*own, {"kty": "oct", "kid": "secret", "k": "c2VjcmV0"}, *keys]})


def checker(**changed: Any) -> TokenChecker:
    return TokenChecker(config(**changed), keys=PublicKeys("keys.json", read=lambda _: publish_keys()))


def part(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


@pytest.mark.parametrize("name", KEYS)
def test_a_token_that_the_provider_signed_is_believed(name: str) -> None:
    identity = checker().check(KEYS[name].sign(claims()))
    assert (identity.name, identity.role, identity.key_id) == ("oidc:ana", Role.ANALYST, None)
    assert identity.until is not None
    assert dt.timedelta(minutes=59) < identity.until - dt.datetime.now(dt.UTC) < dt.timedelta(minutes=61)


def test_claims_that_are_not_for_us_or_not_for_now_are_refused() -> None:
    cases: list[dict[str, Any]] = [
        {"iss": "https://other.example"},
        {"iss": None},
        {"aud": "another"},
        {"aud": None},
        {"aud": []},
        {"exp": 1},
        {"exp": None},
        {"exp": "never"},
        {"exp": int(time.time()) - 60},
        {"nbf": int(time.time()) + 3_600},
        {"iat": int(time.time()) + 3_600},
        {"sub": None},
        {"sub": ""},
        {"sub": "a\nb"},
        {"sub": "a" * 181},
    ]
    for changed in cases:
        with pytest.raises(NotAllowedError) as caught:
            checker().check(KEYS["ec"].sign(claims(**changed)))
        assert caught.value.code == INVALID


def test_an_audience_may_be_one_of_several() -> None:
    assert checker().check(KEYS["ec"].sign(claims(aud=["x", AUDIENCE]))).name == "oidc:ana"


def test_a_name_that_is_no_text_is_refused() -> None:
    for name in (7, True, ["ana"], {"ana": 1}):
        with pytest.raises(NotAllowedError):
            checker(name_claim="n").check(KEYS["ec"].sign(claims(n=name)))


def none_token() -> str:
    return f"{part({'alg': 'none', 'kid': 'rsa', 'typ': 'JWT'})}.{part(claims())}."


def confused_token() -> str:
    """The classic: the public key, which everybody has, used as a shared secret."""
    head = f"{part({'alg': 'HS256', 'kid': 'rsa', 'typ': 'JWT'})}.{part(claims())}"
    mac = hmac.new(KEYS["rsa"].pem(), head.encode(), hashlib.sha256).digest()
    return f"{head}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"


def secret_token() -> str:
    """The provider published a shared secret by mistake."""
    return jwt.encode(claims(), "c2VjcmV0" * 8, algorithm="HS256", headers={"kid": "secret"})


def replace_claims(token: str, claims_: dict[str, Any]) -> str:
    head, _, signature = token.split(".")
    return f"{head}.{part(claims_)}.{signature}"


@pytest.mark.parametrize(
    "token",
    [
        none_token,
        confused_token,
        secret_token,
        lambda: STRANGER.sign(claims()),
        lambda: WEAK.sign(claims()),
        lambda: ENCRYPTING.sign(claims()),
        lambda: KEYS["ec"].sign(claims(), kid="nobody"),
        lambda: KEYS["ec"].sign(claims(), kid="rsa"),
        lambda: KEYS["ec"].sign(claims(), crit=["x"], x=1),
        lambda: replace_claims(KEYS["ec"].sign(claims()), claims(sub="eva")),
        lambda: KEYS["ec"].sign(claims())[:-4],
        lambda: "a.b.c",
        lambda: "..",
        lambda: "é.é.é",
        lambda: f"{part({'alg': ['ES256']})}.{part(claims())}.AA",
        lambda: f"{part([])}.{part(claims())}.AA",
        lambda: "a" * 20_000 + ".b.c",
    ],
)
@pytest.mark.filterwarnings("ignore::jwt.warnings.InsecureKeyLengthWarning")
def test_what_the_provider_did_not_sign_is_refused_in_the_same_words(token: Callable[[], str]) -> None:
    with pytest.raises(NotAllowedError) as caught:
        checker().check(token())
    assert caught.value.code == INVALID


def test_only_asymmetric_signatures_are_known() -> None:
    names = [name for family in ALGORITHMS.values() for name in family]
    assert not [name for name in names if name.startswith("HS") or name.lower() == "none"]


def test_a_key_says_for_which_algorithm_it_is() -> None:
    pinned = Key("RSA", "pinned", "RS256", alg="RS512")
    keys = PublicKeys("keys.json", read=lambda _: json.dumps({"keys": [pinned.jwk()]}))
    with pytest.raises(NotAllowedError):
        TokenChecker(config(), keys=keys).check(pinned.sign(claims()))


def test_without_a_name_the_only_fitting_key_is_taken() -> None:
    def token() -> str:
        return jwt.encode(claims(), KEYS["ec"].private, algorithm="ES256")

    assert checker().check(token()).name == "oidc:ana"
    two = PublicKeys("keys.json", read=lambda _: publish_keys(STRANGER.jwk() | {"kid": "two"}))
    with pytest.raises(NotAllowedError):
        TokenChecker(config(), keys=two).check(token())


@pytest.mark.parametrize(
    ("claim", "given", "role"),
    [
        ("roles", {"roles": ["researchers"]}, Role.ANALYST),
        ("roles", {"roles": "researchers"}, Role.ANALYST),
        ("roles", {"roles": ["researchers", "auditors"]}, Role.AUDITOR),  # the first of the configuration
        ("realm.roles", {"roles": None, "realm": {"roles": ["auditors"]}}, Role.AUDITOR),
        ("https://example/roles", {"roles": None, "https://example/roles": ["auditors"]}, Role.AUDITOR),
    ],
)
def test_the_role_comes_from_the_claim(claim: str, given: dict[str, Any], role: Role) -> None:
    assert checker(role_claim=claim).check(KEYS["ec"].sign(claims(**given))).role is role


def test_claims_without_a_role_here_let_nobody_in() -> None:
    cases: list[Any] = [None, [], "king", ["king", "analyst"], 7, {"researchers": True}, [["researchers"]]]
    for roles in cases:
        with pytest.raises(NotAllowedError, match="give no role here"):
            checker().check(KEYS["ec"].sign(claims(roles=roles)))


# ------------------------------------------------------------------------------------------------------- the keys


class Provider(http.server.ThreadingHTTPServer):
    """A provider's address for keys, on this machine."""

    def __init__(self) -> None:
        self.body, self.status, self.asked = publish_keys().encode(), 200, 0
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/keys"


class Handler(http.server.BaseHTTPRequestHandler):
    server: Provider

    def do_GET(self) -> None:
        self.server.asked += 1
        self.send_response(self.server.status)
        if self.server.status == 302:
            self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", str(len(self.server.body)))
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def provider() -> Iterator[Provider]:
    server = Provider()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_keys_come_from_the_address_and_are_kept(provider: Provider) -> None:
    clock = Clock()
    tokens = TokenChecker(config(jwks=provider.url), keys=PublicKeys(provider.url, clock=clock))
    for _ in range(5):
        assert tokens.check(KEYS["rsa"].sign(claims())).name == "oidc:ana"
    assert provider.asked == 1
    clock.now += 601
    tokens.check(KEYS["rsa"].sign(claims()))
    assert provider.asked == 2


def test_made_up_names_cannot_make_us_ask_often(provider: Provider) -> None:
    clock = Clock()
    tokens = TokenChecker(config(), keys=PublicKeys(provider.url, clock=clock))
    for number in range(50):
        clock.now += 1
        with pytest.raises(NotAllowedError):
            tokens.check(KEYS["rsa"].sign(claims(), kid=f"made-up-{number}"))
    assert provider.asked <= 3


def test_a_new_key_is_found_soon(provider: Provider) -> None:
    clock = Clock()
    tokens = TokenChecker(config(), keys=PublicKeys(provider.url, clock=clock))
    tokens.check(KEYS["rsa"].sign(claims()))
    new = Key("EC", "new", "ES256")
    provider.body = json.dumps({"keys": [new.jwk()]}).encode()
    clock.now += 31
    assert tokens.check(new.sign(claims())).name == "oidc:ana"
    with pytest.raises(NotAllowedError):  # which is no longer published
        tokens.check(KEYS["rsa"].sign(claims()))


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (500, b""),
        (302, b""),
        (200, b"nonsense"),
        (200, b"[]"),
        (200, b'{"keys": 7}'),
        (200, b"\xff"),
        (200, b" " * 1_100_000),
        (200, json.dumps({"keys": [{}] * 101}).encode()),
    ],
    ids=["error", "redirect", "nonsense", "list", "number", "no text", "too long", "too many keys"],
)
def test_a_provider_out_of_order_is_survived_for_a_day(provider: Provider, status: int, body: bytes) -> None:
    clock = Clock()
    tokens = TokenChecker(config(), keys=PublicKeys(provider.url, clock=clock))
    tokens.check(KEYS["rsa"].sign(claims()))
    provider.status, provider.body = status, body
    clock.now += 86_000
    assert tokens.check(KEYS["rsa"].sign(claims())).name == "oidc:ana"
    clock.now += 1_000
    with pytest.raises(NotAllowedError, match="cannot be checked now"):
        tokens.check(KEYS["rsa"].sign(claims()))


def test_strange_things_among_the_keys_are_left_out(provider: Provider) -> None:
    strange: list[object] = [
        7,
        None,
        [],
        {},
        {"kty": 7},
        {"kty": "EC"},
        {"kty": "RSA", "kid": "broken", "n": "x", "e": "y"},
    ]
    provider.body = json.dumps({"keys": [*strange, KEYS["rsa"].jwk()]}).encode()
    tokens = TokenChecker(config(), keys=PublicKeys(provider.url))
    assert tokens.check(KEYS["rsa"].sign(claims())).name == "oidc:ana"
    with pytest.raises(NotAllowedError):
        tokens.check(KEYS["rsa"].sign(claims(), kid="broken"))


def test_keys_can_be_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    file.write_text(publish_keys(), encoding="utf-8")
    assert json.loads(fetch(str(file)))["keys"]
    assert TokenChecker(config(jwks=str(file))).check(KEYS["ed"].sign(claims())).name == "oidc:ana"


def test_nobody_comes_in_while_the_keys_were_never_read() -> None:
    with pytest.raises(NotAllowedError, match="cannot be checked now"):
        TokenChecker(config(jwks="nowhere.json")).check(KEYS["ed"].sign(claims()))


def test_many_threads_ask_once(provider: Provider) -> None:
    keys = PublicKeys(provider.url)
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(keys.find("rsa", "RS256"))) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 16
    assert all(found)
    assert provider.asked == 1


def test_a_slow_provider_does_not_hold_up_those_whose_keys_are_known() -> None:
    asked, go_on, slow = threading.Semaphore(0), threading.Event(), False
    document = json.dumps({"keys": [KEYS["ec"].jwk()]})
    time_now = [0.0]

    def read(_place: str) -> str:
        if slow:
            asked.release()
            assert go_on.wait(600)
        return document

    keys = PublicKeys("https://login.example/keys", read=read, clock=lambda: time_now[0])
    assert keys.find("ec", "ES256") is not None
    slow, time_now[0] = True, 3_000.0
    waiting = threading.Thread(target=keys.find, args=("made up", "ES256"))
    waiting.start()
    assert asked.acquire(timeout=600)
    try:
        assert keys.find("ec", "ES256") is not None
        assert keys.find("another", "ES256") is None  # and is not waited for either
        time_now[0] = 10_000.0
        assert keys.find("ec", "ES256") is not None
    finally:
        go_on.set()
        waiting.join()
