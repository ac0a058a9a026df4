"""Pairs of finitely many losses, held against sums in high precision and against whole mechanisms, output by output."""

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.accounting.checks import Array
from celosia.accounting.pld.atoms import approximate, discrete_laplace, randomized_response
from celosia.accounting.pld.loss_atoms import Atoms, from_logs
from celosia.core import ParameterError

mp = mpmath.mp.clone()
mp.dps = 50
EPSILONS = np.concatenate([np.linspace(-3, 3, 61), np.linspace(-0.3, 0.3, 61), [-40.0, 40.0]])
ORDERS = [1.000001, 1.1, 2.0, 3.7, 64.0, 5e3]

weights = st.lists(st.integers(1, 1000), min_size=2, max_size=6)


def pair(first: list[int], second: list[int]) -> Atoms:
    """The pair of two distributions on a few outcomes, both given by weights."""
    size = min(len(first), len(second))
    p, q = (np.array(numbers[:size]) / sum(numbers[:size]) for numbers in (first, second))
    losses = np.log(p / q)
    order = np.argsort(losses)
    return from_logs(losses[order], np.log(p)[order], infinity=0.0, missing=0.0)


def direct(p: Array, q: Array, epsilon: float) -> float:
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


@given(weights, weights)
def test_profiles_are_hockey_sticks_rounded_up(first: list[int], second: list[int]) -> None:
    atoms = pair(first, second)
    under_q = atoms.masses * np.exp(-atoms.losses)
    for epsilon, height in zip(EPSILONS, atoms.profile(EPSILONS), strict=True):
        exact = direct(atoms.masses, under_q, epsilon)
        assert exact * (1 - 1e-13) - 1e-14 <= height <= exact * (1 + 1e-11) + 1e-13


@given(weights, weights)
def test_both_directions_are_reflections(first: list[int], second: list[int]) -> None:
    atoms = pair(first, second)
    there, back = atoms.profile(EPSILONS), atoms.swap().profile(-EPSILONS)
    near = np.abs(EPSILONS) < 30
    expected = -np.expm1(EPSILONS) + np.exp(EPSILONS) * back
    assert there[near] == pytest.approx(expected[near], abs=1e-9)
    assert atoms.swap().swap().losses == pytest.approx(atoms.losses)
    assert atoms.swap().swap().masses == pytest.approx(atoms.masses)


def exact_renyi(atoms: Atoms, order: float) -> mpmath.mpf:
    """With masses taken for exact under Q, where they sum to what they sum to."""
    q = [mp.exp(mp.mpf(log) - mp.mpf(loss)) for log, loss in zip(atoms.log_masses, atoms.losses, strict=True)]
    a = mp.mpf(order)
    total = mp.fsum(
        weight * (mp.exp(a * loss) - 1 - a * mp.expm1(loss))
        for weight, loss in zip(q, map(mp.mpf, atoms.losses), strict=True)
    )
    return mp.log1p(total + (a - 1) * atoms.missing) / (a - 1)


@given(weights, weights)
def test_renyi_divergences_are_rounded_up_and_hardly_at_all(first: list[int], second: list[int]) -> None:
    atoms = pair(first, second)
    for order, value in zip(ORDERS, atoms.renyi(ORDERS), strict=True):
        exact = exact_renyi(atoms, order)
        assert exact <= value <= exact * (1 + 1e-11) + 1e-300


def test_tiny_and_huge_losses() -> None:
    for loss in (1e-12, 1e-6, 1e-2, 1.0, 30.0, 800.0, 9000.0):
        atoms = randomized_response(loss)
        orders = [*ORDERS, 1e6]
        for order, value in zip(orders, atoms.renyi(orders), strict=True):
            exact = exact_renyi(atoms, order)
            assert exact <= value <= exact * (1 + 1e-11)
        assert np.all(np.isfinite(atoms.profile([-1e4, 0.0, loss / 2, 1e4])))
        assert atoms.profile([loss / 2])[0] >= float(mp.exp(loss) / (1 + mp.exp(loss)) * -mp.expm1(-mp.mpf(loss) / 2))


