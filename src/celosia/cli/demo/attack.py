"""An attack by two averages, on a plain database and on a session.

An attacker who knows a condition that singles out one row takes the average of all rows, and of all rows but that one:
the difference of the two sums is the person's value, to the last digit. A database that answers only aggregates does
not stop it. A session does, because each average has noise as wide as one person's whole range: the difference is
noise. On such differences see Denning, Denning and Schwartz 1979 (*The tracker*).
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from celosia.core import Guarantee
from celosia.core.messages.message import Message

if TYPE_CHECKING:
    import pyarrow as pa

    from celosia.query import Session

TRIES: Final = 5
"""The number of attempts on the session."""

_ALL = "SELECT AVG(age) FROM deaths"
_ALL_BUT_ONE = "SELECT AVG(age) FROM deaths WHERE NOT (sex = 'F' AND cause = 'G409' AND state = 'Nayarit')"


@dataclass(frozen=True, slots=True, kw_only=True)
class Try:
    """The attacker's result from two answers of the session, with its interval."""

    age: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """The two queries about one person, and their results on the plain database and in a session.

    ``cost`` is the cost of one try. ``guess`` is the error of guessing the average without any query.
    """

    plain: tuple[float, float]
    rows: int
    revealed: float
    tries: tuple[Try, ...]
    cost: Guarantee
    questions: tuple[str, str] = (_ALL, _ALL_BUT_ONE)

    @property
    def error(self) -> float:
        """The mean error of the attacker in a session."""
        return math.fsum(abs(attempt.age - self.revealed) for attempt in self.tries) / len(self.tries)

    @property
    def guess(self) -> float:
        """The error of a guess without any query: the average of all."""
        return round(abs(self.plain[0] - self.revealed), 6)

    @property
    def verdict(self) -> Message:
        """The result in a sentence or two."""
        code = "cli_demo.attack_fails" if self.error > self.guess else "cli_demo.attack_succeeds"
        return Message(code, tries=len(self.tries), error=self.error, guess=self.guess)


def attack(deaths: "pa.Table", session: "Session", epsilon: Fraction) -> Attack:
    """Run the attack on the plain table once, and ``TRIES`` times on a session, at ``epsilon`` per query."""
    averages, rows = attack_plain(deaths)
    found = [_try(session, rows, epsilon) for _ in range(TRIES)]
    costs = [entry.cost for entry in session.history[-2:]]
    return Attack(
        plain=averages,
        rows=rows,
        revealed=round(_difference(rows, *averages), 6),  # beyond, it is the rounding of doubles
        tries=tuple(found),
        cost=sum(costs[1:], costs[0]),
    )


def attack_plain(deaths: "pa.Table") -> tuple[tuple[float, float], int]:
    """Return both exact averages from a plain DuckDB, and the number of rows."""
    import duckdb

    with duckdb.connect() as connection:
        connection.register("deaths", deaths)
        answers = [connection.execute(text).fetchall()[0][0] for text in (_ALL, _ALL_BUT_ONE)]
        [(rows,)] = connection.execute("SELECT COUNT(*) FROM deaths").fetchall()
    return (answers[0], answers[1]), rows


def _try(session: "Session", rows: int, epsilon: Fraction) -> Try:
    releases = [session.sql(text, epsilon=epsilon) for text in (_ALL, _ALL_BUT_ONE)]
    everybody, but_one = (release.item() for release in releases)
    level = math.sqrt(0.95)  # both intervals hold together with probability 0.95
    (low, high), (low_but_one, high_but_one) = (
        tuple(end.column(0)[0].as_py() for end in release.confidence_interval(level)) for release in releases
    )
    return Try(
        age=_difference(rows, everybody, but_one),
        low=_difference(rows, low, high_but_one),
        high=_difference(rows, high, low_but_one),
    )


def _difference(rows: int, everybody: float, but_one: float) -> float:
    """Return the one value that is in the first average and not in the second."""
    return rows * everybody - (rows - 1) * but_one
