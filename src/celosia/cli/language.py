"""The language of the command line: that of ``--lang``, else that of the environment, else English.

Commands make messages by code and write them here. JSON, CSV and SQL are the same in every language.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr
from celosia.core.messages.message import LANGUAGES, Message, Numeral

if TYPE_CHECKING:
    from celosia.core.guarantees import Guarantee

_OPTION: Final = "--lang"
_DEFAULT: Final = next(iter(LANGUAGES))
_VARIABLES: Final = ("LC_ALL", "LC_MESSAGES", "LANG")  # the first that is set decides
_language: ContextVar[str] = ContextVar("language", default=_DEFAULT)


def current_language() -> str:
    """Return the code of the language in use."""
    return _language.get()


@contextmanager
def use_language(code: str) -> Iterator[None]:
    """Use a language inside a block.

    >>> with use_language("es"):
    ...     print(say("cli.interrupted"))
    interrumpido.
    """
    token = _language.set(code)
    try:
        yield
    finally:
        _language.reset(token)


def split_language(arguments: Sequence[str]) -> tuple[str | None, list[str]]:
    """Return the last value of ``--lang`` before ``--``, wherever it stands, and all other arguments.

    >>> split_language(["query", "--lang", "es", "deaths.csv"])
    ('es', ['query', 'deaths.csv'])
    """
    wanted: str | None = None
    rest: list[str] = []
    waiting = iter(arguments)
    for argument in waiting:
        if argument == "--":
            return wanted, [*rest, argument, *waiting]
        if argument == _OPTION:
            wanted = next(waiting, "")
        elif argument.startswith(f"{_OPTION}="):
            wanted = argument.partition("=")[2]
        else:
            rest.append(argument)
    return wanted, rest


def choose_language(wanted: str | None) -> str:
    """Return the language of an option; an unknown one raises."""
    if wanted is None:
        return find_language(os.environ)
    if wanted not in LANGUAGES:
        raise ParameterError("cli.unknown_language", known=", ".join(LANGUAGES), value=safe_repr(wanted))
    return wanted


def find_language(environment: Mapping[str, str]) -> str:
    """Return the language of the environment's locale, or English if it is not known.

    >>> find_language({"LANG": "es_ES.UTF-8"})
    'es'
    """
    locale = next((environment[name] for name in _VARIABLES if environment.get(name)), "")
    code = re.split(r"[_.@-]", locale.lower(), maxsplit=1)[0]
    return code if code in LANGUAGES else _DEFAULT


def say(code: str, /, **fields: object) -> str:
    """Return the sentence of a code in the language in use."""
    return translate(Message(code, **fields))


def translate(text: str) -> str:
    """Return a message in the language in use, and any other text unchanged."""
    language = _language.get()
    if isinstance(text, Numeral):
        return text.render(language)
    if not isinstance(text, Message):
        return text
    return text.render(language, format_guarantee=None if language == _DEFAULT else _write_guarantee)


def write_number(number: float, spec: str = ",") -> str:
    """Return a number in a format, with the marks of the language in use.

    >>> write_number(1234.5, ",.2f")
    '1,234.50'
    """
    return translate(Numeral(format(number, spec)))


def join_values(values: Iterable[str]) -> str:
    """Return values as a list; in a language with decimal commas, semicolons are between them."""
    return (", " if _language.get() == _DEFAULT else "; ").join(values)


def _write_guarantee(guarantee: "Guarantee", name: str) -> str:
    from celosia.core.messages.numerals import format_guarantee

    text = format_guarantee(guarantee, _language.get(), rounded="up" if name == "cost" else "down")
    return text.replace("\N{NO-BREAK SPACE}", " ")