def test_what_q_lacks_is_infinite_and_what_p_lacks_is_not() -> None:
    atoms = Atoms(losses=np.array([0.5]), masses=np.ones(1), missing=-math.expm1(-0.5))
    assert atoms.renyi([2.0, 9.0]) == pytest.approx(0.5)
    assert np.all(np.isinf(atoms.swap().renyi([2.0])))
    assert atoms.swap().profile([5.0]) == pytest.approx(-math.expm1(-0.5))


# ------------------------------------------------------------------------------------------------------------ sampling


@given(weights, weights, st.floats(0.001, 1))
def test_poisson_sampling_mixes(first: list[int], second: list[int], share: float) -> None:
    atoms = pair(first, second)
    q = atoms.masses * np.exp(-atoms.losses)
    r = (1 - share) * q + share * atoms.masses
    more, less = atoms.poisson(share)
    for epsilon, up, down in zip(EPSILONS, more.profile(EPSILONS), less.profile(EPSILONS), strict=True):
        assert up == pytest.approx(direct(r, q, epsilon), rel=1e-10, abs=1e-12)
        assert down == pytest.approx(direct(q, r, epsilon), rel=1e-10, abs=1e-12)


def test_poisson_sampling_gives_p_what_it_lacks() -> None:
    more, less = approximate(1.0, 0.1).poisson(0.25)
    assert more.infinity == pytest.approx(0.025)
    assert more.missing == 0
    assert more.losses[0] == pytest.approx(math.log(0.75))
    assert less.missing == pytest.approx(0.025)
    whole, _ = approximate(1.0, 0.1).poisson(1.0)
    assert whole.missing == 0.1


Outcomes = dict[int, float]


def noisy_count(ones: int, scale: float) -> Outcomes:
    r = math.exp(-1 / scale)
    return {k: (1 - r) / (1 + r) * r ** abs(k - ones) for k in range(-60, 64)}


def two_answers(ones: int, epsilon: float) -> Outcomes:
    """Randomized response about whether anybody said 1."""
    truth = 1 / (1 + math.exp(-epsilon))
    return {0: truth, 1: 1 - truth} if ones == 0 else {0: 1 - truth, 1: truth}


def mixture(parts: list[tuple[float, Outcomes]]) -> Outcomes:
    total: Outcomes = {}
    for weight, outcomes in parts:
        for value, chance in outcomes.items():
            total[value] = total.get(value, 0.0) + weight * chance
    return total


