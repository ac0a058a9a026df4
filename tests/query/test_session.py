"""The budget holds: in any order of questions, refusals, failures and previews, and for threads that race for it."""

from __future__ import annotations

import multiprocessing
import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import celosia as cl
from celosia.audit import compare, lower_bound
from celosia.audit.draws import gather
from celosia.core import ReplaceOne
from celosia.core.errors import (
    BudgetExceededError,
    CelosiaError,
    EngineError,
    LedgerError,
    ParameterError,
    QueryError,
    RequestConflictError,
    SchemaError,
)
from celosia.ledger import Policy, Request, Scope
from celosia.ledger.opening import open_ledger
from celosia.noise import Seeded
from celosia.query.context import SessionContext
from tests.query.samples import FULL, Pretending, asking, code_book, persons_table, rows_table

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from celosia.ledger.ledger import Ledger
    from celosia.query.builder import Query
    from celosia.query.plan.nodes import Plan

ASKED: list[Callable[[Query], Query]] = [
    lambda q: q.count(),
    lambda q: q.group_by("sex").mean("age").count(),
    lambda q: q.median("weight").mode("risk"),
    lambda q: q.group_by("sex", "alive").sum("weight").variance("age").count_persons(),
]
REFUSED: list[Callable[[Query], Query]] = [
    lambda q: q.mean("sex"),
    lambda q: q.where("nothing > 3").count(),
    lambda q: q.group_by("weight").count(),
    lambda q: q.group_by("sex", keys=["X"]).count(),
    lambda q: q.count().having("count > 'F'"),
]


class _FailingCheck(Pretending):
    def check(self, plan: Plan) -> None:  # noqa: ARG002 - whatever it is
        message = "The engine cannot run this."
        raise QueryError(message)


class _SessionMachine(RuleBasedStateMachine):
    """A session whose engine pretends, and sometimes fails."""

    budget: cl.Guarantee

    @initialize(table=st.sampled_from([rows_table(), rows_table(adjacency=ReplaceOne), persons_table(groups=60)]))
    def open(self, table: Any) -> None:
        self.session = cl.Session(table, budget=self.budget, source=Seeded(1), engine=Pretending())
        self.paid: list[cl.Guarantee] = []
        self.left_before = self.session.remaining

    def target(self, amount: Fraction) -> dict[str, Any]:
        return {"rho": amount} if isinstance(self.budget, cl.ZCDP) else {"epsilon": amount}

    amounts = st.fractions(Fraction(1, 97), Fraction(3, 5), max_denominator=97)

    @rule(asked=st.sampled_from(ASKED), amount=amounts)
    def ask(self, asked: Any, amount: Fraction) -> None:
        query = asked(self.session.query())
        preview = query.preview(**self.target(amount))
        if preview.affordable:
            release = query.release(**self.target(amount))
            assert release.guarantee == preview.cost
            assert self.session.history[-1].state == "answered"
            self.paid.append(preview.cost)
        else:
            with pytest.raises(BudgetExceededError):
                query.release(**self.target(amount))

    @rule(
        asked=st.sampled_from(ASKED),
        amount=amounts,
        error=st.sampled_from([ValueError("row 7: Anna"), EngineError("")]),
    )
    def fail_while_reading(self, asked: Any, amount: Fraction, error: Exception) -> None:
        query = asked(self.session.query())
        preview = query.preview(**self.target(amount))
        working, self.session._context.engine = self.session._context.engine, Pretending(error=error)
        try:
            with pytest.raises(EngineError if preview.affordable else BudgetExceededError) as caught:
                query.release(**self.target(amount))
            assert "Anna" not in str(caught.value)
            assert caught.value.__cause__ is caught.value.__context__ is None
        finally:
            self.session._context.engine = working
        if preview.affordable:
            assert self.session.history[-1].state == "failed"
            self.paid.append(preview.cost)

    @rule(asked=st.sampled_from(ASKED), amount=amounts)
    def fail_before_reading(self, asked: Any, amount: Fraction) -> None:
        working, self.session._context.engine = self.session._context.engine, _FailingCheck()
        try:
            with pytest.raises(QueryError):
                asked(self.session.query()).release(**self.target(amount))
        finally:
            self.session._context.engine = working

    @rule(asked=st.sampled_from(REFUSED), amount=amounts)
    def refuse(self, asked: Any, amount: Fraction) -> None:
        with pytest.raises(QueryError):
            asked(self.session.query()).release(**self.target(amount))

    @rule(
        asked=st.sampled_from(ASKED),
        wrong=st.sampled_from([{}, {"epsilon": -1}, {"epsilon": 1, "rho": 1}, {"error": 0}]),
    )
    def refuse_target(self, asked: Any, wrong: dict[str, Any]) -> None:
        with pytest.raises(ParameterError):
            asked(self.session.query()).release(**wrong)

    @rule(asked=st.sampled_from(ASKED), amount=amounts)
    def look_ahead(self, asked: Any, amount: Fraction) -> None:
        asked(self.session.query()).preview(**self.target(amount), rows=100)

    @invariant()
    def spent_and_remaining_are_the_budget(self) -> None:
        if not hasattr(self, "session"):
            return
        session, limit = self.session, self.session.account.limit
        for field in ("epsilon", "delta", "rho"):
            if hasattr(limit, field):
                whole, spent, left = (getattr(g, field) for g in (limit, session.spent, session.remaining))
                assert spent + left == whole
                assert 0 <= spent <= whole
                added = sum((getattr(cost, field) for cost in self.paid), Fraction(0))
                # Of (epsilon, delta), divergences may have more room than the sum.
                assert spent == added or (hasattr(limit, "delta") and spent < added)
        assert len(session.history) == len(self.paid)
        assert [entry.cost for entry in session.history] == self.paid


