from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import celosia as cl
from celosia.core.errors import CelosiaError, EngineError, LedgerError, MissingExtraError
from celosia.guard.http.problems import problem_of
from celosia.guard.web.i18n.language import load_language
from celosia.guard.web.i18n.wording import Sentence, replace_guarantees, translate
from celosia.ledger import Policy, Window
from celosia.ledger.budgets.advice import describe_refusal


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


def test_numbers_have_the_marks_of_the_language() -> None:
    assert translate("Laplace noise of scale 0.2857", load_language("es")).text == "ruido de Laplace de escala 0,2857"
    said = translate("exponential choice among 1,025 candidates", load_language("es")).text
    assert said == "elección entre 1.025 candidatos por el mecanismo exponencial"
    shared = translate("a.b, c come from one measurement and share its noise.", load_language("es")).text
    assert shared == "a.b, c salen de una misma medición y comparten su ruido."


def test_a_maximum_at_its_bound_is_said_in_spanish() -> None:
    said = translate("most is 100, the bound of its column: values beyond it were clipped to it.", load_language("es"))
    assert said == Sentence(
        "most es 100, el límite de su columna: los valores más allá de él se recortaron hasta él.", "es"
    )


def test_english_stays_as_it_is() -> None:
    said = translate("Laplace noise of scale 2", load_language("en"))
    assert (said.text, said.code) == ("Laplace noise of scale 2", "en")


def test_what_is_not_known_stays_in_english() -> None:
    said = translate("A new sentence.", load_language("es"))
    assert (said.text, said.code) == ("A new sentence.", "en")


def test_what_is_refused_is_explained_in_spanish() -> None:
    cases: list[tuple[str, dict[str, Any], str]] = [
        ("SELECT AVG(gender) FROM people", {}, "No hay ninguna columna 'gender'. Hay age,"),
        ("SELECT AVG(agge) FROM people", {}, "¿Quería decir age?"),
        ('SELECT COUNT(*) FROM people WHERE sex = "F"', {}, "Los textos van entre comillas simples."),
        ("SELECT COUNT(*) FROM peopel", {}, "No hay ninguna tabla 'peopel'. ¿Quería decir people?"),
        ("SELECT * FROM people", {}, "mostraría filas"),
        ("SELECT DISTINCT sex FROM people", {}, "mostraría los valores"),
        ("SELEC COUNT(*) FROM people", {}, "no se entiende"),
        ("SELECT COUNT(*) FROM", {}, "no se entiende"),
        ("", {}, "vacía"),
        ("SELECT 1; SELECT 2", {}, "El texto tiene 2 instrucciones: debe ser un solo SELECT"),
        ("SELECT age, COUNT(*) FROM people", {}, "ni en GROUP BY ni dentro de un agregado"),
        ("SELECT AVG(name) FROM people", {}, "no es un número (tipo: texto)"),
        ("SELECT AVG(sex) FROM people", {}, "no es un número (tipo: categoría)"),
        ("SELECT COUNT(*) FROM people WHERE sex = 'X'", {}, "sex nunca es 'X'. Hay F, M."),
        ("SELECT COUNT(*) FROM people WHERE age = 'X'", {}, "age (un número) no se puede comparar con 'X' (un texto)"),
        ("SELECT COUNT(*) FROM people WHERE sex < 'X'", {}, "enumere los valores"),
        ("SELECT SUM(LEAST(age, 'x')) FROM people", {}, "no se pueden"),
        ("SELECT COUNT(*) FROM people WHERE age", {}, "condición"),
        ("SELECT COUNT(*) FROM people WHERE COUNT(*) > 1", {}, "HAVING"),
        ("SELECT COUNT(*) FROM people WHERE age = NULL", {}, "IS NULL"),
        ("SELECT SUM(name + 1) FROM people", {}, "calcula con números, no con name (un texto)"),
        ("SELECT who, COUNT(*) FROM people GROUP BY who", {}, "dice de quién es la fila"),
        ("DELETE FROM people", {}, "nunca se escribe nada"),
        ("SELECT COUNT(*), COUNT(*) FROM people UNION SELECT 1", {}, "solo se lee un SELECT"),
        ("SELECT ROW_NUMBER() OVER () FROM people", {}, "no se pueden mirar una junto a otra"),
        ("SELECT COUNT(*) FROM people LIMIT 0", {}, "LIMIT toma un número entero"),
        ("SELECT COUNT(*) FROM people ORDER BY 7", {}, "no es una posición"),
        ("SELECT TOP_K(sex, 9) FROM people", {}, "TOP_K necesita"),
        ("SELECT MODE(name) FROM people", {}, "valores sean públicos"),
        ("SELECT COUNT(*) FROM people", {"epsilon": "much"}, "ε debe ser un número, como 0,1 o 1e-6, no 'much'."),
        ("SELECT COUNT(*) FROM people", {"epsilon": "-1"}, "ε debe ser mayor que 0, no '-1'."),
        ("SELECT COUNT(*) FROM people", {"epsilon": "1e9"}, "más allá no se promete nada"),
        ("SELECT COUNT(*) FROM people", {"epsilon": None}, "El presupuesto es un ε"),
        ("SELECT COUNT(*) FROM people", {"rho": "1"}, "El presupuesto es un ε"),
        ("SELECT AVG(age) FROM people", {"epsilon": None, "error": "5"}, "depende del número de filas"),
        ("SELECT COUNT(*) FROM people", {"epsilon": None, "error": "0.0001"}, "Ni todo el presupuesto (ε = 2; δ = "),
        ("SELECT COUNT(*) FROM people", {"delta": "7"}, "δ"),
        ("SELECT MEDIAM(age) FROM people", {}, "MEDIAM no se puede usar aquí: escriba MEDIAN, si"),
        ("SELECT COUNT(*) FROM people", {"epsilon": "1e-30"}, "ε es demasiado pequeño"),
        ("SELECT COUNT(*) FROM people", {"epsilon": None, "error": 1, "confidence": 2}, "La probabilidad debe ser"),
    ]
    for sql, target, words in cases:
        asked = session(
            cl.ApproxDP(epsilon=2, delta="1e-6"), person="who", max_groups_per_person=2, max_rows_per_group=3
        )
        with pytest.raises(CelosiaError) as refused:
            asked.sql(sql).preview(**{"epsilon": "0.5"} | target)
        said = translate(str(refused.value), load_language("es"))
        assert said.code == "es", said.text
        assert words in said.text.replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("An analyst may not read the log.", "leer el registro"),
        ("There is no answer 'zz' that you may see.", "No hay ninguna respuesta 'zz' que usted pueda ver."),
        ("There is no data set 'zz' that you may see.", "ningún conjunto de datos 'zz'"),
        (
            "The answer would have 11858 cells, and 10000 are allowed: group by less, or list keys.",
            "La respuesta tendría 11858 casillas, y se permiten 10000: agrupe por menos.",
        ),
        (
            (
                "The question costs PureDP(epsilon=5), and data set 'd' has PureDP(epsilon='2.5') left: it is used up, "
                "so ask the owner of the data for more."
            ),
            "La pregunta cuesta ε = 5, y al conjunto de datos",
        ),
    ],
)
def test_what_the_guard_refuses_is_explained_in_spanish(sentence: str, words: str) -> None:
    said = translate(sentence, load_language("es"))
    assert said.code == "es"
    assert words in said.text.replace("\N{NO-BREAK SPACE}", " ")


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
                    "al conjunto de datos 'deaths' le queda ε = 0,4: pida un ε de 0,4 como mucho, "
                    "o más presupuesto al responsable de los datos."
                ),
            ),
            (Policy(limit=cl.PureDP(epsilon=9), window=week), None, "le queda ε = 0,3 hasta el "),
            (cl.PureDP(epsilon="0.2"), "ana", "al presupuesto de 'ana' en el conjunto de datos 'deaths' le queda"),
        ):
            ledger.set_budget(policy, dataset="deaths", analyst=analyst)
            with pytest.raises(CelosiaError) as refused:
                ledger.reserve(event, dataset="deaths", analyst=analyst)
            spanish = translate(str(refused.value), load_language("es")).text.replace("\N{NO-BREAK SPACE}", " ")
            english = translate(str(refused.value), load_language("en")).text.replace("\N{NO-BREAK SPACE}", " ")
            assert "La pregunta cuesta ε = 0,5, y " in spanish
            assert words in spanish
            assert "The question costs ε = 0.5, and " in english
            assert "DP(" not in spanish + english


