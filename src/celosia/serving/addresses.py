"""Expand environment variables in addresses and paths, and hide their secrets before they are shown.

A password in an address is for the driver only; it must not reach a log, a list or an error.
"""

import os
import re
from typing import Final

from celosia.core.errors import ParameterError

_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SECRET: Final = re.compile(r"(?i)((?:^|(?<=[?&;]))[^?&;=]*(?:pass|secret|key|token)[^?&;=]*)=[^&;]*")


def expand_variables(text: str, *, name: str) -> str:
    """Replace each ``${NAME}`` by the environment variable of that name."""
    missing = [word for word in _VARIABLE.findall(text) if word not in os.environ]
    if missing:
        raise ParameterError("serving.missing_environment_variable", name=name, variable=missing[0])
    return _VARIABLE.sub(lambda match: os.environ[match[1]], text)


def hide_secrets(text: str, *, keep_variables: bool = True) -> str:
    """Mask the secrets of an address; paths, and the names of variables unless told otherwise, stay as they are."""
    if "://" not in text:
        return text
    scheme, _, rest = text.partition("://")
    # The last @ ends the password, which may contain any character, unescaped.
    user, at, place = rest.rpartition("@")
    name, colon, password = user.partition(":")
    kept = password if not colon or (keep_variables and _VARIABLE.fullmatch(password)) else "***"
    return f"{scheme}://{_SECRET.sub(_mask, name)}{colon}{kept}{at}{_SECRET.sub(_mask, place)}"


def _mask(match: re.Match[str]) -> str:
    return f"{match[1]}=***"
