"""The queries of the demonstration, each through a session that pays for it.

They are the worked questions of the textbook. The true answer is kept beside the private one because the table is
synthetic; a program for real data would have no such field. Domains (causes, sexes, decades of age) are public, never
read from the records. The last query is another model: a survey whose replies are randomized before they are collected,
which needs no session.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from celosia.cli.language import say, translate, write_number
from celosia.core import Guarantee, PureDP, Release, Source
from celosia.data import AGES, CAUSES, DIABETES, SEXES, STATES, VIOLENCE, Category, Integer, Schema, table
from celosia.mechanisms import RandomizedResponse

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from celosia.query import Query, Session
    from celosia.query.release import TableRelease

_LEVEL = 0.95
_ADULT = 18
_EDGES = (*range(0, 120, 10), 120)
_SHARES = (10, 25, 50, 75, 90)

DECADES: Final = (*(f"{start}–{start + 9}" for start in range(0, 110, 10)), "110–120")
"""The public cells of a histogram of ages."""


def open_session(deaths: "pa.Table", budget: Fraction, source: Source | None = None) -> "Session":
    """Return a session on the synthetic deaths, in which every row is one person's."""
    from celosia.query import Session

    schema = Schema(age=Integer(*AGES), sex=Category(*SEXES), cause=Category(*CAUSES), state=Category(*STATES))
    return Session(table(deaths, schema=schema, name="deaths"), budget=PureDP(epsilon=budget), source=source)


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The columns of the table as integers: ages, and positions within the public domains."""

    ages: "NDArray[np.int64]"
    sexes: "NDArray[np.int64]"
    causes: "NDArray[np.int64]"

    @classmethod
    def of(cls, table: "pa.Table") -> "Columns":
        """Read the columns of the synthetic deaths."""
        return cls(
            ages=np.from_dlpack(table["age"].combine_chunks()).astype(np.int64),
            sexes=_positions(table["sex"], SEXES),
            causes=_positions(table["cause"], tuple(CAUSES)),
        )

    def caused_by(self, codes: tuple[str, ...]) -> "NDArray[np.bool_]":
        """Mark the deaths by one of ``codes``."""
        wanted = np.array([code in codes for code in CAUSES])
        return wanted[self.causes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars:
    """A private histogram, ready to draw."""

    names: tuple[str, ...]
    values: "NDArray[np.int64]"
    low: "NDArray[np.int64]"
    high: "NDArray[np.int64]"
    true: "NDArray[np.int64]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranks:
    """Private quantiles, ready to draw: the shares in percent, and the ages below which that share died."""

    shares: tuple[int, ...]
    values: tuple[float, ...]
    true: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One query with its true and its private answer, as text, its guarantee, and the remaining budget.

    An answer of several numbers has a line for each, in all of its texts. ``asked`` is the query as the session parsed
    it, and ``mechanism`` how it was answered.
    """

    title: str
    question: str
    true: str
    private: str
    interval: str
    guarantee: Guarantee
    mechanism: str
    asked: str = ""
    left: Guarantee | None = None
    bars: Bars | None = None
    ranks: Ranks | None = None

    @property
    def lines(self) -> list[tuple[str, str, str, str]]:
        """Question, true value, private value and interval, number by number."""
        texts = (self.question, self.true, self.private, self.interval)
        return list(zip(*(text.split("\n") for text in texts), strict=True))


def _minors_by_diabetes(session: "Session", columns: Columns, epsilon: Fraction) -> Answer:
    true = int((columns.caused_by(DIABETES) & (columns.ages < _ADULT)).sum())
    query = session.query().where(f"age < {_ADULT} AND {_caused_by(DIABETES)}").count()
    release, receipt = _release(session, query, epsilon)
    (value,), (low,), (high,) = _numbers(release, "count", level=_LEVEL)
    return Answer(
        title=say("cli_demo.minors_by_diabetes"),
        question=say("cli_demo.minors_by_diabetes"),
        true=write_number(true),
        private=write_number(value),
        interval=_range(low, high),
        **receipt,
    )


def _deaths_by_sex(session: "Session", columns: Columns, epsilon: Fraction) -> Answer:
    true = np.bincount(columns.sexes, minlength=len(SEXES))
    release, receipt = _release(session, session.query().group_by("sex").count(), epsilon)
    values, low, high = _numbers(release, "count", level=_level_of_each(true.size))
    return Answer(
        title=say("cli_demo.by_sex"),
        question="\n".join([say("cli_demo.of_women"), say("cli_demo.of_men")]),
        true="\n".join(map(write_number, true)),
        private="\n".join(map(write_number, values)),
        interval="\n".join(map(_range, low, high)),
        **receipt,
    )


def _mean_age(session: "Session", columns: Columns, epsilon: Fraction) -> Answer:
    query = session.query().mean("age")
    return _mean(session, columns, epsilon, query, ("cli_demo.mean_age", "cli_demo.mean_age_in_years"))


def _mean_age_by_halves(session: "Session", columns: Columns, epsilon: Fraction) -> Answer:
    query = session.query().mean("age", method="half-half", name="mean_age")
    return _mean(session, columns, epsilon, query, ("cli_demo.mean_age_by_halves", "cli_demo.halves"))


def _mean(session: "Session", columns: Columns, epsilon: Fraction, query: "Query", codes: tuple[str, str]) -> Answer:
    release, receipt = _release(session, query, epsilon)
    (value,), (low,), (high,) = _numbers(release, "mean_age", level=_LEVEL)
    return Answer(
        title=say(codes[0]),
        question=say(codes[1]),
        true=write_number(columns.ages.mean(), ".3f"),
        private=write_number(value, ".3f"),
        interval=f"{write_number(low, '.3f')} – {write_number(high, '.3f')}",
        **receipt,
    )


