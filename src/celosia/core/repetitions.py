"""The event of a private search: a mechanism runs a secret random number of times, and only the best run is shown.

Trying settings of a model one after another and keeping the best leaks through the number of tries. When that number is
random, drawn in advance and kept secret, the best answer costs little more than one run (Liu and Talwar 2019; Papernot
and Steinke 2022). The order of answers must be public: a score that is part of the answer, noise included.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from celosia.core.adjacency import Adjacency
from celosia.core.errors import GuaranteeMismatchError, ParameterError
from celosia.core.events import Arithmetic, Event, check_event
from celosia.core.exact import Exact, exact, exact_adjacency, exact_positive, exact_text, safe_repr

Distribution = Literal["negative binomial", "poisson"]
"""The laws of the number of runs that a theorem is known for."""

_MAX_ETA_OR_MEAN = 10**9  # a longer search would never end
_MIN_GAMMA = Fraction(1, 10**9)


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class PrivateSelectionEvent(Event):
    """The best answer out of K runs of ``event``; K is random, independent of the data and secret.

    ``distribution="negative binomial"`` (never 0): P(K = k) is proportional to ``(1-gamma)^k`` times the product of
    ``(l + eta) / (l + 1)`` over l from 1 to k - 1; ``eta=1`` is the geometric and ``eta=0`` the logarithmic law.
    ``"poisson"`` has the ``mean``; where K is 0, the answer must not depend on the data.

    >>> from celosia.core import LaplaceEvent
    >>> PrivateSelectionEvent(event=LaplaceEvent(scale=10, sensitivity=1), gamma="0.1")
    PrivateSelectionEvent(event=LaplaceEvent(scale=10, sensitivity=1), eta=1, gamma='0.1')
    >>> PrivateSelectionEvent(event=LaplaceEvent(scale=10, sensitivity=1), distribution="poisson", mean=20).mean
    Fraction(20, 1)
    """

    event: Event
    distribution: Distribution = "negative binomial"
    eta: Fraction | None = None
    gamma: Fraction | None = None
    mean: Fraction | None = None

    def __init__(  # noqa: PLR0913 - two laws, and the scope of every event
        self,
        *,
        event: Event,
        distribution: Distribution = "negative binomial",
        eta: Exact | None = None,
        gamma: Exact | None = None,
        mean: Exact | None = None,
        adjacency: Adjacency | None = None,
        unit: str | None = None,
        arithmetic: Arithmetic | None = None,
    ) -> None:
        self._set(event=check_event(event), distribution=_exact_distribution(distribution))
        if distribution == "poisson":
            _check_absent(distribution, eta=eta, gamma=gamma)
            self._set(eta=None, gamma=None, mean=_exact_mean(mean))
        else:
            _check_absent(distribution, mean=mean)
            self._set(eta=_exact_eta(1 if eta is None else eta), gamma=_exact_gamma(gamma), mean=None)
        self._set_scope_of_run(adjacency, unit, arithmetic)

    def _set_scope_of_run(self, adjacency: Adjacency | None, unit: str | None, arithmetic: Arithmetic | None) -> None:
        """Set the scope to that of one run. Refuse another scope; only reading a record passes one."""
        base = self.event
        if (
            (adjacency is not None and exact_adjacency(adjacency) is not base.adjacency)
            or (unit is not None and unit != base.unit)
            or (arithmetic is not None and arithmetic != base.arithmetic)
        ):
            raise GuaranteeMismatchError("core.repeated_event_scope_mismatch")
        self._set_scope(base.adjacency, base.unit, base.arithmetic)

    def _derived_fields(self) -> tuple[str, ...]:
        return ("adjacency", "unit", "arithmetic")


def _exact_distribution(distribution: object) -> str:
    if not isinstance(distribution, str) or distribution not in ("negative binomial", "poisson"):
        raise ParameterError("core.unknown_distribution", distribution=safe_repr(distribution))
    return exact_text(distribution, name="distribution")


def _check_absent(distribution: str, **parameters: object) -> None:
    for name, value in parameters.items():
        if value is not None:
            raise ParameterError(
                "core.parameter_of_other_distribution", name=name, value=safe_repr(value), distribution=distribution
            )


def _exact_mean(mean: Exact | None) -> Fraction:
    if mean is None:
        raise ParameterError("core.missing_mean")
    value = exact_positive(mean, name="mean")
    if value > _MAX_ETA_OR_MEAN:
        raise ParameterError("core.mean_too_large", mean=safe_repr(mean))
    return value


def _exact_eta(eta: Exact) -> Fraction:
    value = exact(eta, name="eta")
    if not -1 < value <= _MAX_ETA_OR_MEAN:
        raise ParameterError("core.eta_out_of_range", eta=safe_repr(eta))
    return value


def _exact_gamma(gamma: Exact | None) -> Fraction:
    if gamma is None:
        raise ParameterError("core.missing_gamma")
    value = exact(gamma, name="gamma")
    if not _MIN_GAMMA <= value < 1:
        raise ParameterError("core.gamma_out_of_range", gamma=safe_repr(gamma))
    return value
