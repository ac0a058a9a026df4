"""Open the one listening socket that all worker processes share.

It is opened first, so that errors of the configuration appear at once: an address in use, an invalid certificate.
"""

import contextlib
import socket
import ssl
import sys

from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr
from celosia.core.messages.message import Message
from celosia.core.messages.system_errors import describe_os_error
from celosia.serving.settings import ServerSettings

_BACKLOG = 512


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


def announce(config: ServerSettings, listening: socket.socket, *, language: str = "en") -> None:
    """Print the address of the server on standard error, in a language."""
    scheme = "https" if config.certificate is not None else "http"
    host, port = listening.getsockname()[:2]
    address = f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"
    sys.stderr.write(Message("serving.serving_at", address=address).render(language) + "\n")
    sys.stderr.flush()
