"""Choice of a protocol for a task: the least variance among reports that are short enough.

Variances are theoretical, per person, for a rare value: they decide how small a count can be seen. Among protocols
within 1 % of the least variance, the shortest report wins. For repeated collection, the protocols are those that
memoise the client's draws. The table has the epsilon of a lifetime twice: between histories whose answers change at the
same times, and between any two histories.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from celosia.core.errors import ParameterError
from celosia.core.exact import Exact, exact_epsilon, exact_integer, safe_repr
from celosia.core.messages.message import Message, join_messages
from celosia.local.base.memoised import Memoised
from celosia.local.base.values import Domain, exact_domain
from celosia.local.base.values import domain_size as size_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from celosia.local.base.protocol import Protocol

_ALIKE = 1.01
_TABLE = 1024  # rows and columns of the sketches in the table
_MAX_KEPT_EPSILON = 32  # of memoised answers
_MAX_BUCKETS = 1 << 12  # for which a report has a bit each
_MAX_ORDERED_BUCKETS = 1 << 16
_STEPS = 1 << 16  # of probabilities
_LEAST_RAPPOR = Fraction(1, 100)  # epsilon, below which its probabilities would need more steps
_LIFETIME_REPORTS = 1000  # for each value


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """A protocol under consideration.

    ``variance`` is that of a count, for each person; ``bits`` the length of a report; ``fits`` whether a report is
    short enough. For protocols that keep their answers, ``lifetime`` is the epsilon of ``life`` reports of all values
    between histories whose answers change at the same times, and ``plain_lifetime`` between any two histories: infinite
    if a change shows for certain.
    """

    protocol: "Protocol[Any]"
    name: str
    variance: float
    bits: int
    fits: bool = True
    lifetime: float | None = None
    plain_lifetime: float | None = None
    life: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A protocol, the reason for it, and all considered protocols by their variance.

    >>> print(choose(1000, 1, bits=12))
    HadamardResponse, with a variance of 4.68 for each person: the least of those whose report has at most 12 bits, in
    10 bits.
    <BLANKLINE>
    variance   bits  protocol
        3.67   1000  SubsetSelection (too long)
        3.68   1000  OptimizedUnary (too long)
        3.69     34  LocalHashing (too long)
        3.92   1000  OptimizedUnary, symmetric (too long)
        3.93   1034  CountMeanSketch (too long)
        4.68     10  HadamardResponse
        4.69     21  HadamardCountMeanSketch (too long)
         339     10  DirectEncoding
    """

    protocol: "Protocol[Any]"
    reason: Message
    alternatives: tuple[Alternative, ...]

    def __str__(self) -> str:
        life = any(one.lifetime is not None for one in self.alternatives)
        wide = max(6, *(len(str(one.bits)) for one in self.alternatives))
        lines = [self.reason, "", f"variance {'bits':>{wide}}  {'lifetime     plain  ' if life else ''}protocol"]
        for one in self.alternatives:
            spent = "" if one.lifetime is None else f"{one.lifetime:>8.3g}  {one.plain_lifetime:>8.3g}  "
            lines.append(
                f"{one.variance:>8.3g} {one.bits:>{wide}}  {spent}{one.name}{'' if one.fits else ' (too long)'}"
            )
        return "\n".join(lines)


def choose(
    domain_size: int | Domain | list[str] | list[int],
    epsilon: Exact,
    bits: int | None = None,
    *,
    longitudinal: bool = False,
) -> Choice:
    """Return a configured protocol for the counts of a known domain, and the reason.

    Parameters
    ----------
    domain_size
        The number of values, or the values themselves.
    epsilon
        Epsilon of one report (the first one, if ``longitudinal``).
    bits
        The most bits of a report.
    longitudinal
        Whether the same people report repeatedly, about values that seldom change. It hides values that never change;
        it does not hide that a value changed, nor when: see ``Memoised.plain_lifetime``.

    Examples
    --------
    >>> choice = choose(1000, 1)
    >>> choice.protocol
    LocalHashing(epsilon=1, domain=1000, buckets=4)
    >>> choose(1000, 1, bits=12).protocol
    HadamardResponse(epsilon=1, domain=1000, blocks=1)
    >>> type(choose(1000, 1, longitudinal=True).protocol).__name__
    'LOLOHA'
    """
    domain, rate = exact_domain(domain_size, name="domain_size"), exact_epsilon(epsilon)
    most = None if bits is None else exact_integer(bits, name="bits")
    if not isinstance(longitudinal, bool):
        raise ParameterError("local.longitudinal_not_boolean", value=safe_repr(longitudinal))
    known = _list_memoised(domain, rate) if longitudinal else _single(domain, rate)
    looked = sorted((_looked_at(name, one, most, domain) for name, one in known), key=_rank)
    fitting = [one for one in looked if one.fits]
    if not fitting:
        shortest = min(looked, key=lambda one: one.bits)
        raise ParameterError("local.too_few_bits", least=shortest.bits, name=shortest.name, value=safe_repr(bits))
    chosen = min((one for one in fitting if one.variance <= _ALIKE * fitting[0].variance), key=lambda one: one.bits)
    return Choice(protocol=chosen.protocol, reason=_reason(chosen, fitting[0], most), alternatives=tuple(looked))


def _rank(one: Alternative) -> tuple[float, int]:
    return float(f"{one.variance:.9g}"), one.bits  # rounding must not decide


