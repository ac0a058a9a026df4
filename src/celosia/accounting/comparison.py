"""Differential privacy and Rényi privacy side by side: two composition bounds, a table and the budget curves.

The propositions are those of Mironov 2017 (proposition 4, its corollary, and table II). They are for comparison: the
accountants give smaller numbers for the same mechanisms. Everything is rounded towards less privacy.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from celosia.accounting.checks import Array
from celosia.accounting.prices import closed_forms
from celosia.accounting.prices.trade_off import gaussian_mu_for
from celosia.core.errors import ParameterError
from celosia.core.exact import (
    Exact,
    double_at_least,
    double_at_most,
    exact,
    exact_epsilon,
    exact_integer,
    exact_positive,
    exact_probability,
    safe_repr,
)
from celosia.core.guarantees import ApproxDP, Guarantee, PureDP, RenyiDP

_SAFE = 1 + 1e-12  # far above the rounding of a few operations


def renyi_advanced(epsilon: Exact, count: int, delta: Exact) -> float:
    """Return the epsilon of ``count`` adaptively chosen ``epsilon``-private mechanisms at ``delta``, through Rényi.

    It is ``4 epsilon sqrt(2 count ln(1/delta))`` and holds where ``ln(1/delta) >= epsilon**2 * count``.

    >>> round(renyi_advanced("0.01", 1000, "1e-6"), 4)
    6.649
    """
    rate, times = double_at_least(exact_positive(epsilon, name="epsilon")), exact_integer(count, name="count")
    share = double_at_most(exact_probability(delta, name="delta"))
    if not 0 < share < 1:
        raise ParameterError("core.delta_not_a_fraction", delta=safe_repr(delta))
    if -math.log(share) * (1 - 1e-12) < rate * rate * times:
        raise ParameterError(
            "accounting.outside_simplified_composition",
            epsilon=safe_repr(epsilon),
            count=safe_repr(count),
            delta=safe_repr(delta),
        )
    return 4 * rate * math.sqrt(2 * times * -math.log(share)) * _SAFE


def renyi_probability(epsilon: Exact, count: int, probability: Exact) -> float:
    """Bound the probability, after ``count`` mechanisms, of an event that has ``probability`` for a neighbour.

    It is ``exp(2 epsilon sqrt(count ln(1/probability))) * probability``, for ``epsilon``-private mechanisms.
    """
    rate, times = double_at_least(exact_positive(epsilon, name="epsilon")), exact_integer(count, name="count")
    chance = double_at_least(exact_probability(probability, name="probability"))
    if chance == 0:
        return 0.0
    exponent = 2 * rate * math.sqrt(times * -math.log(chance)) + math.log(chance)
    return min(1.0, math.exp(min(exponent, 0.0)) * _SAFE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One line of the comparison: a property under differential and under Rényi privacy."""

    name: str
    differential: Guarantee | float
    renyi: Guarantee | float | None


def comparison_table(
    order: Exact, *, epsilon: Exact, delta: Exact, probability: Exact = "0.01", doublings: int = 1
) -> tuple[Row, ...]:
    """Return the comparison of differential and Rényi privacy of one order, for an ``epsilon``-private mechanism.

    The rows: the largest probability of an event that has ``probability`` for a neighbour; post-processing; two
    mechanisms; a group of ``2**doublings``; then randomized response, Laplace and Gaussian noise for sensitivity 1, set
    so that they guarantee ``epsilon`` (and ``delta``). There is no entry where the order is too small for the group.

    >>> rows = comparison_table(4, epsilon="0.5", delta="1e-5")
    >>> print(as_text(rows[-3:]))
    property             differential privacy  Rényi privacy
    randomized response  0.5-DP                (4, 0.351891)-RDP
    Laplace              0.5-DP                (4, 0.320927)-RDP
    Gaussian             (0.5, 1e-05)-DP       (4, 0.0404477)-RDP
    """
    alpha, rate = _order(order), exact_epsilon(epsilon)
    pure, chance = PureDP(epsilon=rate), exact_probability(probability, name="probability")
    general = _at(alpha, lambda orders: closed_forms.pure(rate, orders))
    size = 2 ** exact_integer(doublings, name="doublings", least=0)
    approximate = ApproxDP(epsilon=rate, delta=delta)
    mu = Fraction(gaussian_mu_for(rate, approximate.delta))
    return (
        Row(
            name=f"probability, from {float(chance):g}",
            differential=min(1.0, float(chance) * math.exp(min(rate, Fraction(700))) * _SAFE),
            renyi=_bound_probability(general, chance),
        ),
        Row(name="post-processing", differential=pure, renyi=general),
        Row(name="two mechanisms", differential=pure + pure, renyi=general + general),
        Row(
            name=f"a group of {size}",
            differential=pure.group(size),
            renyi=general.group(size) if size == 1 or alpha >= 2 * size else None,
        ),
        Row(name="randomized response", differential=pure, renyi=general),
        Row(
            name="Laplace",
            differential=pure,
            renyi=_at(alpha, lambda orders: closed_forms.laplace(1 / rate, orders)),
        ),
        Row(
            name="Gaussian",
            differential=approximate,
            renyi=_at(alpha, lambda orders: closed_forms.gaussian(1, mu**2, orders)),
        ),
    )


