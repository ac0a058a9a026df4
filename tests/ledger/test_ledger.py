"""A ledger as a whole: many processes at once, every history against a plain model, and what it refuses."""

from __future__ import annotations

import io
import json
import os
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import celosia as cl
from celosia.core import (
    ZCDP,
    ApproxDP,
    BudgetExceededError,
    Event,
    GaussianEvent,
    GuaranteedEvent,
    LaplaceEvent,
    LedgerError,
    ParameterError,
    PureDP,
    Release,
    RepeatedEvent,
    RequestConflictError,
)
from celosia.ledger import Ledger, Policy, Request, Reservation, Scope, Window, open_ledger
from celosia.noise import Seeded

if TYPE_CHECKING:
    from collections.abc import Callable

    from celosia.core.exact import Exact

    Make = Callable[[Exact], Event]
    Answer = Callable[[Event], Release[int]]
    Fork = Callable[[Callable[[], None]], int]

PROCESSES = 8


def test_eight_processes_never_spend_more_than_there_is(
    shared: str, forked: Fork, event: Make, *, thorough: bool
) -> None:
    times, units = (50, 250) if thorough else (10, 50)
    unit = event(1)
    opened = open_ledger(shared)
    opened.set_budget(PureDP(epsilon=units), dataset="deaths")
    opened.reserve(event(0), dataset="deaths")  # the parent's connections and state are warm when it forks
    begin_read, begin_write = os.pipe()
    told_read, told_write = os.pipe()

    def ask(number: int) -> None:
        os.read(begin_read, 1)
        mine = opened if number % 2 else open_ledger(shared)
        answered = 0
        for _ in range(times):
            try:
                mine.reserve(unit, dataset="deaths", analyst=f"analyst-{number}")
                answered += 1
            except BudgetExceededError:
                pass
        os.write(told_write, f"{number} {answered}\n".encode())

    children = [forked(lambda number=number: ask(number)) for number in range(PROCESSES)]  # type: ignore[misc]
    os.write(begin_write, b"." * PROCESSES)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * PROCESSES
    os.close(told_write)
    with os.fdopen(told_read) as told:
        answered = {number: int(given) for number, given in map(str.split, told)}
    os.close(begin_read)
    os.close(begin_write)
    assert len(answered) == PROCESSES
    assert sum(answered.values()) == units
    assert opened.account("deaths").spent == PureDP(epsilon=units)
    by_analyst = {f"analyst-{number}": given for number, given in answered.items() if given}
    found = [line.body["analyst"] for line in opened.entries() if line.kind == "reserved"]
    assert {name: found.count(name) for name in by_analyst} == by_analyst
    assert len(found) == units + 1
    assert opened.verify().ok
    opened.close()


def test_one_request_twenty_times_at_once_is_one_reservation(shared: str, forked: Fork, event: Make) -> None:
    opened = open_ledger(shared)
    opened.set_budget(PureDP(epsilon=100), dataset="deaths")
    read, write = os.pipe()

    def ask() -> None:
        mine = open_ledger(shared)
        for _ in range(5):
            got = mine.reserve(event(1), dataset="deaths", analyst="ana", request=Request(key="k", digest="d"))
            os.write(write, f"{got.id} {got.fresh}\n".encode())

    for child in [forked(ask) for _ in range(4)]:
        assert os.waitpid(child, 0)[1] == 0
    os.close(write)
    with os.fdopen(read) as told:
        answers = [line.split() for line in told]
    assert len(answers) == 20
    assert len({identity for identity, _ in answers}) == 1
    assert [fresh for _, fresh in answers].count("True") == 1
    assert opened.account("deaths").spent == PureDP(epsilon=1)
    with pytest.raises(RequestConflictError, match="used before for another request"):
        opened.reserve(event(1), dataset="deaths", analyst="ana", request=Request(key="k", digest="other"))
    other = opened.reserve(event(1), dataset="deaths", analyst="eve", request=Request(key="k", digest="other"))
    assert other.fresh  # a key is its sender's own
    opened.close()


