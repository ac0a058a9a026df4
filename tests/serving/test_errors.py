from __future__ import annotations

import pytest

from celosia.core.errors import CelosiaError, QueryError
from celosia.serving.errors import NotFoundError


def test_it_is_a_query_error_that_names_what_was_asked_for() -> None:
    with pytest.raises(QueryError, match="There is no data set 'deaths' that you may see") as caught:
        raise NotFoundError("guard.no_dataset", name="deaths")
    assert isinstance(caught.value, CelosiaError)


@pytest.mark.parametrize("name", ["\ud800", "a" * 10_000, None, 7])
def test_whatever_was_asked_for_can_be_shown(name: object) -> None:
    message = str(NotFoundError("guard.no_user", name=name))
    assert len(message) < 200
    message.encode()
