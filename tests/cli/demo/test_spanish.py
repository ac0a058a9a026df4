"""The whole demonstration in Spanish: no English sentence on the terminal, in the report or in a chart."""

from __future__ import annotations

import base64
import html
import re
from importlib import resources
from typing import TYPE_CHECKING

from typer.testing import CliRunner

from celosia.cli.app import app
from celosia.core.messages.message import load_catalogue

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TAG = re.compile(r"<style>.*?</style>|<[^>]+>", re.DOTALL)
SHORTEST = 9  # letters of a piece of a sentence that is looked for


def list_pieces() -> Iterator[str]:
    """The pieces of English sentences between their gaps, without those that Spanish has too."""
    folder = resources.files("celosia.core.messages").joinpath("en")
    for package in (file.name.removesuffix(".toml") for file in folder.iterdir()):
        spanish = " ".join(load_catalogue("es", package).values())
        for sentence in load_catalogue("en", package).values():
            for piece in re.split(r"\{[^{}]*\}", sentence):
                words = piece.strip(" .,;:()'=")
                if len(words) >= SHORTEST and " " in words and words not in spanish:
                    yield words


def test_no_english_is_left(tmp_path: Path) -> None:
    arguments = ["--lang", "es", "demo", "--seed", "7", "--epsilon", "0.5", "--output", str(tmp_path)]
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "100", "NO_COLOR": "1"})
    assert result.exit_code == 0, result.output
    report = (tmp_path / "report.html").read_text("utf-8")
    charts = [base64.b64decode(data).decode() for data in re.findall(r"base64,([^\"]+)", report)]
    assert len(charts) == 4
    shown = [" ".join(result.stdout.split()), result.stderr, re.sub(r"base64,[^\"]+", "", report), *charts]
    texts = [
        re.sub(r"\s+", " ", html.unescape(re.sub(r"<style>.*?</style>|<[^>]+>", " ", text, flags=re.DOTALL)))
        for text in shown
    ]
    pieces = list(dict.fromkeys(list_pieces()))
    assert len(pieces) > 1_000
    assert not [piece for piece in pieces if any(piece in text for text in texts)]
    assert '<html lang="es">' in report
    assert "Respuestas privadas sobre 200.000 defunciones sintéticas" in texts[2]
    assert "La pregunta cuesta ε = 0,5, y en el presupuesto queda ε = 0" in texts[0]
    assert "200.000 × 61,93767000 − 199.999 × 61,93785969 = 24" in texts[0]
    assert texts[1].startswith("Aviso: con --seed 7")
    words = [set(re.findall(r">([^<>]+)</text>", chart)) for chart in charts]
    assert {"valor privado", "intervalo del 95 %", "valor verdadero", "Edad, en años", "3.000"} <= words[1]
    assert {"Probabilidad", "Número publicado de defunciones", "0,04"} <= words[0]
