"""Two averages that give one person away, and the same two averages asked of a session.

Whoever knows that a condition singles out one row asks for the average of all rows, and of all rows but that one: the
difference of the two sums is the person's value, to the last digit. A database that answers only aggregates does not
stop it. A session does, because each average comes with noise that is as wide as one person's whole range: the
difference is noise. On such differences see Denning, Denning and Schwartz 1979 (*The tracker*).
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from celosia.core import Guarantee

if TYPE_CHECKING:
    import pyarrow as pa

    from celosia.query import Session

TRIES: Final = 5
"""How often the attacker asks the session."""

_VICTIM = "the only woman who died of epilepsy in Nayarit"
_ALL = "SELECT AVG(age) FROM deaths"
_ALL_BUT_ONE = "SELECT AVG(age) FROM deaths WHERE NOT (sex = 'F' AND cause = 'G409' AND state = 'Nayarit')"


@dataclass(frozen=True, slots=True, kw_only=True)
class Try:
    """What the attacker works out from two answers of the session, and the ends between which it would lie."""

    age: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """The victim, the two questions, what they reveal on the plain database, and what they reveal in a session.

    ``cost`` is what one try spends. ``guess`` is how far off is whoever asks nothing and takes the average.
    """

    plain: tuple[float, float]
    rows: int
    revealed: float
    tries: tuple[Try, ...]
    cost: Guarantee
    victim: str = _VICTIM
    questions: tuple[str, str] = (_ALL, _ALL_BUT_ONE)

    @property
    def error(self) -> float:
        """How far off the attacker is in a session, on average over the tries."""
        return math.fsum(abs(attempt.age - self.revealed) for attempt in self.tries) / len(self.tries)

    @property
    def guess(self) -> float:
        """How far off a guess is that anybody can make: the average of all."""
        return round(abs(self.plain[0] - self.revealed), 6)

    @property
    def verdict(self) -> str:
        """What came of it, in a sentence or two."""
        off = f"In {len(self.tries)} tries the attacker is off by {self.error:,.1f} years on average"
        guess = f"whoever asks nothing and takes the average age is off by {self.guess:,.1f}"
        if self.error > self.guess:
            return f"{off}; {guess}."
        return f"{off}, but {guess}: with so large an ε the two averages do tell something about her."


def attack(deaths: "pa.Table", session: "Session", epsilon: Fraction) -> Attack:
    """Run the attack on the plain table once, and on a session as often as ``TRIES`` says.

    At ``epsilon`` a question.
    """
    averages, rows = attack_plain(deaths)
    found = [_try(session, rows, epsilon) for _ in range(TRIES)]
    promises = [entry.cost for entry in session.history[-2:]]
    return Attack(
        plain=averages,
        rows=rows,
        revealed=round(_difference(rows, *averages), 6),  # beyond, it is the rounding of doubles
        tries=tuple(found),
        cost=sum(promises[1:], promises[0]),
    )


def attack_plain(deaths: "pa.Table") -> tuple[tuple[float, float], int]:
    """Ask both averages of a plain DuckDB, which answers exactly; return them and the number of rows."""
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
    """The one value that is in the first average and not in the second."""
    return rows * everybody - (rows - 1) * but_one
