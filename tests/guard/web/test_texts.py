from __future__ import annotations

import re
import string
from typing import Any

import pyarrow as pa
import pytest

import celosia as cl
from celosia.core.errors import CelosiaError, EngineError, LedgerError, MissingExtraError
from celosia.core.messages.message import Message, find_template
from celosia.guard.web.web_session import load_language
from celosia.ledger import Policy, Window
from celosia.ledger.budgets.advice import describe_refusal
from celosia.serving.pages.languages import Sentence, translate
from celosia.serving.problems import problem_of


def gaps(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def test_both_languages_say_the_same_things() -> None:
    english, spanish = load_language("en").texts, load_language("es").texts
    assert list(english) == list(spanish)
    assert not {name for name in english if gaps(english[name]) != gaps(spanish[name])}
    assert not {name for name, text in spanish.items() if not text.strip()}


def test_hardly_anything_is_the_same_word_in_both() -> None:
    english, spanish = load_language("en").texts, load_language("es").texts
    same = {name for name in english if english[name] == spanish[name]}
    assert same <= {
        "site.name", "nav.who", "budget.delta", "budget.rho", "ask.tab_sql", "ask.delta", "preview.within",
        "preview.error",
    }  # fmt: skip


def test_values_are_not_read_as_patterns() -> None:
    assert load_language("en").text("nav.who", name="{role}", role="{0}") == "{role}, {0}"


def session(budget: cl.Guarantee, **protected: Any) -> cl.Session:
    schema = cl.Schema(age=cl.Integer(0, 120), income=cl.Integer(0, 10**6), sex=cl.Category("F", "M"), name=cl.Text())
    empty = pa.table(
        {
            "age": pa.array([], pa.int64()),
            "income": pa.array([], pa.int64()),
            "sex": pa.array([], pa.string()),
            "name": pa.array([], pa.string()),
            "who": pa.array([], pa.int64()),
        }
    )
    return cl.Session(cl.table(empty, schema=schema, name="people", **protected), budget=budget)


SQL = [
    "SELECT COUNT(*), AVG(age) FROM people",
    "SELECT SUM(age), STDDEV(age) FROM people",
    "SELECT MEDIAN(age) FROM people",
    "SELECT MEDIAN(income) FROM people",
    "SELECT MIN(age), MAX(age) FROM people",
    "SELECT QUANTILE(age, 0.9) FROM people",
    "SELECT MODE(sex), TOP_K(sex, 2) FROM people",
    "SELECT AVG(age), AVG(income), COUNT(*) FROM people",
    "SELECT name, COUNT(*) FROM people GROUP BY name",
    "SELECT TOP_K(name, 3) FROM people",
]


def check_preview(sql: str, most: int | None, budget: cl.Guarantee) -> None:
    """Of a table of rows, of one of persons, and of one that declares the most rows of a person."""
    limits = {"person": "who", "max_groups_per_person": 2, "max_rows_per_group": 3, "max_rows_per_person": most or None}
    protected: dict[str, Any] = {} if most is None else limits
    target: dict[str, Any] = {"rho": "0.1"} if isinstance(budget, cl.ZCDP) else {"epsilon": "0.5"}
    preview = session(budget, **protected).sql(sql).preview(**target)
    sentences = [*preview.notes, *(line.mechanism for line in preview.lines)]
    assert sentences
    spanish = [translate(sentence, load_language("es")) for sentence in sentences]
    assert [sentence.text for sentence in spanish if sentence.code != "es"] == []
    assert not [sentence.text for sentence in spanish if "<" in sentence.text or "\\" in sentence.text]


def test_the_sentences_of_previews_have_spanish() -> None:
    for budget in (cl.ApproxDP(epsilon=2, delta="1e-6"), cl.ZCDP(rho=1)):
        for most in (None, 0, 40):
            for sql in SQL:
                if isinstance(budget, cl.ApproxDP) or "name" not in sql:  # private keys need a delta
                    check_preview(sql, most, budget)


def say(code: str, **fields: object) -> str:
    """The Spanish of a message, with plain blanks."""
    said = translate(Message(code, **fields), load_language("es"))
    assert said.code == "es"
    return said.text.replace("\N{NO-BREAK SPACE}", " ")


def test_numbers_have_the_marks_of_the_language() -> None:
    assert say("query.noise", kind="Laplace", size=0.2857) == "ruido de Laplace de escala 0,2857"
    assert say("query.exponential_choice", candidates=1025) == "elección exponencial entre 1.025 candidatos"
    shared = say("query.shared_measurement", names=("a.b", "c"))
    assert shared == "a.b, c salen de una misma medición y comparten su ruido."


def test_english_stays_as_it_is() -> None:
    said = translate(Message("query.noise", kind="Laplace", size=2.0), load_language("en"))
    assert (said.text, said.code) == ("Laplace noise of scale 2", "en")


def test_what_is_not_known_stays_in_english() -> None:
    said = translate("A new sentence.", load_language("es"))
    assert (said.text, said.code) == ("A new sentence.", "en")


def test_what_is_refused_is_explained_in_spanish() -> None:
    cases: list[tuple[str, dict[str, Any], str]] = [
        ("SELECT AVG(gender) FROM people", {}, "No hay ninguna columna 'gender'. Hay age,"),
        ("SELECT AVG(agge) FROM people", {}, "¿Se quería decir age?"),
        ('SELECT COUNT(*) FROM people WHERE sex = "F"', {}, "Un texto se escribe entre comillas simples."),
        ("SELECT COUNT(*) FROM peopel", {}, "No hay ninguna tabla 'peopel'. ¿Se quería decir people?"),
        ("SELECT * FROM people", {}, "mostraría filas"),
        ("SELECT DISTINCT sex FROM people", {}, "mostraría los valores"),
        ("SELEC COUNT(*) FROM people", {}, "no se entiende"),
        ("SELECT COUNT(*) FROM", {}, "no se entiende"),
        ("", {}, "vacío"),
        ("SELECT 1; SELECT 2", {}, "El texto tiene 2 instrucciones: debe ser un solo SELECT"),
        ("SELECT age, COUNT(*) FROM people", {}, "ni en GROUP BY ni dentro de un agregado"),
        ("SELECT AVG(name) FROM people", {}, "name es Text, no un número"),
        ("SELECT AVG(sex) FROM people", {}, "sex es Category, no un número"),
        ("SELECT COUNT(*) FROM people WHERE sex = 'X'", {}, "sex nunca es 'X'. Hay F, M."),
        ("SELECT COUNT(*) FROM people WHERE age = 'X'", {}, "age (un número) no se puede comparar con 'X' (un texto)"),
        ("SELECT COUNT(*) FROM people WHERE sex < 'X'", {}, "hay que enumerar los valores"),
        ("SELECT SUM(LEAST(age, 'x')) FROM people", {}, "no se pueden"),
        ("SELECT COUNT(*) FROM people WHERE age", {}, "condición"),
        ("SELECT COUNT(*) FROM people WHERE COUNT(*) > 1", {}, "HAVING"),
        ("SELECT COUNT(*) FROM people WHERE age = NULL", {}, "IS NULL"),
        ("SELECT SUM(name + 1) FROM people", {}, "calcula con números, no con name (un texto)"),
        ("SELECT who, COUNT(*) FROM people GROUP BY who", {}, "es la columna de persona"),
        ("DELETE FROM people", {}, "nunca se escribe nada"),
        ("SELECT COUNT(*), COUNT(*) FROM people UNION SELECT 1", {}, "solo se lee un SELECT"),
        ("SELECT ROW_NUMBER() OVER () FROM people", {}, "no se pueden mirar unas junto a otras"),
        ("SELECT COUNT(*) FROM people LIMIT 0", {}, "LIMIT toma un literal entero de 1 a 1.000.000"),
        ("SELECT COUNT(*) FROM people ORDER BY 7", {}, "no es una posición"),
        ("SELECT TOP_K(sex, 9) FROM people", {}, "top_k necesita"),
        ("SELECT MODE(name) FROM people", {}, "valores sean públicos"),
        (
            "SELECT COUNT(*) FROM people",
            {"epsilon": "much"},
            'epsilon debe ser un número como "0.1", "1e-6" o "1/3", y es \'much\'.',
        ),
        ("SELECT COUNT(*) FROM people", {"epsilon": "-1"}, "epsilon debe ser mayor que 0, y es '-1'."),
        ("SELECT COUNT(*) FROM people", {"epsilon": "1e9"}, "más allá no se garantiza nada"),
        ("SELECT COUNT(*) FROM people", {"epsilon": None}, "El presupuesto es un ε"),
        ("SELECT COUNT(*) FROM people", {"rho": "1"}, "El presupuesto es un ε"),
        ("SELECT AVG(age) FROM people", {"epsilon": None, "error": "5"}, "depende del número de filas"),
        ("SELECT COUNT(*) FROM people", {"epsilon": None, "error": "0.0001"}, "Ni todo el presupuesto (ε = 2; δ = "),
        ("SELECT COUNT(*) FROM people", {"delta": "7"}, "delta debe ser 0, o al menos 1e-200"),
        ("SELECT MEDIAM(age) FROM people", {}, "MEDIAM no se puede usar aquí: hay que escribir MEDIAN, si"),
        ("SELECT COUNT(*) FROM people", {"epsilon": "1e-30"}, "epsilon es demasiado pequeño"),
        ("SELECT COUNT(*) FROM people", {"epsilon": None, "error": 1, "confidence": 2}, "confidence debe ser"),
    ]
    for sql, target, words in cases:
        asked = session(
            cl.ApproxDP(epsilon=2, delta="1e-6"), person="who", max_groups_per_person=2, max_rows_per_group=3
        )
        with pytest.raises(CelosiaError) as refused:
            asked.sql(sql).preview(**{"epsilon": "0.5"} | target)
        said = translate(refused.value.message, load_language("es"))
        assert said.code == "es", said.text
        assert words in said.text.replace("\N{NO-BREAK SPACE}", " ")


def test_what_the_guard_refuses_is_explained_in_spanish() -> None:
    assert say("guard.no_answer", name="'zz'") == "No hay ninguna respuesta 'zz' que se pueda ver."
    assert say("guard.no_dataset", name="'zz'").startswith("No hay ningún conjunto de datos 'zz'")
    assert say("guard.too_many_cells", cells=11858, most=10000).endswith("y se permiten 10000: agrupe por menos.")


def test_every_refusal_of_a_budget_is_said_in_both_languages() -> None:
    """The sentences are made by the ledger itself: for good and in a period, of a data set and of an analyst."""
    with cl.open_ledger("memory://") as ledger:
        week = Window(seconds=604_800, limit=cl.PureDP(epsilon="0.3"))
        event = cl.mechanisms.Laplace(epsilon="0.5", sensitivity=1).event
        for policy, analyst, words in (
            (
                cl.PureDP(epsilon="0.4"),
                None,
                (
                    "en el conjunto de datos 'deaths' queda ε = 0,4: hay que preguntar con un epsilon de 0,4 como "
                    "mucho, o pedir más"
                ),
            ),
            (Policy(limit=cl.PureDP(epsilon=9), window=week), None, "queda ε = 0,3 hasta "),
            (cl.PureDP(epsilon="0.2"), "ana", "en la cuenta de 'ana' para el conjunto de datos 'deaths' queda"),
        ):
            ledger.set_budget(policy, dataset="deaths", analyst=analyst)
            with pytest.raises(CelosiaError) as refused:
                ledger.reserve(event, dataset="deaths", analyst=analyst)
            spanish = translate(refused.value.message, load_language("es")).text.replace("\N{NO-BREAK SPACE}", " ")
            english = translate(refused.value.message, load_language("en")).text.replace("\N{NO-BREAK SPACE}", " ")
            assert "La pregunta cuesta ε = 0,5, y " in spanish
            assert words in spanish
            assert "The question costs ε = 0.5, and " in english
            assert "DP(" not in spanish + english


@pytest.mark.parametrize(
    ("cost", "left", "words"),
    [
        (cl.ZCDP(rho=2), cl.ZCDP(rho="0.01"), "un rho de 0,01 como mucho"),
        (cl.ApproxDP(epsilon=1, delta="1e-6"), cl.ApproxDP(epsilon=1, delta="1e-7"), "un delta de 1e-07 como mucho"),
        (cl.ApproxDP(epsilon=1, delta="1e-6"), cl.ApproxDP(epsilon=1, delta=0), "su delta está agotado"),
        (cl.ApproxDP(epsilon=1, delta="1e-6"), cl.ApproxDP(epsilon=1, delta="1e-6"), "un delta menor"),
        (cl.GaussianDP(mu=2), cl.GaussianDP(mu=0), "cuesta más de lo que"),
    ],
)
def test_every_advice_is_said_in_spanish(cost: cl.Guarantee, left: cl.Guarantee, words: str) -> None:
    for until in (None, "2026-01-02 00:00 UTC"):
        refusal = describe_refusal(cost, left, Message("ledger.scope_budget"), lambda _: False, until=until)
        said = translate(refusal, load_language("es"))
        assert said.code == "es"
        assert words in said.text
        assert (f"hasta {until}" in said.text) == (until is not None)


def test_what_tells_python_is_said_otherwise_on_pages() -> None:
    told = Message("query.query_must_spend_epsilon", given="")
    assert told.endswith("give epsilon=, such as epsilon='0.5', or error=.")
    assert translate(told, load_language("en")).text.endswith("fill it in, or say the largest error.")
    assert translate(told, load_language("es")).text.endswith("dígalo, o diga el error máximo.")


def test_every_sentence_of_the_pages_has_a_code_and_its_gaps() -> None:
    for code in ("en", "es"):
        texts = load_language(code).texts
        names = [name.removeprefix("message.") for name in texts if name.startswith("message.")]
        assert len(names) > 5
        for name in names:
            template = find_template(name, "en")
            assert template is not None, name
            gaps = set(re.findall(r"\{(\w+)", texts[f"message.{name}"]))
            assert gaps <= set(re.findall(r"\{(\w+)", template)), name


def test_costs_are_rounded_up_and_remainders_down() -> None:
    fields = {"cost": cl.PureDP(epsilon="0.12345"), "left": cl.ZCDP(rho="1/3"), "scope": "the budget", "advice": "no"}
    said = translate(Message("ledger.cost_too_high", **fields), load_language("en"))
    wanted = "The question costs ε = 0.1235, and the budget has ρ = 0.3333 left: no."
    assert said.text.replace("\N{NO-BREAK SPACE}", " ") == wanted
    missing = translate(Message("query.suggest_close", name="PureDP(x)"), load_language("en"))
    assert missing.text == "Did you mean PureDP(x)?"


def test_a_part_without_spanish_leaves_the_whole_in_english() -> None:
    message = Message("query.not_supported", name="FOO", hint=Message("a hint of a plug-in"))
    assert translate(message, load_language("es")) == Sentence("FOO is not supported: a hint of a plug-in.", "en")


@pytest.mark.parametrize("error", [EngineError("x"), LedgerError("x"), MissingExtraError("x")])
def test_what_the_server_says_instead_of_an_error_is_said_in_spanish(error: CelosiaError) -> None:
    problem = problem_of(error)
    assert problem is not None
    assert translate(problem.detail, load_language("es")).code == "es", problem.detail


def test_what_a_question_takes_of_the_budget_is_said_in_spanish() -> None:
    asked = session(cl.ApproxDP(epsilon=20, delta="1e-5"))
    asked.account.reserve(
        cl.core.RepeatedEvent(event=cl.mechanisms.Laplace(epsilon="0.1", sensitivity=1).event, times=900), question=""
    )
    note = asked.sql("SELECT COUNT(*) FROM people").preview(epsilon="0.1").notes[-1]
    assert note == "It costs an epsilon of 0.1 alone; of the budget it takes 0.012."
    assert translate(note, load_language("es")).text == "Por sí sola cuesta un ε de 0,1; del presupuesto toma 0,012."
