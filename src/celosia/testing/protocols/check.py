"""The conformance kit for protocols of the local model.

It compares the client's exact output probabilities over all pairs of values, and both samplers with them; if they
cannot be listed, it attacks reports as a black box. Estimates must be unbiased and have the stated variance; aggregates
must merge, serialize, and survive hostile reports. Deciding draws come from a seeded source, so that the result is
repeatable. A pass is evidence, not a proof.
"""

from collections.abc import Sequence
from typing import Any

from celosia.core import ParameterError
from celosia.core.errors import CelosiaError
from celosia.core.exact import exact_integer, safe_repr
from celosia.local.base.memoised import Memoised
from celosia.local.base.protocol import Protocol
from celosia.local.base.values import domain_labels
from celosia.noise import Seeded
from celosia.testing.mechanism import Check, Report
from celosia.testing.protocols.audit import check_reports, check_stated
from celosia.testing.protocols.conduct import (
    check_form,
    check_hostile,
    check_merging,
    check_refusals,
    check_seeds,
    check_wire,
)
from celosia.testing.protocols.estimates import Moments, check_bias, check_variance, exact_moments, simulated_moments
from celosia.testing.protocols.histories import check_histories
from celosia.testing.protocols.law import (
    Law,
    check_event,
    check_law,
    check_memoised,
    check_sampler,
    check_scalar,
    read_law,
)

_RANDOM_CHECKS = 8  # that may fail by chance
_MAX_VALUES = 6
_BLACK_BOX = 20_000
_EXAMPLES: tuple[list[Any], ...] = (
    [0, 1, 2, 3],
    [0, 1],
    [-1.0, -0.5, 0.0, 1.0],
    [0.0, 0.5, 1.0],
    ["sun", "rain", "snow"],
)


def check_protocol(
    protocol: Protocol[Any],
    values: Sequence[Any] | None = None,
    *,
    samples: int = 100_000,
    failure: float = 1e-6,
    seed: int = 0,
) -> Report:
    """Return a report if the protocol passes every check, else raise ``ConformanceError`` naming the one that failed.

    Parameters
    ----------
    protocol
        Any subclass of ``celosia.local.Protocol``, preferably so small that ``outputs()`` lists all reports: then
        the law, the estimates and their variances are checked without sampling.
    values
        Valid values, which form the neighbours: all of a small domain, or for a mean the bounds and some numbers
        between them.
    samples
        The number of reports of each value for the checks that sample. Three million detect a coin that is two percent
        off.
    failure
        The probability that a correct protocol fails any check.
    seed
        The seed of the deciding draws.

    Returns
    -------
    Report
        The checks. ``lower_bound`` is the largest log ratio of two values' exact probabilities if they are listed, else
        the lower bound of a black-box audit.

    Examples
    --------
    >>> from celosia.local import DirectEncoding
    >>> report = check_protocol(DirectEncoding(domain=3, epsilon=1), samples=10_000)
    >>> report.lower_bound
    1.0
    >>> [check.name for check in report.checks]
    ['form', 'law', 'event', 'sampler', 'scalar', 'bias', 'variance', 'merging', 'wire', 'hostile', 'seeds', 'refusals']
    """
    exact_integer(samples, name="samples", least=100)
    if not 0 < failure < 1:
        raise ParameterError("testing.failure_out_of_range", failure=safe_repr(failure))
    source, share = Seeded(seed), failure / _RANDOM_CHECKS
    checks = [Check(name="form", found=check_form(protocol))]
    held_values = _values(protocol, values)
    law = read_law(protocol, held_values)
    if law is not None:
        found, bound = check_law(protocol, law)
        checks.append(Check(name="law", found=found))
        checks.append(Check(name="event", found=check_event(protocol, law)))
        checks.append(Check(name="sampler", found=check_sampler(protocol, law, samples, source, share)))
        checks.append(Check(name="scalar", found=check_scalar(protocol, law, samples, source, share)))
        if isinstance(protocol, Memoised):
            checks.append(Check(name="memoised", found=check_memoised(protocol, law, samples, source, share)))
            checks.append(Check(name="histories", found=check_histories(protocol, held_values, samples, source, share)))
    else:
        few = min(samples, _BLACK_BOX)
        checks.append(Check(name="event", found=check_event(protocol, None)))
        checks.append(Check(name="stated", found=check_stated(protocol, held_values, few, source, share)))
        found, bound = check_reports(protocol, held_values, few, source, share)
        checks.append(Check(name="audit", found=found))
    checks.extend(_estimates(protocol, held_values, law, samples, source, share))
    checks.append(Check(name="merging", found=check_merging(protocol, held_values, source)))
    checks.append(Check(name="wire", found=check_wire(protocol, held_values, source)))
    checks.append(Check(name="hostile", found=check_hostile(protocol, held_values, law, source)))
    checks.append(Check(name="seeds", found=check_seeds(protocol, held_values)))
    checks.append(Check(name="refusals", found=check_refusals(protocol)))
    return Report(
        mechanism=type(protocol).__name__, checks=tuple(checks), lower_bound=bound, samples=samples, failure=failure
    )


def _estimates(
    protocol: Protocol[Any], values: Sequence[Any], law: Law | None, samples: int, source: Seeded, failure: float
) -> list[Check]:
    moments: Moments | None = None if law is None else exact_moments(protocol, law, samples)
    if moments is None:
        moments = simulated_moments(protocol, values, samples, source)
    if moments is None:
        return [Check(name="bias", found="not checked: the estimate is no count or mean of given values")]
    return [
        Check(name="bias", found=check_bias(moments, failure)),
        Check(name="variance", found=check_variance(moments, failure)),
    ]


def _values(protocol: Protocol[Any], values: Sequence[Any] | None) -> Sequence[Any]:
    if values is None:
        values = _guess(protocol)
    values = list(values)
    if len(values) < 2 or any(one == two for index, one in enumerate(values) for two in values[:index]):
        raise ParameterError("testing.too_few_values")
    return values


def _guess(protocol: Protocol[Any]) -> Sequence[Any]:
    domain = getattr(protocol, "domain", None)
    tried = [domain_labels(domain)[:_MAX_VALUES]] if isinstance(domain, tuple) else []
    if isinstance(domain, int):
        tried = [list(range(min(domain, _MAX_VALUES)))]
    for values in (*tried, *_EXAMPLES):
        try:
            protocol.privatize(values, source=Seeded(0))
        except CelosiaError:
            continue
        return values
    raise ParameterError("testing.missing_values", type=type(protocol).__name__)
