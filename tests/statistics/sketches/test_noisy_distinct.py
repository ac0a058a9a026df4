"""A noisy number of different values: neighbours differ in one bit, coins are exact, intervals cover."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from celosia.core import AddRemove, InputError, ParameterError, PureDP, ReplaceOne
from celosia.noise import Seeded
from celosia.sketches.distinct.flajolet_martin import FlajoletMartin
from celosia.statistics.sketches.noisy_distinct import NoisyDistinct
from celosia.testing import check_mechanism


def loss(mechanism: NoisyDistinct, here: list[int], there: list[int]) -> float:
    """The largest logarithm of a ratio of probabilities of flipped tables of two data sets, exactly."""
    coin, total = mechanism.coin, 0.0
    for a, b in zip(mechanism._table(here).ravel().tolist(), mechanism._table(there).ravel().tolist(), strict=True):
        # Bits are answered independently: the largest ratio of tables is the product of the bits'.
        total += float(np.abs(coin.log_masses(a, [0, 1]) - coin.log_masses(b, [0, 1])).max())
    return total


@pytest.mark.parametrize("mergeable", [False, True])
@pytest.mark.parametrize(("adjacency", "contributions"), [(AddRemove, 1), (AddRemove, 2), (ReplaceOne, 1)])
def test_every_pair_of_neighbours_is_within_epsilon(mergeable: bool, adjacency: object, contributions: int) -> None:  # noqa: FBT001
    mechanism = NoisyDistinct(
        epsilon="0.7",
        bitmaps=2,
        levels=4,
        mergeable=mergeable,
        contributions=contributions,
        adjacency=adjacency,  # type: ignore[arg-type]
    )
    units = list(itertools.combinations(range(12), contributions))
    others: list[tuple[int, ...]] = units if adjacency is ReplaceOne else [()]
    losses = [loss(mechanism, [100, *before], [100, *after]) for before, after in itertools.product(units, others)]
    assert max(losses) <= 0.7 * (1 + 1e-9)
    assert max(losses) == pytest.approx(0.7, rel=1e-9)  # and nothing is wasted
    # Able to fail: the coin of one bit, where two can change.
    if contributions == 2:
        careless = NoisyDistinct(epsilon="0.7", bitmaps=2, levels=4, mergeable=mergeable)
        assert max(loss(careless, [100, *unit], [100]) for unit in units) > 1.3


def test_a_register_would_not_do() -> None:
    # One value among many moves a HyperLogLog by as much as its rank is high; no bounded noise hides that.
    from celosia.sketches.distinct.registers import estimate_from, raise_registers
    from celosia.sketches.hashing.digest import digest

    values = np.arange(200_000)
    digests = digest(values)
    highest = values[np.argmin(digests << np.uint64(4))]

    def estimate(kept: np.ndarray[tuple[int], np.dtype[np.int64]]) -> float:
        registers = np.zeros(16, dtype=np.uint8)
        raise_registers(digest(kept), registers, 4, np.array([0.0, 1.0]))
        return estimate_from(registers, 4)

    assert abs(estimate(values) - estimate(values[values != highest])) > 1_000


def test_the_conformance_kit_finds_nothing() -> None:
    mechanism = NoisyDistinct(epsilon=1, bitmaps=2, levels=3)
    report = check_mechanism(mechanism, [([1, 2], [1])], samples=300, processes=2)
    assert report.lower_bound <= 1


def test_bits_are_flipped_with_the_stated_probabilities() -> None:
    values = range(3_000)
    for mergeable in (False, True):
        mechanism = NoisyDistinct(epsilon=1, bitmaps=1024, mergeable=mergeable)
        true = mechanism._table(values)
        said = mechanism.flip(values, source=Seeded(7)).value
        if_set = math.e / (1 + math.e) if not mergeable else 0.5
        if_clear = 1 / (1 + math.e) if not mergeable else math.exp(-1) / 2
        assert stats.binomtest(int(said[true].sum()), int(true.sum()), if_set).pvalue > 1e-4
        assert stats.binomtest(int(said[~true].sum()), int((~true).sum()), if_clear).pvalue > 1e-4
        likelihood = mechanism._likelihood(said, 1)
        assert (likelihood.if_set, likelihood.if_clear) == pytest.approx((if_set, if_clear), rel=1e-9)


@pytest.mark.parametrize(("epsilon", "mergeable"), [("0.5", False), ("1", False), ("3", False), ("2", True)])
@pytest.mark.parametrize("values", [0, 30, 20_000])
@pytest.mark.sampled(4)
def test_estimates_are_right_and_intervals_cover(epsilon: str, mergeable: bool, values: int) -> None:  # noqa: FBT001
    trials, errors, outside = 60, [], 0
    for seed in range(trials):
        mechanism = NoisyDistinct(epsilon=epsilon, bitmaps=256, seed=seed, mergeable=mergeable)
        release = mechanism.release(range(values), source=Seeded(seed))
        low, high = release.confidence_interval(0.95)
        assert 0 <= low <= release.value <= high
        outside += not low <= values <= high
        errors.append(release.value - values)
    assert stats.binomtest(outside, trials, 0.05, alternative="greater").pvalue > 1e-3
    if values > 1_000:
        expected = mechanism.relative_error(values) * values
        assert np.std(errors) < expected * (1 + 4 / math.sqrt(2 * trials))
        assert np.std(errors) > expected * (1 - 5 / math.sqrt(2 * trials))
        assert abs(np.mean(errors)) < 4 * expected / math.sqrt(trials) + expected**2 / values


def test_merged_tables_are_tables_of_the_union() -> None:
    errors, wrong, trials = [], [], 60
    for seed in range(trials):
        mechanism = NoisyDistinct(epsilon=3, bitmaps=256, seed=seed, mergeable=True)
        parts = [range(10_000), range(5_000, 15_000), range(12_000, 20_000)]
        flipped = [mechanism.flip(part, source=Seeded(3 * seed + i)).value for i, part in enumerate(parts)]
        table = mechanism.merge(*flipped)
        errors.append(mechanism.estimate(table, tables=3).value / 20_000 - 1)
        wrong.append(mechanism.estimate(table).value / 20_000 - 1)
    expected = mechanism.relative_error(20_000, tables=3)
    assert abs(np.mean(errors)) < 4 * expected / math.sqrt(trials) + expected**2
    assert np.std(errors) < expected * 1.4
    # Able to fail: a reader who takes the merged table for one that was flipped once.
    assert abs(np.mean(wrong)) > 4 * expected / math.sqrt(trials) + expected**2


def test_exclusive_ors_have_the_stated_law() -> None:
    q = Fraction(1, 5)
    for tables in (1, 2, 5):
        for true in itertools.product([False, True], repeat=tables):
            odd = Fraction(0)
            for said in itertools.product([False, True], repeat=tables):
                chance = Fraction(1)
                for bit, answer in zip(true, said, strict=True):
                    one = Fraction(1, 2) if bit else q
                    chance *= one if answer else 1 - one
                odd += chance if sum(said) % 2 else 0
            assert odd == (Fraction(1, 2) if any(true) else (1 - (1 - 2 * q) ** tables) / 2)


def test_what_surrounds_the_number() -> None:
    mechanism = NoisyDistinct(epsilon="0.1", unit="person", bitmaps=64)
    release = mechanism.release(["sun"], source=Seeded(7))
    assert release.seeded
    assert release.guarantee == PureDP(epsilon="0.1", unit="person") == mechanism.event.guarantee
    assert repr(mechanism) == "NoisyDistinct(epsilon='0.1', bitmaps=64, unit='person')"
    sketch = FlajoletMartin(64)
    sketch.update(["sun"])
    assert mechanism.release(sketch, source=Seeded(7)).value == release.value
    with pytest.raises(InputError, match="bitmaps=64"):
        mechanism.release(FlajoletMartin(128))
    assert repr(mechanism.estimate(mechanism.flip(["sun"]).value)).startswith("DifferentValues(")


def test_bad_parameters() -> None:
    cases: list[dict[str, object]] = [
        {"epsilon": 0},
        {"bitmaps": 3},
        {"levels": 1},
        {"levels": 60},
        {"levels": 24.0},
        {"contributions": 0},
        {"mergeable": 1},
        {"adjacency": "sideways"},
        {"unit": ""},
        {"seed": -1},
    ]
    for terms in cases:
        with pytest.raises(ParameterError):
            NoisyDistinct(**{"epsilon": 1, **terms})  # type: ignore[arg-type]


def test_bad_tables() -> None:
    mechanism = NoisyDistinct(epsilon=1, bitmaps=64)
    for table in (np.zeros((64, 23), dtype=np.bool_), np.zeros((64, 24))):
        with pytest.raises(InputError, match="64 by 24"):
            mechanism.estimate(table)  # type: ignore[arg-type]
    table = mechanism.flip([1]).value
    with pytest.raises(ParameterError, match="mergeable"):
        mechanism.merge(table, table)
    with pytest.raises(ParameterError, match="mergeable"):
        mechanism.estimate(table, tables=2)
    for tables in (0, 1.5, True):
        with pytest.raises(ParameterError, match="tables"):
            mechanism.relative_error(100, tables=tables)  # type: ignore[arg-type]
    with pytest.raises(InputError):
        mechanism.release([1.5])
