"""Sections of a guard's configuration: limits on requests, and an identity provider."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr
from celosia.guard.roles import Role
from celosia.serving.addresses import hide_secrets
from celosia.serving.settings import check_ranges, check_text, integer_setting, is_loopback


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits on one request, and on the requests of one key.

    >>> Limits().plan_nodes
    500
    """

    requests_per_minute: int = integer_setting(600, 1, 1_000_000, "of one key")
    body_bytes: int = integer_setting(65_536, 1_024, 16_777_216)
    plan_nodes: int = integer_setting(500, 10, 100_000, "the largest query")
    cells: int = integer_setting(10_000, 1, 10_000_000, "the most groups of an answer")
    complexity: int = integer_setting(
        10_000_000, 1_000, 1_000_000_000_000, "the most points of a query, which its preview shows"
    )
    query_seconds: int = integer_setting(600, 1, 604_800, "then the reading of data is interrupted")
    waiting: int = integer_setting(256, 1, 100_000, "concurrent queries, a quarter of them of one key")
    patience_seconds: int = integer_setting(900, 1, 604_800, "then a query without an answer is reported as failed")

    def __post_init__(self) -> None:
        check_ranges(self, "limits.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Oidc:
    """An identity provider, whose bearer tokens are accepted beside keys.

    ``jwks`` is the place of its public keys: an https address, an address of this machine, or a file. ``role_claim``
    may name a nested claim, with dots. ``roles`` maps its values to roles; the first match counts.

    >>> Oidc(issuer="https://login.example", audience="celosia", jwks="https://login.example/keys",
    ...      roles={"researchers": "analyst"}).roles
    {'researchers': <Role.ANALYST: 'analyst'>}
    """

    issuer: str
    audience: str
    jwks: str
    role_claim: str = "roles"
    roles: Mapping[str, Role] = field(default_factory=dict)
    name_claim: str = "sub"

    def __post_init__(self) -> None:
        for name in ("issuer", "audience", "jwks", "role_claim", "name_claim"):
            check_text(getattr(self, name), f"oidc.{name}")
        if "://" in self.jwks:
            _check_address(self.jwks)
        roles: object = self.roles
        if not isinstance(roles, Mapping) or not roles:
            raise ParameterError("guard.missing_oidc_roles")
        object.__setattr__(self, "roles", {str(claim): Role.of(role) for claim, role in self.roles.items()})


def _check_address(url: str) -> None:
    try:
        parts = urlsplit(url)
        secure = parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or ""))
        named = bool(parts.hostname) and parts.username is None and parts.port != 0
    except ValueError:
        secure = named = False
    if not (secure and named):
        raise ParameterError("guard.invalid_jwks_address", url=safe_repr(hide_secrets(url)))