def test_many_may_open_the_same_new_ledger_at_once(shared: str, forked: Fork) -> None:
    def work() -> None:
        with open_ledger(shared) as mine:
            mine.record("note", {"process": os.getpid()})

    for child in [forked(work) for _ in range(8)]:
        assert os.waitpid(child, 0)[1] == 0
    with open_ledger(shared) as opened:
        kinds = [line.kind for line in opened.entries()]
        assert kinds == ["opened"] + ["note"] * 8
        assert opened.verify().ok


def test_a_reservation_is_there_for_everybody_and_stays(shared: str, event: Make, release: Answer) -> None:
    with open_ledger(shared) as one, open_ledger(shared) as other:
        one.set_budget(PureDP(epsilon="0.3"), dataset="deaths")
        tenth = event("0.1")
        reservation = one.reserve(tenth, dataset="deaths", question="SELECT 'é\u0000' FROM deaths")
        assert other.open_reservations() == (other.reservation(reservation.id),)
        seen = other.reservation(reservation.id)
        assert seen is not None
        assert (seen.event, seen.question, seen.state, seen.at) == (
            tenth,
            "SELECT 'é\u0000' FROM deaths",
            "reserved",
            reservation.at,
        )
        other.commit(reservation, release(tenth), text="forty-two \u0000 \ud800 é")
        after = one.reservation(reservation.id)
        assert after is not None
        assert (after.state, after.answer) == ("committed", "forty-two \u0000 \ud800 é")
        assert one.open_reservations() == ()
        one.fail(one.reserve(tenth, dataset="deaths"))
        one.reserve(tenth, dataset="deaths")
        with pytest.raises(BudgetExceededError, match=r"data set 'deaths' has PureDP\(epsilon=0\) left: it is used up"):
            other.reserve(tenth, dataset="deaths")
        assert other.account("deaths").spent == PureDP(epsilon="0.3")
        assert other.verify(one.head).ok
    with open_ledger(shared, create=False) as again:
        assert again.account("deaths").remaining == PureDP(epsilon=0)
        assert [line.kind for line in again.entries(after=2, limit=2)] == ["reserved", "committed"]


def test_what_ended_does_not_end_otherwise(ledger: Ledger, event: Make, release: Answer) -> None:
    tenth = event("0.1")
    reservation = ledger.reserve(tenth, dataset="deaths")
    with pytest.raises(ParameterError, match="not of the event that was reserved"):
        ledger.commit(reservation, release(event("0.2")))
    with pytest.raises(ParameterError, match="release must be what a mechanism released"):
        ledger.commit(reservation, 42)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="text must be the answer"):
        ledger.commit(reservation, release(tenth), text=42)  # type: ignore[arg-type]
    noisy = cl.mechanisms.Laplace(epsilon="0.1", sensitivity=1).release(3, source=Seeded(1))
    with pytest.raises(ParameterError, match="seeded source, which protects nobody"):
        ledger.commit(reservation, noisy)
    lines = ledger.head.sequence
    ledger.commit(reservation, release(tenth), text="42")
    ledger.commit(reservation, release(tenth), text="42")
    assert ledger.head.sequence == lines + 1
    for text in ("43", None):
        with pytest.raises(LedgerError, match="is committed already"):
            ledger.commit(reservation, release(tenth), text=text)
    with pytest.raises(LedgerError, match="is committed already"):
        ledger.fail(reservation)
    failed = ledger.reserve(tenth, dataset="deaths")
    ledger.fail(failed)
    ledger.fail(failed)
    with pytest.raises(LedgerError, match="is failed already"):
        ledger.commit(failed, release(tenth))
    foreign = Reservation(id="0" * 32, dataset="deaths", event=tenth, at=datetime.now(UTC))
    for end in (ledger.fail, lambda one: ledger.commit(one, release(tenth))):
        with pytest.raises(LedgerError, match="none of that id"):
            end(foreign)
    assert ledger.verify().ok


def test_an_epsilon_without_meaning_never_reaches_a_budget_or_an_event(ledger: Ledger) -> None:
    cases: list[Any] = [-1, float("nan"), float("inf"), 5e-324, 1e308, "1e-400", "-0.1", True, "x", ""]
    for epsilon in cases:
        before = ledger.head
        with pytest.raises(ParameterError):
            ledger.set_budget(PureDP(epsilon=epsilon), dataset="deaths")
        with pytest.raises(ParameterError):
            ledger.reserve(GuaranteedEvent(guarantee=PureDP(epsilon=epsilon)), dataset="deaths")
        assert ledger.head == before


