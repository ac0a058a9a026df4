"""The command line speaks the language of its reader; programs read the same in every language."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from celosia.cli.app import app
from celosia.cli.language import (
    choose_language,
    current_language,
    find_language,
    join_values,
    say,
    split_language,
    translate,
    use_language,
    write_number,
)
from celosia.core import PureDP
from celosia.core.errors import ParameterError
from celosia.core.messages.message import Message, Numeral

if TYPE_CHECKING:
    from pathlib import Path

WORDS = st.text("abc-=", max_size=6).filter(lambda word: word != "--" and not word.startswith("--lang"))


def run(*arguments: str, code: int = 0, **environment: str) -> tuple[str, str]:
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "120", "NO_COLOR": "1", **environment})
    assert result.exit_code == code, result.output
    return result.stdout, result.stderr


@given(st.lists(WORDS), st.lists(WORDS), st.sampled_from(["en", "es", "", "--", "x"]), st.booleans())
def test_the_option_is_taken_out_wherever_it_stands(
    before: list[str],
    after: list[str],
    value: str,
    joined: bool,  # noqa: FBT001 - drawn
) -> None:
    option = [f"--lang={value}"] if joined else ["--lang", value]
    assert split_language([*before, *option, *after]) == (value, [*before, *after])
    assert split_language([*before, "--", *option]) == (None, [*before, "--", *option])
    assert split_language([*option, *before, "--lang=last"]) == ("last", before)
    assert split_language([*before, "--lang"]) == ("", before)


@pytest.mark.parametrize(
    ("environment", "language"),
    [
        ({}, "en"),
        ({"LANG": "es_ES.UTF-8"}, "es"),
        ({"LANG": "ES"}, "es"),
        ({"LANG": "es@euro", "LC_MESSAGES": ""}, "es"),
        ({"LANG": "es_ES", "LC_MESSAGES": "en_GB"}, "en"),
        ({"LANG": "en_GB", "LC_ALL": "es-MX", "LC_MESSAGES": "en"}, "es"),
        ({"LANG": "fr_FR"}, "en"),
        ({"LANG": "est_EE"}, "en"),
        ({"LANG": "C.UTF-8", "LANGUAGE": "es"}, "en"),
    ],
)
def test_the_locale_decides_without_the_option(environment: dict[str, str], language: str) -> None:
    assert find_language(environment) == language


def test_messages_and_numbers_are_in_the_language_of_a_block() -> None:
    message = Message("cli.system_error_of_file", reason=Message("core.disk_full"), path="a.csv")
    assert (translate(message), translate("plain"), join_values(["1", "2"])) == (str(message), "plain", "1, 2")
    with use_language("es"):
        assert translate(message) == "no queda espacio en el dispositivo: a.csv."
        assert (write_number(1234567), write_number(0.5, ".2f"), translate(Numeral("≈1.5"))) == (
            "1.234.567",
            "0,50",
            "≈1,5",
        )
        assert say("query.preview_fits", cost=PureDP(epsilon="0.5"), remaining=PureDP(epsilon=2), cells="x") == (
            "Coste ε = 0,5: cabe en lo que queda, ε = 2; x."
        )
        assert join_values(["1", "2"]) == "1; 2"
    assert current_language() == "en"
    with pytest.raises(ParameterError, match="lang must be one of en, es, not 'fr'"):
        choose_language("fr")


def test_errors_are_in_spanish_before_and_after_the_command(tmp_path: Path) -> None:
    missing = str(tmp_path / "none.json")
    cases: list[tuple[list[str], str]] = [
        (["demo", "--epsilon", "-1"], "epsilon debe ser mayor que 0, y es '-1'."),
        (["account", "event", missing, "--delta", "1e-6"], "no se puede leer: no existe el fichero o directorio."),
        (["demo", "--colour"], "No existe la opción '--colour'."),
        (["qery"], "No existe la orden 'qery'. ¿Se quería decir 'query'?"),
        (["account", "gaussian"], "Falta la opción '--sigma'."),
        (["demo", "--seed", "x"], "Valor no válido para '--seed': 'x' no es un valor válido"),
        (["demo", "--epsilon"], "La opción '--epsilon' necesita un argumento."),
        (["ledger", "head"], "Falta el argumento 'URL'."),
    ]
    for arguments, sentence in cases:
        for line in (["--lang", "es", *arguments], [arguments[0], "--lang=es", *arguments[1:]]):
            out, err = run(*line, code=2)
            assert (out, err.count("\n")) == ("", 1)
            assert sentence in err
        assert sentence in run(*arguments, code=2, LC_ALL="", LC_MESSAGES="", LANG="es_ES.UTF-8")[1]
        assert sentence not in run("--lang", "en", *arguments, code=2, LC_ALL="es_ES")[1]


def test_an_unknown_language_is_a_usage_error() -> None:
    assert run("--lang", "fr", "demo", code=2)[1] == "Error: lang must be one of en, es, not 'fr'.\n"
    sentence = "Error: lang debe ser uno de estos valores: en, es; y es ''.\n"
    assert run("demo", "--lang", code=2, LC_ALL="es_ES")[1] == sentence


def test_interrupts_and_defects_are_in_spanish(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr("celosia.cli.demo.commands.exact_epsilon", fail)
    err = run("--lang", "es", "demo", code=1)[1]
    assert err.startswith("Error: un defecto de Celosía (ZeroDivisionError).")


def test_tables_are_in_spanish_and_json_is_the_same() -> None:
    arguments = ("account", "laplace", "--epsilon", "0.1", "--times", "1000", "--delta", "1e-5")
    out, _ = run("--lang", "es", *arguments)
    assert "Ruido de Laplace de epsilon 0,1 en una rejilla fina" in out
    assert "1.000 veces" in out
    assert "Contabilidad" in out
    assert "Menor cota: ε = " in out
    assert run("--lang", "es", *arguments, "--json") == run(*arguments, "--json")
    assert "Laplace noise of epsilon 0.1" in json.loads(run("--lang", "es", *arguments, "--json")[0])["priced"]
    out, _ = run("--lang", "es", "account", "presets", "--persons", "30000")
    assert "ε = 0,5; δ = 1e-6" in out
    assert "Estar en los datos ya es un secreto" in out
    out, _ = run("--lang", "es", "collect", "protocols")
    assert "codificación directa" in out
    out, err = run("--lang", "es", "learn", "models")
    assert "mínimos cuadrados" in out
    assert err.startswith("Los métodos con asterisco")
    assert "1.000.000" in run("--lang", "es", "data", "list")[0]


def test_a_warning_is_one_line_that_commands_no_terminal() -> None:
    script = """
import sys, warnings
import celosia.cli.app as cli
cli.app = lambda **_: warnings.warn("the column a\\x1b[2Jb", stacklevel=1)
sys.argv = ["celosia"]
cli.main()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=os.environ)
    assert done.stderr == "Warning: the column a\\x1b[2Jb\n"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.warn("of a test", stacklevel=1)
    assert len(caught) == 1  # an import of the command line leaves warnings to the program that imports it