def _order(order: Exact) -> Fraction:
    alpha = exact(order, name="order")
    if alpha <= 1:
        raise ParameterError("accounting.order_not_above_one", order=safe_repr(order))
    return alpha


def _at(order: Fraction, curve: Callable[[list[float]], Array]) -> RenyiDP:
    return RenyiDP(orders=(order,), epsilons=(float(curve([double_at_least(order)])[0]),))


def _bound_probability(curve: RenyiDP, chance: Fraction) -> float:
    """Bound the probability of an event by (exp(divergence) q)^((order - 1) / order)."""
    if chance == 0:
        return 0.0
    power = float(1 - 1 / curve.orders[0])
    return min(1.0, math.exp(min(0.0, power * (float(curve.epsilons[0]) + math.log(chance)))) * _SAFE)


def as_text(rows: Sequence[Row]) -> str:
    """Return the table in columns, as text."""
    cells = _cells(rows)
    widths = [max(len(line[i]) for line in cells) for i in range(2)]
    return "\n".join(f"{a:<{widths[0]}}  {b:<{widths[1]}}  {c}" for a, b, c in cells)


def as_markdown(rows: Sequence[Row]) -> str:
    """Return the table in Markdown."""
    head, *lines = (f"| {' | '.join(line)} |" for line in _cells(rows))
    return "\n".join([head, "| --- | --- | --- |", *lines])


def _cells(rows: Iterable[Row]) -> list[tuple[str, str, str]]:
    head = ("property", "differential privacy", "Rényi privacy")
    return [head, *((row.name, _format_value(row.differential), _format_value(row.renyi)) for row in rows)]


def _format_value(value: Guarantee | float | None) -> str:
    if isinstance(value, PureDP):
        return f"{float(value.epsilon):.6g}-DP"
    if isinstance(value, ApproxDP):
        return f"({float(value.epsilon):.6g}, {float(value.delta):.6g})-DP"
    if isinstance(value, RenyiDP):
        return f"({float(value.orders[0]):g}, {float(value.epsilons[0]):.6g})-RDP"
    return f"{value:.6g}" if isinstance(value, float) else "–"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class BudgetCurve:
    """The Rényi budget of one mechanism with one parameter: an epsilon for each order."""

    mechanism: str
    parameter: float
    orders: Array
    epsilons: Array


def budget_curves(mechanism: str, parameters: Sequence[Exact], orders: ArrayLike) -> tuple[BudgetCurve, ...]:
    """Return a budget curve for each parameter, for sensitivity 1.

    Mechanisms and their parameters: ``"randomized response"`` (the probability of the truth), ``"laplace"`` (the scale)
    and ``"gaussian"`` (the standard deviation).

    >>> [curve.epsilons.round(4).tolist() for curve in budget_curves("laplace", [1, 2], [1, 2, 10])]
    [[0.3679, 0.6191, 0.9287], [0.1065, 0.2003, 0.4287]]
    """
    curves: dict[str, Callable[[Exact, ArrayLike], Array]] = {
        "randomized response": _response,
        "laplace": closed_forms.laplace,
        "gaussian": _normal,
    }
    if mechanism not in curves:
        raise ParameterError("accounting.unknown_mechanism", known=", ".join(curves), mechanism=safe_repr(mechanism))
    if isinstance(parameters, str) or not hasattr(parameters, "__len__") or len(parameters) == 0:
        raise ParameterError("accounting.parameters_not_a_list", parameters=safe_repr(parameters))
    at = np.atleast_1d(np.asarray(orders, dtype=np.float64))
    return tuple(
        BudgetCurve(
            mechanism=mechanism,
            parameter=float(exact(parameter, name="parameters")),
            orders=at,
            epsilons=curves[mechanism](parameter, orders),
        )
        for parameter in parameters
    )


def _response(truth: Exact, orders: ArrayLike) -> Array:
    likely = exact_probability(truth, name="parameters")
    if likely in (0, 1):
        raise ParameterError("accounting.response_never_lies", value=safe_repr(truth))
    odds = max(likely, 1 - likely) / min(likely, 1 - likely)
    # log1p keeps the digits of a coin that is nearly fair.
    return closed_forms.randomized_response(math.log1p(double_at_least(odds - 1)) * (1 + 4e-16), orders)


def _normal(deviation: Exact, orders: ArrayLike) -> Array:
    return closed_forms.gaussian(exact_positive(deviation, name="parameters") ** 2, 1, orders)
