"""Write messages of other packages, such as notes and errors, in the language of a page.

Guarantees become ε and δ: costs are rounded up, remainders down. A message that the language does not have stays in
English, and the page marks it.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from celosia.core.messages.message import Message
from celosia.core.messages.numerals import format_guarantee
from celosia.guard.web.i18n.language import load_language

if TYPE_CHECKING:
    from celosia.core.guarantees import Guarantee
    from celosia.guard.web.i18n.language import Language


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence and its language."""

    text: str
    code: str


def translate(message: str, language: "Language") -> Sentence:
    """Return a message in a language if it has it, else in English; any other text is English."""
    if not isinstance(message, Message):
        return Sentence(message, "en")
    code = language.code if message.has_language(language.code) else "en"

    def write(guarantee: "Guarantee", name: str) -> str:
        return format_guarantee(guarantee, code, rounded="up" if name == "cost" else "down")

    # Some sentences tell a programmer which argument to give; the pages have fields instead.
    name = f"message.{message.code}"
    template = load_language(code).text(name) if language.has(name) else None
    return Sentence(message.render(code, template=template, format_guarantee=write), code)
