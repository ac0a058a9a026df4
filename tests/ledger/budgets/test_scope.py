from __future__ import annotations

from typing import Any

import pytest

from celosia.core import ParameterError
from celosia.ledger import Scope
from celosia.ledger.budgets.scope import list_scopes


def test_a_question_falls_into_the_scopes_of_its_data_set_and_its_analyst() -> None:
    assert list(list_scopes("d", None)) == [Scope(dataset="d")]
    assert list(list_scopes("d", "a")) == [Scope(dataset="d"), Scope(analyst="a"), Scope(dataset="d", analyst="a")]


def test_scopes_are_values() -> None:
    assert len({Scope(dataset="d"), Scope(dataset="d"), Scope(analyst="d"), Scope(dataset="d", analyst="d")}) == 3
    assert str(Scope(analyst="a")) == "analyst 'a'"


@pytest.mark.parametrize("name", ["", " \n", "x" * 201, 7, True, b"d", "\x00", "\ud800"])
def test_names_are_short_printable_texts(name: Any) -> None:
    for field in ("dataset", "analyst"):
        with pytest.raises(ParameterError, match=f"{field} must be a text"):
            Scope(**{field: name})


def test_a_scope_is_of_something() -> None:
    with pytest.raises(ParameterError, match="give dataset or analyst"):
        Scope()