@pytest.mark.parametrize("epsilon", ["1e-300", 2.0**-1022, 1e-300, "0.1", 1 / 3, "1e150"])
def test_sums_are_exact_or_too_large(epsilon: Exact) -> None:
    with open_ledger("memory://") as ledger:
        exact = PureDP(epsilon=epsilon).epsilon
        ledger.set_budget(PureDP(epsilon=3 * exact), dataset="deaths")
        event = GuaranteedEvent(guarantee=PureDP(epsilon=epsilon))
        priced = 2**-500 <= exact <= 2**200
        if not priced:
            with pytest.raises(cl.core.NotPricedError):
                ledger.reserve(event, dataset="deaths")
            return
        for _ in range(3):
            ledger.reserve(event, dataset="deaths")
        with pytest.raises(BudgetExceededError):
            ledger.reserve(event, dataset="deaths")
        [line] = ledger.statement()
        assert line.spent == PureDP(epsilon=3 * exact)
        assert line.remaining == PureDP(epsilon=0)


def test_nothing_costs_nothing_but_a_budget_of_nothing_admits_only_that(ledger: Ledger, event: Make) -> None:
    ledger.set_budget(PureDP(epsilon=0), dataset="empty")
    assert ledger.reserve(event(0), dataset="empty").state == "reserved"
    with pytest.raises(BudgetExceededError):
        ledger.reserve(event("1e-9"), dataset="empty")


def test_many_different_questions_add_up_exactly(ledger: Ledger) -> None:
    total = Fraction(0)
    ledger.set_budget(PureDP(epsilon=10**6), dataset="deaths")
    for scale in range(1, 150):
        ledger.reserve(LaplaceEvent(scale=scale, sensitivity=1), dataset="deaths")
        total += Fraction(1, scale)
    assert ledger.account("deaths").spent == PureDP(epsilon=total)
    ledger.set_budget(PureDP(epsilon=total), dataset="deaths")
    assert ledger.account("deaths").remaining == PureDP(epsilon=0)
    assert ledger.state._state._trackers[Scope(dataset="deaths"), None]._filter.events != ()
    assert len(ledger.state._state._trackers[Scope(dataset="deaths"), None]._filter.events) <= 65


def test_lists_are_of_the_latest(ledger: Ledger, event: Make) -> None:
    for number in range(5):
        ledger.reserve(event("0.1"), dataset="deaths", analyst="ana" if number % 2 else None, question=str(number))
    assert [one.question for one in ledger.reservations(limit=2)] == ["3", "4"]
    assert [one.question for one in ledger.reservations(analyst="ana")] == ["1", "3"]
    assert [one.question for one in ledger.reservations(dataset="births")] == []
    assert [one.question for one in ledger.account("deaths").history] == ["0", "2", "4"]
    assert ledger.reservation("\x00") is None
    assert ledger.reservation(7) is None  # type: ignore[arg-type]
    for wrong in (0, -1, 1.5, True):
        with pytest.raises(ParameterError):
            ledger.reservations(limit=wrong)  # type: ignore[arg-type]
        with pytest.raises(ParameterError):
            ledger.entries(limit=wrong)  # type: ignore[arg-type]


def test_a_request_is_found_again(ledger: Ledger, event: Make, release: Answer) -> None:
    request = Request(key="k", digest="d")
    reservation = ledger.reserve(event("0.1"), dataset="deaths", request=request)
    assert ledger.request(None, "k") == (request, ledger.reservation(reservation.id))
    assert ledger.request("ana", "k") is None
    ledger.commit(reservation, release(event("0.1")), text="42")
    again = ledger.reserve(event("0.1"), dataset="deaths", request=request)
    assert (again.id, again.state, again.answer, again.fresh) == (reservation.id, "committed", "42", False)
    # Another event, or another data set, with the same key and digest: nothing new is spent, whatever else differs.
    assert ledger.reserve(event("0.9"), dataset="births", request=request).id == reservation.id
    assert ledger.account("deaths").spent == PureDP(epsilon="0.1")


