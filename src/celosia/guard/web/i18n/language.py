"""The language of a page: from the address, a cookie, or the browser's preference.

Texts are in one TOML file for each language, under the same names; a test compares them. Messages of other packages are
written by :mod:`celosia.guard.web.i18n.wording`.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, Final

from celosia.core.messages.message import LANGUAGES

LANGUAGE_COOKIE: Final = "__Host-celosia-language"
"""The cookie of the chosen language."""

_RANGE: Final = re.compile(r"\s*([a-z]{2,3})(?:-[a-z0-9-]+)?\s*(?:;\s*q=([01](?:\.\d{0,3})?)\s*)?", re.IGNORECASE)
_MAX_RANGES: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """The texts of one language, by their dotted names."""

    code: str
    texts: Mapping[str, str] = field(repr=False)

    def text(self, name: str, /, **values: object) -> str:
        """Return a text with its values; an unknown name raises ``KeyError``."""
        return self.texts[name].format_map(values) if values else self.texts[name]

    def has(self, name: str) -> bool:
        """Whether a text of this name exists."""
        return name in self.texts


@cache
def load_language(code: str) -> Language:
    """Load the language of a code."""
    file = resources.files("celosia.guard.web.i18n").joinpath("texts", f"{code}.toml")
    return Language(code=code, texts=dict(_flatten(tomllib.loads(file.read_text(encoding="utf-8")))))


def _flatten(document: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for name, value in document.items():
        found += (
            _flatten(value, f"{prefix}{name}.") if isinstance(value, Mapping) else [(f"{prefix}{name}", str(value))]
        )
    return found


def choose_language(asked: str | None, remembered: str | None, accepted: str | None) -> str:
    """Return the code of the language of a page."""
    for code in (asked, remembered):
        if code in LANGUAGES:
            return str(code)
    preferred = sorted(_parse_preferences(accepted or ""), key=lambda pair: -pair[1])
    return next((code for code, weight in preferred if code in LANGUAGES and weight > 0), next(iter(LANGUAGES)))


def _parse_preferences(accepted: str) -> list[tuple[str, float]]:
    matches = (_RANGE.fullmatch(part) for part in accepted[:1000].split(",")[:_MAX_RANGES])
    return [(match[1].lower(), float(match[2] or 1)) for match in matches if match]