class _Pure(_SessionMachine):
    budget = cl.PureDP(epsilon=1)


class _Approximate(_SessionMachine):
    budget = cl.ApproxDP(epsilon=1, delta="1e-6")


class _Zero(_SessionMachine):
    budget = cl.ZCDP(rho=1)


for _machine in (_Pure, _Approximate, _Zero):
    _machine.TestCase.settings = settings(max_examples=40, stateful_step_count=15, deadline=None)

TestPure = _Pure.TestCase
TestApproximate = _Approximate.TestCase
TestZero = _Zero.TestCase


# ---------------------------------------------------------------------------------------------------------- promises


def test_a_release_promises_what_was_asked_for_and_no_more() -> None:
    cases: list[tuple[Any, dict[str, Any]]] = [
        (cl.PureDP(epsilon=2), {"epsilon": "1/7"}),
        (cl.ApproxDP(epsilon=2, delta="1e-5"), {"epsilon": "1/7", "delta": "1e-7"}),
        (cl.ZCDP(rho=2), {"rho": "1/7"}),
    ]
    for asked, (budget, target) in product(ASKED, cases):
        session = asking(persons_table(groups=40, rows=1), budget=budget, engine=Pretending())
        promise: Any = asked(session.query()).release(**target).guarantee
        assert (promise.adjacency, promise.unit) == (cl.AddRemove, "person")
        if isinstance(budget, cl.ZCDP):
            assert 0 < promise.rho <= Fraction(1, 7)
        else:
            assert promise.epsilon == Fraction(1, 7)
            assert getattr(promise, "delta", 0) <= Fraction(target.get("delta", 0))
        assert session.spent <= promise  # divergences may leave more than the sum


def test_ten_tenths_fit_and_an_eleventh_does_not() -> None:
    session = asking(budget=cl.PureDP(epsilon=1), engine=Pretending())
    for _ in range(10):
        session.query().group_by("sex").mean("age").median("weight").release(epsilon="0.1")
    assert session.remaining == cl.PureDP(epsilon=0)
    with pytest.raises(BudgetExceededError):
        session.query().count().release(epsilon="1e-9")


def test_more_small_counts_fit_into_a_session_than_the_sum_admits() -> None:
    """A session with ApproxDP(3, 1e-6) was full after 30 counts of 0.1; one of all its epsilon must fit as before."""
    session = asking(budget=cl.ApproxDP(epsilon=3, delta="1e-6"), engine=Pretending())
    for _ in range(39):
        session.query().count().release(epsilon="0.1")
    with pytest.raises(BudgetExceededError):
        session.query().count().release(epsilon="0.1")
    whole = asking(budget=cl.ApproxDP(epsilon=3, delta="1e-6"))
    assert whole.query().count().preview(epsilon=3).affordable


def test_a_budget_is_for_the_neighbours_and_the_unit_of_the_table() -> None:
    budget = asking(persons_table(adjacency=ReplaceOne), budget=cl.PureDP(epsilon=1)).budget
    assert (budget.adjacency, budget.unit) == (ReplaceOne, "person")
    explicit = cl.PureDP(epsilon=1, adjacency=ReplaceOne, unit="person")
    assert asking(persons_table(adjacency=ReplaceOne), budget=explicit).budget == explicit


def test_sessions_that_make_no_sense_are_refused() -> None:
    cases: list[tuple[Any, Any, str]] = [
        ([], cl.PureDP(epsilon=1), "tables must be"),
        ("deaths.parquet", cl.PureDP(epsilon=1), "tables must be"),
        ([rows_table(), rows_table()], cl.PureDP(epsilon=1), "same name"),
        ([code_book()], cl.PureDP(epsilon=1), "All tables are public"),
        ([rows_table(), persons_table("visits")], cl.PureDP(epsilon=1), "same unit"),
        ([rows_table(), rows_table("visits", adjacency=ReplaceOne)], cl.PureDP(epsilon=1), "same unit"),
        (rows_table(), 1.0, "budget must be"),
        (rows_table(), cl.GaussianDP(mu=1), "budget must be"),
        (rows_table(), cl.PureDP(epsilon=1, adjacency=ReplaceOne), "ReplaceOne"),
        (rows_table(), cl.PureDP(epsilon=1, unit="person"), "for the unit"),
    ]
    for tables, budget, words in cases:
        with pytest.raises(ParameterError, match=words):
            cl.Session(tables, budget=budget)