def _most_common_cause(session: "Session", columns: Columns, epsilon: Fraction) -> Answer:
    codes = tuple(CAUSES)
    release, receipt = _release(session, session.query().mode("cause"), epsilon)
    return Answer(
        title=say("cli_demo.common_cause"),
        question=say("cli_demo.common_cause_of_death"),
        true=codes[int(np.bincount(columns.causes).argmax())],
        private=str(release.item()),
        interval="—",
        **receipt,
    )


def _violence_by_decade(session: "Session", columns: Columns, epsilon: Fraction) -> Answer:
    ages = columns.ages[columns.caused_by(VIOLENCE)]
    true = np.bincount(np.minimum(ages // 10, len(DECADES) - 1), minlength=len(DECADES))
    query = session.query().where(_caused_by(VIOLENCE)).histogram("age", _EDGES)
    release, receipt = _release(session, query, epsilon)
    values, low, high = map(np.asarray, _numbers(release, "count", level=_level_of_each(true.size)))
    first, top = int(true.argmax()), int(values.argmax())
    return Answer(
        title=say("cli_demo.by_violence"),
        question="\n".join([say("cli_demo.decade_of_violence"), say("cli_demo.violence_in_decade")]),
        # The number belongs to the decade that the interval is about.
        true=f"{DECADES[first]}\n{write_number(true[top])}",
        private=f"{DECADES[top]}\n{write_number(values[top])}",
        interval=f"—\n{_range(low[top], high[top])}",
        bars=Bars(names=DECADES, values=values, low=low, high=high, true=true),
        **receipt,
    )


def _quantiles_of_age(session: "Session", columns: Columns, epsilon: Fraction) -> Answer:
    shares = [Fraction(share, 100) for share in _SHARES]
    release, receipt = _release(session, session.query().quantiles("age", shares), epsilon)
    values = tuple(release.to_arrow().to_pylist()[0].values())
    low, high = (end.to_pylist()[0].values() for end in release.confidence_interval(1 - (1 - _LEVEL) / len(_SHARES)))
    true = tuple(np.quantile(columns.ages, [float(share) for share in shares], method="inverted_cdf").tolist())
    return Answer(
        title=say("cli_demo.quantiles"),
        question="\n".join(say("cli_demo.quantile", share=share) for share in _SHARES),
        true="\n".join(write_number(age, "g") for age in true),
        private="\n".join(write_number(age, "g") for age in values),
        interval="\n".join(map(_range, low, high)),
        ranks=Ranks(shares=_SHARES, values=values, true=true),
        **receipt,
    )


def share_of_women(columns: Columns, epsilon: Fraction, source: Source | None = None) -> Answer:
    """Survey the sex of all by randomized response: each reply is private before it is collected."""
    truth = columns.sexes == SEXES.index("F")
    mechanism = RandomizedResponse(epsilon=epsilon)
    release: Release[Any] = mechanism.release(truth, source=source)
    estimate = mechanism.estimate(release.value)
    low, high = estimate.confidence_interval(_LEVEL)
    return Answer(
        title=say("cli_demo.share_of_women"),
        question=say("cli_demo.share_of_women_surveyed"),
        true=write_number(truth.mean(), ".2%"),
        private=write_number(estimate.proportion, ".2%"),
        interval=f"{write_number(low, '.2%')} – {write_number(high, '.2%')}",
        guarantee=release.guarantee,
        mechanism=say("cli_demo.randomized_response"),
    )


QUESTIONS: Final[tuple[Callable[["Session", Columns, Fraction], Answer], ...]] = (
    _minors_by_diabetes,
    _deaths_by_sex,
    _mean_age,
    _mean_age_by_halves,
    _most_common_cause,
    _violence_by_decade,
    _quantiles_of_age,
)
"""The queries, in order: each takes the session, the columns for the true answer, and an epsilon."""


def _release(session: "Session", query: "Query", epsilon: Fraction) -> "tuple[TableRelease, dict[str, Any]]":
    """Release a query, and return it with its receipt."""
    mechanism = translate(query.preview(epsilon=epsilon).lines[0].mechanism)
    release = query.release(epsilon=epsilon)
    receipt = {"mechanism": mechanism, "asked": session.history[-1].question, "left": session.remaining}
    return release, {"guarantee": release.guarantee, **receipt}


def _numbers(release: "TableRelease", column: str, *, level: float) -> tuple[list[Any], list[Any], list[Any]]:
    low, high = release.confidence_interval(level)
    values, least, greatest = (part[column].to_pylist() for part in (release.to_arrow(), low, high))
    return values, least, greatest


def _caused_by(codes: Sequence[str]) -> str:
    return f"cause IN ({', '.join(map(repr, codes))})"


def _level_of_each(count: int) -> float:
    """Return the level at which ``count`` intervals with independent noise all hold with probability 0.95."""
    return float(_LEVEL ** (1 / count))


def _positions(column: "pa.ChunkedArray", domain: tuple[str, ...]) -> "NDArray[np.int64]":
    encoded = column.combine_chunks()
    in_domain = np.array([domain.index(text) for text in encoded.dictionary.to_pylist()], dtype=np.int64)
    # Through DLPack, because to_numpy would load pandas where it is installed.
    return in_domain[np.from_dlpack(encoded.indices).astype(np.int64)]


def _range(low: float, high: float) -> str:
    return f"{write_number(round(low))} – {write_number(round(high))}"
