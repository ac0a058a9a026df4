"""Write ``--help`` and usage errors in another language.

The texts are in ``<language>.toml``, under the English ones. So help stays beside its option, and a changed text has to
be translated again: the tests hold the file to the commands, and to the click that is installed.
"""

import copy
import gettext
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cache
from importlib import resources
from types import ModuleType
from typing import Any, Final

import click

_EXAMPLE: Final = "Example: "


@cache
def load_texts(language: str) -> Mapping[str, Mapping[str, str]]:
    """Load the texts of a language by the English ones: of ``help``, ``click`` and ``typer``."""
    file = resources.files("celosia.cli.help").joinpath(f"{language}.toml")
    found: dict[str, dict[str, str]] = tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return found


def translate_command(command: click.Command, language: str) -> click.Command:
    """Return a command with help in a language, and its sub-commands; the given command is not changed."""
    if not load_texts(language):
        return command
    texts = load_texts(language)["help"]
    made = copy.copy(command)
    made.help, made.epilog = _translate(command.help, texts), _translate_epilog(command.epilog, texts)
    made.short_help = _translate(command.short_help, texts)
    made.params = [_translate_parameter(parameter, texts) for parameter in command.params]
    made._help_option = None  # noqa: SLF001 - click keeps it once it is made, in the language of that time
    if isinstance(made, click.Group):
        vars(made)["suggest_commands"] = False  # Typer's, in English; click has its own
        made.commands = {name: translate_command(one, language) for name, one in made.commands.items()}

    def format_help(context: click.Context, formatter: click.HelpFormatter) -> None:
        with _translate_typer(language):
            command.__class__.format_help(made, context, formatter)

    vars(made)["format_help"] = format_help
    return made


@contextmanager
def translate_click(language: str) -> Iterator[None]:
    """Write the errors of click in a language inside a block; click asks gettext for them."""
    texts = load_texts(language).get("click", {})
    if not texts:
        yield
        return
    one, several = gettext.dgettext, gettext.dngettext

    def find(domain: str, message: str) -> str:
        return texts.get(message) or one(domain, message)

    def find_number(domain: str, singular: str, plural: str, number: int) -> str:
        return texts.get(singular if number == 1 else plural) or several(domain, singular, plural, number)

    with _replace(gettext, dgettext=find, dngettext=find_number):
        yield


@contextmanager
def _translate_typer(language: str) -> Iterator[None]:
    """Write Typer's titles of panels in a language inside a block."""
    with ExitStack() as stack:
        with _replace(gettext, dgettext=lambda _, message: message):  # its constants are made by the first import
            from typer import rich_utils
        stack.enter_context(_replace(rich_utils, **load_texts(language)["typer"]))
        yield


@contextmanager
def _replace(module: ModuleType, **names: Any) -> Iterator[None]:
    before = {name: getattr(module, name) for name in names}
    vars(module).update(names)
    try:
        yield
    finally:
        vars(module).update(before)


def _translate_parameter(parameter: click.Parameter, texts: Mapping[str, str]) -> click.Parameter:
    made = copy.copy(parameter)
    if isinstance(made, click.Option | click.Argument):
        vars(made)["help"] = _translate(getattr(made, "help", None), texts)
    return made


def _translate(text: str | None, texts: Mapping[str, str]) -> str | None:
    return text and texts.get(text, text)


def _translate_epilog(epilog: str | None, texts: Mapping[str, str]) -> str | None:
    parts = (epilog or "").split("\n\n")
    return "\n\n".join(
        f"{texts[_EXAMPLE.strip()]} {part.removeprefix(_EXAMPLE)}"
        if part.startswith(_EXAMPLE)
        else texts.get(part, part)
        for part in parts
    )
