from __future__ import annotations

from collections.abc import Sequence  # noqa: TC003 - pydantic reads the annotations
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from celosia.core.errors import CelosiaError, ParameterError, QueryError
from celosia.serving.errors import _REASONS, NotFoundError, find_problem


def test_it_is_a_query_error_that_names_what_was_asked_for() -> None:
    with pytest.raises(QueryError, match="There is no data set 'deaths' that you may see") as caught:
        raise NotFoundError("guard.no_dataset", name="deaths")
    assert isinstance(caught.value, CelosiaError)


@pytest.mark.parametrize("name", ["\ud800", "a" * 10_000, None, 7])
def test_whatever_was_asked_for_can_be_shown(name: object) -> None:
    message = str(NotFoundError("guard.no_user", name=name))
    assert len(message) < 200
    message.encode()


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    yes: bool = True
    number: Annotated[int, Field(ge=1, le=9)] = 1
    loose: Annotated[int, Field(strict=False)] = 1
    whether: Annotated[bool, Field(strict=False)] = True
    names: Sequence[str] = ()
    listed: list[int] = []
    record: dict[str, int] = {}
    inner: Inner | None = None
    form: Literal["json", "csv", "jsonl"] = "json"
    text: Annotated[str, Field(min_length=2, max_length=3, pattern="^[a-z]+$")] = "ab"


class Inner(BaseModel):
    needed: int


WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"yes": 1}, "yes is not a boolean.", "yes no es un booleano."),
    ({"whether": "perhaps"}, "whether is not a boolean.", "whether no es un booleano."),
    ({"number": "1"}, "number is not an integer.", "number no es un entero."),
    ({"loose": "x"}, "loose is not an integer.", "loose no es un entero."),
    ({"number": 1.5}, "number is not an integer.", "number no es un entero."),
    ({"loose": 1.5}, "loose is not an integer.", "loose no es un entero."),
    ({"number": 0}, "number must be at least 1.", "number debe ser al menos 1."),
    ({"number": 10}, "number must be at most 9.", "number debe ser como mucho 9."),
    ({"names": "abc"}, "names is not a list.", "names no es una lista."),
    ({"names": 7}, "names is not a list.", "names no es una lista."),
    ({"listed": 7}, "listed is not a list.", "listed no es una lista."),
    ({"record": 7}, "record is not a JSON object.", "record no es un objeto de JSON."),
    ({"inner": 7}, "inner is not a JSON object.", "inner no es un objeto de JSON."),
    ({"inner": {}}, "inner.needed is missing.", "Falta inner.needed."),
    (
        {"form": "xml"},
        "form must be one of 'json', 'csv', 'jsonl'.",
        "form debe ser uno de estos: 'json', 'csv', 'jsonl'.",
    ),
    ({"other": 1}, "other is not a known field.", "other no es un campo conocido."),
    ({"text": 7}, "text is not a string.", "text no es una cadena."),
    ({"text": "a"}, "text has fewer than 2 characters.", "text tiene menos de 2 caracteres."),
    ({"text": "abcd"}, "text has more than 3 characters.", "text tiene más de 3 caracteres."),
    ({"text": "AB"}, "text must have the form ^[a-z]+$.", "text debe tener la forma ^[a-z]+$."),
]


def test_every_wrong_field_is_described_in_both_languages() -> None:
    seen = set()
    for fields, english, spanish in WRONG:
        with pytest.raises(ValidationError) as caught:
            Body.model_validate(fields)
        found = caught.value.errors()
        seen |= {one["type"] for one in found}
        message = find_problem(found).message
        assert english in str(message), fields
        assert spanish in message.render("es"), fields
    assert seen >= _REASONS.keys() - {"model_attributes_type"}


def test_an_error_of_our_own_checks_comes_first() -> None:
    own = ParameterError("core.not_positive", name="epsilon", value="-1")
    found = [{"type": "missing", "loc": ("body", "sql")}, {"type": "value_error", "loc": (), "ctx": {"error": own}}]
    assert find_problem(found) is own
    assert str(find_problem([{"type": "never_seen", "loc": ("body", "sql")}])).count("body.sql is not valid.") == 1