def test_a_table_is_named_where_there_are_several() -> None:
    session = asking(rows_table(), rows_table("visits"), code_book())
    with pytest.raises(ParameterError, match="several tables"):
        session.query()
    for wrong in ("nothing", 7, ["deaths"]):
        with pytest.raises(QueryError, match="no table"):
            session.query(wrong)  # type: ignore[arg-type]
    assert session.query("visits").count().plan.relation.table == "visits"  # type: ignore[union-attr]
    with pytest.raises(QueryError, match="public tables only"):
        session.query("towns").count().preview(epsilon=1)


def test_the_tables_and_the_history_cannot_be_changed_from_outside() -> None:
    session = asking()
    with pytest.raises(TypeError):
        session.tables["x"] = rows_table()  # type: ignore[index]
    assert isinstance(session.history, tuple)
    assert "ApproxDP(epsilon=10" in repr(session)


def test_a_seeded_source_shows() -> None:
    session = asking(source=Seeded(7))
    assert session.query().count().release(epsilon=1).seeded
    session.close()


# ------------------------------------------------------------------------------------------------------------ failures


def test_a_file_that_vanishes_while_a_question_reads_it_leaves_the_question_paid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "deaths.parquet"
    pq.write_table(pa.table({"age": [1, 2, 3]}), path)
    table = cl.table(str(path), schema=cl.Schema(age=cl.Integer(0, 120)))
    with asking(table, budget=cl.PureDP(epsilon=1)) as session:
        session.query().count().release(epsilon="0.25")
        path.unlink()
        with pytest.raises(EngineError, match="have changed since the session was opened"):
            session.query().count().release(epsilon="0.5")
        assert session.spent == cl.PureDP(epsilon="0.25")  # nothing was read
        monkeypatch.setattr(SessionContext, "is_current", lambda _: True)  # it vanishes after that
        with pytest.raises(EngineError) as caught:
            session.query().where("age > 2").count().release(epsilon="0.5")
        assert str(tmp_path) not in str(caught.value)
        assert session.spent == cl.PureDP(epsilon="0.75")
        assert [entry.state for entry in session.history] == ["answered", "failed"]


def test_a_file_that_is_not_there_when_it_is_opened_costs_nothing(tmp_path: Path) -> None:
    path = tmp_path / "deaths.parquet"
    pq.write_table(pa.table({"age": [1, 2, 3]}), path)
    session = asking(cl.table(str(path), schema=cl.Schema(age=cl.Integer(0, 120))))
    path.unlink()
    with pytest.raises(CelosiaError) as caught:
        session.query().count().release(epsilon=1)
    assert str(tmp_path) not in str(caught.value)
    assert session.history == ()


def test_a_column_of_the_wrong_type_costs_nothing() -> None:
    days = pa.table({"age": pa.array([1, 2], pa.date32())})
    session = asking(cl.table(days, schema=cl.Schema(age=cl.Integer(0, 120)), name="deaths"))
    with pytest.raises(SchemaError, match="age"):
        session.query().count("age").release(epsilon=1)
    assert session.history == ()


def test_a_session_reads_through_the_engine_it_is_given() -> None:
    engine = Pretending([np.array([[10**6]])])
    with asking(budget=cl.PureDP(epsilon=1), engine=engine) as session:
        release = session.query().count().release(epsilon=1)
    assert abs(release.to_arrow()["count"][0].as_py() - 10**6) < 100  # but for exp(-100)
    assert engine.closed


def test_closing_lets_go_of_the_engine_and_asking_again_opens_it() -> None:
    engine = Pretending()
    session = asking(engine=engine)
    with session:
        session.query().count().release(epsilon=1)
    assert engine.closed == 1
    session.close()
    assert engine.closed == 1
    assert session.query().count().release(epsilon=1).value.num_rows == 1
    session.close()


# ------------------------------------------------------------------------------------------------------------ threads


@pytest.mark.parametrize("real", [False, True])
def test_threads_that_race_get_exactly_as_many_answers_as_fit(*, real: bool) -> None:
    session = asking(rows_table(), budget=cl.PureDP(epsilon=1))
    if not real:
        session._context.engine = Pretending()
    start = threading.Barrier(8)

    def race(_: int) -> list[str]:
        start.wait()
        outcomes = []
        for _ in range(3):
            try:
                answer = session.query().group_by("sex").count().release(epsilon="0.1")
                outcomes.append("answered")
                assert answer.value.num_rows == 2
            except BudgetExceededError:
                outcomes.append("refused")
        return outcomes

    with ThreadPoolExecutor(8) as pool:
        outcomes = [outcome for found in pool.map(race, range(8)) for outcome in found]
    assert outcomes.count("answered") == 10
    assert outcomes.count("refused") == 14
    assert session.remaining == cl.PureDP(epsilon=0)
    assert [entry.state for entry in session.history] == ["answered"] * 10
    session.close()


