"""The sentences of each language by code, in TOML files: one for each package.

The code ``query.no_table`` is the entry ``no_table`` of ``<language>/query.toml``; its sentence has a gap in braces for
each field.
"""

import re
import tomllib
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

LANGUAGES: Final = {"en": "English", "es": "Español"}
"""The languages by code; the first is the default."""

GAP: Final = re.compile(r"\{\{|\}\}|\{(\w+)(?::([^{}]*))?\}")
"""A gap of a sentence, with its name and format, or a doubled brace."""

_CODE: Final = re.compile(r"([a-z][a-z_]*)\.([a-z][a-z0-9_]*)")


def find_template(code: str, language: str) -> str | None:
    """Return the sentence of a code with its gaps; None if the language has none, or it is not a code."""
    match = _CODE.fullmatch(code)
    return None if match is None else load_catalogue(language, match[1]).get(match[2])


def list_gaps(template: str) -> set[str]:
    """Return the names of the fields that a sentence has gaps for."""
    return {gap[1] for gap in GAP.finditer(template) if gap[1] is not None}


@cache
def load_catalogue(language: str, package: str) -> "Mapping[str, str]":
    """Load the sentences of a package in a language, by the last part of their codes."""
    file = resources.files("celosia.core.messages").joinpath(language, f"{package}.toml")
    return tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
