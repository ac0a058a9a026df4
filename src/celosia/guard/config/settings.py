"""Settings of a guard, in a TOML file without secrets.

Paths are relative to the file. Passwords stay out of it: ``${NAME}`` in the store's URL is read from the environment
when the store is opened. Errors name the setting.
"""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr
from celosia.guard.config.file import parse_settings, write_config
from celosia.guard.config.sections import Limits, Oidc
from celosia.serving.addresses import hide_secrets
from celosia.serving.settings import ServerSettings, check_text, integer_setting

_STORES: Final = ("memory://", "sqlite:///", "postgresql://", "postgres://")


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
        return cls.from_document(document, file.absolute().parent)

    @classmethod
    def from_document(cls, document: Mapping[str, Any], folder: Path) -> "Config":
        """Return the configuration of a TOML document; paths are relative to ``folder``.

        >>> Config.from_document({"store": "memory://", "port": 8000}, Path("/srv/guard")).port
        8000
        """
        return cls(**parse_settings(document, cls, folder))

    def to_toml(self) -> str:
        """Return the text of a file with a comment for every line.

        >>> print(Config(store="sqlite:///ledger.db").to_toml().splitlines()[3])
        store = "sqlite:///ledger.db"
        """
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
