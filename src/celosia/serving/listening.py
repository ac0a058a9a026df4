"""Open the one listening socket that all worker processes share.

It is opened first, so that errors of the configuration appear at once: an address in use, an invalid certificate.
"""

import contextlib
import socket
import ssl
import sys
from pathlib import Path
from typing import Protocol

from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr
from celosia.core.messages.system_errors import describe_os_error

_BACKLOG = 512


class ServerSettings(Protocol):
    """The settings of a server's address and processes."""

    @property
    def host(self) -> str:
        """The address to listen at."""

    @property
    def port(self) -> int:
        """The port to listen at; 0 takes a free one."""

    @property
    def processes(self) -> int:
        """How many processes answer."""

    @property
    def behind_proxy(self) -> bool:
        """Whether all connections come from a proxy."""

    @property
    def certificate(self) -> Path | None:
        """The file of the certificate, None without TLS."""

    @property
    def private_key(self) -> Path | None:
        """The file of the certificate's private key."""


def listen(config: ServerSettings) -> socket.socket:
    """Return a listening socket at the configured address."""
    if config.certificate is not None and config.private_key is not None:
        try:
            ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(config.certificate, config.private_key)
        except (OSError, ValueError):
            raise ParameterError("serving.unusable_certificate", path=safe_repr(str(config.certificate))) from None
    with contextlib.ExitStack() as closing:
        try:
            family, kind, number, _, address = socket.getaddrinfo(
                config.host, config.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
            listening = closing.enter_context(socket.socket(family, kind, number))
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen(_BACKLOG)
        except OSError as error:
            raise ParameterError(
                "serving.address_not_available", host=config.host, port=config.port, reason=describe_os_error(error)
            ) from None
        closing.pop_all()  # success: keep it open
    return listening


def announce(config: ServerSettings, listening: socket.socket) -> None:
    """Print the address of the server on standard error."""
    scheme = "https" if config.certificate is not None else "http"
    host, port = listening.getsockname()[:2]
    sys.stderr.write(f"Serving at {scheme}://{f'[{host}]' if ':' in host else host}:{port}\n")
    sys.stderr.flush()
