"""Accountants against dp-accounting: how long, and how tight; and what repetition costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.harness import Case
from celosia.accounting import PLDAccountant, RenyiAccountant, best, calibrate
from celosia.core import ApproxDP, GaussianEvent, LaplaceEvent, PoissonSampledEvent, RepeatedEvent

if TYPE_CHECKING:
    from collections.abc import Callable

    from celosia.accounting import Accountant
    from celosia.core import Event

DELTA = "1e-5"
GRID = 2**20
# Those of dp-accounting, which is measured on the same ones.
ORDERS = [1 + x / 10 for x in range(1, 100)] + [*range(11, 64), 128, 256, 512, 1024]
STEP = PoissonSampledEvent(event=GaussianEvent(variance=GRID**2, sensitivity_squared=GRID**2), probability="0.01")
LAPLACE = LaplaceEvent(scale=10 * GRID, sensitivity=GRID)


def training(sigma: float) -> Event:
    """Return ten thousand sampled steps with noise of ``sigma`` sensitivities."""
    step = GaussianEvent(variance=round(sigma * GRID) ** 2, sensitivity_squared=GRID**2)
    return RepeatedEvent(event=PoissonSampledEvent(event=step, probability="0.01"), times=10_000)


def ask(make: Callable[[], Accountant], event: Event, times: int) -> Callable[[], float]:
    """Return the epsilon of repeated events by a new accountant, as an action."""
    return lambda: make().spend(event, times).epsilon(DELTA)


def cases() -> list[Case]:
    """Return the cases of the room."""
    renyi = ask(lambda: RenyiAccountant(ORDERS), STEP, 10_000)
    refined = ask(RenyiAccountant, STEP, 10_000)
    pld = ask(PLDAccountant, STEP, 10_000)
    laplace = ask(PLDAccountant, LAPLACE, 1000)
    sampled: dict[str, object] = {"sigma": 1, "q": 0.01, "T": 10_000, "delta": DELTA}
    counted: dict[str, object] = {"epsilon": 0.1, "times": 1000, "delta": DELTA}
    rows = [
        ("Rényi, sampled Gaussian, their orders", renyi, sampled, "renyi", "dp_accounting: 10 x, no looser"),
        (
            "loss distribution, sampled Gaussian",
            pld,
            sampled,
            "pld-gaussian",
            "dp_accounting: no slower; in 6.1777..6.20",
        ),
        ("loss distribution, Laplace", laplace, counted, "pld-laplace", "dp_accounting: no slower; in 17.42..17.43"),
    ]
    measured = []
    for what, action, parameters, peer, aim in rows:
        measured += [
            Case.timed(
                what, action, repeats=7, parameters=parameters, peers={"dp_accounting": f"{peer}-time"}, aim=aim
            ),
            Case.number(
                what, action, unit="epsilon", parameters=parameters, peers={"dp_accounting": f"{peer}-epsilon"}, aim=aim
            ),
        ]
    repeated = [
        Case.timed(f"{name}, repeated", ask(make, event, times), repeats=7, parameters={"times": times}, aim="flat")
        for name, make, event in (
            ("Rényi, sampled Gaussian", RenyiAccountant, STEP),
            ("loss distribution, sampled Gaussian", PLDAccountant, STEP),
            ("loss distribution, Laplace", PLDAccountant, LAPLACE),
        )
        for times in (1_000, 1_000_000)
    ]
    target = ApproxDP(epsilon=2, delta=DELTA)
    return [
        *measured,
        Case.timed("Rényi, sampled Gaussian, our orders", refined, repeats=7, parameters=sampled),
        Case.number(
            "Rényi, sampled Gaussian, our orders", refined, unit="epsilon", parameters=sampled, aim="<= 6.7128"
        ),
        *repeated,
        Case.timed("best of all accountants, Laplace", lambda: best(RepeatedEvent(event=LAPLACE, times=1000), DELTA)),
        Case.timed("calibrate a training run", lambda: calibrate(training, target), repeats=1, parameters=sampled),
    ]