def test_lines_of_others_stand_between(ledger: Ledger) -> None:
    ledger.record("user", {"name": "ana", "roles": ["analyst"], "expires": None, "days": 90})
    with ledger.store.transaction() as connection:
        ledger.record("bounds", {"column": "age", "high": 120}, connection=connection)

    def twice() -> None:
        with ledger.store.transaction() as connection:
            ledger.record("bounds", {"column": "age", "high": 130}, connection=connection)
            ledger.record("bounds", {"column": "age", "high": 140})  # without the connection: refused, and all falls

    with pytest.raises(LedgerError):
        twice()
    assert [(line.kind, line.body.get("high")) for line in ledger.entries(after=2)] == [("user", None), ("bounds", 120)]
    for kind in ("reserved", "opened", "", 7, "a\nb"):
        with pytest.raises(ParameterError):
            ledger.record(kind, {})  # type: ignore[arg-type]
    bodies: list[Any] = [{"x": float("nan")}, {"x": object()}, {7: "x", "y": 1}, [], None, {"x": {1, 2}}]
    for body in bodies:
        with pytest.raises(ParameterError):
            ledger.record("note", body)
    assert ledger.verify().ok


def test_an_export_is_a_chain_that_anybody_can_check(ledger: Ledger, event: Make) -> None:
    import hashlib

    ledger.reserve(event("0.1"), dataset="deaths", question="¿cuántos?")
    stream = io.StringIO()
    assert ledger.export(stream) == 3
    previous = "0" * 64
    for number, text in enumerate(stream.getvalue().splitlines(), 1):
        line = json.loads(text)
        parts = [line["sequence"], line["at"], line["kind"], line["body"], line["previous"]]
        written = json.dumps(parts, sort_keys=True, separators=(",", ":"))
        assert (line["sequence"], line["previous"]) == (number, previous)
        assert hashlib.sha256(written.encode()).hexdigest() == line["hash"]
        previous = line["hash"]
    assert previous == ledger.head.hash


def test_other_kinds_of_budget(ledger: Ledger) -> None:
    noise = GaussianEvent(variance=100, sensitivity_squared=1)
    budget = ApproxDP(epsilon=1, delta="1e-6")
    for name in ("combined", "zcdp", "renyi", "gdp"):
        ledger.set_budget(Policy(limit=budget, accountant=name), dataset=name)
        account = ledger.account(name)
        number = 0
        while account.admits(noise):
            ledger.reserve(noise, dataset=name)
            number += 1
        assert number >= 2
        with pytest.raises(BudgetExceededError):
            ledger.reserve(noise, dataset=name)
        assert account.budget == budget
        assert type(account.limit) is type(account.spent) is type(account.remaining) is type(account.cost(noise))
    ledger.set_budget(ZCDP(rho="0.01"), dataset="rho")
    ledger.reserve(noise, dataset="rho")
    ledger.reserve(noise, dataset="rho")
    assert ledger.account("rho").remaining == ZCDP(rho=0)
    ledger.set_budget(Policy(limit=budget, accountant="basic"), dataset="basic")
    with pytest.raises(cl.core.NotPricedError):  # the basic accountant has no theorem for Gaussian noise
        ledger.reserve(noise, dataset="basic")


def test_a_limit_that_is_raised_keeps_the_order_that_suited_the_first(ledger: Ledger) -> None:
    """Chosen anew by the new limit, the old and the new order would both have most of delta."""
    first, later = ApproxDP(epsilon=3, delta="1e-6"), ApproxDP(epsilon=20, delta="1e-5")
    noise = GaussianEvent(variance=100, sensitivity_squared=1)
    much = RepeatedEvent(event=noise, times=700)
    for dataset, limits in (("kept", (first, later)), ("new", (later,))):
        for limit in limits:
            ledger.set_budget(limit, dataset=dataset)
            ledger.reserve(noise if limit == first else much, dataset=dataset)
    ledger.set_budget(first, dataset="unspent")
    ledger.set_budget(later, dataset="unspent")
    ledger.reserve(much, dataset="unspent")
    kept, new, unspent = (ledger.account(name).remaining for name in ("kept", "new", "unspent"))
    assert isinstance(kept, ApproxDP)
    assert isinstance(new, ApproxDP)
    assert new.epsilon - kept.epsilon > 2
    assert unspent == new