def _single(domain: Domain, epsilon: Fraction) -> "Iterator[tuple[str, Protocol[Any]]]":
    """Yield the protocols of single reports."""
    from celosia.local.frequency.count_mean_sketch import CountMeanSketch
    from celosia.local.frequency.direct_encoding import DirectEncoding
    from celosia.local.frequency.hadamard_count_mean_sketch import HadamardCountMeanSketch
    from celosia.local.frequency.hadamard_response import HadamardResponse
    from celosia.local.frequency.local_hashing import LocalHashing
    from celosia.local.frequency.optimized_unary import OptimizedUnary
    from celosia.local.frequency.subset_selection import SubsetSelection

    yield "DirectEncoding", DirectEncoding(domain=domain, epsilon=epsilon)
    yield "SubsetSelection", SubsetSelection(domain=domain, epsilon=epsilon)
    yield "OptimizedUnary", OptimizedUnary(domain=domain, epsilon=epsilon)
    yield "OptimizedUnary, symmetric", OptimizedUnary(domain=domain, epsilon=epsilon, symmetric=True)
    yield "LocalHashing", LocalHashing(domain=domain, epsilon=epsilon)
    blocks = (1 << i for i in range(size_of(domain).bit_length()))
    responses = [HadamardResponse(domain=domain, epsilon=epsilon, blocks=number) for number in blocks]
    least = min(responses, key=lambda response: response.variance(1))
    yield "HadamardResponse", least
    yield "CountMeanSketch", CountMeanSketch(epsilon=epsilon, hashes=_TABLE, width=_TABLE)
    yield "HadamardCountMeanSketch", HadamardCountMeanSketch(epsilon=epsilon, hashes=_TABLE, width=_TABLE)


def _list_memoised(domain: Domain, epsilon: Fraction) -> "Iterator[tuple[str, Protocol[Any]]]":
    """Yield the memoising protocols; all reports about one answer spend twice the epsilon of the first."""
    from celosia.local.longitudinal.d_bit_flip import DBitFlip
    from celosia.local.longitudinal.loloha import LOLOHA

    if epsilon > _MAX_KEPT_EPSILON:
        raise ParameterError("local.kept_epsilon_too_large", most=_MAX_KEPT_EPSILON, value=safe_repr(epsilon))
    best = LOLOHA(domain=domain, epsilon=epsilon, epsilon_infinity=2 * epsilon)
    yield "LOLOHA", best
    if best.g > 2:
        yield "LOLOHA, g=2", LOLOHA(domain=domain, epsilon=epsilon, epsilon_infinity=2 * epsilon, g=2)
    size = size_of(domain)
    for d in sorted({min(4, size), size if size <= _MAX_BUCKETS else 4} if size <= _MAX_ORDERED_BUCKETS else ()):
        yield f"DBitFlip, d={d}", DBitFlip(buckets=domain, d=d, epsilon=epsilon)
    if epsilon >= _LEAST_RAPPOR:
        yield "Rappor", _rappor(epsilon)


def _rappor(epsilon: Fraction) -> "Protocol[Any]":
    """Return symmetric RAPPOR with one hash, whose permanent response has twice the epsilon of the first report."""
    from celosia.local.longitudinal.rappor import Rappor

    f = 2 / (1 + math.exp(float(epsilon)))
    shown = 1 / (1 + math.exp(-float(epsilon) / 2))
    # Rounded towards more noise: the first report spends epsilon or a little less.
    turned = Fraction(math.ceil(f * _STEPS), _STEPS)
    kept = Fraction(math.floor((shown - f / 2) / (1 - f) * _STEPS), _STEPS)
    return Rappor(bits=128, hashes=1, cohorts=64, f=turned, p=1 - kept, q=kept)


def _looked_at(name: str, protocol: Any, most: int | None, domain: Domain) -> Alternative:
    size = size_of(domain)
    lived = _lifetimes(protocol, _LIFETIME_REPORTS * size, size) if isinstance(protocol, Memoised) else {}
    bits = 8 * protocol.bytes_per_report if name == "Rappor" else protocol.bits  # Rappor.bits is that of the filter
    return Alternative(
        protocol=protocol,
        name=name,
        variance=float(protocol.variance(1)),
        bits=bits,
        fits=most is None or bits <= most,
        **lived,
    )


def _lifetimes(protocol: Memoised[Any], reports: int, values: int) -> dict[str, Any]:
    plain = protocol.plain_lifetime_epsilon(reports, values)
    return {
        "lifetime": float(protocol.lifetime_epsilon(reports, values)),
        "plain_lifetime": math.inf if plain is None else float(plain),
        "life": reports,
    }


def _reason(chosen: Alternative, least: Alternative, most: int | None) -> Message:
    among = Message("local.of_all") if most is None else Message("local.of_short_reports", most=most)
    parts = [_reason_of_variance(chosen, least, among)]
    if chosen.lifetime is not None:
        spent = {"lifetime": chosen.lifetime, "plain": chosen.plain_lifetime}
        parts.append(Message("local.reason_lifetime", life=chosen.life, **spent))
    return join_messages(parts)


def _reason_of_variance(chosen: Alternative, least: Alternative, among: Message) -> Message:
    about = {"name": chosen.name, "variance": chosen.variance, "among": among}
    if chosen is least:
        one = chosen.bits == 1
        bits = Message("local.one_bit") if one else Message("local.some_bits", number=chosen.bits)
        return Message("local.reason_least", **about, bits=bits)
    other = {"least": least.variance, "other": least.name, "other_bits": least.bits}
    return Message("local.reason_shorter", **about, **other, bits=chosen.bits)
