"""Translate English sentences of other packages: mechanisms, notes and errors.

The sentences contain names and numbers, so they are matched by patterns and written again in the language of the page.
Guarantees become ε and δ. A sentence without a pattern stays in English, and the page marks it.
"""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Final

from celosia.core.errors import CelosiaError
from celosia.core.guarantees import ZCDP, ApproxDP, GaussianDP, PureDP
from celosia.guard.web.i18n.numerals import format_guarantee

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from celosia.guard.web.i18n.language import Language

_GAP: Final = re.compile(r"<\\(\d)>|\{(\d)\}|\\(\d)")
_NUMBER: Final = re.compile(r"-?\d[\d,]*(\.\d+)?(e[+-]?\d+)?")
_MARKS: Final = str.maketrans(",.", ".,")
_MAX_SENTENCE_LENGTH: Final = 1_000  # a longer one quotes a long query, and matching it would take long
_MAX_DEPTH: Final = 3

_GUARANTEE: Final = re.compile(r"(\bcosts )?\b(PureDP|ApproxDP|ZCDP|GaussianDP)\(([^()]{0,300})\)")
_FIELD: Final = re.compile(r"\b(epsilon|delta|rho|mu)=≈?'?([0-9][0-9./e+-]*)'?")
_KINDS: Final = {kind.__name__: kind for kind in (PureDP, ApproxDP, ZCDP, GaussianDP)}


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence and its language."""

    text: str
    code: str


def translate(sentence: str, language: "Language") -> Sentence:
    """Return a sentence in a language if its pattern is known, else in English."""
    plain = replace_guarantees(sentence, language.code)
    translated = _translate(plain, language.code, 0) if len(plain) <= _MAX_SENTENCE_LENGTH else None
    if translated is None:
        return Sentence(replace_guarantees(sentence, "en"), "en")
    return Sentence(translated, language.code)


def replace_guarantees(text: str, code: str) -> str:
    """Return a text with guarantees in symbols; costs are rounded up, remainders down."""
    return _GUARANTEE.sub(lambda match: _replace_guarantee(match, code), text)


def _replace_guarantee(match: re.Match[str], code: str) -> str:
    costs = match[1] or ""
    try:
        guarantee = _KINDS[match[2]](**dict(_FIELD.findall(match[3])))
    except (CelosiaError, TypeError):  # only looks like a guarantee
        return match[0]
    return costs + format_guarantee(guarantee, code, rounded="up" if costs else "down")


def _translate(sentence: str, code: str, depth: int) -> str | None:
    patterns, words = _load_sentences(code)
    for pattern, template in patterns:
        match = pattern.fullmatch(sentence)
        if match:
            translated = _fill_gaps(template, match.groups(), words, code, depth)
            if translated is not None:
                return translated
    return None


def _fill_gaps(template: str, gaps: "Sequence[str]", words: "Mapping[str, str]", code: str, depth: int) -> str | None:
    """Return a pattern with its gaps filled; None if a gap needs a translation and has none."""
    found = []
    for word, again, plain in _GAP.findall(template):
        gap = gaps[int(word or again or plain) - 1]
        if word:
            found.append(words.get(gap))
        elif again:
            found.append(_translate(gap, code, depth + 1) if depth < _MAX_DEPTH else None)
        else:
            found.append(_localize_number(gap, code))
    if None in found:
        return None
    replacements = iter(found)
    return _GAP.sub(lambda _: str(next(replacements)), template)


def _localize_number(part: str, code: str) -> str:
    """Return the text of a gap; a number with the separators of the language."""
    return part.translate(_MARKS) if code == "es" and _NUMBER.fullmatch(part) else part


@cache
def _load_sentences(code: str) -> "tuple[list[tuple[re.Pattern[str], str]], dict[str, str]]":
    file = resources.files("celosia.guard.web.i18n").joinpath("texts", f"sentences_{code}.toml")
    document = tomllib.loads(file.read_text(encoding="utf-8"))
    return [(re.compile(one["shape"], re.DOTALL), one["said"]) for one in document["sentence"]], document["words"]
