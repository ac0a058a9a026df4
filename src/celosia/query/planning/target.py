"""Privacy target of a query: an epsilon with or without a delta, or a rho, in exact numbers.

A delta that is not given is the budget's in proportion to the epsilon, so that queries which add up to the budget's
epsilon add up to at most its delta. A share that is too long to store is rounded down: the query then spends less.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from celosia.core.errors import ParameterError
from celosia.core.exact import Exact, exact_epsilon, exact_non_negative, exact_rho, safe_repr
from celosia.core.guarantees import ZCDP, ApproxDP, PureDP

if TYPE_CHECKING:
    from celosia.core.guarantees import Guarantee

_MIN_DELTA: Final = Fraction(1, 10**200)
_MAX_SHARE_BITS: Final = 1_000  # a share is divided further, and events take three times as many
_ROUNDED_BITS: Final = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The cost of one query. With a ``rho`` the noise is Gaussian and choices are exponential."""

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None

    @classmethod
    def of(
        cls, budget: "Guarantee", *, epsilon: Exact | None = None, delta: Exact | None = None, rho: Exact | None = None
    ) -> "Target":
        """Return the target that a budget of this kind allows; a delta not given is in proportion to the epsilon."""
        if not isinstance(budget, PureDP | ApproxDP | ZCDP):
            raise ParameterError(f"budget must be a PureDP, an ApproxDP or a ZCDP, not {safe_repr(budget)}.")
        if isinstance(budget, ZCDP):
            if rho is None or epsilon is not None or delta is not None:
                given = _list_given(epsilon=epsilon, delta=delta)
                raise ParameterError(
                    f"The budget is a rho, so a query spends one: give rho=, such as rho='0.01', or error={given}."
                )
            return cls(rho=exact_rho(rho))
        if rho is not None or epsilon is None:
            raise ParameterError(
                "The budget is an epsilon, so a query spends one: give epsilon=, such as epsilon='0.5', or "
                f"error={_list_given(rho=rho)}."
            )
        spent = exact_epsilon(epsilon)
        if isinstance(budget, ApproxDP):
            return cls(epsilon=spent, delta=_delta_share(budget, spent) if delta is None else _exact_delta(delta))
        if delta is not None and exact_non_negative(delta, name="delta") != 0:
            raise ParameterError(
                f"The budget has no delta: leave delta={safe_repr(delta)} out, or ask the owner of the data for one."
            )
        return cls(epsilon=spent)


def _list_given(**given: object) -> str:
    """Return the given numbers in words."""
    shown = [f"{name}={safe_repr(value)}" for name, value in given.items() if value is not None]
    return f", not {' and '.join(shown)}" if shown else ""


def _delta_share(budget: ApproxDP, spent: Fraction) -> Fraction:
    if budget.delta >= 1:
        raise ParameterError(
            f"A delta of 1 promises nothing: take a budget with a smaller one than {safe_repr(budget)}."
        )
    # More epsilon than there is gets no more delta: the session refuses it anyway.
    share = budget.delta if spent >= budget.epsilon else _shorten_down(budget.delta * spent / budget.epsilon)
    return share if share >= _MIN_DELTA else Fraction(0)


def _shorten_down(share: Fraction) -> Fraction:
    if share.denominator.bit_length() <= _MAX_SHARE_BITS:
        return share
    unit = Fraction(2) ** (share.numerator.bit_length() - share.denominator.bit_length() - _ROUNDED_BITS)
    return math.floor(share / unit) * unit


def _exact_delta(delta: Exact) -> Fraction:
    number = exact_non_negative(delta, name="delta")
    if number >= 1 or 0 < number < _MIN_DELTA:
        raise ParameterError(f"delta must be 0, or at least 1e-200 and below 1, not {safe_repr(delta)}.")
    return number
