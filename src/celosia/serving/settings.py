"""Settings that all servers have: the address, the processes, and how connections are protected.

A server that other machines can reach must use TLS, or a proxy that does: what is sent in the clear can be read on the
way. Errors name the setting.
"""

import ipaddress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr


def integer_setting(default: int, least: int, most: int, comment: str = "") -> Any:
    """Return a field of a number between two others; the comment is for the configuration file."""
    return field(default=default, metadata={"range": (least, most), "comment": comment})


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """The address and the processes of a server; port 0 takes a free one.

    >>> ServerSettings(host="localhost").loopback
    True
    """

    host: str = "127.0.0.1"
    port: int = integer_setting(8750, 0, 65_535)
    workers: int = integer_setting(2, 1, 256)
    behind_proxy: bool = False
    certificate: Path | None = None
    private_key: Path | None = None

    def __post_init__(self) -> None:
        check_text(self.host, "host")
        check_ranges(self)
        if not isinstance(self.behind_proxy, bool):
            raise ParameterError("serving.behind_proxy_not_boolean", behind_proxy=safe_repr(self.behind_proxy))
        if (self.certificate is None) != (self.private_key is None):
            raise ParameterError("serving.certificate_without_private_key")
        if not (self.certificate or self.behind_proxy or self.loopback):
            raise ParameterError("serving.host_without_tls", host=safe_repr(self.host))

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        return is_loopback(self.host)

    @property
    def processes(self) -> int:
        """How many processes answer."""
        return self.workers


def check_ranges(owner: Any, prefix: str = "") -> None:
    """Check the numbers of settings against the ranges of their fields."""
    for one in fields(owner):
        if "range" not in one.metadata:
            continue
        (low, high), value = one.metadata["range"], getattr(owner, one.name)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise ParameterError(
                "serving.setting_out_of_range",
                prefix=prefix,
                name=one.name,
                least=low,
                most=high,
                value=safe_repr(value),
            )


def check_text(value: object, name: str) -> None:
    """Refuse a setting that is not a printable text."""
    if not isinstance(value, str) or not value or not value.isprintable():
        raise ParameterError("core.not_a_string", name=name, value=safe_repr(value))


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a host."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
