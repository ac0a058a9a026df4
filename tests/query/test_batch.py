"""A batch is paid for once, exactly; a bad question in it costs nothing; its division has the smallest error."""

from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import celosia as cl
from celosia.core import BudgetExceededError, CelosiaError, ParameterError, QueryError
from celosia.noise import Seeded
from celosia.query.batch import plan_batch
from celosia.query.planning.analysis import analyze_plan
from celosia.query.planning.strategy import Strategy, read_target, squared_error, strategy_for
from celosia.statistics.base.target import Target
from tests.query.samples import Pretending

ROWS = pa.table({"age": [34, 71, 20, 55] * 25, "sex": ["F", "M"] * 50, "city": ["A", "B"] * 50})
TABLE = cl.table(
    ROWS, schema=cl.Schema(age=cl.Integer(0, 120), sex=cl.Category("F", "M"), city=cl.Text()), name="people"
)
TEXTS = [
    "SELECT COUNT(*) FROM people",
    "SELECT sex, COUNT(*) FROM people GROUP BY sex",
    "SELECT AVG(age), AVG(age * 2) FROM people",
    "SELECT MEDIAN(age) FROM people",
    "SELECT MODE(sex) FROM people",
]
BUDGETS: list[tuple[Any, dict[str, Any]]] = [
    (cl.PureDP(epsilon=1), {"epsilon": "0.7"}),
    (cl.ZCDP(rho=1), {"rho": "0.3"}),
    (cl.ApproxDP(epsilon=1, delta="1e-6"), {"epsilon": "0.7"}),
    (cl.ApproxDP(epsilon=1, delta="1e-6"), {"epsilon": "0.7", "delta": "1e-7"}),
]


def session(budget: Any = cl.PureDP(epsilon=1), **more: Any) -> cl.Session:  # noqa: B008 - a frozen value
    return cl.Session(TABLE, budget=budget, **({"source": Seeded(1)} | more))


def amount(guarantee: Any) -> Fraction:
    rho: Fraction | None = getattr(guarantee, "rho", None)
    found: Fraction = guarantee.epsilon if rho is None else rho
    return found


@settings(max_examples=10, deadline=None)
@given(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=5), st.sampled_from(BUDGETS), st.data())
def test_the_parts_add_up_to_what_was_asked_and_no_equal_division_is_better(
    texts: list[str], asked: tuple[Any, dict[str, Any]], data: st.DataObject
) -> None:
    budget, target = asked
    weights = data.draw(st.lists(st.integers(1, 50), min_size=len(texts), max_size=len(texts)))
    opened = session(budget)
    preview = opened.preview_batch(texts, weights=weights, **target)
    assert sum(line.share for line in preview.lines) == 1
    wanted = read_target(budget, **target)
    parts = sum(amount(line.preview.cost) for line in preview.lines)
    assert parts <= amount(wanted)
    assert parts > amount(wanted) * (1 - Fraction(1, 10**9))  # choices for a rho are rounded down
    assert parts == amount(wanted) or wanted.rho is not None

    def one(text: str, share: Fraction) -> Strategy:
        whole = {name: share * Fraction(str(value)) for name, value in target.items()}
        return strategy_for(analyze_plan(opened.sql(text).plan, opened.tables), read_target(budget, **whole))

    equal = [squared_error(one(text, Fraction(1, len(texts)))) for text in texts]
    ours = [line.error**2 for line in preview.lines]
    total = sum(weight * error for weight, error in zip(weights, ours, strict=True))
    assert total <= sum(weight * error for weight, error in zip(weights, equal, strict=True)) * (1 + 1e-9)


