"""The noise in an answer is the noise of its event, and what follows the noise is post-processing.

A group-by of many keys is many draws at once, so an answer of one query is enough for a distribution test. Seeds are
fixed: p-values are above 1e-6 for what is released and below it for noise that is a tenth too small.
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
from collections import Counter
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import celosia as cl
from celosia.core import CertifiedEvent, ConformanceError, GaussianEvent, LaplaceEvent, ReplaceOne
from celosia.core.events import KeySelectionEvent
from celosia.mechanisms import StableKeys
from celosia.noise import DiscreteGaussian, DiscreteLaplace, Seeded, System
from celosia.query.answering.release_table import answer
from celosia.query.plan.nodes import Aggregate, Key
from celosia.query.planning.strategy import Strategy, read_target, strategy_for
from celosia.query.serial.release import release_from_json, release_to_json
from celosia.statistics import ContributionBounds
from celosia.testing import check_distribution, check_mechanism, chi_square
from tests.query.samples import FULL, Pretending, ask, persons_table, question, rows_table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from celosia.data.table import Table
    from celosia.query.builder import Query
    from celosia.query.release import TableRelease

SECRET = (1, 2, 3, 4)
LEVEL = 1e-6
MANY = 20_000
FAR = cl.table(
    pa.table({"key": pa.array([], pa.int64()), "x": pa.array([], pa.int64()), "c": pa.array([], pa.string())}),
    schema=cl.Schema(key=cl.Integer(0, MANY - 1), x=cl.Integer(0, 100, null=0), c=cl.Category("u", "v", "w")),
    name="far",
)


def strategy(query: Query, table: Table, budget: cl.Guarantee, **target: Any) -> Strategy:
    return strategy_for(question(query, table), read_target(budget, **target))


def answered(made: Strategy, engine: Pretending, seed: int = 1) -> TableRelease:
    return answer(made, engine, SECRET, Seeded(seed), cl.PureDP(epsilon=1))


def cells(*row: int) -> NDArray[np.int64]:
    """The same exact numbers in every cell."""
    return np.tile(np.array(row, dtype=np.int64), (MANY, 1))


def too_little(event: LaplaceEvent | GaussianEvent) -> Callable[[NDArray[np.int64]], Any]:
    """The law of noise that is a tenth smaller than an event says."""
    if isinstance(event, LaplaceEvent):
        return DiscreteLaplace(event.scale * Fraction(9, 10)).log_mass
    return DiscreteGaussian(event.variance * Fraction(81, 100)).log_mass


def check(draws: NDArray[np.int64], event: LaplaceEvent | GaussianEvent) -> None:
    noise = DiscreteLaplace(event.scale) if isinstance(event, LaplaceEvent) else DiscreteGaussian(event.variance)
    check_distribution(draws, noise.log_mass, failure=LEVEL)
    with pytest.raises(ConformanceError):
        check_distribution(draws, too_little(event), failure=LEVEL)


# -------------------------------------------------------------------------------------------------------- the noise


def test_a_count_has_the_laplace_noise_of_its_event() -> None:
    cases: list[int | str] = ["0.1", "1/3", 1]
    for epsilon in cases:
        made = strategy(ask(FAR).group_by("key").count(), FAR, cl.PureDP(epsilon=1), epsilon=epsilon)
        assert isinstance(made.event, LaplaceEvent)
        assert made.event.scale == 1 / Fraction(epsilon)
        release = answered(made, Pretending([cells(17)]))
        check(release.value["count"].to_numpy() - 17, made.event)


def test_a_sum_has_the_noise_of_its_event_in_steps() -> None:
    made = strategy(ask(FAR).group_by("key").sum("x"), FAR, cl.PureDP(epsilon=1), epsilon="0.5")
    assert isinstance(made.event, LaplaceEvent)
    assert made.event.scale == 200
    assert made.event.sensitivity == 100
    check(answered(made, Pretending([cells(4000)])).value["sum_x"].to_numpy() - 4000, made.event)


def test_a_count_has_the_gaussian_noise_of_its_event() -> None:
    made = strategy(ask(FAR).group_by("key").count(), FAR, cl.ZCDP(rho=1), rho="0.02")
    assert isinstance(made.event, GaussianEvent)
    assert made.event.variance == 25
    check(answered(made, Pretending([cells(17)])).value["count"].to_numpy() - 17, made.event)


def test_gaussian_noise_for_an_epsilon_and_a_delta_is_what_was_certified() -> None:
    limits: dict[str, Any] = {"person": "p", "max_groups_per_person": 50, "max_rows_per_group": 1}
    source = pa.table({"key": pa.array([], pa.int64()), "p": pa.array([], pa.int64())})
    table = cl.table(source, schema=cl.Schema(key=cl.Integer(0, MANY - 1)), name="far", **limits)
    budget = cl.ApproxDP(epsilon=1, delta="1e-6")
    made = strategy(ask(table).group_by("key").count(), table, budget, epsilon=1)
    assert isinstance(made.event, CertifiedEvent)
    assert isinstance(made.event.event, GaussianEvent)
    check(answered(made, Pretending([cells(0)])).value["count"].to_numpy(), made.event.event)


def laplace_draws(scale: float, generator: np.random.Generator) -> NDArray[np.float64]:
    stop, size = -math.expm1(-1 / scale), (2, 20 * MANY)
    return np.asarray(generator.geometric(stop, size) - generator.geometric(stop, size), dtype=np.float64)


def test_a_mean_is_the_ratio_of_two_noisy_sums() -> None:
    """Against the same ratio of draws that NumPy made: 60 rows of value 30, on an axis from 0 to 100."""
    made = strategy(ask(FAR).group_by("key").mean("x"), FAR, cl.PureDP(epsilon=1), epsilon=1)
    assert isinstance(made.event, LaplaceEvent)
    low, high = made.parts[0].measurement.measure.features(30)  # type: ignore[union-attr]
    means = answered(made, Pretending([cells(60 * low, 60 * high)])).value["mean_x"].to_numpy()

    def expected(scale: float) -> NDArray[np.float64]:
        noise = laplace_draws(scale, np.random.default_rng(3))
        first, second = 60 * low + noise[0], 60 * high + noise[1]
        return np.asarray(np.clip(100 * first / (first + second), 0, 100))

    scale = float(made.event.scale)
    assert stats.ks_2samp(means, expected(scale)).pvalue > LEVEL
    assert stats.ks_2samp(means, expected(scale * 0.9)).pvalue < LEVEL


def permute_and_flip(rate: float, counts: Sequence[int]) -> list[float]:
    """The law by enumeration: of a random order, the first whose coin of exp(rate * (count - largest)) comes up."""
    coins = [math.exp(rate * (count - max(counts))) for count in counts]
    masses = [0.0] * len(counts)
    orders = list(itertools.permutations(range(len(counts))))
    for order in orders:
        nobody = 1.0
        for place in order:
            masses[place] += nobody * coins[place] / len(orders)
            nobody *= 1 - coins[place]
    return masses


def test_a_mode_is_chosen_by_the_event_of_the_query() -> None:
    cases: list[Any] = [cl.AddRemove, ReplaceOne]
    for adjacency in cases:
        source = FAR.source.frame  # type: ignore[union-attr]
        table = cl.table(source, schema=FAR.schema, name="far", adjacency=adjacency)
        made = strategy(ask(table).group_by("key").mode("c"), table, cl.PureDP(epsilon=1), epsilon=1)
        seen = Counter(answered(made, Pretending([cells(5, 6, 3)])).value["mode_c"].to_pylist())
        observed = [seen[name] for name in ("u", "v", "w")]
        rate = 1.0 if adjacency is cl.AddRemove else 0.5  # a replaced row takes from one candidate and gives to another
        assert chi_square(observed, permute_and_flip(rate, [5, 6, 3])) > LEVEL
        assert chi_square(observed, permute_and_flip(rate * 1.1, [5, 6, 3])) < LEVEL


def test_measurements_of_one_query_have_noise_of_their_own() -> None:
    made = strategy(
        ask(FAR).group_by("key").count().sum("x", name="s").count("c", name="n"), FAR, cl.PureDP(epsilon=9), epsilon=9
    )
    release = answered(made, Pretending([cells(*[0] * part.measurement.measure.width) for part in made.parts]))
    one, two = release.value["count"].to_numpy(), release.value["n"].to_numpy()
    assert abs(np.corrcoef(one, two)[0, 1]) < 5 / math.sqrt(MANY)


def test_no_two_answers_share_their_noise() -> None:
    made = strategy(ask(FAR).group_by("key").count(), FAR, cl.PureDP(epsilon=1), epsilon="0.1")
    source = Seeded(5)
    first, second = (
        answer(made, Pretending([cells(0)]), SECRET, source, cl.PureDP(epsilon=1)).value["count"].to_numpy()
        for _ in range(2)
    )
    assert abs(np.corrcoef(first, second)[0, 1]) < 5 / math.sqrt(MANY)


# ------------------------------------------------------------------------------------------------------ private keys


def keyed(**counts: int) -> dict[tuple[Any, ...], int]:
    return {(name,): units for name, units in counts.items()}


def test_keys_are_shown_by_their_noisy_numbers_and_sorted() -> None:
    budget = cl.ApproxDP(epsilon=1, delta="1e-6")
    made = strategy(ask().group_by("town").count(), rows_table(), budget, epsilon=1)
    engine = Pretending(keys=keyed(z=10**6, b=10**6, lonely=1, a=10**6))
    assert answered(made, engine).value["town"].to_pylist() == ["a", "b", "z"]


def test_a_key_at_the_threshold_is_shown_as_often_as_its_noise_is_not_negative() -> None:
    budget = cl.ApproxDP(epsilon=1, delta="1e-6")
    made = strategy(ask().group_by("town").count(), rows_table(), budget, epsilon=1)
    assert made.keys is not None
    keys = {(f"{number:04}",): made.keys.threshold for number in range(3000)}
    shown = answered(made, Pretending(keys=keys)).value.num_rows
    ratio = math.exp(-1 / float(made.keys.event.scale))
    assert stats.binomtest(shown, 3000, 1 / (1 + ratio)).pvalue > LEVEL


def test_an_answer_without_any_key_is_an_empty_table() -> None:
    asked_cases: list[Any] = [
        lambda q: q.count().mean("age").variance("weight"),
        lambda q: q.median("age").mode("risk").top_k("sex", 2),
    ]
    table_cases: list[Table] = [rows_table(), persons_table()]
    for asked, table in product(asked_cases, table_cases):
        budget = cl.ApproxDP(epsilon=1, delta="1e-6")
        made = strategy(asked(ask(table).group_by("town")), table, budget, epsilon=1)
        engine = Pretending(keys=keyed(lonely=1))
        release = answered(made, engine)
        assert release.value.num_rows == 0
        assert release.value.column_names[0] == "town"
        assert engine.reads == 1  # the keys, and nothing else
        if release.intervals:
            assert all(end.num_rows == 0 for end in release.confidence_interval(0.9))


def test_the_axis_is_cut_for_the_keys_that_are_shown() -> None:
    """With room for a million keys there would be four bins, and every median one of four."""
    budget = cl.ApproxDP(epsilon=100, delta="1e-6")
    made = strategy(ask().group_by("town").median("age"), rows_table(), budget, epsilon=100)
    counts = np.zeros((1, 121), dtype=np.int64)
    counts[0, 37] = 10**6
    release = answered(made, Pretending([counts], keys=keyed(A=10**6)))
    assert release.value["median_age"].to_pylist() == [37]


# --------------------------------------------------------------------------------------------------- post-processing

SURE = cl.PureDP(epsilon=60_000)


def sure(query: Query, table: Table, *summaries: NDArray[np.int64]) -> TableRelease:
    """With so large an epsilon that there is no noise in practice."""
    return answered(strategy(query, table, SURE, epsilon=60_000), Pretending(summaries))


def test_having_order_and_limit_leave_rows_with_their_intervals() -> None:
    query = ask().group_by("risk").count(name="n").having("n > 2").order_by("n", descending=True).limit(1)
    release = sure(query, rows_table(), np.array([[5], [9], [1]]))
    assert release.value.to_pydict() == {"risk": ["middle"], "n": [9]}
    low, high = release.confidence_interval(0.9)
    assert low["n"].to_pylist()[0] <= 9 <= high["n"].to_pylist()[0]
    assert low.to_pydict()["risk"] == ["middle"]


def test_rows_come_in_the_order_of_the_keys_whatever_the_counts() -> None:
    release = sure(ask().group_by("risk").count(), rows_table(), np.array([[5], [0], [7]]))
    assert release.value.to_pydict() == {"risk": ["low", "middle", "high"], "count": [5, 0, 7]}


def test_nulls_come_last_in_either_direction() -> None:
    for descending, expected in ((False, ["high", "low", "middle"]), (True, ["low", "high", "middle"])):
        query = ask().group_by("risk").count(name="n").order_by("1 / n", descending=descending)
        assert sure(query, rows_table(), np.array([[5], [0], [7]])).value["risk"].to_pylist() == expected


def test_computed_columns_have_intervals_as_copies_have() -> None:
    session = cl.Session(rows_table(), budget=SURE)
    plan = session.sql(
        "SELECT sex AS s, COUNT(*) AS n, COUNT(*) * 2 AS twice, COUNT(*) > 6 AS many FROM deaths GROUP BY sex"
    ).plan
    made = strategy_for(question(plan), read_target(SURE, epsilon=60_000))
    release = answered(made, Pretending([np.array([[5], [7]])]))
    assert release.value.to_pydict() == {"s": ["F", "M"], "n": [5, 7], "twice": [10, 14], "many": [False, True]}
    assert set(release.intervals) == {"n", "twice"}
    assert [end.tolist() for end in release.intervals["twice"](0.5)] == [[10, 14], [10, 14]]
    assert release.keys == ("s",)


def test_categories_stand_in_place_of_their_numbers() -> None:
    query = ask().median("risk").mode("alive").top_k("sex", 2)
    made = strategy(query, rows_table(), SURE, epsilon=60_000)
    made_up = {3: np.array([[0, 10**6, 0]]), 2: np.array([[1, 10**6]])}
    release = answered(made, Pretending([made_up[part.measurement.measure.width] for part in made.parts]))
    assert release.value.to_pydict() == {"median_risk": ["middle"], "mode_alive": [True], "top_k_sex": [["M", "F"]]}


def test_a_category_of_one_value_has_a_median() -> None:
    table = cl.table(pa.table({"c": ["only"]}), schema=cl.Schema(c=cl.Category("only", ordered=True)), name="t")
    for seed in range(20):
        made = strategy(ask(table).median("c"), table, cl.PureDP(epsilon=1), epsilon="1e-3")
        assert answered(made, Pretending(), seed).item() == "only"


def test_dates_and_times_stand_in_place_of_days_and_seconds() -> None:
    schema = cl.Schema(day=cl.Date("1969-12-01", "2020-12-31"), at=cl.Timestamp("1969-12-31", "1970-01-02"))
    table = cl.table(
        pa.table({"day": pa.array([], pa.date32()), "at": pa.array([], pa.timestamp("us"))}), schema=schema, name="t"
    )
    made = strategy(ask(table).min("day").max("at"), table, cl.PureDP(epsilon=100), epsilon=100)
    summaries = []
    for part, step in zip(made.parts, (17, 86_400 + 3_661), strict=True):
        counts = np.zeros((1, part.measurement.measure.width), dtype=np.int64)
        counts[0, step // part.measurement.measure.bin_width] = 10**6  # type: ignore[union-attr]
        summaries.append(counts)
    row = answered(made, Pretending(summaries)).value.to_pylist()[0]
    assert row["min_day"] == dt.date(1969, 12, 18)
    assert abs(row["max_at"] - dt.datetime(1970, 1, 1, 1, 1, 1, tzinfo=dt.UTC)) < dt.timedelta(seconds=10)


def test_quantiles_have_intervals_of_their_own_kind() -> None:
    schema = cl.Schema(
        age=cl.Integer(0, 120),
        born=cl.Date("2000-01-01", "2019-12-31"),
        seen=cl.Timestamp("2020-01-01", "2020-12-31"),
        size=cl.Category("small", "medium", "large", ordered=True),
    )
    day, moment = dt.date(2010, 6, 1), dt.datetime(2020, 6, 1, 12, tzinfo=dt.UTC)
    rows = pa.table({"age": [60] * 999, "born": [day] * 999, "seen": [moment] * 999, "size": ["medium"] * 999})
    session = cl.Session(cl.table(rows, schema=schema, name="t"), budget=cl.PureDP(epsilon=40))
    release = session.sql("SELECT MEDIAN(age) a, MEDIAN(born) b, MEDIAN(seen) s, MEDIAN(size) c FROM t", epsilon=40)
    low, high = (end.to_pylist()[0] for end in release.confidence_interval(0.95))
    for name, truth in (("a", 60), ("b", day), ("s", moment)):
        assert low[name] <= truth <= high[name]
    assert (low["a"], high["a"], low["c"], high["c"]) == (60, 60, "medium", "medium")
    assert abs(low["b"] - day) <= dt.timedelta(days=2)
    assert release.to_pandas(level=0.95)["c_low"].tolist() == ["medium"]
    assert release.confidence_interval(0.999)[0].to_pylist()[0] == {
        "a": 0,
        "b": dt.date(2000, 1, 1),
        "s": dt.datetime(2020, 1, 1, tzinfo=dt.UTC),
        "c": "small",
    }
    assert release.to_arrow(0.95).schema.field("b_low").type == pa.date32()
    assert "private choices too and take 2 of 3 parts of the cost" in " ".join(release.notes)


def test_a_maximum_at_the_bound_says_that_it_was_clipped() -> None:
    table = cl.table(pa.table({"x": [500, 7] * 2000}), schema=cl.Schema(x=cl.Integer(0, 100)), name="t")
    session = cl.Session(table, budget=cl.PureDP(epsilon=4))
    release = session.sql("SELECT MAX(x) AS most, MIN(x) AS least FROM t", epsilon=4)
    assert release.to_arrow().to_pylist() == [{"most": 100, "least": 7}]
    assert release.to_arrow(0.95).to_pylist()[0]["least_low"] == 0
    said = [note for note in release.notes if "were clipped to it" in note]
    assert said == ["most is 100, the bound of its column: values beyond it were clipped to it."]
    assert "The interval of the maximum reaches to the bound 100" in " ".join(release.notes)


def test_a_public_number_of_rows_is_taken_as_it_is() -> None:
    table = rows_table(schema=FULL, adjacency=ReplaceOne)
    release = sure(ask(table).mean("age").sum("age"), table, np.array([[2 * 300 - 120 * 10]]), np.array([[10]]))
    assert release.value.to_pydict() == {"mean_age": [30.0], "sum_age": [300.0]}


def test_a_table_without_rows_is_answered() -> None:
    table = rows_table(schema=FULL, adjacency=ReplaceOne)
    release = sure(ask(table).mean("age"), table, np.array([[0]]), np.array([[0]]))
    assert 0 <= release.item() <= 120


def test_summaries_beyond_64_bits_are_answered() -> None:
    huge = np.array([[2**70], [-(2**70)]], dtype=object)
    release = answered(strategy(ask().group_by("sex").sum("age"), rows_table(), SURE, epsilon=1), Pretending([huge]))
    large = release.value["sum_age"].to_pylist()
    assert large[0] > 2**61
    assert large[1] < -(2**61)


def test_a_release_says_what_it_is() -> None:
    made = strategy(ask().count(), rows_table(), SURE, epsilon=1)
    release = answer(made, Pretending(), SECRET, Seeded(1), cl.PureDP(epsilon=1))
    assert release.event == made.event
    assert release.seeded
    assert release.guarantee == cl.PureDP(epsilon=1)


def test_an_answer_without_rows_has_the_types_that_it_would_have_with_some() -> None:
    rows = pa.table({"i": [1, 2] * 500, "c": ["F", "M"] * 500, "s": ["x", "y"] * 500})
    schema = cl.Schema(i=cl.Integer(0, 9), c=cl.Category("F", "M"), s=cl.Text())
    session = cl.Session(cl.table(rows, schema=schema, name="t"), budget=cl.ApproxDP(epsilon=1000, delta="0.1"))
    asked = (
        "SELECT s, c, COUNT(*) AS n, AVG(i) AS a, 2 * AVG(i) AS z, MODE(c) AS m, MEDIAN(i) AS q FROM t GROUP BY s, c"
    )
    full = session.sql(asked, epsilon=100).to_arrow()
    none = session.sql(f"{asked} HAVING COUNT(*) > 100000", epsilon=100).to_arrow()
    assert full.num_rows > 0 == none.num_rows
    assert none.schema.equals(full.schema)


# --------------------------------------------------------------------------------------- texts that nobody listed

TEXTS = cl.Schema(diagnosis=cl.Text(), sex=cl.Category("F", "M"))
WITH_DELTA = cl.ApproxDP(epsilon=4, delta="0.04")


def hospital(rows: Sequence[tuple[int, str | None, str]], groups: int = 2) -> Table:
    """Persons, diagnoses and sexes, as a table of persons who count for so many groups."""
    who, diagnosis, sex = (list(column) for column in zip(*rows, strict=True))
    frame = pa.table({"who": who, "diagnosis": pa.array(diagnosis, pa.string()), "sex": sex})
    return cl.table(
        frame, schema=TEXTS, name="visits", person="who", max_groups_per_person=groups, max_rows_per_group=1
    )


class FirstTexts:
    """What TOP_K releases of given numbers of units, as a mechanism."""

    def __init__(self) -> None:
        self.made = strategy(ask(hospital([(1, "FLU", "F")])).top_k("diagnosis", 3), hospital([(1, "FLU", "F")]),
                             WITH_DELTA, epsilon=1, delta="0.01")  # fmt: skip
        self.event = self.made.event
        self.guarantee = cl.ApproxDP(epsilon=1, delta="0.01", unit="person")

    def release(self, value: dict[tuple[str], int], /, *, source: Any = None) -> cl.Release[Any]:
        found = answer(self.made, Pretending(keys=value), SECRET, source or System(), self.guarantee)
        (texts,) = found.value.column(0).to_pylist()
        return cl.Release(
            value=tuple(texts), event=self.event, guarantee=self.guarantee, seeded=getattr(source, "seeded", False)
        )


def test_the_first_texts_of_neighbours_are_as_alike_as_is_paid_for_and_a_low_threshold_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # One person counts for two texts: one that nobody else has, and one that decides the order.
    pair = ({("FLU",): 20, ("COLD",): 20, ("RARE",): 1}, {("FLU",): 19, ("COLD",): 20})
    assert check_mechanism(FirstTexts(), [pair], samples=400, processes=1).lower_bound <= 1
    monkeypatch.setattr(StableKeys, "threshold", 1)
    with pytest.raises(ConformanceError, match="sampling"):
        check_mechanism(FirstTexts(), [pair], samples=400, processes=1)


def test_a_person_counts_for_so_many_texts_once_each_and_the_event_says_so() -> None:
    others = [(person, " flu" if person % 2 else "Cold ", "F") for person in range(2, 200)]
    greedy = [(1, f"rare {number}", "M") for number in range(30)] + [(1, "FLU", "F")] * 30
    engine_counts = []
    for rows in (others, others + greedy):
        table = hospital(rows)
        session = cl.Session(table, budget=WITH_DELTA, source=Seeded(1))
        query = session.sql("SELECT TOP_K(UPPER(TRIM(diagnosis)), 10) AS top FROM visits")
        release = query.release(epsilon=1, delta="0.01")
        (event,) = (entry.event for entry in session.history)
        assert isinstance(event, KeySelectionEvent)
        assert (event.groups, float(event.scale), event.unit) == (2, 2.0, "person")
        assert sorted(release.value.column("top").to_pylist()[0]) == ["COLD", "FLU"]
        assert session._context.engine is not None
        plan = cl.query.Plan(
            relation=query.plan.relation,
            keys=(Key(name="k", expression=query.plan.aggregates[0].columns[0]),),
            aggregates=(Aggregate(kind="count", name="n"),),
        )
        bounding = ContributionBounds(groups=2, cells=10, unit="person")
        batches = list(session._context.engine.key_counts(plan, bounding, SECRET))
        engine_counts.append(
            {key: n for batch in batches for key, n in zip(*map(pa.Array.to_pylist, batch.columns), strict=True)}
        )
    less, more = (Counter(counts) for counts in engine_counts)
    assert sum((more - less).values()) == 2
    assert not less - more


def test_texts_are_found_in_each_group_and_rows_without_one_count_for_none() -> None:
    rows = [(person, None if person % 5 == 0 else "A" if person % 2 else "B", "F" if person % 3 else "M")
            for person in range(600)]  # fmt: skip
    session = cl.Session(hospital(rows), budget=WITH_DELTA, source=Seeded(1))
    by_sex = session.sql("SELECT sex, TOP_K(diagnosis, 1) FILTER (WHERE sex = 'F') AS top, COUNT(*) AS n FROM visits "
                         "GROUP BY sex", epsilon=1, delta="0.01")  # fmt: skip
    found = by_sex.value.to_pylist()
    assert [row["top"] for row in found] in ([["A"], []], [["B"], []])
    assert by_sex.value.schema.field("top").type == pa.list_(pa.string())
    nobody = session.sql("SELECT TOP_K(diagnosis, 3) AS top FROM visits WHERE sex IS NULL", epsilon=1, delta="0.01")
    assert nobody.value.to_pylist() == [{"top": []}]
    assert nobody.value.schema.field("top").type == pa.list_(pa.string())
    assert release_from_json(release_to_json(by_sex)).value == by_sex.value


def test_texts_need_a_delta_and_cost_nothing_without_one() -> None:
    text = "SELECT TOP_K(diagnosis, 3) FROM visits"
    for budget, target in ((cl.PureDP(epsilon=1), {"epsilon": 1}), (cl.ZCDP(rho=1), {"rho": 1}),
                           (WITH_DELTA, {"epsilon": 1, "delta": 0})):  # fmt: skip
        session = cl.Session(hospital([(1, "FLU", "F")]), budget=budget)
        with pytest.raises(cl.core.QueryError, match="needs a delta"):
            session.sql(text, **target)
        assert session.history == ()


def test_percentages_and_counts_by_group_are_answered() -> None:
    rows = [(person, "A", "F" if person % 4 else "M") for person in range(400)]
    session = cl.Session(hospital(rows), budget=cl.PureDP(epsilon=10**6), source=Seeded(1))
    (row,) = session.sql(
        "SELECT 100.0 * COUNT(*) FILTER (WHERE sex = 'F') / COUNT(*) AS share, "
        "SUM(CASE WHEN sex = 'F' THEN 1 ELSE 0 END) / COUNT(*) AS part FROM visits", epsilon=10_000,
    ).value.to_pylist()  # fmt: skip
    assert row["share"] == pytest.approx(75, abs=0.1)
    assert row["part"] == pytest.approx(0.75, abs=0.001)
    by_sex = session.sql("SELECT sex, COUNT(DISTINCT diagnosis) AS n FROM visits GROUP BY sex", epsilon=10_000)
    assert [row["n"] for row in by_sex.value.to_pylist()] == [1, 1]
