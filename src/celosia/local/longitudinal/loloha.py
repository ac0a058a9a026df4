"""LOLOHA: longitudinal local hashing. A client hashes its values to a few cells, and memoises its answers about cells.

The hash function is drawn once and public. For each of the g cells the client keeps one randomized answer, of
epsilon_infinity; each report passes that answer through fresh randomized response, so that a single report spends only
epsilon. At most g answers are behind all reports of all values: between histories whose cells change at the same times,
they spend at most g epsilon_infinity. Between any two histories they spend more with each report, because memoised
noise does not hide when a cell changes. g = 2 (BiLOLOHA) costs least.
Arcolezi, Pinzón, Palamidessi and Gambs 2023; the second step is chosen exactly here, for every g.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core.enclosure import exp_at_least, exp_at_most, log_at_least, log_at_most
from celosia.core.errors import ParameterError
from celosia.core.events import RandomizedResponseEvent
from celosia.core.exact import Exact, exact_epsilon, exact_integer, exact_positive, safe_repr
from celosia.local.base.checks import check_crowd, exact_total
from celosia.local.base.estimate import Estimate
from celosia.local.base.hashed_rows import build_hash_family
from celosia.local.base.memoised import Memo, Memoised, flip_words, reduce_words
from celosia.local.base.null_law import TableLaws
from celosia.local.base.packing import Bytes, field_width, pack, unpack
from celosia.local.base.protocol import MAX_OUTPUTS, PERSON, State
from celosia.local.base.support import support
from celosia.local.base.support_probabilities import SupportProbabilities
from celosia.local.base.values import Domain, codes, domain_size, exact_domain, read_candidates
from celosia.noise.bernoulli import bernoulli_logistic, flip_logistic
from celosia.noise.decide import logistic_enclosure
from celosia.noise.keyed import keyed_words
from celosia.noise.uniform import integer_below, uniform_below
from celosia.sketches.hashing.digest import as_seed, digest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source
    from celosia.local.base.aggregate import Aggregate

_FUNCTIONS = 1 << 16
_MAX_FUNCTIONS = 1 << 20
_MAX_CELLS = 1 << 12
_LONG = 64


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class LOLOHA(Memoised[Estimate]):
    """Counts of a known domain, collected repeatedly.

    A report is the reported cell, and then the number of the hash function: row by row those of a ``HashFamily``
    of width g with the protocol's seed, at the digest (same seed) of the value's place in the domain.

    Drawn in this order: the function, below ``functions``, from the client's memo; whether the true cell is kept, and a
    number below g - 1 for the other cell, from the memo of the cell; and the same two from fresh draws.

    Parameters
    ----------
    domain
        The number of values, which are then 0 to that number - 1, or the values themselves.
    epsilon
        Epsilon of the first report.
    epsilon_infinity
        Epsilon of all reports about one cell that never changes, greater than ``epsilon``.
    g
        The number of cells: by default the one with the least variance, e^epsilon + 1 rounded; 2 protects best.
    functions
        The number of hash functions. Clients who share one share its collisions; the standard errors include the error
        that this adds, which is small unless ``functions`` is much below the number of clients.
    seed
        Public seed of the functions.

    Examples
    --------
    >>> from celosia.noise import Seeded
    >>> protocol = LOLOHA(domain=100, epsilon=2, epsilon_infinity=4, seed=7)
    >>> reports = protocol.privatize([3] * 6000 + [7] * 4000, source=Seeded(7))
    >>> protocol.aggregate().absorb(reports).estimate([3, 7])
    Estimate(3: 6036 ± 114, 7: 4139 ± 106; reports=10000)
    """

    domain: Domain
    epsilon_infinity: Fraction
    g: int
    functions: int = _FUNCTIONS
    seed: int = 0

    def __init__(
        self,
        *,
        domain: Domain | list[str] | list[int],
        epsilon: Exact,
        epsilon_infinity: Exact,
        g: int | None = None,
        functions: int = _FUNCTIONS,
        seed: int = 0,
    ) -> None:
        self._set(domain=exact_domain(domain), epsilon=exact_epsilon(epsilon), seed=int(as_seed(seed)))
        self._set(epsilon_infinity=exact_positive(epsilon_infinity, name="epsilon_infinity"))
        if not self.epsilon < self.epsilon_infinity <= _LONG:
            raise ParameterError("local.epsilon_infinity_out_of_range", most=_LONG, value=safe_repr(epsilon_infinity))
        best = max(2, min(round(math.exp(self.epsilon) + 1), _MAX_CELLS))
        self._set(
            g=best if g is None else exact_integer(g, name="g", least=2),
            functions=exact_integer(functions, name="functions"),
        )
        for name, most in (("g", _MAX_CELLS), ("functions", _MAX_FUNCTIONS)):
            if getattr(self, name) > most:
                raise ParameterError("core.above_maximum", name=name, most=most, value=safe_repr(getattr(self, name)))

    @property
    def event(self) -> RandomizedResponseEvent:
        """The event of the first report.

        >>> LOLOHA(domain=100, epsilon=1, epsilon_infinity=2, g=2).event.categories
        2
        """
        return RandomizedResponseEvent(epsilon=self.epsilon, categories=self.g, unit=PERSON)

    def lifetime_epsilon(self, reports: int, values: int) -> Fraction:
        """Return the epsilon of memoised reports under ``SameChanges``: at most g times epsilon_infinity.

        It holds between histories whose cells, under the client's function, change and return at the same times;
        in particular histories of one value. See ``plain_lifetime_epsilon`` for any two histories.

        >>> protocol = LOLOHA(domain=100, epsilon=1, epsilon_infinity=2, g=2)
        >>> [round(float(protocol.lifetime_epsilon(reports, 1)), 3) for reports in (1, 2, 10, 1000)]
        [1.0, 1.642, 2.0, 2.0]
        >>> float(protocol.lifetime_epsilon(1000, 50))
        4.0
        """
        times, different = self.exact_history(reports, values)
        # The most reports of one answer, if each other answer is reported at least once. Fewer answers can cost
        # more: one that is reported twice may spend more than two that are reported once.
        return max(answers * self._answer_loss(times - answers + 1) for answers in range(1, min(different, self.g) + 1))

    def plain_lifetime_epsilon(self, reports: int, values: int) -> Fraction:
        """Return the epsilon of memoised reports between any two histories of ``values`` values.

        The first report spends epsilon. Each further one can spend all of the fresh step's parameter; over long times
        at most a share of it, because one kept answer explains some reports of all (proofs/loloha.md, 4).

        >>> protocol = LOLOHA(domain=100, epsilon=1, epsilon_infinity=2, g=2)
        >>> [round(float(protocol.plain_lifetime_epsilon(reports, 2)), 1) for reports in (1, 2, 10, 1000)]
        [1.0, 2.4, 11.3, 708.1]
        """
        times, different = self.exact_history(reports, values)
        if different == 1:
            return self.lifetime_epsilon(times, 1)
        fresh = second_epsilon(self.epsilon, self.epsilon_infinity, self.g)
        cells = min(different, self.g)
        longest = cells * log_at_least(exp_at_least(self.epsilon_infinity) + self.g - 1)
        return min(self.epsilon + (times - 1) * fresh, longest + times * fresh * (cells - 1) / cells)

    def _answer_loss(self, times: int) -> Fraction:
        """Return the epsilon of one answer after a number of reports; the ratio grows in both of its exponentials."""
        if times == 1:
            return self.epsilon
        exponent = times * second_epsilon(self.epsilon, self.epsilon_infinity, self.g)
        if exponent > 4 * _LONG:
            return self.epsilon_infinity
        first, second = exp_at_least(self.epsilon_infinity), exp_at_least(exponent)
        ratio = (first * second + self.g - 1) / (first + second + self.g - 2)
        return min(self.epsilon_infinity, log_at_least(ratio))

    @property
    def size(self) -> int:
        """The number of values.

        >>> LOLOHA(domain=100, epsilon=1, epsilon_infinity=2).size
        100
        """
        return domain_size(self.domain)

    @property
    def bits(self) -> int:
        """A report is a cell and the number of a function.

        >>> LOLOHA(domain=100, epsilon=1, epsilon_infinity=2, g=2).bits
        17
        """
        return sum(self._widths())

    def variance(self, reports: int, count: float = 0.0) -> float:
        """Return the variance of an estimated count, if ``count`` of the reporters have the value.

        It is that of optimized local hashing with ``epsilon`` and g cells; clients that share a function add the sum of
        the other counts' squares over ``functions (g - 1)``.

        >>> round(LOLOHA(domain=100, epsilon=1, epsilon_infinity=2, g=4).variance(1), 2)
        3.69
        """
        check_crowd(reports, count)
        return self._chances().variance(reports, count)

    def _chances(self) -> SupportProbabilities:
        chance, gap = 1 / self.g, self._gap()
        return SupportProbabilities(if_true=chance + gap, if_not=chance, gap=gap)

    def outputs(self) -> Bytes | None:
        """All cells with all functions.

        >>> LOLOHA(domain=100, epsilon=1, epsilon_infinity=2, g=2, functions=8).outputs().shape
        (16, 1)
        """
        if self.g * self.functions > MAX_OUTPUTS:
            return None
        function, cell = np.divmod(np.arange(self.g * self.functions), self.g)
        return pack(list(zip((cell, function), self._widths(), strict=True)))

    def log_masses(self, value: Any, payload: Bytes) -> "NDArray[np.float64]":
        """Return the logarithms of the probabilities of reports, of a client that reports for the first time.

        >>> protocol = LOLOHA(domain=100, epsilon=1, epsilon_infinity=2, g=2, functions=8)
        >>> masses = protocol.log_masses(3, protocol.outputs())
        >>> round(float(np.exp(masses).sum()), 12), round(float(masses.max() - masses.min()), 12)
        (1.0, 1.0)
        """
        said, function = unpack(payload, self._widths())
        true = self._cells(np.full(len(payload), self.encode([value])[0]), function.astype(np.int64))
        if_true = 1 / self.g + self._gap()
        chances = np.where(said.astype(np.int64) == true, if_true, (1 - if_true) / (self.g - 1))
        masses: NDArray[np.float64] = np.log(chances / self.functions)
        return masses

    def _gap(self) -> float:
        """Return the excess of the probability of the true cell over the chance 1/g.

        Each step multiplies it by a factor.
        """
        second = second_epsilon(self.epsilon, self.epsilon_infinity, self.g)
        steps = (float(self.epsilon_infinity), float(second))
        kept = math.prod(-math.expm1(-step) / (1 + (self.g - 1) * math.exp(-step)) for step in steps)
        return (1 - 1 / self.g) * kept

    def _widths(self) -> tuple[int, int]:
        return field_width(self.g), field_width(self.functions)

    def encode(self, values: Any) -> "NDArray[np.int64]":
        return codes(values, self.domain)

    def _cells(self, items: "NDArray[np.int64]", function: "NDArray[np.int64]") -> "NDArray[np.int64]":
        return build_hash_family(self.functions, self.g, self.seed).columns(digest(items, seed=self.seed), function)

    def sample(self, items: "NDArray[np.int64]", source: "Source") -> Bytes:
        function = uniform_below(self.functions, items.size, source)
        cell = self._randomize(self._cells(items, function), self.epsilon_infinity, source)
        return self._report_cells(cell, function, source)

    def _report_cells(self, kept: "NDArray[np.int64]", function: "NDArray[np.int64]", source: "Source") -> Bytes:
        second = second_epsilon(self.epsilon, self.epsilon_infinity, self.g)
        said = self._randomize(kept, second, source)
        return pack(list(zip((said, function), self._widths(), strict=True)))

    def _randomize(self, cell: "NDArray[np.int64]", epsilon: Fraction, source: "Source") -> "NDArray[np.int64]":
        kept = bernoulli_logistic(epsilon, cell.size, categories=self.g, source=source)
        other = uniform_below(self.g - 1, cell.size, source)
        return np.where(kept, cell, other + (other >= cell))

    def sample_one_memoised(self, item: Any, memo: Memo, source: "Source") -> int:
        cell, function = self._draw_kept(item, memo)
        second = second_epsilon(self.epsilon, self.epsilon_infinity, self.g)
        return self._randomize_one(cell, second, source) | function << field_width(self.g)

    def _draw_kept(self, item: Any, memo: Memo) -> tuple[int, int]:
        """Return the memoised answer, and the function."""
        function = integer_below(self.functions, memo("client", 0))
        cell = int(self._cells(np.array([item]), np.array([function]))[0])
        return self._randomize_one(cell, self.epsilon_infinity, memo("value", cell)), function

    def _randomize_one(self, cell: int, epsilon: Fraction, source: "Source") -> int:
        kept = flip_logistic(epsilon, self.g, source)
        other = integer_below(self.g - 1, source)  # always drawn: the time must not reveal which one
        return cell if kept else other + (other >= cell)

    def sample_memoised(self, items: "NDArray[np.int64]", secrets: "NDArray[np.uint8]", source: "Source") -> Bytes:
        function, again = reduce_words(keyed_words(self.derive_keys(secrets, "client", 0), 1)[:, 0], self.functions)
        cell = self._cells(items, function)
        words = keyed_words(self.derive_keys(secrets, "value", cell), 2)
        kept, tied = flip_words(words[:, 0], logistic_enclosure(self.epsilon_infinity, self.g - 1))
        other, rejected = reduce_words(words[:, 1], self.g - 1)
        cell = np.where(kept, cell, other + (other >= cell))
        for i in np.flatnonzero(again | tied | rejected).tolist():  # once in 2^44 clients
            cell[i], function[i] = self._draw_kept(items[i], self.open_memo(bytes(secrets[i])))
        return self._report_cells(cell, function, source)

    @property
    def known_domain(self) -> Domain:
        return self.domain

    @property
    def state_shapes(self) -> dict[str, tuple[int, ...]]:
        return {"said": (self.functions, self.g)}

    def is_reachable(self, state: State, reports: int) -> bool:
        return exact_total(state["said"]) == reports

    def is_valid(self, payload: Bytes) -> "NDArray[np.bool_]":
        padded = super(LOLOHA, self).is_valid(payload)  # slots=True replaces the class
        said, function = unpack(payload, self._widths())
        return padded & (said < self.g) & (function < self.functions)

    def accumulate(self, state: State, payload: Bytes) -> None:
        said, function = unpack(payload, self._widths())
        flat = state["said"].reshape(-1)
        flat += np.bincount((function * np.uint64(self.g) + said).astype(np.int64), minlength=flat.size)

    def estimate(self, aggregate: "Aggregate[Any]", candidates: Any, postprocess: str | None) -> Estimate:
        (places, labels), table = read_candidates(candidates, self.domain), aggregate.state["said"]
        functions, digests = build_hash_family(self.functions, self.g, self.seed), digest(places, seed=self.seed)
        supported, squares = support(table, functions, digests), self._squares(table)
        return self._chances().estimate(
            labels,
            supported,
            reports=aggregate.reports,
            postprocess=postprocess,
            further=lambda counts: np.maximum(squares - counts**2, 0.0) / (self.functions * (self.g - 1)),
            laws=TableLaws.of(table, functions, digests, supported, scale=1 / self._gap()),
        )

    def _squares(self, table: "NDArray[np.int64]") -> float:
        """Estimate the sum of all counts' squares, which determines the error of shared functions.

        Clients with the same function and value share a cell, which spreads the table: the sum of its squared
        deviations has mean n (1 - 1/g) + (sum of squares) / functions gap^2 / (1 - 1/g).
        """
        sizes = table.sum(axis=1, keepdims=True)
        spread = float(((table - sizes / self.g) ** 2).sum()) - float(sizes.sum()) * (1 - 1 / self.g)
        squares = spread * self.functions * (1 - 1 / self.g) / self._gap() ** 2
        return min(max(squares, 0.0), float(sizes.sum()) ** 2)


@lru_cache(maxsize=1024)
def second_epsilon(epsilon: Fraction, epsilon_infinity: Fraction, g: int) -> Fraction:
    """Return the parameter of the fresh step: with it, both steps together spend ``epsilon``, or a little less.

    Randomized response over g cells with parameters a and then b has, between two cells, the ratio (e^a e^b + g - 1) /
    (e^a + e^b + g - 2) at most. Set to e^epsilon this gives e^b, rounded down here. For g = 2 it is Arcolezi et al.'s;
    for more cells theirs, which is that of g = 2, spends less than epsilon, and so needs more reports.
    """
    # e^b grows with e^epsilon and falls with e^a.
    first, both = exp_at_least(epsilon_infinity), exp_at_most(epsilon)
    return log_at_most((both * (first + g - 2) - (g - 1)) / (first - both))
