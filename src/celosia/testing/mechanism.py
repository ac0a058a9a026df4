"""The conformance kit for mechanisms: whether one keeps the guarantee that it states.

Any class with the members of ``celosia.core.Mechanism`` can be checked. If it states its output probabilities,
neighbours are compared exactly and its draws are compared with the table. In any case it is attacked as a black box,
and its behaviour is checked. All deciding draws come from a seeded source, so a verdict is repeatable. A pass is
evidence, never a proof: these checks, on these neighbours, found nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from celosia.audit import Distinction, Draws, Runner, compare, gather, repeat
from celosia.core import ConformanceError, Guarantee, Mechanism, ParameterError, Source, Tabulated
from celosia.core.exact import exact_integer
from celosia.noise import Seeded
from celosia.testing.claims import claims
from celosia.testing.conduct import (
    check_extremes,
    check_forks,
    check_protocol,
    check_seeding,
    check_threads,
    enough_releases,
)
from celosia.testing.table import check_table, check_table_draws

_AGREEMENT = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check that a mechanism passed, and its measured value.

    >>> print(Check(name="JSON", found="equal"))
    JSON: equal
    """

    name: str
    found: str

    def __str__(self) -> str:
        return f"{self.name}: {self.found}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The checks that a mechanism passed. Evidence, never a proof.

    ``lower_bound`` is the largest epsilon that the black-box audits could show, at any claimed delta.

    >>> from celosia.mechanisms import Laplace
    >>> report = check_mechanism(Laplace(epsilon=1, sensitivity=1), [(0, 1)], samples=1_000)
    >>> [check.name for check in report.checks]
    ['protocol', 'seeding', 'forks', 'threads', 'extreme inputs', 'table', 'table draws', 'sampling']
    """

    mechanism: str
    checks: tuple[Check, ...]
    lower_bound: float
    samples: int
    failure: float

    def __str__(self) -> str:
        lines = [f"{self.mechanism}: nothing found against it (evidence, not proof)", *map(str, self.checks)]
        return "\n  ".join(lines)


def check_mechanism(
    mechanism: Mechanism,
    neighbours: Sequence[tuple[Any, Any]],
    *,
    samples: int = 100_000,
    failure: float = 1e-6,
    runner: Runner | None = None,
    processes: int = 8,
    seed: int = 0,
) -> Report:
    """Return a report if the mechanism passes every check, else raise ``ConformanceError`` naming the one that failed.

    Parameters
    ----------
    mechanism
        Anything with the members of ``celosia.core.Mechanism``; with those of ``celosia.core.Tabulated`` neighbours
        are also compared exactly.
    neighbours
        Pairs of values of neighbouring data sets, the more telling the better: as far apart as the sensitivity allows,
        in every direction, and with several coordinates changing at once.
    samples
        How many outputs to draw on each value.
    failure
        The probability that a correct mechanism fails, over all checks and neighbours together.
    runner
        Draws many outputs at once, ``runner(value, count, source)``, for mechanisms whose ``release`` is slow. Its
        outputs are first compared with those of ``release``.
    processes
        How many processes to fork, and threads to start, for the checks that no two draw the same.
    seed
        Of the draws that decide.

    Examples
    --------
    >>> from celosia.mechanisms import Laplace
    >>> report = check_mechanism(Laplace(epsilon=1, sensitivity=1), [(0, 1)], samples=2_000)
    >>> report.lower_bound <= 1
    True
    """
    if not neighbours:
        raise ParameterError("testing.no_neighbours")
    exact_integer(samples, name="samples", least=100)
    source = Seeded(seed)
    share = failure / (3 * len(neighbours))  # table draws of either side, and sampling
    checks: list[Check] = []
    worst = 0.0
    for index, pair in enumerate(neighbours):
        a, b = _pair(pair)
        checks.append(Check(name="protocol", found=check_protocol(mechanism, a, b)))
        draws = _draw(mechanism, runner, (a, b), samples, source, share)
        if index == 0:
            checks.extend(_conduct(mechanism, a, draws[0], processes))
        if isinstance(mechanism, Tabulated):
            checks.extend(_tables(mechanism, mechanism.guarantee, (a, b), draws, share))
        found = _attack(mechanism.guarantee, (a, b), draws, share)
        checks.append(Check(name="sampling", found=str(found)))
        worst = max(worst, found.epsilon)
    return Report(
        mechanism=type(mechanism).__name__, checks=tuple(checks), lower_bound=worst, samples=samples, failure=failure
    )


def _pair(pair: Any) -> tuple[Any, Any]:
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise ParameterError("testing.neighbours_not_pairs")
    if np.array_equal(np.asarray(pair[0]), np.asarray(pair[1])):
        raise ParameterError("testing.neighbours_equal")
    return pair[0], pair[1]


def _conduct(mechanism: Mechanism, value: Any, draws: Draws, processes: int) -> list[Check]:
    exact_integer(processes, name="processes")
    releases = enough_releases(draws, (processes + 1) ** 2)
    return [
        Check(name="seeding", found=check_seeding(mechanism, value, releases)),
        Check(name="forks", found=check_forks(mechanism, value, releases, processes=processes)),
        Check(name="threads", found=check_threads(mechanism, value, releases, threads=processes)),
        Check(name="extreme inputs", found=check_extremes(mechanism, value)),
    ]


def _draw(
    mechanism: Mechanism,
    runner: Runner | None,
    values: tuple[Any, Any],
    samples: int,
    source: Source,
    failure: float,
) -> tuple[Draws, Draws]:
    one_by_one = repeat(mechanism)
    if runner is None:
        return gather(one_by_one(values[0], samples, source)), gather(one_by_one(values[1], samples, source))
    for value in values:
        count = min(samples, _AGREEMENT)
        pair = gather(one_by_one(value, count, source)), gather(runner(value, count, source))
        found = compare(*pair, value, value, failure=failure)
        if found.epsilon > 0:
            raise ConformanceError("testing.runner_differs_from_release", found=found)
    return gather(runner(values[0], samples, source)), gather(runner(values[1], samples, source))


def _tables(
    mechanism: Tabulated, guarantee: Guarantee, values: tuple[Any, Any], draws: tuple[Draws, Draws], failure: float
) -> list[Check]:
    used = check_table(mechanism, guarantee, *values)
    if used is None:
        return [Check(name="table", found="none for these values")]
    least = 1.0
    for value, drawn in zip(values, draws, strict=True):
        p_value = check_table_draws(mechanism, value, drawn, failure=failure)
        least = least if p_value is None else min(least, p_value)
    return [
        Check(name="table", found=f"uses {100 * used:.4g} % of the guarantee"),
        Check(name="table draws", found=f"p-value {least:.3g}"),
    ]


def _attack(guarantee: Guarantee, values: tuple[Any, Any], draws: tuple[Draws, Draws], failure: float) -> Distinction:
    """Return the strongest finding, or raise if one exceeds its claim."""
    stated = claims(guarantee)
    findings = []
    for epsilon, delta in stated:
        if delta >= 1:
            continue  # nothing is claimed
        found = compare(*draws, *values, delta=delta, failure=failure / len(stated))
        if found.epsilon > epsilon:
            raise ConformanceError(
                "testing.claim_exceeded", guarantee=repr(guarantee), epsilon=epsilon, delta=delta, found=found
            )
        findings.append(found)
    if not findings:
        raise ParameterError("testing.nothing_claimed", guarantee=repr(guarantee))
    return max(findings, key=lambda found: found.epsilon)
