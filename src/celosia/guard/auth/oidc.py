"""Bearer tokens of an identity provider (OpenID Connect): signed claims, checked with the provider's public keys.

Only asymmetric signatures are accepted, and a key verifies only algorithms of its own kind: a token with ``none``, or
with a public key as a shared secret, finds no key. Issuer, audience and expiry are required. The keys are read from the
configured address and cached for minutes. An unknown key triggers a new read at most twice a minute, so that forged
tokens cannot make the guard flood the provider. RFC 7519; RFC 8725 (best practice).
"""

import datetime as dt
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from celosia.core.errors import CelosiaError, NotAllowedError
from celosia.core.extras import require
from celosia.core.strict_json import read_json
from celosia.guard.auth.directory import INVALID
from celosia.guard.auth.identity import OIDC_PREFIX, Identity
from celosia.guard.config.sections import Oidc
from celosia.guard.roles import Role

ALGORITHMS: Final[dict[str, tuple[str, ...]]] = {
    "RSA": ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    "EC": ("ES256", "ES384", "ES512"),
    "OKP": ("EdDSA",),
}
"""The accepted signature algorithms, by the kind of key."""

_PUBLIC_FIELDS: Final = ("kty", "kid", "use", "alg", "n", "e", "crv", "x", "y")
_UNREADABLE: Final = "guard.provider_keys_unreadable"
_MAX_TOKEN_LENGTH: Final = 16_384
_MAX_NAME_LENGTH: Final = 180
_MAX_KEY_SET_BYTES: Final = 1_048_576
_MAX_KEYS: Final = 100
_FETCH_SECONDS: Final = 5.0
_REFRESH_SECONDS: Final = 600.0  # age at which keys are read again
_MAX_STALE_SECONDS: Final = 86_400.0  # age up to which old keys serve if reading fails
_MIN_REFRESH_SECONDS: Final = 30.0  # between two reads
_LEEWAY: Final = 30
_MIN_RSA_BITS: Final = 2_048