# ---------------------------------------------------------------------------------- what an attacker learns, measured

CELLS = 20_000


def counted(rows_each: int, **options: Any) -> cl.Session:
    """A table with so many rows in each of many cells: every cell is an experiment of its own."""
    keys = np.repeat(np.arange(CELLS), rows_each)
    table = cl.table(pa.table({"key": keys}), schema=cl.Schema(key=cl.Integer(0, CELLS - 1)), name="t")
    return cl.Session(table, source=Seeded(rows_each), **options)


@pytest.mark.parametrize(
    ("budget", "target", "delta", "least"),
    [
        (cl.PureDP(epsilon=1), {"epsilon": 1}, 0.0, 0.85),
        (cl.ZCDP(rho="0.5"), {"rho": "0.5"}, 0.05, 1.0),
    ],
)
def test_one_row_more_in_every_cell_tells_no_more_than_was_promised(
    budget: Any,
    target: dict[str, Any],
    delta: float,
    least: float,
) -> None:
    draws = []
    for rows_each in (5, 6):
        with counted(rows_each, budget=budget) as session:
            draws.append(session.query().group_by("key").count().release(**target).value["count"].to_numpy())
    found = compare(gather(draws[0]), gather(draws[1]), 5, 6, delta=delta)
    if isinstance(budget, cl.PureDP):
        claim = 1.0
    else:  # the best that (epsilon, 0.05) can be for Gaussian noise of variance 1
        from scipy import optimize, stats

        claim = optimize.brentq(lambda e: stats.norm.cdf(0.5 - e) - np.exp(e) * stats.norm.cdf(-0.5 - e) - delta, 0, 5)
        claim += 0.05  # noise on integers differs a little from the normal law
    assert least < found.epsilon <= claim