def test_a_batch_is_paid_for_once_and_as_previewed() -> None:
    for budget, target in BUDGETS:
        opened = session(budget)
        preview = opened.preview_batch(TEXTS[:3], **target)
        assert amount(opened.spent) == 0
        releases = opened.batch([opened.sql(TEXTS[0]), *TEXTS[1:3]], **target)
        assert [release.guarantee for release in releases] == [line.preview.cost for line in preview.lines]
        assert [release.value.num_rows for release in releases] == [1, 2, 1]
        (entry,) = opened.history
        assert (entry.cost, entry.state, entry.question) == (preview.cost, "answered", "; ".join(TEXTS[:3]))
        # Divergences may say less than the sum.
        spent, wanted = amount(opened.spent), amount(read_target(budget, **target))
        assert spent == wanted or (isinstance(budget, cl.ApproxDP) and spent < wanted)


def test_no_small_move_of_the_shares_is_better() -> None:
    opened = session()
    plans = [opened.sql(text).plan for text in TEXTS]

    def strategy(plan: Any, *, epsilon: Fraction) -> Strategy:
        return strategy_for(analyze_plan(plan, opened.tables), read_target(opened.budget, epsilon=epsilon))

    batch = plan_batch(plans, Target(epsilon=Fraction(1, 10)), strategy, weights=[1, 2, 3, 4, 5])

    def objective(shares: list[Fraction]) -> float:
        found = [squared_error(strategy(plan, epsilon=share / 10)) for plan, share in zip(plans, shares, strict=True)]
        return sum(weight * error for weight, error in enumerate(found, start=1))

    best = objective(list(batch.shares))
    for giver in range(5):
        for taker in range(5):
            moved = list(batch.shares)
            moved[giver] -= Fraction(1, 50)
            moved[taker] += Fraction(1, 50)
            assert giver == taker or objective(moved) > best
    assert objective([Fraction(1, 5)] * 5) > 1.02 * best


def test_the_same_seed_gives_the_same_answers_and_a_weight_gives_a_larger_share() -> None:
    one, two = (session().batch(TEXTS, epsilon=1) for _ in range(2))
    assert [release.value for release in one] == [release.value for release in two]
    assert all(release.seeded for release in one)
    even, uneven = (session().preview_batch(TEXTS[:2], epsilon=1, weights=weights) for weights in (None, [100, 1]))
    assert uneven.lines[0].share > even.lines[0].share
    assert uneven.to_dict()["questions"][0]["question"] == TEXTS[0]


def test_a_bad_question_or_parameter_spends_nothing() -> None:
    opened = session()
    good = TEXTS[0]
    for queries, more, error in (
        ([], {}, ParameterError),
        (good, {}, ParameterError),
        ([good, 7], {}, ParameterError),
        ([good, "SELECT nothing FROM people"], {}, QueryError),
        ([good, "SELECT city, COUNT(*) FROM people GROUP BY city"], {}, QueryError),  # needs a delta
        ([good] * 2, {"weights": [1]}, ParameterError),
        ([good] * 2, {"weights": [1, -1]}, ParameterError),
        ([good] * 2, {"weights": "11"}, ParameterError),
        ([good], {"epsilon": 0}, ParameterError),
        ([good], {"epsilon": None}, ParameterError),
        ([good], {"epsilon": 2}, BudgetExceededError),
        ([good], {"epsilon": None, "rho": 1}, ParameterError),
    ):
        with pytest.raises(error):
            opened.batch(queries, **({"epsilon": 1} | more))  # type: ignore[arg-type]
    with pytest.raises(QueryError, match=r"queries\[1\]"):
        opened.batch([good, "SELECT nothing FROM people"], epsilon=1)
    assert opened.spent.epsilon == 0  # type: ignore[attr-defined]
    assert opened.history == ()


def test_a_ledger_remembers_one_reservation_and_data_that_cannot_be_read_stay_paid_for() -> None:
    ledger = cl.open_ledger("memory://")
    opened = session(ledger=ledger, source=None)
    assert len(opened.batch(TEXTS[:3], epsilon="0.5")) == 3
    opened._context.engine = Pretending(error=ZeroDivisionError())
    with pytest.raises(CelosiaError, match="stays paid for"):
        opened.batch(TEXTS[:2], epsilon="0.5")
    assert [entry.state for entry in opened.history] == ["answered", "failed"]
    assert opened.spent == cl.PureDP(epsilon=1)
