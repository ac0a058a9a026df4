"""Settings of a guard, in a TOML file without secrets.

Paths are relative to the file. Passwords stay out of it: ``${NAME}`` in the store's URL is read from the environment
when the store is opened. Errors name the setting.
"""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr
from celosia.guard.addresses import hide_secrets
from celosia.guard.roles import Role
from celosia.serving.settings import ServerSettings, check_ranges, check_text, integer_setting, is_loopback

_STORES: Final = ("memory://", "sqlite:///", "postgresql://", "postgres://")


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


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Config(ServerSettings):
    """The configuration of a guard. With ``slot_milliseconds`` of 0, replies are not delayed.

    Files below ``data_folders`` can be added as data sets on the pages; without one, none can.

    >>> Config(store="sqlite:///ledger.db").port
    8750
    """

    store: str
    slot_milliseconds: int = integer_setting(100, 0, 60_000)
    data_folders: tuple[Path, ...] = ()
    limits: Limits = field(default_factory=Limits)
    oidc: Oidc | None = None

    def __post_init__(self) -> None:
        check_text(self.store, "store")
        if not self.store.startswith(_STORES):
            shown = safe_repr(hide_secrets(self.store))
            raise ParameterError("guard.unsupported_store", store=shown)
        ServerSettings.__post_init__(self)  # with slots, super() is that of the class before

    @property
    def processes(self) -> int:
        """How many processes answer: one where each would have a ledger of its own, and spend the budget again.

        >>> Config(store="memory://").processes
        1
        """
        return 1 if self.store.startswith("memory:") else self.workers

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Config":
        """Read a file; its paths are relative to its folder.

        >>> Config.read("nowhere.toml")
        Traceback (most recent call last):
        ...
        celosia.core.errors.ParameterError: There is no configuration 'nowhere.toml': celosia guard init writes one.
        """
        file = Path(path)
        try:
            document = tomllib.loads(file.read_text(encoding="utf-8-sig"))
        except FileNotFoundError:
            raise ParameterError("guard.no_configuration_file", path=safe_repr(str(file))) from None
        except (OSError, UnicodeDecodeError):
            raise ParameterError("guard.configuration_not_text", path=safe_repr(str(file))) from None
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise ParameterError("guard.configuration_not_toml", path=safe_repr(str(file)), error=error) from error
        from celosia.guard.config.file import read_config

        return read_config(document, file.absolute().parent)

    def to_toml(self) -> str:
        """Return the text of a file with a comment for every line.

        >>> print(Config(store="sqlite:///ledger.db").to_toml().splitlines()[3])
        store = "sqlite:///ledger.db"
        """
        from celosia.guard.config.file import write_config

        return write_config(self)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a new file that only its owner can read; raise ``ParameterError`` if it exists."""
        file = Path(path)
        try:
            descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            raise ParameterError("guard.configuration_exists", path=safe_repr(str(file))) from None
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(self.to_toml())

    def __repr__(self) -> str:
        return f"<Config {self.host}:{self.port}, store {hide_secrets(self.store)}>"


# ------------------------------------------------------------------------------------------------------------ checking


def _check_address(url: str) -> None:
    try:
        parts = urlsplit(url)
        secure = parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or ""))
        named = bool(parts.hostname) and parts.username is None and parts.port != 0
    except ValueError:
        secure = named = False
    if not (secure and named):
        raise ParameterError("guard.invalid_jwks_address", url=safe_repr(hide_secrets(url)))