@pytest.mark.parametrize(
    ("cost", "left", "words"),
    [
        (cl.ZCDP(rho=2), cl.ZCDP(rho="0.01"), "pida un ρ de 0,01 como mucho"),
        (cl.ApproxDP(epsilon=1, delta="1e-6"), cl.ApproxDP(epsilon=1, delta="1e-7"), "pida un δ de 1e-07 como mucho"),
        (cl.ApproxDP(epsilon=1, delta="1e-6"), cl.ApproxDP(epsilon=1, delta=0), "su δ está agotado"),
        (cl.ApproxDP(epsilon=1, delta="1e-6"), cl.ApproxDP(epsilon=1, delta="1e-6"), "pida un δ menor"),
        (cl.GaussianDP(mu=2), cl.GaussianDP(mu=0), "cuesta más de lo que al presupuesto le queda: está agotado"),
    ],
)
def test_every_advice_is_said_in_spanish(cost: cl.Guarantee, left: cl.Guarantee, words: str) -> None:
    for until in (None, "2026-01-02 00:00 UTC"):
        said = translate(describe_refusal(cost, left, "the budget", lambda _: False, until=until), load_language("es"))
        assert said.code == "es"
        assert words.replace("le queda: ", f"le queda hasta el {until}: " if until else "le queda: ") in said.text


def test_what_speaks_python_is_said_otherwise_in_english() -> None:
    told = "The budget is an epsilon, so a query spends one: give epsilon=, such as epsilon='0.5', or error=."
    assert translate(told, load_language("en")).text.endswith("fill it in, or say the largest error.")


def test_costs_are_rounded_up_and_rests_down() -> None:
    text = "It costs PureDP(epsilon='0.12345'), and ZCDP(rho='1/3') is left."
    assert (
        replace_guarantees(text, "en").replace("\N{NO-BREAK SPACE}", " ")
        == "It costs ε = 0.1235, and ρ = 0.3333 is left."
    )
    assert replace_guarantees("There is no table 'PureDP(x)'.", "en") == "There is no table 'PureDP(x)'."


def test_a_part_that_is_not_known_leaves_the_whole_in_english() -> None:
    sentence = "FOO is not supported: a hint that is new."
    assert translate(sentence, load_language("es")) == Sentence(sentence, "en")


def test_a_long_sentence_is_not_tried_on_every_shape() -> None:
    sentence = f"There is no column 'x'. There are {'a, ' * 500}b."
    assert translate(sentence, load_language("es")).code == "en"


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
    assert (
        translate(note, load_language("es")).text == "Por sí sola cuesta un épsilon de 0,1; del presupuesto toma 0,012."
    )