def height(p: Outcomes, q: Outcomes, epsilon: float) -> float:
    return math.fsum(max(chance - math.exp(epsilon) * q.get(value, 0.0), 0.0) for value, chance in p.items())


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize(
    ("release", "base"),
    [
        (lambda ones: noisy_count(ones, 1.5), discrete_laplace(1.5, 1)),
        (lambda ones: two_answers(ones, 0.8), randomized_response(0.8)),
    ],
)
def test_samples_of_fixed_size_output_by_output(release: Callable[[int], Outcomes], base: Atoms, size: int) -> None:
    dominating = base.fixed(size / 3)
    tightest = np.zeros(EPSILONS.size)
    for data in itertools.product([0, 1], repeat=3):
        for place, value in itertools.product(range(3), [0, 1]):
            other = (*data[:place], value, *data[place + 1 :])
            p, q = (
                mixture(
                    [(1 / math.comb(3, size), release(sum(sample))) for sample in itertools.combinations(rows, size)]
                )
                for rows in (data, other)
            )
            tightest = np.maximum(tightest, [height(p, q, epsilon) for epsilon in EPSILONS])
    assert np.all(tightest <= dominating.profile(EPSILONS) + 1e-12)
    if size == 1:  # nothing is wasted: with all other rows 0, a single sample attains the bound for epsilon >= 0
        at_least = EPSILONS >= 0
        assert dominating.profile(EPSILONS)[at_least] == pytest.approx(tightest[at_least], abs=1e-9)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize(
    ("release", "base"),
    [
        (lambda ones: noisy_count(ones, 1.5), discrete_laplace(1.5, 1)),
        (lambda ones: two_answers(ones, 0.8), randomized_response(0.8)),
    ],
)
def test_poisson_samples_output_by_output(release: Callable[[int], Outcomes], base: Atoms, share: float) -> None:
    removed, added = base.poisson(share)

    def sampled(rows: tuple[int, ...]) -> Outcomes:
        subsets = itertools.product([0, 1], repeat=len(rows))
        return mixture(
            [
                (
                    share ** sum(kept) * (1 - share) ** (len(rows) - sum(kept)),
                    release(sum(row for row, keep in zip(rows, kept, strict=True) if keep)),
                )
                for kept in subsets
            ]
        )

    most_removed, most_added = np.zeros(EPSILONS.size), np.zeros(EPSILONS.size)
    for data in itertools.product([0, 1], repeat=2):
        for row in (0, 1):
            less, more = sampled(data), sampled((*data, row))
            most_removed = np.maximum(most_removed, [height(more, less, epsilon) for epsilon in EPSILONS])
            most_added = np.maximum(most_added, [height(less, more, epsilon) for epsilon in EPSILONS])
    assert np.all(most_removed <= removed.profile(EPSILONS) + 1e-12)
    assert np.all(most_added <= added.profile(EPSILONS) + 1e-12)
    # The data sets of zeros attain the bound, so that a pair that forgets 1 - q, or swaps directions, is caught.
    near = np.abs(EPSILONS) < 10
    assert removed.profile(EPSILONS)[near] == pytest.approx(most_removed[near], abs=1e-9)
    assert added.profile(EPSILONS)[near] == pytest.approx(most_added[near], abs=1e-9)
    assert not np.all(most_removed <= added.profile(EPSILONS) + 1e-12)
    assert not np.all(most_added <= removed.profile(EPSILONS) + 1e-12)


@given(weights, weights, st.floats(0.01, 1))
def test_fixed_size_is_symmetric_and_above_both_sampled_pairs(
    first: list[int], second: list[int], share: float
) -> None:
    atoms = pair(first, second)
    fixed = atoms.fixed(share)
    at_least = EPSILONS[EPSILONS >= 0]
    for direction in (atoms, atoms.swap()):
        assert np.all(direction.poisson(share)[0].profile(at_least) <= fixed.profile(at_least) + 1e-9)
    assert fixed.swap().profile(EPSILONS) == pytest.approx(fixed.profile(EPSILONS), abs=1e-8)


# ----------------------------------------------------------------------------------------------------------- coarsening


def test_a_coarser_pair_dominates() -> None:
    count_cases: list[int] = [2, 3, 10, 57]
    atoms_cases: list[Atoms] = [
        discrete_laplace(30.0, 200),
        discrete_laplace(30.0, 200).poisson(0.1)[0],
        discrete_laplace(0.01, 90),
    ]
    for count in count_cases:
        for atoms in atoms_cases:
            coarse = atoms.coarsen(count)
            assert coarse.losses.size <= count
            assert np.all(atoms.profile(EPSILONS) <= coarse.profile(EPSILONS) * (1 + 1e-11))
            assert coarse.masses.sum() == pytest.approx(1, rel=1e-12)
            assert np.exp(coarse.log_masses - coarse.losses).sum() == pytest.approx(1, rel=1e-9)
            assert np.all(atoms.renyi(ORDERS) <= coarse.renyi(ORDERS) * (1 + 1e-11))
            assert coarse.coarsen(count) is coarse


