from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from celosia.core import PureDP
from celosia.ledger import Policy, Scope, StatementLine, Window, open_ledger

if TYPE_CHECKING:
    from collections.abc import Callable

    from celosia.core import Event
    from celosia.core.exact import Exact


def test_a_statement_tells_limit_spent_left_and_the_window(event: Callable[[Exact], Event]) -> None:
    now = datetime(2026, 1, 1, 12, 30, tzinfo=UTC)
    policy = Policy(limit=PureDP(epsilon=9), window=Window(seconds=3600, limit=PureDP(epsilon=1)))
    with open_ledger("memory://", clock=lambda: now) as ledger:
        ledger.set_budget(policy, dataset="deaths")
        ledger.reserve(event("0.4"), dataset="deaths")
        assert ledger.statement() == (
            StatementLine(
                scope=Scope(dataset="deaths"),
                policy=policy,
                spent=PureDP(epsilon="0.4"),
                remaining=PureDP(epsilon="8.6"),
                window_spent=PureDP(epsilon="0.4"),
                window_remaining=PureDP(epsilon="0.6"),
                renews=datetime(2026, 1, 1, 13, tzinfo=UTC),
            ),
        )


def test_a_statement_shows_what_bears_on_a_question() -> None:
    with open_ledger("memory://") as ledger:
        for dataset, analyst in [
            ("d", None),
            ("e", None),
            (None, "a"),
            (None, "b"),
            ("d", "a"),
            ("d", "b"),
            ("e", "a"),
        ]:
            ledger.set_budget(PureDP(epsilon=1), dataset=dataset, analyst=analyst)

        def shown(dataset: str | None = None, analyst: str | None = None) -> list[tuple[str | None, str | None]]:
            return [(line.scope.dataset, line.scope.analyst) for line in ledger.statement(dataset, analyst)]

        assert len(shown()) == 7
        assert shown("d", "a") == [(None, "a"), ("d", None), ("d", "a")]
        assert shown("d") == [(None, "a"), (None, "b"), ("d", None), ("d", "a"), ("d", "b")]
        assert shown(analyst="b") == [(None, "b"), ("d", None), ("d", "b"), ("e", None)]
