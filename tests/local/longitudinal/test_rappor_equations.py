"""RAPPOR's equations: against dense algebra of NumPy and SciPy, unbiased solutions, variances that are met."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import optimize

from celosia.local.longitudinal.rappor import Rappor
from celosia.local.longitudinal.rappor_decode import decode, estimate
from celosia.local.longitudinal.rappor_equations import Equations, build_design, chance_hits, solve
from celosia.noise import Seeded

if TYPE_CHECKING:
    from celosia.local.base.aggregate import Aggregate


def collected(protocol: Rappor, values: Any, seed: int = 1) -> Aggregate[Any]:
    return protocol.aggregate().absorb(protocol.privatize(values, source=Seeded(seed)))


def dense(protocol: Rappor, aggregate: Aggregate[Any], candidates: Any) -> tuple[Any, Any, Any]:
    """The equations, bit by bit: what each candidate sets, how many people set it, how large the cohort is."""
    cohorts = range(protocol.cohorts)
    digests = protocol.encode(candidates)
    rows = [protocol._filters(digests, np.full(len(digests), cohort)).view(np.uint8) for cohort in cohorts]
    bits = [np.unpackbits(row, axis=1, bitorder="little")[:, : protocol.bits] for row in rows]
    design = np.concatenate(bits, axis=1).T.astype(float)
    sizes = np.repeat(aggregate.state["sizes"].sum(axis=0), protocol.bits).astype(float)
    f, p, q = (float(number) for number in (protocol.f, protocol.p, protocol.q))
    ones = aggregate.state["ones"].sum(axis=0).reshape(-1)
    return design, (ones - (p + f * q / 2 - f * p / 2) * sizes) / ((1 - f) * (q - p)), sizes


def test_least_squares_are_numpys() -> None:
    protocol = Rappor(bits=32, hashes=2, cohorts=4, f="0.25", seed=3)
    aggregate = collected(protocol, np.random.default_rng(1).integers(0, 6, 5000))
    candidates = list(range(9))
    design, people, sizes = dense(protocol, aggregate, candidates)
    assert (build_design(protocol, protocol.encode(candidates)).toarray() == design).all()
    density = 1 - (1 - 1 / 32) ** 2
    left = (design - density) * np.sqrt(sizes)[:, None]
    right = (people - density * sizes) / np.sqrt(sizes)
    shares = np.linalg.lstsq(left, right, rcond=None)[0]
    told = estimate(aggregate, candidates)
    assert told.raw == pytest.approx(5000 * shares, rel=1e-6, abs=1e-6)
    assert told.raw[[2, 2, 5]] == pytest.approx(estimate(aggregate, [*candidates, 2, 2, 5]).raw[-3:])  # asked twice
    assert told.raw == pytest.approx(aggregate.estimate(candidates).raw)
    # Non-negative ones that add up to 1 with the rest: a constrained optimum that SciPy finds too.
    decoded = decode(aggregate, candidates).counts / 5000
    found = optimize.minimize(  # type: ignore[call-overload] # the stubs know no dictionary of constraints
        lambda x: float(((left @ x - right) ** 2).sum()),
        np.full(9, 0.1),
        jac=lambda x: 2 * left.T @ (left @ x - right),
        bounds=[(0, 1)] * 9,
        constraints={"type": "ineq", "fun": lambda x: 1 - x.sum()},
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert decoded == pytest.approx(found.x, abs=1e-4)
    assert decoded.min() >= 0
    assert decoded.sum() <= 1 + 1e-6


@pytest.mark.parametrize(
    ("f", "p", "q", "cohorts", "hashes"),
    [
        ("0.5", "0.5", "0.75", 1, 4),
        ("0.5", "0.5", "0.75", 8, 2),
        (0, "0.05", "0.95", 8, 2),
        ("0.1", "0.9", "0.3", 4, 2),
    ],
)
@pytest.mark.sampled(2)
def test_counts_are_right_on_average_and_so_are_their_errors(f: Any, p: Any, q: Any, cohorts: int, hashes: int) -> None:
    protocol = Rappor(bits=32, hashes=hashes, cohorts=cohorts, f=f, p=p, q=q, seed=5)
    values = np.repeat(np.arange(6), [800, 400, 200, 100, 50, 0])
    truth = np.bincount(values, minlength=6)
    source, times = Seeded(1), 500
    estimates = [
        estimate(protocol.aggregate().absorb(protocol.privatize(values, source=source)), np.arange(6))
        for _ in range(times)
    ]
    raw = np.array([one.raw for one in estimates])
    told = np.array([one.standard_errors for one in estimates]).mean(axis=0)
    seen = raw.std(axis=0)
    assert np.abs((raw.mean(axis=0) - truth) / (seen / math.sqrt(times))).max() < 5
    # 500 rounds tell a standard deviation within 3 %.
    assert (seen / told).max() < 1.12
    assert (seen / told).min() > 0.88
    theory = np.sqrt([protocol.variance(len(values), count) for count in truth])
    # Few people have values of their own here, which makes the draw of cohorts tell less than theory allows; six
    # candidates on 32 bits share some, which makes them tell more.
    assert (told / theory).min() > 0.75
    assert (told / theory).max() < 1.35


def test_chance_hits_are_those_of_the_third_moment() -> None:
    protocol = Rappor(bits=64, hashes=1, cohorts=16, f="0.1", p="0.1", q="0.9")
    coins = protocol.variance(500) - 500 * protocol._overlap() * (1 - 1 / 16)
    _, shown = protocol.report_probabilities
    assert chance_hits(protocol, 500, coins) == pytest.approx(500 * float(shown))
    # One value that all people have shares a quarter of a bit, on average, with a candidate.
    assert chance_hits(protocol, 500, 1e12 * coins) == pytest.approx(16 / 64, rel=1e-3)
    falling = [chance_hits(protocol, 500, times * coins) for times in (1, 2, 4, 8)]
    assert falling == sorted(falling, reverse=True)
    assert chance_hits(protocol, 0, 0.0) == math.inf


def test_without_reports_or_candidates_nothing_is_told() -> None:
    protocol = Rappor()
    nothing = Equations.of(protocol, np.zeros((32, 128), dtype=np.int64), np.zeros(32, dtype=np.int64))
    some = Equations.of(protocol, np.ones((32, 128), dtype=np.int64), np.full(32, 2))
    one, none = np.array([1], dtype=np.uint64), np.empty(0, dtype=np.uint64)
    assert [part.tolist() for part in solve(protocol, nothing, build_design(protocol, one))] == [[0.0], [0.0], [0.0]]
    assert [part.size for part in solve(protocol, some, build_design(protocol, none))] == [0, 0, 0]


def test_cohorts_without_reports_have_no_equations() -> None:
    protocol = Rappor(bits=8, cohorts=3)
    equations = Equations.of(protocol, np.ones((3, 8), dtype=np.int64), np.array([5, 0, 7]))
    assert (len(equations.kept), equations.reports) == (16, 12)
    assert np.unique(equations.sizes).tolist() == [5.0, 7.0]