def test_a_fine_grid_loses_little() -> None:
    atoms = discrete_laplace(1000.0, 4000)
    fine = atoms.coarsen(1000)
    assert fine.renyi([2.0, 10.0]) == pytest.approx(atoms.renyi([2.0, 10.0]), rel=1e-5)


# ------------------------------------------------------------------------------------------------------------ bad input


def test_what_is_no_pair_is_refused() -> None:
    cases: list[tuple[dict[str, object], str]] = [
        ({"losses": [0.0], "masses": [0.5]}, "sum to 1 under P"),
        ({"losses": [1.0], "masses": [1.0]}, "sum to 1 under Q"),
        ({"losses": [0.0, 0.0], "masses": [0.5, 0.5]}, "strictly increasing"),
        ({"losses": [math.nan], "masses": [1.0]}, "finite"),
        ({"losses": [-1.0, 1.0], "masses": [1.5, -0.5]}, "probabilities"),
        ({"losses": [0.0], "masses": [math.nan]}, "probabilities"),
        ({"losses": [0.0], "masses": [1.0, 0.0]}, "one size"),
        ({"losses": [[0.0]], "masses": [1.0]}, "one-dimensional"),
        ({"losses": [0.0], "masses": [1.0], "infinity": -0.1}, "infinity"),
        ({"losses": [0.0], "masses": [1.0], "missing": math.nan}, "missing"),
        ({"losses": [0.0], "masses": [1.0], "missing": True}, "missing"),
        ({"losses": ["a"], "masses": [1.0]}, "losses must be numbers"),
    ]
    for fields, message in cases:
        with pytest.raises(ParameterError, match=message):
            Atoms(**fields)  # type: ignore[arg-type]


def test_bad_arguments_are_refused_by_name() -> None:
    atoms = randomized_response(1.0)
    with pytest.raises(ParameterError, match="orders"):
        atoms.renyi([1.0])
    with pytest.raises(ParameterError, match="epsilons"):
        atoms.profile([math.inf])
    with pytest.raises(ParameterError, match="probability"):
        atoms.poisson(0.0)
    with pytest.raises(ParameterError, match="probability"):
        atoms.fixed(1.5)
    with pytest.raises(ParameterError, match="count"):
        atoms.coarsen(1)
    with pytest.raises(ValueError, match="read-only"):
        atoms.losses[0] = 5.0


def test_fractions_are_probabilities_too() -> None:
    more, _ = randomized_response(1.0).poisson(Fraction(1, 2))  # type: ignore[arg-type]
    assert more.losses.size == 2


def test_renyi_of_tiny_losses_at_huge_orders() -> None:
    size_cases: list[float] = [1e-6, 1e-9, 1e-12]
    scaled_cases: list[float] = [0.51, 0.9, 3.0, 20.0]
    for size in size_cases:
        for scaled in scaled_cases:
            # The means of r - 1 are 0: a difference of the masses would leave 1e-16 of them, more than the answer.
            q = [mp.mpf(share) / 100 for share in (13, 29, 58)]
            p = [share * mp.exp(mp.mpf(size) * loss) for share, loss in zip(q[:2], (0.3, -1), strict=True)]
            p.append(1 - sum(p))
            found = sorted((mp.log(a / b), mp.log(a)) for a, b in zip(p, q, strict=True))
            losses, logs = (np.array([float(atom[i]) for atom in found]) for i in range(2))
            order = scaled / size
            exact = mp.log(sum(a**order * b ** (1 - order) for a, b in zip(p, q, strict=True))) / (order - 1)
            value = from_logs(losses, logs, infinity=0.0, missing=0.0).renyi([order])[0]
            assert exact <= value <= exact * (1 + mp.mpf("1e-11"))


def test_an_order_beyond_doubles_leaves_the_largest_loss() -> None:
    assert randomized_response(5.0).renyi([1e308])[0] == pytest.approx(5.0)
