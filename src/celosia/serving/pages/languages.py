"""The language of a page, and messages of other packages, such as notes and errors, in that language.

The language comes from the address, a cookie, or the browser's preference. The texts of an application's pages are in
one TOML file for each language, under the same names. Guarantees become ε and δ: costs are rounded up, remainders down.
A message that the language does not have stays in English, and the page marks it.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

from celosia.core.messages.message import LANGUAGES, Message
from celosia.core.messages.numerals import format_guarantee

if TYPE_CHECKING:
    from celosia.core.guarantees import Guarantee

_RANGE: Final = re.compile(r"\s*([a-z]{2,3})(?:-[a-z0-9-]+)?\s*(?:;\s*q=([01](?:\.\d{0,3})?)\s*)?", re.IGNORECASE)
_MAX_RANGES: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """The texts of a package's pages in one language, by their dotted names."""

    package: str
    code: str
    texts: Mapping[str, str] = field(repr=False)

    def text(self, name: str, /, **values: object) -> str:
        """Return a text with its values; an unknown name raises ``KeyError``."""
        return self.texts[name].format_map(values) if values else self.texts[name]

    def has(self, name: str) -> bool:
        """Whether a text of this name exists."""
        return name in self.texts


@cache
def load_texts(package: str, code: str) -> Language:
    """Load the texts of a package in the language of a code, from its folder ``texts``."""
    file = resources.files(package).joinpath("texts", f"{code}.toml")
    texts = dict(_flatten(tomllib.loads(file.read_text(encoding="utf-8"))))
    return Language(package=package, code=code, texts=texts)


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


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence and its language."""

    text: str
    code: str


def translate(message: str, language: Language) -> Sentence:
    """Return a message in a language if it has it, else in English; any other text is English."""
    if not isinstance(message, Message):
        return Sentence(message, "en")
    code = language.code if message.has_language(language.code) else "en"

    def write(guarantee: "Guarantee", name: str) -> str:
        return format_guarantee(guarantee, code, rounded="up" if name == "cost" else "down")

    # Some sentences tell a programmer which argument to give; the pages have fields instead.
    name = f"message.{message.code}"
    template = load_texts(language.package, code).text(name) if language.has(name) else None
    return Sentence(message.render(code, template=template, format_guarantee=write), code)
