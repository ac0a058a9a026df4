"""Charts of accounting: budgets by order, privacy profiles, growth under composition, trade-offs, iteration.

Every point of a line is a bound that an accountant computes; a line is missing where its accountant has no theorem.
Charts are Altair's (``celosia.plots``), which is loaded when the first one is drawn.

The budget curves are figures 5.1 to 5.3 of the Rényi thesis (after Mironov 2017, figure 2); trade-off curves are those
of Wasserman and Zhou 2010 and of Dong, Roth and Su 2022.
"""

import contextlib
import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from celosia.accounting.accountants.base import Accountant
from celosia.accounting.accountants.best import ACCOUNTANTS, best
from celosia.accounting.accountants.sums import RenyiAccountant, ZCDPAccountant
from celosia.accounting.checks import vector
from celosia.accounting.comparison import budget_curves
from celosia.accounting.game import game
from celosia.accounting.iteration.contraction import release_every_step
from celosia.accounting.iteration.pnsgd import record_rhos
from celosia.core import (
    ZCDP,
    ApproxDP,
    Event,
    Guarantee,
    GuaranteedEvent,
    NotPricedError,
    ParameterError,
    PureDP,
    RepeatedEvent,
)
from celosia.core.exact import Exact, exact, exact_integer, format_exact, safe_repr
from celosia.core.iterations import PNSGDEvent
from celosia.core.messages.message import Message, Numeral
from celosia.plots import Curve, Labels, curves

if TYPE_CHECKING:
    import altair as alt
    from numpy.typing import ArrayLike

_POINTS = 181  # of a curve; from 1 to 10 in steps of 0.05
_RECORDS = 120  # places of an epoch that are priced
_LINE_STYLES = ("pld", "renyi", "zcdp", "gdp", "optimal", "advanced", "basic")  # the tightest line stands out
_MAX_EXPONENT = 700.0  # exponents beyond are no doubles


def renyi_budget(
    mechanism: str,
    parameters: Sequence[Exact] | None = None,
    *,
    orders: "ArrayLike | None" = None,
    language: str = "en",
) -> "alt.LayerChart":
    """Draw the Rényi divergence of a mechanism as a function of the order, one line for each parameter.

    Parameters
    ----------
    mechanism
        "randomized response", whose parameter is the probability of the truth, "laplace" (its scale) or "gaussian" (its
        sigma), both relative to the sensitivity. The noise is continuous, as in the figures.
    parameters
        Those of the figures when left out.
    orders
        From 1 to 10 when left out.
    language
        The language of the titles.
    """
    if mechanism not in _BUDGETS:
        raise ParameterError(
            "accounting.unknown_mechanism", known=", ".join(map(repr, _BUDGETS)), mechanism=safe_repr(mechanism)
        )
    title, symbol, meaning, usual = _BUDGETS[mechanism]
    chosen = usual if parameters is None else parameters
    _check_count("parameters", chosen, Sequence)
    at = np.linspace(1.0, 10.0, _POINTS) if orders is None else vector(orders, "orders")
    lines = [
        Curve(name=f"{symbol} = {_short(parameter).render(language)}", x=budget.orders, y=budget.epsilons)
        for parameter, budget in zip(chosen, budget_curves(mechanism, chosen, at), strict=True)
    ]
    if len({line.name for line in lines}) < len(lines):
        raise ParameterError("accounting.repeated_parameters", parameters=safe_repr(chosen))
    labels = Labels(
        title=Message(title),
        subtitle=Message(meaning),
        x=Message("accounting.order_axis"),
        y=Message("accounting.divergence_axis"),
        language=language,
    )
    return curves(lines, labels=labels)


_BUDGETS: dict[str, tuple[str, str, str, tuple[Exact, ...]]] = {
    "randomized response": (
        "accounting.response_budget",
        "p",
        "accounting.response_parameter",
        ("0.75", "0.65", "0.55"),
    ),
    "laplace": ("accounting.laplace_budget", "λ", "accounting.laplace_parameter", (1, 2, 3)),
    "gaussian": ("accounting.gaussian_budget", "σ", "accounting.gaussian_parameter", (1, 2, 3)),
}


def _check_count(name: str, things: Sequence[object] | Mapping[str, object], kind: type) -> None:
    """Refuse an empty or too long collection: each item is a line."""
    if not isinstance(things, kind) or isinstance(things, str) or not 1 <= len(things) <= len(_LINE_STYLES):
        raise ParameterError(
            "accounting.wrong_number_of_lines", name=name, most=len(_LINE_STYLES), value=safe_repr(things)
        )


def privacy_profile(
    accountants: Event | Mapping[str, Accountant],
    *,
    deltas: "ArrayLike | None" = None,
    about: str = "",
    language: str = "en",
) -> "alt.LayerChart":
    """Draw epsilon against delta: one line for each accountant, or for each that can price an event.

    For an event, the sum of its epsilons is left out: it does not depend on delta, and would flatten the others.
    """
    at = np.geomspace(1e-12, 1e-2, 41) if deltas is None else vector(deltas, "deltas")
    named = _all_of(accountants) if isinstance(accountants, Event) else accountants
    _check_count("accountants", named, Mapping)
    lines = []
    for name, accountant in named.items():
        points = [(delta, epsilon) for delta in at.tolist() if (epsilon := _epsilon(accountant, delta)) is not None]
        if len(points) > 1:
            lines.append(_line(name, points))
    if not lines:
        raise ParameterError("accounting.too_few_deltas")
    title, most = Message("accounting.privacy_profile"), Message("accounting.epsilon_axis")
    return curves(lines, labels=Labels(title=title, subtitle=about, x="δ", y=most, language=language), x_log=True)


