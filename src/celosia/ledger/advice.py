"""Which number of a cost to lower, where a budget refuses it."""

from celosia.core.guarantees import ZCDP, ApproxDP, Guarantee

__all__ = ["exceeded_number"]


def exceeded_number(cost: Guarantee, left: Guarantee) -> str | None:
    """Return which number of a cost is too large for what is left; None where nothing is left.

    >>> from celosia.core import ApproxDP
    >>> exceeded_number(ApproxDP(epsilon=1, delta="1e-6"), ApproxDP(epsilon=2, delta="1e-7"))
    'delta'
    """
    numbers = [getattr(left, name) for name in ("rho", "mu", "epsilon") if hasattr(left, name)]
    if numbers and not numbers[0]:
        return None
    if isinstance(cost, ApproxDP) and isinstance(left, ApproxDP) and cost.epsilon <= left.epsilon:
        return "delta"
    return "rho" if isinstance(left, ZCDP) else "epsilon"