DATASETS, ANALYSTS = ("deaths", "births"), (None, "ana", "eve")
COSTS = [Fraction(0), Fraction(1, 10), Fraction(1, 3), Fraction(1, 2), Fraction(0.1), Fraction(2)]
DAY = 86_400
SCOPES = [
    Scope(dataset=dataset, analyst=analyst)
    for dataset in (*DATASETS, None)
    for analyst in ANALYSTS
    if dataset is not None or analyst is not None
]


def in_scope(scope: Scope, charge: dict[str, Any]) -> bool:
    if scope.analyst is None:
        return bool(charge["whole"]) and charge["dataset"] == scope.dataset
    return charge["analyst"] == scope.analyst and scope.dataset in (None, charge["dataset"])


class Model(RuleBasedStateMachine):
    """The ledger beside plain Python: a list of charges, a dictionary of limits, sums of fractions."""

    def __init__(self) -> None:
        super().__init__()
        self.now = datetime(2026, 1, 1, 12, tzinfo=UTC)
        self.seen = self.now
        self.ledger = open_ledger("memory://", clock=lambda: self.now)
        self.limits: dict[Scope, tuple[Fraction, Fraction | None]] = {}
        self.charges: list[dict[str, Any]] = []
        self.open: list[Reservation] = []
        self.answers: dict[tuple[str, str], list[tuple[str, str | None, str]]] = {}
        self.prints: dict[str, tuple[str, str | None, str | None]] = {}
        self.requests: dict[tuple[str | None, str], str] = {}
        self.paid: set[tuple[str | None, str]] = set()

    @initialize(limit=st.sampled_from(COSTS))
    def begin(self, limit: Fraction) -> None:
        self.allow(Scope(dataset="deaths"), limit, None)

    @rule(
        scope=st.sampled_from(SCOPES),
        limit=st.sampled_from([*COSTS, Fraction(5)]),
        window=st.sampled_from([None, None, *COSTS]),
    )
    def allow(self, scope: Scope, limit: Fraction, window: Fraction | None) -> None:
        inner = None if window is None else Window(seconds=DAY, limit=PureDP(epsilon=window))
        policy = Policy(limit=PureDP(epsilon=limit), window=inner)
        self.ledger.set_budget(policy, dataset=scope.dataset, analyst=scope.analyst)
        if self.limits.get(scope) != (limit, window):
            self.seen = max(self.seen, self.now)
        self.limits[scope] = (limit, window)

    @rule(hours=st.integers(-30, 30))
    def pass_time(self, hours: int) -> None:
        self.now += timedelta(hours=hours)

    def spent(self, scope: Scope, *, today: bool) -> Fraction:
        start = self.time().replace(hour=0)
        return sum(
            (
                charge["cost"]
                for charge in self.charges
                if in_scope(scope, charge) and (not today or charge["at"] >= start)
            ),
            Fraction(0),
        )

    def time(self) -> datetime:
        return max(self.seen, self.now)

    def fits(self, scope: Scope, cost: Fraction) -> bool:
        if scope not in self.limits:
            return True
        limit, window = self.limits[scope]
        return self.spent(scope, today=False) + cost <= limit and (
            window is None or self.spent(scope, today=True) + cost <= window
        )

    @rule(
        cost=st.sampled_from(COSTS),
        dataset=st.sampled_from(DATASETS),
        analyst=st.sampled_from(ANALYSTS),
        fingerprint=st.sampled_from([None, "f", "g"]),
        key=st.sampled_from([None, None, None, "k", "l"]),
    )
    def ask(self, cost: Fraction, dataset: str, analyst: str | None, fingerprint: str | None, key: str | None) -> None:
        event = GuaranteedEvent(guarantee=PureDP(epsilon=cost))
        # The fingerprint of a question tells its price, as it does in a session.
        mark = None if fingerprint is None else f"{fingerprint}{cost}"
        request = None if key is None else Request(key=key, digest="d")

        def reserve() -> Reservation:
            return self.ledger.reserve(event, dataset=dataset, analyst=analyst, fingerprint=mark, request=request)

        if key is not None and (analyst, key) in self.requests:
            again = reserve()
            assert (again.id, again.fresh) == (self.requests[analyst, key], False)
            return
        if Scope(dataset=dataset) not in self.limits:
            with pytest.raises(ParameterError, match="no budget"):
                reserve()
            return
        known = self.answers.get((dataset, mark or ""), [])
        own = [Scope(analyst=analyst), Scope(dataset=dataset, analyst=analyst)] if analyst else []
        paid = [one for one in known if analyst in (None, one[1]) or (analyst, one[0]) in self.paid]
        if known:
            source = (paid or known)[0]
            if not paid and not all(self.fits(scope, cost) for scope in own):
                with pytest.raises(BudgetExceededError, match="analyst"):
                    reserve()
                return
            got = reserve()
            assert (got.state, got.answer, got.fresh) == ("repeated", source[2], False)
            if not paid:
                self.charge(cost, dataset, analyst, whole=False)
            self.paid.add((analyst, source[0]))
            self.seen = self.time()
        elif all(self.fits(scope, cost) for scope in [Scope(dataset=dataset), *own]):
            got = reserve()
            assert (got.state, got.fresh, got.answer, got.at) == ("reserved", True, None, self.time())
            self.charge(cost, dataset, analyst, whole=True)
            self.open.append(got)
            self.prints[got.id] = (dataset, analyst, mark)
        else:
            with pytest.raises(BudgetExceededError):
                reserve()
            return
        if key is not None:
            self.requests[analyst, key] = got.id

    def charge(self, cost: Fraction, dataset: str, analyst: str | None, *, whole: bool) -> None:
        self.seen = self.time()
        self.charges.append({"cost": cost, "dataset": dataset, "analyst": analyst, "whole": whole, "at": self.seen})

    @rule(number=st.integers(0, 100), text=st.sampled_from([None, "42", "43"]))
    def commit(self, number: int, text: str | None) -> None:
        if not self.open:
            return
        one = self.open.pop(number % len(self.open))
        self.ledger.commit(one, Release(value=42, event=one.event, guarantee=PureDP(epsilon=1)), text=text)
        self.seen = self.time()
        dataset, analyst, mark = self.prints[one.id]
        if mark is not None and text is not None:
            self.answers.setdefault((dataset, mark), []).append((one.id, analyst, text))

    @rule(number=st.integers(0, 100))
    def fail(self, number: int) -> None:
        if self.open:
            self.ledger.fail(self.open.pop(number % len(self.open)))
            self.seen = self.time()

    @invariant()
    def the_statement_is_the_model(self) -> None:
        said = {line.scope: line for line in self.ledger.statement()}
        assert set(said) == set(self.limits)
        for scope, (limit, window) in self.limits.items():
            spent = self.spent(scope, today=False)
            assert said[scope].spent == PureDP(epsilon=spent)
            assert said[scope].remaining == PureDP(epsilon=max(limit - spent, Fraction(0)))
            if window is None:
                assert said[scope].window_spent is None
            else:
                today = self.spent(scope, today=True)
                assert said[scope].window_spent == PureDP(epsilon=today)
                assert said[scope].window_remaining == PureDP(epsilon=max(window - today, Fraction(0)))
                assert said[scope].renews == self.time().replace(hour=0) + timedelta(days=1)

    def teardown(self) -> None:
        assert self.ledger.verify(self.ledger.head).ok
        assert {one.id for one in self.ledger.open_reservations()} == {one.id for one in self.open}
        stream = io.StringIO()
        self.ledger.export(stream)
        said = {line.scope: line for line in self.ledger.statement()}
        for scope, line in said.items():  # priced anew, from what was exported alone
            watch = Policy(limit=line.policy.limit).open()
            for text in stream.getvalue().splitlines():
                entry = json.loads(text)
                body = entry["body"]
                whole = entry["kind"] == "reserved"
                if (whole or (entry["kind"] == "repeated" and body["charged"])) and in_scope(
                    scope, body | {"whole": whole}
                ):
                    watch.count(Event.from_json(json.dumps(body["event"])))
            assert (watch.spent, watch.remaining) == (line.spent, line.remaining)
        self.ledger.close()


Model.TestCase.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
TestEveryHistory = Model.TestCase
