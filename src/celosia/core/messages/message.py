"""Sentences for readers, made from a code and fields by one catalogue for each language.

The code ``query.no_table`` is the entry ``no_table`` of ``<language>/query.toml``; its sentence has a gap in braces for
each field. Programs compare codes and fields, and never read the sentence.
"""

import re
import tomllib
from functools import lru_cache, singledispatch
from importlib import resources
from operator import index
from typing import TYPE_CHECKING, Final, Self, TypeAlias, Union

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from celosia.core.guarantees import Guarantee

Field: TypeAlias = "Union[str, int, float, Message, Guarantee, tuple[Field, ...], None]"  # noqa: UP007 - recursive
"""What a sentence can name: plain values, guarantees, other sentences, and lists of these."""

LANGUAGES: Final = {"en": "English", "es": "Español"}
"""The languages by code; the first is the default."""

_GAP: Final = re.compile(r"\{\{|\}\}|\{(\w+)(?::([^{}]*))?\}")
_CODE: Final = re.compile(r"([a-z][a-z_]*)\.([a-z][a-z0-9_]*)")
_MAX_CATALOGUES: Final = 64  # kept: a code of another program may name any package
_SPANISH_MARKS: Final = str.maketrans(",.", ".,")


class Numeral(str):
    """A number as text, such as ``0.1`` or ``1,234``, that a message writes with the marks of its language.

    >>> Message("core.not_positive", name="epsilon", value=Numeral("-0.5")).render("es")
    'epsilon debe ser mayor que 0, y es -0,5.'
    """

    __slots__ = ()

    def render(self, language: str) -> str:
        """Return the number with the decimal and thousands marks of a language."""
        return self.translate(_SPANISH_MARKS) if language == "es" else str(self)


class Message(str):
    """An English sentence with its code and fields, from which it can be written in another language.

    >>> message = Message("core.not_positive", name="epsilon", value="-1")
    >>> print(message)
    epsilon must be greater than 0, not -1.
    >>> message.code, dict(message.fields)
    ('core.not_positive', {'name': 'epsilon', 'value': '-1'})
    >>> message.render("es")
    'epsilon debe ser mayor que 0, y es -1.'
    """

    __slots__ = ("code", "fields")
    code: str
    fields: "Mapping[str, Field]"

    def __new__(cls, code: str, /, **fields: object) -> Self:
        """Return the sentence of a code; a text that is no code is the sentence itself."""
        frozen = freeze_fields(fields)
        self = super().__new__(cls, render_message(code, frozen))
        self.code, self.fields = code, frozen
        return self

    def __reduce__(self) -> "tuple[Callable[..., Message], tuple[str, dict[str, Field]]]":
        """Rebuild from code and fields."""
        return _rebuild, (self.code, dict(self.fields))

    def render(
        self,
        language: str,
        *,
        template: str | None = None,
        format_guarantee: "Callable[[Guarantee, str], str] | None" = None,
    ) -> str:
        """Return the sentence in a language; in English if that language has none.

        ``template`` replaces the sentence of the catalogue. ``format_guarantee`` writes a guarantee, given with the
        name of its field; without it ``str`` does.
        """
        return render_message(self.code, self.fields, language, template=template, format_guarantee=format_guarantee)

    def has_language(self, language: str) -> bool:
        """Whether a language has the sentence, and every sentence inside it."""
        return find_template(self.code, language) is not None and all(
            each.has_language(language) for each in _flatten(tuple(self.fields.values())) if isinstance(each, Message)
        )


def _rebuild(code: str, fields: "Mapping[str, Field]") -> Message:
    return Message(code, **fields)


def _flatten(values: "tuple[Field, ...]") -> "list[Field]":
    return [part for each in values for part in (_flatten(each) if isinstance(each, tuple) else [each])]


def name_unit(unit: str, *, several: bool = False) -> str:
    """Return a privacy unit for a reader: a message for rows and persons, else the word of the caller."""
    match unit:
        case "row":
            return Message("core.rows" if several else "core.row")
        case "person":
            return Message("core.persons" if several else "core.person")
        case _:
            return f"{unit}s" if several else unit


def join_messages(parts: "Sequence[Message]") -> Message:
    """Return several sentences as one message."""
    return parts[0] if len(parts) == 1 else Message("core.sentences", parts=tuple(parts))


def join_names(names: "Sequence[str]") -> str:
    """Return names as one list with "and" before the last.

    >>> print(join_names(["low", "high", "values"]))
    low, high and values
    """
    return names[0] if len(names) == 1 else Message("core.names", first=", ".join(names[:-1]), last=names[-1])


def separate(parts: "Sequence[str]", *, semicolon: bool = False) -> "tuple[str, ...]":
    """Return parts of a list with a comma, or a semicolon, after each but the last."""
    code = "core.before_semicolon" if semicolon else "core.before_comma"
    return (*(Message(code, part=part) for part in parts[:-1]), parts[-1])


def freeze_fields(fields: "Mapping[str, object]") -> "dict[str, Field]":
    """Return fields as values that cannot change; other objects become texts, so that no message keeps data alive."""
    return {name: freeze_field(value) for name, value in fields.items()}


@singledispatch
def freeze_field(value: object) -> Field:
    """Return one field as a value that cannot change; errors and guarantees register themselves."""
    if value is None or isinstance(value, Message | Numeral) or type(value) in (str, int, float):
        return value  # type: ignore[return-value] # one of these
    if isinstance(value, tuple | list):
        return tuple(freeze_field(each) for each in value)
    if isinstance(value, float):
        return float(value)
    if hasattr(value, "__index__") and not isinstance(value, bool):
        return index(value)
    return format(value)


def render_message(
    code: str,
    fields: "Mapping[str, Field]",
    language: str = "en",
    *,
    template: str | None = None,
    format_guarantee: "Callable[[Guarantee, str], str] | None" = None,
) -> str:
    """Return the sentence of a code in a language, in English if it has none there, or else the code itself."""
    template = find_template(code, language) if template is None else template
    if template is None:
        return code if language == "en" else render_message(code, fields, format_guarantee=format_guarantee)

    def write(name: str, value: Field, spec: str) -> str:
        match value:
            case Message():
                return value.render(language, format_guarantee=format_guarantee)
            case Numeral():
                return value.render(language)
            case None | str():
                return str(value)
            case tuple():
                between = " " if any(isinstance(each, Message) for each in value) else ", "
                return between.join(write(name, each, spec) for each in value)
            case int() | float():
                return Numeral(format(value, spec)).render(language)
            case _:
                return str(value) if format_guarantee is None else format_guarantee(value, name)

    def fill(gap: "re.Match[str]") -> str:
        name: str | None = gap[1]
        return gap[0][0] if name is None else write(name, fields.get(name), gap[2] or "")

    return _GAP.sub(fill, template)


def find_template(code: str, language: str) -> str | None:
    """Return the sentence of a code with its gaps; None if the language has none, or it is not a code."""
    match = _CODE.fullmatch(code)
    return None if match is None else load_catalogue(language, match[1]).get(match[2])


def list_gaps(template: str) -> set[str]:
    """Return the names of the fields that a sentence has gaps for."""
    return {gap[1] for gap in _GAP.finditer(template) if gap[1] is not None}


@lru_cache(_MAX_CATALOGUES)
def load_catalogue(language: str, package: str) -> "Mapping[str, str]":
    """Load the sentences of a package in a language, by the last part of their codes."""
    file = resources.files("celosia.core.messages").joinpath(language, f"{package}.toml")
    return tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