def test_a_person_in_two_cells_tells_no_more_than_was_promised() -> None:
    """Two cells make one experiment: a person more is in both of them, with more rows than are allowed in each."""
    hits = {}
    for persons in (3, 4):
        pairs = np.arange(CELLS // 2)
        keys = np.concatenate([2 * pairs, 2 * pairs + 1])
        many = np.tile(np.repeat(keys, 4), persons)  # four rows of each person in each cell
        who = np.concatenate([np.repeat(np.tile(pairs, 2), 4) * 10 + number for number in range(persons)])
        table = cl.table(
            pa.table({"key": many, "who": who}),
            schema=cl.Schema(key=cl.Integer(0, CELLS - 1)),
            name="t",
            person="who",
            max_groups_per_person=2,
            max_rows_per_group=3,
        )
        with cl.Session(table, budget=cl.PureDP(epsilon=1), source=Seeded(persons)) as session:
            counts = session.query().group_by("key").count().release(epsilon=1).value["count"].to_numpy()
        assert abs(np.median(counts) - 3 * persons) < 1  # three rows of each count
        hits[persons] = int((counts.reshape(-1, 2) >= 12).all(axis=1).sum())  # the best guess that there are four
    assert 0.7 < lower_bound(hits[4], CELLS // 2, hits[3], CELLS // 2) <= 1


# ------------------------------------------------------------------------------------------------------ with a ledger


def ledger_of(
    url: str = "memory://", *, budget: cl.Guarantee | Policy | None = None, **analysts: cl.Guarantee
) -> Ledger:
    ledger = open_ledger(url)
    ledger.set_budget(budget or cl.PureDP(epsilon=1), dataset="deaths")
    for name, limit in analysts.items():
        ledger.set_budget(limit, analyst=name)
    return ledger


def session_on(ledger: Ledger, engine: Pretending | None = None, **options: Any) -> cl.Session:
    return cl.Session(rows_table(), ledger=ledger, engine=engine or Pretending(), **{"version": "2021", **options})


def left(ledger: Ledger, **scope: str) -> Any:
    [line] = [line for line in ledger.statement() if line.scope == Scope(**scope)]
    return line.remaining.epsilon  # type: ignore[attr-defined]


def test_the_same_question_is_read_once_and_paid_once() -> None:
    ledger, engine = ledger_of(ana=cl.PureDP(epsilon="0.5")), Pretending()
    session = session_on(ledger, engine, analyst="ana")
    first = session.query().where("age < 18 AND alive").group_by("sex").count().release(epsilon="0.3")
    for _ in range(3):
        again = session.query().where("alive AND age < 18").group_by("sex").count().release(epsilon="0.3")
        assert again == first
        assert again.confidence_interval(0.95) == first.confidence_interval(0.95)
        assert (again.keys, again.notes, repr(again)) == (first.keys, first.notes, repr(first))
    assert engine.reads == 1
    assert (left(ledger, dataset="deaths"), left(ledger, analyst="ana")) == (Fraction(7, 10), Fraction(1, 5))
    assert [entry.state for entry in session.history] == ["answered", "repeated", "repeated", "repeated"]
    assert session.spent == cl.PureDP(epsilon="0.3")
    assert session.remaining == cl.PureDP(epsilon="0.2")
    assert ledger.verify().ok


def test_a_second_analyst_pays_from_the_own_budget_once() -> None:
    ledger, engine = (
        ledger_of(ana=cl.PureDP(epsilon=1), ben=cl.PureDP(epsilon="0.4"), cor=cl.PureDP(epsilon="0.1")),
        Pretending(),
    )
    ana = session_on(ledger, engine, analyst="ana")
    first = ana.query().count().release(epsilon="0.3")
    ben = ana.for_analyst("ben")
    assert ben._context.engine is engine
    assert [ben.query().count().release(epsilon="0.3") for _ in range(2)] == [first, first]
    assert engine.reads == 1
    assert left(ledger, dataset="deaths") == Fraction(7, 10)
    assert left(ledger, analyst="ben") == Fraction(1, 10)
    with pytest.raises(BudgetExceededError, match="analyst 'cor'"):
        ana.for_analyst("cor").query().count().release(epsilon="0.3")
    assert left(ledger, analyst="cor") == Fraction(1, 10)
    assert [entry.question for entry in ben.history] == ["SELECT COUNT(*) FROM deaths"] * 2
    assert ana.for_analyst("dora").history == ()


def test_another_epsilon_or_another_question_is_a_new_question() -> None:
    ledger, engine = ledger_of(), Pretending()
    session = session_on(ledger, engine)
    session.query().count().release(epsilon="0.1")
    session.query().count().release(epsilon="0.2")
    session.query().count(name="n").release(epsilon="0.1")
    session.query().where("alive").count().release(epsilon="0.1")
    assert engine.reads == 4
    assert left(ledger, dataset="deaths") == Fraction(1, 2)


def test_what_is_declared_otherwise_is_asked_anew() -> None:
    ledger, engine = ledger_of(budget=cl.PureDP(epsilon=1)), Pretending()
    wider = cl.Schema(age=cl.Integer(0, 130), sex=cl.Category("F", "M"))
    for table, version in [
        (rows_table(), "2021"),
        (rows_table(), "2022"),
        (rows_table(schema=FULL), "2022"),
        (rows_table(schema=wider), "2022"),
        (rows_table(schema=wider), None),  # a frame without a version is never known again
        (rows_table(schema=wider), None),
    ]:
        session = cl.Session(table, ledger=ledger, version=version, engine=engine)
        session.query().where("sex = 'F'").count().release(epsilon="0.1")
    assert engine.reads == 6
    assert left(ledger, dataset="deaths") == Fraction(4, 10)


def test_public_tables_are_part_of_the_question() -> None:
    ledger, engine = ledger_of(), Pretending()
    other = cl.table(pa.table({"town": ["A", "B"], "region": ["n", "n"]}), name="towns", public=True, key="town")
    for book in (code_book(), code_book(), other):
        session = cl.Session([rows_table(), book], ledger=ledger, version="1", engine=engine)
        session.query("deaths").join("towns", on="town").group_by("region").count().release(epsilon="0.1")
        session.query("deaths").count().release(epsilon="0.1")  # reads no public table
    assert engine.reads == 3
    assert left(ledger, dataset="deaths") == Fraction(7, 10)


def test_a_file_that_changed_is_asked_anew_and_a_ledger_outlives_its_process(tmp_path: Path) -> None:
    path, url = tmp_path / "deaths.parquet", f"sqlite:///{tmp_path / 'budget.db'}"

    def ask(ages: list[int] | None) -> int:
        if ages is not None:
            pq.write_table(pa.table({"age": ages}), path)
        table = cl.table(str(path), schema=cl.Schema(age=cl.Integer(0, 120)))
        with open_ledger(url) as ledger, cl.Session(table, budget=cl.PureDP(epsilon=1), ledger=ledger) as session:
            answer: int = session.query().count().release(epsilon="0.25").item()
            spent.append(session.spent.epsilon)  # type: ignore[attr-defined]
        return answer

    spent: list[Fraction] = []
    first, again = ask([1, 2, 3]), ask(None)
    assert first == again
    ask([1, 2, 3, 4] * 1_000)
    ask(None)
    assert spent == [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2), Fraction(1, 2)]


def test_a_ledger_takes_no_noise_that_can_be_repeated() -> None:
    ledger = open_ledger("memory://")
    with pytest.raises(ParameterError, match="repeated"):
        cl.Session(rows_table(), budget=cl.PureDP(epsilon=1), ledger=ledger, source=Seeded(1))
    assert ledger.budgets == {}


# ------------------------------------------------------------------------------------------------- failures, with one


def test_a_failure_after_the_reservation_stays_spent() -> None:
    cases: list[Exception] = [ValueError("row 7: Anna"), EngineError("no answer"), MemoryError()]
    for error in cases:
        ledger, engine = ledger_of(), Pretending(error=error)
        session = session_on(ledger, engine)
        with pytest.raises(EngineError) as caught:
            session.query().count().release(epsilon="0.3")
        assert "Anna" not in str(caught.value)
        assert caught.value.__cause__ is caught.value.__context__ is None
        assert [entry.state for entry in session.history] == ["failed"]
        engine.error = None
        session.query().count().release(epsilon="0.3")  # a failure is no answer: it is read, and paid, again
        assert left(ledger, dataset="deaths") == Fraction(4, 10)
        assert [entry.state for entry in session.history] == ["failed", "answered"]


def test_an_interrupted_question_stays_reserved() -> None:
    ledger, engine = ledger_of(), Pretending(error=KeyboardInterrupt())
    session = session_on(ledger, engine)
    with pytest.raises(KeyboardInterrupt):
        session.query().count().release(epsilon="0.3")
    assert [reservation.state for reservation in ledger.open_reservations()] == ["reserved"]
    assert session.history[0].state == "reserved"
    assert left(ledger, dataset="deaths") == Fraction(7, 10)
    without = asking(budget=cl.PureDP(epsilon=1), engine=engine)
    with pytest.raises(KeyboardInterrupt):
        without.query().count().release(epsilon="0.3")
    assert (without.remaining, without.history[0].state) == (cl.PureDP(epsilon="0.7"), "reserved")


@pytest.mark.parametrize("step", ["commit", "fail"])
def test_an_answer_that_cannot_be_stored_is_not_handed_out(monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    ledger, engine = ledger_of(), Pretending(error=None if step == "commit" else ValueError("row 7: Anna"))
    session = session_on(ledger, engine)

    def lost(*_: object, **__: object) -> None:
        message = "The ledger cannot be reached."
        raise LedgerError(message)

    monkeypatch.setattr(ledger, step, lost)
    with pytest.raises(LedgerError if step == "commit" else EngineError):
        session.query().count().release(epsilon="0.3")
    assert left(ledger, dataset="deaths") == Fraction(7, 10)
    assert len(ledger.open_reservations()) == 1


def test_what_is_refused_or_fails_before_reading_costs_nothing() -> None:
    ledger = ledger_of()
    session = session_on(ledger, _FailingCheck())
    before = ledger.head
    with pytest.raises(QueryError):
        session.query().count().release(epsilon="0.3")
    for refuse in REFUSED:
        with pytest.raises(QueryError):
            refuse(session.query()).release(epsilon="0.3")
    session._context.engine = Pretending()
    with pytest.raises(BudgetExceededError, match="data set 'deaths'"):
        session.query().count().release(epsilon=2)
    session.query().count().preview(epsilon="0.3")
    assert ledger.head == before


def test_threads_that_race_for_a_ledger_get_exactly_as_many_answers_as_fit() -> None:
    ledger, engine = ledger_of(), Pretending()
    session = session_on(ledger, engine)
    start = threading.Barrier(8)

    def race(number: int) -> list[str]:
        own, outcomes = session.for_analyst(f"analyst-{number}"), []
        start.wait()
        for turn in range(3):
            try:
                own.query().where(f"age > {3 * number + turn}").count().release(epsilon="0.1")
                outcomes.append("answered")
            except BudgetExceededError:
                outcomes.append("refused")
        return outcomes

    with ThreadPoolExecutor(8) as pool:
        outcomes = [outcome for found in pool.map(race, range(8)) for outcome in found]
    assert outcomes.count("answered") == engine.reads == 10
    assert left(ledger, dataset="deaths") == 0
    assert ledger.verify().ok


# -------------------------------------------------------------------------------------------------- requests, opening


def test_a_request_is_answered_once_however_often_it_is_sent() -> None:
    ledger, engine = ledger_of(), Pretending()
    session = session_on(ledger, engine, version=None)
    plan, request = session.query().count().plan, Request(key="k", digest="d")
    first = session.ask(plan, epsilon="0.3", request=request)
    assert (first.reservation.state, first.reservation.fresh) == ("committed", True)
    with ThreadPoolExecutor(8) as pool:
        same = list(pool.map(lambda _: session.ask(plan, epsilon="0.3", request=request), range(20)))
    assert all(asked.release == first.release and not asked.reservation.fresh for asked in same)
    assert {asked.reservation.id for asked in same} == {first.reservation.id}
    assert engine.reads == 1
    with pytest.raises(RequestConflictError):
        session.release(plan, epsilon="0.2", request=Request(key="k", digest="e"))
    assert left(ledger, dataset="deaths") == Fraction(7, 10)


def test_a_request_without_an_answer_is_told_and_not_charged_again() -> None:
    cases: list[tuple[BaseException, str]] = [(ValueError(), "failed"), (KeyboardInterrupt(), "not answered yet")]
    for error, words in cases:
        ledger, engine = ledger_of(), Pretending(error=error)
        session = session_on(ledger, engine)
        plan, request = session.query().count().plan, Request(key="k", digest="d")
        with pytest.raises((EngineError, KeyboardInterrupt)):
            session.ask(plan, epsilon="0.3", request=request)
        engine.error = None
        again = session.ask(plan, epsilon="0.3", request=request)
        assert again.release is None
        assert not again.reservation.fresh
        with pytest.raises(EngineError, match=words):
            session.release(plan, epsilon="0.3", request=request)
        assert (engine.reads, left(ledger, dataset="deaths")) == (1, Fraction(7, 10))
        with pytest.raises(ParameterError, match="needs a ledger"):
            asking().release(plan, epsilon=1, request=request)


def test_a_question_with_very_many_keys_is_remembered_in_short() -> None:
    ledger = ledger_of()
    session = session_on(ledger)
    towns = [f"town {number}" for number in range(2_000)]
    session.query().group_by("town", keys=towns).count().release(epsilon="0.1")
    session.query().group_by("town", keys=[*towns[:-1], "another"]).count().release(epsilon="0.1")
    assert {len(entry.question) for entry in session.history} <= set(range(10_001))
    assert [entry.state for entry in session.history] == ["answered", "answered"]


@pytest.mark.parametrize(
    ("budget", "target", "kind"),
    [
        (cl.ApproxDP(epsilon=1, delta="1e-6"), {"epsilon": "0.1"}, cl.ApproxDP),
        (cl.ZCDP(rho=1), {"rho": "0.1"}, cl.ZCDP),
        (Policy(limit=cl.ApproxDP(epsilon=1, delta="1e-6"), accountant="zcdp"), {"rho": "0.01"}, cl.ZCDP),
        (Policy(limit=cl.ApproxDP(epsilon=1, delta="1e-6"), accountant="renyi"), {"epsilon": "0.1"}, cl.RenyiDP),
        (Policy(limit=cl.ApproxDP(epsilon=1, delta="1e-6"), accountant="gdp"), {"epsilon": "0.1"}, cl.GaussianDP),
    ],
)
def test_any_accountant_of_a_ledger_can_watch(budget: Any, target: dict[str, Any], kind: type) -> None:
    session = session_on(ledger_of(budget=budget))
    preview = session.query().group_by("sex").count().preview(**target)
    release = session.query().group_by("sex").count().release(**target)
    assert isinstance(release.guarantee, kind)
    assert release.guarantee == preview.cost == session.spent
    assert preview.affordable
    assert session.query().group_by("sex").count().release(**target) == release


def test_a_session_opens_the_budget_of_its_data_set_or_keeps_to_it() -> None:
    ledger, budget = open_ledger("memory://"), cl.PureDP(epsilon=1)
    with pytest.raises(ParameterError, match="no budget for data set 'deaths'"):
        cl.Session(rows_table(), ledger=ledger)
    opened = cl.Session(rows_table(), ledger=ledger, budget=budget)
    assert opened.budget == cl.Session(rows_table(), ledger=ledger).budget == budget
    assert cl.Session(rows_table(), ledger=ledger, budget=budget).remaining == budget
    with pytest.raises(ParameterError, match="leave budget= out"):
        cl.Session(rows_table(), ledger=ledger, budget=cl.PureDP(epsilon=2))
    with pytest.raises(ParameterError, match="ask the owner of the data which"):
        cl.Session(persons_table(), ledger=ledger)
    with pytest.raises(ParameterError, match="ask the owner of the data which"):
        cl.Session(rows_table(adjacency=ReplaceOne), ledger=ledger)
    assert cl.Session(persons_table(), ledger=ledger, budget=budget, dataset="persons").budget.unit == "person"
    with pytest.raises(ParameterError, match=r"dataset="):
        cl.Session([rows_table(), rows_table("visits")], ledger=ledger, budget=budget)
    both = cl.Session([rows_table(), rows_table("visits")], ledger=ledger, budget=budget, dataset="both")
    assert {scope.dataset for scope in ledger.budgets} == {"deaths", "persons", "both"}
    assert both.for_analyst("ana").remaining == budget


def test_what_goes_with_a_ledger_is_looked_at() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"analyst": "ana"}, "analyst= goes with a ledger"),
        ({"dataset": "deaths"}, "dataset= goes with a ledger"),
        ({"version": "1"}, "version= goes with a ledger"),
        ({"ledger": "sqlite:///budget.db"}, "ledger must be one opened by"),
        ({"ledger": open_ledger("memory://"), "version": 7}, "version must be a text"),
        ({"ledger": open_ledger("memory://"), "dataset": ""}, "dataset must be a text"),
        ({"ledger": open_ledger("memory://"), "analyst": 7}, "analyst must be a text"),
    ]
    for options, words in cases:
        with pytest.raises(ParameterError, match=words):
            cl.Session(rows_table(), budget=cl.PureDP(epsilon=1), **options)
        with pytest.raises(ParameterError, match="open the session with ledger="):
            asking().for_analyst("ana")


