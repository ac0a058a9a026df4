"""An owner answers questions and gets a schema that fits; in a real terminal too."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import sys
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from celosia.cli.app import app
from celosia.cli.query.schema_wizard import ask_place, ask_schema
from celosia.core import ParameterError
from celosia.data.schema.columns import Boolean, Category, Date, Integer, Real, Text
from celosia.data.schema_file import SchemaFile, read_schema_file
from celosia.data.sources.text_format import TextFormat

if TYPE_CHECKING:
    from pathlib import Path

HEADER = "ID_Paciente;Edad;Peso (kg);Fecha alta;Sexo;Fumador;Importe;Diagnóstico;DNI"
SPANISH = TextFormat(delimiter=";", encoding="latin-1", decimal=",", date_format="%d/%m/%Y", null_values="NA")
CTRL_C = "\x03"
_MAX_SILENT_SECONDS = 600


@pytest.fixture
def spanish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file as a spreadsheet in Spain writes it: semicolons, decimal commas, Latin-1, days first, words for nulls."""
    rows = [
        f"P{i % 130};{'NA' if i % 23 == 0 else 20 + i % 70};{50 + i % 40},{i % 10};{1 + i % 28:02d}/{1 + i % 12}/2021;"
        f"{'HM'[i % 2]};{'Sí' if i % 3 else 'No'};{i * 3},50;{('Neumonía', 'Asma', 'Zóster')[i % 3]};{10_000_000 + i}X"
        for i in range(400)
    ]
    (tmp_path / "altas.csv").write_bytes("\n".join([HEADER, *rows]).encode("latin-1"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "altas.csv"


@pytest.fixture
def typing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers come from a pipe, and are taken as if somebody typed them."""
    monkeypatch.setattr("celosia.cli.query.schema._is_terminal", lambda: True)


def run(*arguments: object, answers: list[str], code: int = 0) -> str:
    result = CliRunner().invoke(
        app,
        ["schema", *map(str, arguments)],
        input="".join(f"{answer}\n" for answer in answers),
        env={"COLUMNS": "120", "NO_COLOR": "1"},
    )
    assert result.exit_code == code, result.output
    return result.output


@pytest.mark.usefixtures("typing")
def test_enter_takes_the_suggestions(spanish: Path) -> None:
    said = run(spanish, answers=["", "", "", "", "", "", "0..10000", ""])
    expected = SchemaFile(
        schema=read_schema_file("altas.toml").schema,
        name="altas",
        person="ID_Paciente",
        max_groups_per_person=4,
        max_rows_per_group=8,
        text=SPANISH,
    )
    assert read_schema_file("altas.toml") == expected
    assert dict(expected.schema) == {
        "Edad": Integer(0, 120),
        "Peso (kg)": Real(0, 300),
        "Fecha alta": Date("1900-01-01", "2100-01-01"),
        "Sexo": Text(),
        "Fumador": Boolean(),
        "Importe": Real(0, 10_000),
        "Diagnóstico": Text(),
    }
    for word in ("Neumonía", "P129", "10000000X", "88,"):
        assert word not in said
    assert re.search(r"8\s+DNI\s+left out\s+seems to name persons", said)
    assert "celosia schema" in said
    assert "--check altas.toml" in said


@pytest.mark.usefixtures("typing")
def test_the_dialogue_is_in_spanish_and_so_are_its_answers(spanish: Path) -> None:
    answers = ["quizá", "sí", "", "", "", "", "Sexo", "category", "?", "no", "H, M", "", "0..10000", ""]
    said = run(spanish, "--lang", "es", answers=answers)
    assert dict(read_schema_file("altas.toml").schema)["Sexo"] == Category("H", "M")
    for words in (
        "Las primeras filas de altas.csv parecen escritas así:",
        "¿Es correcto? [S/n]: ",
        "Hay que responder sí o no (s o n), y se ha dado 'quizá'.",
        "Qué columna identifica a la persona de una fila (- si cada fila es de otra persona) [ID_Paciente]: ",
        "En cuántos grupos de una consulta puede contar una persona [4]: ",
        "Tipo de Sexo (",
        "¿Enumerarlos de todos modos? [s/N]: ",
        "Límites de Importe, MÍNIMO..MÁXIMO (- la deja fuera): ",
        "altas.toml está escrito.",
    ):
        assert words in said
    assert re.search(r"8\s+DNI\s+fuera\s+parece nombrar a personas", said)
    assert re.search(r"1\s+Edad\s+integer\s+0\.\.120\s+años", said)
    assert (spanish.parent / "altas.toml").read_text("utf-8").startswith("# Los límites y las categorías son públicos.")


@pytest.mark.usefixtures("typing")
def test_the_name_of_a_file_commands_no_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"age": [1]}), "a\x1b[2Jb.parquet")
    said = run("a\x1b[2Jb.parquet", "--table", "ages", answers=["", "", ""])
    assert "\x1b" not in said
    assert r"Write the schema to [a\x1b[2Jb.toml]: " in said
    assert (tmp_path / "a\x1b[2Jb.toml").exists()


@pytest.mark.usefixtures("typing")
def test_what_is_suggested_does_not_depend_on_the_rows(spanish: Path) -> None:
    """The same header and types with other values: the dialogues differ in nothing."""
    before = run(spanish, "--output", "a.toml", answers=["", "", "", "", "", "", "0..10000"])
    first = (spanish.parent / "a.toml").read_bytes()
    far = [f"Q{i};{900 + i};-{10**6 + i},5;{1 + i % 28}/1/2919;Z;Sí;{10**12},5;Peste;9X" for i in range(30)]
    far += ["Q;NA;1,5;1/1/2919;Z;No;1,5;Peste;9X"]
    spanish.write_bytes("\n".join([HEADER, *far]).encode("latin-1") + "\nÑ;;;;;;;;".encode("latin-1"))
    (spanish.parent / "a.toml").unlink()
    assert run(spanish, "--output", "a.toml", answers=["", "", "", "", "", "", "0..10000"]) == before
    assert (spanish.parent / "a.toml").read_bytes() == first


@pytest.mark.usefixtures("typing")
def test_wrong_answers_are_asked_again(spanish: Path) -> None:
    (spanish.parent / "altas.toml").write_text("mine")
    said = run(
        spanish,
        answers=[
            *("perhaps", "y", "nobody", "id_paciente", "0", "x", "2", "-", "3", "-5", "40"),
            *("77", "Sexo, 3", "nothing", "category", "H, H", "H, M", "", "2021", "2021-12-31..2021-01-01"),
            *("2021-01-01..2021-12-31", "5", "-", "", "x", "10..0", "10000"),
            *("altas.toml", "nowhere/b.toml", ".", "b.toml"),
        ],
    )
    for message in (
        "There is no column 'nobody': name one of ID_Paciente, Edad",
        "The limit must be at least 1, not 0.",
        "Write an integer from 1 on, not 'x'.",
        "Write an integer from 1 on, not '-'.",
        "There is no column '77'",
        "kind must be one of integer, real",
        "The values of Category must be different",
        "Write both bounds, such as 2021-01-01..2021-12-31, not '2021'.",
        "low must be at most high, not '2021-12-31'",
        "high must be a number",
        "'altas.toml' is there already: name another file.",
        "there is no directory 'nowhere'; make it first.",
        "is a directory; name a file.",
    ):
        assert message in " ".join(said.split()), message
    made = read_schema_file("b.toml")
    assert (made.max_groups_per_person, made.max_rows_per_group, made.max_rows_per_person) == (2, 3, 40)
    assert made.schema["Sexo"] == Category("H", "M")
    assert made.schema["Fecha alta"] == Date("2021-01-01", "2021-12-31")
    assert "Fumador" not in made.schema
    assert (spanish.parent / "altas.toml").read_text() == "mine"


@pytest.mark.usefixtures("typing")
def test_categories_are_listed_only_after_a_warning(spanish: Path) -> None:
    start = ["", "-", "Diagnóstico", "category"]
    end = ["", "100", "a.toml"]
    said = run(spanish, answers=[*start, "?", "", "Asma, Gripe", *end])
    assert "Listing the values that occur makes them public" in " ".join(said.split())
    assert "Zóster" not in said
    assert read_schema_file("a.toml").schema["Diagnóstico"] == Category("Asma", "Gripe")
    said = run(spanish, answers=[*start, "?", "y", "", *end[:-1], "b.toml"])
    assert "[Asma, Neumonía, Zóster]" in said
    assert read_schema_file("b.toml").schema["Diagnóstico"] == Category("Asma", "Neumonía", "Zóster")
    assert read_schema_file("b.toml").person is None
    said = run(spanish, answers=[*start[:-2], "ID_Paciente", "cat", "?", "y", "P1, P2", *end[:-1], "c.toml"])
    assert "more than 50" in said
    assert "P77" not in said


@pytest.mark.usefixtures("typing")
def test_a_format_can_be_corrected(spanish: Path) -> None:
    run(spanish, answers=["n", ";", "klingon", "windows-1252", "", "dd/mm/aaaa", "NA, S/D", "-", "", "9", "a.toml"])
    assert read_schema_file("a.toml").text == TextFormat(
        delimiter=";", encoding="windows-1252", decimal=",", date_format="%d/%m/%Y", null_values=["NA", "S/D"]
    )


@pytest.mark.usefixtures("typing")
def test_texts_of_a_typed_file_can_be_numbers_and_dates(tmp_path: Path) -> None:
    rows = {"age": ["34", "x"], "seen": ["31/12/2021", "NA"], "ward": [1, 2], "scan": [b"x", b"y"]}
    pq.write_table(pa.table(rows), tmp_path / "v.parquet")
    run(
        *(tmp_path / "v.parquet", "--table", "visits", "--output", tmp_path / "s.toml"),
        answers=["", "age, seen, ward", "int", "", "date", "", "cat", "?", "y", "", "", "", "dd/mm/yyyy", "NA"],
    )
    made = read_schema_file(tmp_path / "s.toml")
    assert dict(made.schema) == {
        "age": Integer(0, 120), "seen": Date("1900-01-01", "2100-01-01"), "ward": Category(1, 2),
    }  # fmt: skip
    assert made.name == "visits"
    assert made.text == TextFormat(date_format="%d/%m/%Y", null_values="NA")


@pytest.mark.usefixtures("typing")
def test_a_broken_off_dialogue_writes_nothing(spanish: Path) -> None:
    before = sorted(spanish.parent.iterdir())
    for answers in ([], ["", ""], ["", "", "", "", "", "", "100"]):
        assert "interrupted" in run(spanish, answers=answers, code=130)
    (spanish.parent / "mine.toml").write_text("mine")
    assert "is there already" in run(spanish, "--output", "mine.toml", answers=[], code=2)
    assert sorted(spanish.parent.iterdir()) == sorted([*before, spanish.parent / "mine.toml"])


def test_without_a_terminal_nothing_is_asked(spanish: Path) -> None:
    assert '# decimal = ","' in run(spanish, answers=["n", "n"])


def test_the_functions_raise_what_the_command_prints() -> None:
    with pytest.raises(ParameterError, match="there is no file"):
        ask_schema("nowhere.parquet", None)
    assert ask_place.__doc__


class Terminal:
    """The command in a pseudo terminal, and what it shows there."""

    def __init__(self, *arguments: str) -> None:
        self.child, self.place = pty.fork()
        if self.child == 0:
            environment = {**os.environ, "COLUMNS": "120", "TERM": "dumb"}
            os.execve(sys.executable, [sys.executable, "-m", "celosia", *arguments], environment)
        self.shown = ""

    def _read(self, keys: str = "") -> bool:
        for _ in range(_MAX_SILENT_SECONDS):
            if select.select([self.place], [], [], 1)[0]:
                break
            os.write(self.place, keys.encode())  # an interrupt just before Python waits for a line is lost
        else:
            os.kill(self.child, signal.SIGKILL)
            pytest.fail(f"nothing more is shown after: {self.shown}")
        try:
            found = os.read(self.place, 65536)
        except OSError:  # the other side has ended
            found = b""
        self.shown += found.decode()
        return bool(found)

    def answer(self, question: str, keys: str) -> None:
        """Wait for a question, and type."""
        while question not in self.shown:
            assert self._read(), f"{question!r} was not asked: {self.shown}"
        self.shown = self.shown.partition(question)[2]
        os.write(self.place, keys.encode())

    def end(self, keys: str = "") -> tuple[int, str]:
        while self._read(keys):
            pass
        os.close(self.place)
        return os.waitstatus_to_exitcode(os.waitpid(self.child, 0)[1]), self.shown


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo terminals")
def test_from_a_messy_file_to_an_answer_in_a_terminal(spanish: Path) -> None:
    terminal = Terminal("schema", "altas.csv")
    terminal.answer("Is that right? [Y/n]", "\n")
    terminal.answer("Which column identifies", CTRL_C)
    assert terminal.end(CTRL_C)[0] == 130
    assert [file.name for file in spanish.parent.iterdir()] == ["altas.csv"]
    terminal = Terminal("schema", "altas.csv")
    dialogue: list[tuple[str, Any]] = [
        ("Is that right? [Y/n]", "\n"),
        ("Which column identifies", "\n"),
        ("In how many groups", "2\n"),
        ("With how many rows", "4\n"),
        ("Most rows that anybody has", "\n"),
        ("Columns to change", "Sexo\n"),
        ("Kind of Sexo", "category\n"),
        ("Values of Sexo", "H, M\n"),
        ("Columns to change", "\n"),
        ("Bounds of Importe", "ten\n"),
        ("Bounds of Importe", "0..10000\n"),
        ("Write the schema to", "\n"),
    ]
    for question, keys in dialogue:
        terminal.answer(question, keys)
    code, shown = terminal.end()
    assert code == 0, shown
    assert "altas.toml is written" in shown
    runner = CliRunner()
    checked = runner.invoke(app, ["schema", "altas.csv", "--check", "altas.toml"], env={"COLUMNS": "200"})
    assert checked.exit_code == 0, checked.output
    assert "fits: 7 columns of altas can be asked about" in checked.output
    sql = 'SELECT COUNT(Fumador) AS n, AVG("Peso (kg)") AS peso FROM altas WHERE "Fecha alta" >= DATE \'2021-01-01\''
    asked = runner.invoke(app, ["query", "altas.csv", sql, "--schema", "altas.toml", "--epsilon", "200", "--json"])
    assert asked.exit_code == 0, asked.output
    assert re.search(r'"n":\s*400\b', asked.stdout), asked.stdout
