"""Addresses and paths as an owner writes them: variables of the environment put in, secrets left out when shown.

A password in an address is for the driver that connects, and for nobody who reads a log, a list or an error.
"""

import os
import re
from typing import Final

from celosia.core.errors import ParameterError

_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SECRET: Final = re.compile(r"(?i)((?:^|(?<=[?&;]))[^?&;=]*(?:pass|secret|key|token)[^?&;=]*)=[^&;]*")


def expanded(text: str, *, name: str) -> str:
    """Return a text in which ``${NAME}`` stands for a variable of the environment."""
    missing = [word for word in _VARIABLE.findall(text) if word not in os.environ]
    if missing:
        raise ParameterError(f"{name} needs the environment variable {missing[0]}, which is not set.")
    return _VARIABLE.sub(lambda match: os.environ[match[1]], text)


def hidden(text: str) -> str:
    """Return an address without what may be secret in it; a path stays as it is, and so does the name of a variable."""
    if "://" not in text:
        return text
    scheme, _, rest = text.partition("://")
    # The last @ ends the password, which may hold any other character where it was not escaped.
    user, at, place = rest.rpartition("@")
    name, colon, password = user.partition(":")
    kept = password if not colon or _VARIABLE.fullmatch(password) else "***"
    return f"{scheme}://{_SECRET.sub(_starred, name)}{colon}{kept}{at}{_SECRET.sub(_starred, place)}"


def _starred(match: re.Match[str]) -> str:
    return f"{match[1]}=***"