def test_four_forked_workers_cannot_spend_one_budget_four_times() -> None:
    session = cl.Session(rows_table(), budget=cl.PureDP(epsilon=1), engine=Pretending())
    session.query().count().preview(epsilon=1)  # imports what every worker would import for itself

    def ask() -> None:
        assert session.query().count().preview(epsilon=1).affordable
        with pytest.raises(LedgerError, match="Share a ledger instead"):
            session.query().count().release(epsilon=1)
        assert session.remaining == session.budget

    workers = [multiprocessing.get_context("fork").Process(target=ask) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * 4
    assert session.query().count().release(epsilon=1).to_arrow().num_rows == 1


APPROXIMATE = cl.ApproxDP(epsilon=1, delta="1e-6")
SAID: list[tuple[Any, Any, str]] = [  # a policy, what is asked, and what its error says
    (cl.PureDP(epsilon=1), lambda s: s.sql("SELECT AVG(aeg) FROM deaths"), "Did you mean age"),
    (cl.PureDP(epsilon=1), lambda s: s.sql("SELECT MEDIAM(age) FROM deaths"), "MEDIAM cannot .* write MEDIAN, if"),
    (cl.PureDP(epsilon=1), lambda s: s.sql("SELECT SUM(CLIP(age)) FROM deaths"), r"CLIP takes .* as in CLIP\(age, 0,"),
    (cl.PureDP(epsilon=1), lambda s: s.query().where(3), "not 3"),
    (cl.PureDP(epsilon=1), lambda s: s.query().count().release(rho=1), "give epsilon=.*, not rho=1"),
    (cl.PureDP(epsilon=1), lambda s: s.query().count().release(epsilon=1, delta="1e-6"), "leave delta='1e-6' out"),
    (cl.ZCDP(rho=1), lambda s: s.query().count().release(epsilon=1), "give rho=.*, not epsilon=1"),
    (cl.PureDP(epsilon=1), lambda s: s.query().count().release(error=5, confidence=2), "^confidence must be"),
    (
        cl.PureDP(epsilon=1),
        lambda s: s.query().count().release(error="0.1"),
        r"count is off by up to 3\. .* ask the owner",
    ),
    (cl.PureDP(epsilon=1), lambda s: s.query().count().release(epsilon="1e-30"), "epsilon is too small.*a larger one"),
    (cl.PureDP(epsilon=1), lambda s: s.query().count().release(epsilon=2), "an epsilon of at most 1, or ask the owner"),
    (APPROXIMATE, lambda s: s.query().count().release(epsilon=2), "an epsilon of at most 1, or ask the owner"),
    (cl.ZCDP(rho=1), lambda s: s.query().count().release(rho=2), "a rho of at most 1, or ask the owner"),
    (cl.PureDP(epsilon=1), lambda s: s.query().group_by("town").count().release(epsilon=1), "ask the owner"),
    *[
        (Policy(limit=APPROXIMATE, accountant=kind), question, "ask the owner")
        for kind in ("renyi", "gdp")
        for question in (
            lambda s: s.query().group_by("town").count().preview(epsilon="0.1"),
            lambda s: s.query().group_by("town").count().release(epsilon="0.1"),
            lambda s: s.query().count().release(epsilon=5),
        )
    ],
]
INTERNAL = ("accountant", "orders", "Event", "priced", "Rényi", "64", "mu=", "filter", "InMemoryBudget")


def test_errors_say_what_to_change_or_whom_to_ask() -> None:
    for policy, ask, words in SAID:
        ledger = open_ledger("memory://")
        ledger.set_budget(policy, dataset="deaths")
        session = cl.Session(rows_table(), ledger=ledger, engine=Pretending())
        with pytest.raises((ParameterError, QueryError, BudgetExceededError), match=words) as caught:
            ask(session)
        assert not [word for word in INTERNAL if word in str(caught.value)]
        assert session.history == ()


def test_an_answer_that_cannot_be_written_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> str:
        raise ValueError("1237 rows")

    monkeypatch.setattr("celosia.query.session._write_release", fail)
    ledger = open_ledger("memory://")
    ledger.set_budget(cl.PureDP(epsilon=1), dataset="deaths")
    session = cl.Session(rows_table(), ledger=ledger, engine=Pretending())
    with pytest.raises(EngineError, match="could not be answered") as caught:
        session.query().count().release(epsilon="0.5")
    assert caught.value.__context__ is None
    assert [entry.state for entry in session.history] == ["failed"]
    assert session.remaining == cl.PureDP(epsilon="0.5")