def _line(name: str, points: Sequence[tuple[float, float]]) -> Curve:
    x, y = zip(*points, strict=True)
    return Curve(name=name, x=x, y=y, look=_LINE_STYLES.index(name) if name in _LINE_STYLES else None)


def _all_of(event: Event) -> dict[str, Accountant]:
    found: dict[str, Accountant] = {}
    for name, kind in ACCOUNTANTS.items():
        if name != "basic":  # a flat line
            with contextlib.suppress(NotPricedError):
                found[name] = kind().spend(event)
    return found


def _epsilon(accountant: Accountant, delta: float) -> float | None:
    try:
        epsilon = accountant.epsilon(delta)
    except NotPricedError:
        return None
    return epsilon if math.isfinite(epsilon) else None


def composition_growth(
    event: Event, *, delta: Exact, times: Iterable[int], about: str = "", language: str = "en"
) -> "alt.LayerChart":
    """Draw epsilon at ``delta`` against the number of repetitions, all accountants side by side.

    ``times`` is read once, so it may be an iterator that shows progress.
    """
    grown: dict[str, list[tuple[int, float]]] = {name: [] for name in ACCOUNTANTS}
    for number in times:
        repeated = RepeatedEvent(event=event, times=exact_integer(number, name="times"))
        for name, epsilon in best(repeated, delta).epsilons.items():
            if epsilon is not None and 0 < epsilon < math.inf:
                grown[name].append((number, epsilon))
    lines = [_line(name, points) for name, points in grown.items() if len(points) > 1]
    if not lines:
        raise ParameterError("accounting.nothing_to_draw")
    labels = Labels(
        title=Message("accounting.growth_title", delta=_short(delta)),
        subtitle=about,
        x=Message("accounting.releases_axis"),
        y=Message("accounting.epsilon_axis"),
        language=language,
    )
    return curves(lines, labels=labels, x_log=True, y_log=True)


def trade_off(
    guarantees: Mapping[str, Guarantee | Accountant], *, about: str = "", language: str = "en"
) -> "alt.LayerChart":
    """Draw how often a test of two neighbours must miss, given how often it may give a false alarm.

    In the grey region a coin flip, without any release, does as well.
    """
    _check_count("guarantees", guarantees, Mapping)
    dense = (1 - np.cos(np.linspace(0, np.pi, 2 * _POINTS))) / 2  # towards the ends, where curves bend most
    false_alarms = np.union1d(dense, [_corner(guarantee) for guarantee in guarantees.values()])
    lines = [
        Curve(name=name, x=false_alarms, y=game(guarantee).trade_off(false_alarms))
        for name, guarantee in guarantees.items()
    ]
    labels = Labels(
        title=Message("accounting.trade_off_title"),
        subtitle=about or Message("accounting.grey_is_guessing"),
        x=Message("accounting.false_alarm_axis"),
        y=Message("accounting.miss_axis"),
        language=language,
    )
    return curves(lines, labels=labels, band=([0, 1], [1, 0], [1, 1]))


def _corner(guarantee: Guarantee | Accountant) -> float:
    """Return where the curve of a pure or approximate guarantee has its corner; other curves are smooth."""
    if not isinstance(guarantee, PureDP | ApproxDP):
        return 0.0
    delta = guarantee.delta if isinstance(guarantee, ApproxDP) else 0
    return float(1 - delta) / (1 + math.exp(min(float(guarantee.epsilon), _MAX_EXPONENT)))


def iteration(event: PNSGDEvent, *, delta: Exact, about: str = "", language: str = "en") -> "alt.LayerChart":
    """Draw the cost of projected noisy SGD for each record by its place in the epoch, if only the end is released.

    All lines come from Rényi divergences, so that they can be compared. For the run that releases every step other
    accountants give slightly smaller bounds.
    """
    if not isinstance(event, PNSGDEvent):
        raise ParameterError("accounting.not_a_pnsgd_event", event=safe_repr(event))
    if event.records < 2:
        raise ParameterError("accounting.too_few_records", records=event.records)
    # Dense towards the end, where the price rises.
    after = np.unique(np.geomspace(1, event.records, min(event.records, _RECORDS)).round().astype(np.int64))
    places = event.records + 1 - after[::-1]
    ends = np.array([1, event.records])
    known = dataclasses.replace(event, order="fixed", stop="fixed")
    secret = event if event != known else dataclasses.replace(event, order="secret permutation")
    whole_run = RenyiAccountant().spend(secret).epsilon(delta)
    released = ZCDPAccountant().spend(release_every_step(known)).epsilon(delta)
    lines = [
        Curve(
            name=Message("accounting.last_weights_only").render(language),
            x=places,
            y=[_of_rho(rho, delta) for rho in record_rhos(known, places).tolist()],
        ),
        Curve(name=_secret(secret).render(language), x=ends, y=[whole_run] * 2),
        Curve(name=Message("accounting.every_step").render(language), x=ends, y=[released] * 2),
    ]
    labels = Labels(
        title=Message("accounting.iteration_title", delta=_short(delta)),
        subtitle=about or Message("accounting.iteration_noise"),
        x=Message("accounting.place_axis"),
        y=Message("accounting.epsilon_axis"),
        language=language,
    )
    return curves(lines, labels=labels, y_log=True)


def _of_rho(rho: float, delta: Exact) -> float:
    return ZCDPAccountant().spend(GuaranteedEvent(guarantee=ZCDP(rho=rho))).epsilon(delta)


def _secret(event: PNSGDEvent) -> Message:
    if event.stop == "fixed":
        return Message("accounting.secret_order")
    return Message("accounting.secret_stop" if event.order == "fixed" else "accounting.secret_order_and_stop")


def _short(number: Exact) -> Numeral:
    return Numeral(format_exact(exact(number, name="number")).strip("'").replace("e-0", "e-"))