class PublicKeys:
    """Cached public keys of a provider, from an address or a file."""

    def __init__(
        self, place: str, *, read: "Callable[[str], str] | None" = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._place = place
        self._read = fetch if read is None else read
        self._clock = clock
        self._lock = threading.Lock()
        self._keys: tuple[dict[str, Any], ...] = ()
        self._loaded: float | None = None
        self._tried: float | None = None

    def find(self, kid: str | None, algorithm: str) -> dict[str, Any] | None:
        """Return the key of a token for this algorithm; without an id, the only key that fits."""
        now = self._clock()
        fitting = self._find_fitting(kid, algorithm)
        wanted = self._loaded is None or now - self._loaded >= _REFRESH_SECONDS or not fitting
        # One thread reads, the others go on with the cached keys: a slow provider does not block them.
        if wanted and self._lock.acquire(blocking=self._loaded is None):
            try:
                self._refresh(now)
            finally:
                self._lock.release()
            fitting = self._find_fitting(kid, algorithm)
        if self._loaded is None or now - self._loaded >= _MAX_STALE_SECONDS:
            raise NotAllowedError(_UNREADABLE)
        return fitting[0] if len(fitting) == 1 else None

    def _find_fitting(self, kid: str | None, algorithm: str) -> list[dict[str, Any]]:
        return [
            key
            for key in self._keys
            if algorithm in ALGORITHMS[key["kty"]]
            and key.get("alg", algorithm) == algorithm
            and (kid is None or key.get("kid") == kid)
        ]

    def _refresh(self, now: float) -> None:
        if self._tried is not None and now - self._tried < _MIN_REFRESH_SECONDS:
            return
        self._tried = now
        try:
            self._keys = _parse_keys(read_json(self._read(self._place)))
        except Exception:  # noqa: BLE001 - if reading fails for any reason, the cached keys stay
            return
        self._loaded = now


def fetch(place: str) -> str:
    """Return the text at an address or in a file: without redirects, within seconds, at most a megabyte."""
    if "://" not in place:
        with Path(place).open("rb") as stream:
            return stream.read(_MAX_KEY_SET_BYTES).decode("utf-8")
    httpx = require("httpx", extra="guard")
    end, parts, size = time.monotonic() + _FETCH_SECONDS, [], 0
    with httpx.stream("GET", place, timeout=_FETCH_SECONDS, follow_redirects=False) as response:
        for part in response.iter_bytes():
            parts.append(part)
            size += len(part)
            if size > _MAX_KEY_SET_BYTES or time.monotonic() > end:
                raise ValueError("The keys are too long, or take too long.")
        if response.status_code != 200:
            raise ValueError("The keys are not there.")
    return b"".join(parts).decode("utf-8")


def _parse_keys(document: object) -> tuple[dict[str, Any], ...]:
    listed = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(listed, list) or len(listed) > _MAX_KEYS:
        raise ValueError("This is no set of keys.")
    found = [key for key in listed if isinstance(key, dict) and _is_signing_key(key)]
    return tuple({name: key[name] for name in _PUBLIC_FIELDS if name in key} for key in found)


def _is_signing_key(key: Mapping[str, Any]) -> bool:
    kind = key.get("kty")
    return isinstance(kind, str) and kind in ALGORITHMS and key.get("use", "sig") == "sig"


class TokenChecker:
    """Checks tokens, and maps their claims to identities by the configuration."""

    def __init__(self, oidc: Oidc, *, keys: PublicKeys | None = None) -> None:
        self._oidc = oidc
        self._keys = PublicKeys(oidc.jwks) if keys is None else keys

    def check(self, token: str) -> Identity:
        """Return the identity of a token; raise ``NotAllowedError`` if it is not valid."""
        claims = self._claims(token)
        name, role = claims.get(self._oidc.name_claim), self._role(claims)
        if not isinstance(name, str) or not 0 < len(name) <= _MAX_NAME_LENGTH or not name.isprintable():
            raise NotAllowedError(INVALID)
        if role is None:
            raise NotAllowedError("guard.token_without_role")
        # A name must always mean one person, also if a local user is added later: hence the prefix.
        until = dt.datetime.fromtimestamp(float(claims["exp"]), dt.UTC)
        return Identity(name=f"{OIDC_PREFIX}{name}", role=role, until=until)

    def _claims(self, token: str) -> dict[str, Any]:
        jwt = require("jwt", extra="guard")
        claims: dict[str, Any] | None = None
        try:
            if len(token) <= _MAX_TOKEN_LENGTH:
                claims = self._decode(jwt, token)
        except CelosiaError:
            raise
        except Exception:  # noqa: BLE001, S110 - the reason is not revealed: refused below
            pass
        if claims is None:
            raise NotAllowedError(INVALID)
        return claims

    def _decode(self, jwt: Any, token: str) -> dict[str, Any] | None:
        header = jwt.get_unverified_header(token)
        algorithm, kid = header.get("alg"), header.get("kid")
        known = any(algorithm in names for names in ALGORITHMS.values())
        if not known or "crit" in header or not (kid is None or isinstance(kid, str)):
            return None
        found = self._keys.find(kid, algorithm)
        if found is None:
            return None
        key = jwt.PyJWK(found, algorithm=algorithm)
        if found["kty"] == "RSA" and key.key.key_size < _MIN_RSA_BITS:
            return None
        claims: dict[str, Any] = jwt.decode(
            token,
            key=key,
            algorithms=[algorithm],
            audience=self._oidc.audience,
            issuer=self._oidc.issuer,
            leeway=_LEEWAY,
            options={"require": ["exp", "iss", "aud"], "verify_signature": True},
        )
        return claims

    def _role(self, claims: Mapping[str, Any]) -> Role | None:
        value: Any = claims.get(self._oidc.role_claim)
        if value is None:
            value = claims
            for part in self._oidc.role_claim.split("."):
                value = value.get(part) if isinstance(value, Mapping) else None
        given = [value] if isinstance(value, str) else value if isinstance(value, list) else []
        return next((role for claim, role in self._oidc.roles.items() if claim in given), None)
