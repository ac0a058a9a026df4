"""Counts of candidates from RAPPOR's reports: least squares, and a selection among many candidates.

``estimate`` solves the equations of the bits for all candidates, without bias. ``decode`` is for many candidates of
which few occur: a Lasso selects on one half of the reports, the other half tests the selection (tests on the same
reports would be invalid), and non-negative least squares on all reports estimates the counts.
Erlingsson, Pihur and Korolova 2014; Cox 1975 for the halves; Holm 1979 for many tests.
"""

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core.errors import InputError, ParameterError
from celosia.core.exact import Exact, exact_level, exact_non_negative
from celosia.local.base.estimate import Estimate, build_estimate
from celosia.local.longitudinal.rappor import Rappor
from celosia.local.longitudinal.rappor_equations import (
    MAX_JOINT_CANDIDATES,
    Equations,
    build_design,
    chance_hits,
    solve,
    solve_non_negative,
)
from celosia.sketches.hashing.columns import read_column
from celosia.sketches.hashing.digest import digest

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from numpy.typing import NDArray
    from scipy import sparse

    from celosia.local.base.aggregate import Aggregate

    Floats = NDArray[np.float64]

_MAX_UNSELECTED = 200  # candidates that need no selection
_MAX_POISSON_HITS = 1e6  # beyond it the Poisson law is practically normal


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Decoded:
    """Result of ``decode``: counts (0 for candidates that were not selected), standard errors, and tests.

    ``p_values`` are those of the hypothesis that the candidate is absent, from reports that had no part in the
    selection; 1 for candidates that were not selected. ``adjusted`` are Holm's, over all candidates. The counts are not
    negative and add up to at most the reports: small ones are biased upwards. Those of ``estimate`` are unbiased.

    >>> from celosia.noise import Seeded
    >>> protocol = Rappor(bits=64, hashes=2, cohorts=8, f=0.25, p=0.25, q=0.75, seed=7)
    >>> reports = protocol.privatize(["sun"] * 6000 + ["rain"] * 4000, source=Seeded(7))
    >>> decode(protocol.aggregate().absorb(reports), ["sun", "rain", "snow", "hail"])
    Decoded(sun: 5970 ± 89, rain: 3914 ± 89, snow: 69 ± 89, hail: 47 ± 89; 4 of 4 candidates, reports=10000)
    """

    candidates: list[Any]
    counts: "Floats"
    standard_errors: "Floats"
    chosen: "NDArray[np.bool_]"
    p_values: "Floats"
    adjusted: "Floats"
    reports: int

    def significant(self, failure: Exact = 0.05) -> "NDArray[np.bool_]":
        """Return which candidates occur, with family-wise error at most ``failure``.

        >>> from celosia.noise import Seeded
        >>> aggregate = Rappor().aggregate().absorb(Rappor().privatize(["sun"] * 20_000, source=Seeded(7)))
        >>> decode(aggregate, ["sun", "rain"]).significant(0.01).tolist()
        [True, False]
        """
        return self.adjusted <= exact_level(failure)

    def to_arrow(self) -> "pa.Table":
        """Return a table, the largest counts first.

        >>> decode(Rappor().aggregate(), ["sun", "rain"]).to_arrow().column_names
        ['candidate', 'count', 'standard_error', 'p_value', 'adjusted']
        """
        import pyarrow as pa

        order = np.argsort(-self.counts, kind="stable")
        return pa.table(
            {
                "candidate": [self.candidates[i] for i in order.tolist()],
                "count": self.counts[order],
                "standard_error": self.standard_errors[order],
                "p_value": self.p_values[order],
                "adjusted": self.adjusted[order],
            }
        )

    def __repr__(self) -> str:
        order = [i for i in np.argsort(-self.counts, kind="stable").tolist() if self.counts[i] > 0]
        shown = [f"{self.candidates[i]}: {self.counts[i]:.0f} ± {self.standard_errors[i]:.0f}" for i in order[:6]]
        more = ", …" if len(order) > 6 else ""
        found = f"{len(order)} of {len(self.candidates)} candidates"
        return f"Decoded({', '.join(shown)}{more}; {found}, reports={self.reports})"


def estimate(aggregate: "Aggregate[Any]", candidates: Any, postprocess: str | None = None) -> Estimate:
    """Return the counts of candidates, by least squares over all of them together.

    It is unbiased if all values are candidates, and otherwise over the choice of hash functions. Candidates that the
    bits cannot distinguish (such as more candidates than bits) are estimated one by one instead, each against all
    others, with larger standard errors.
    """
    protocol, labels, words = _read_inputs(aggregate, candidates)
    equations = Equations.of(protocol, aggregate.state["ones"].sum(axis=0), aggregate.state["sizes"].sum(axis=0))
    different, place = np.unique(words, return_inverse=True)
    shares, variances, nulls = solve(protocol, equations, build_design(protocol, different))
    n = equations.reports
    return build_estimate(
        labels,
        n * shares[place],
        variances=n**2 * variances[place],
        null_variances=n**2 * nulls[place],
        reports=aggregate.reports,
        postprocess=postprocess,
        hits=chance_hits(protocol, n, n**2 * float(nulls.max(initial=0.0))),
    )


def decode(aggregate: "Aggregate[Any]", candidates: Any, *, penalty: Exact | str | None = None) -> Decoded:
    """Return which candidates occur, and their counts.

    Few candidates (200, and 4 bits each) are all kept, and tested by all reports, unless a penalty is given. Frequent
    values must be among the candidates: one that is not adds to the candidates that share its bits.

    Parameters
    ----------
    aggregate
        An aggregate of a ``Rappor`` protocol.
    candidates
        Integers, strings or bytes, all different; there may be many more than bits.
    penalty
        The penalty of the Lasso, in standard errors of a candidate in the selecting half; by default it lets the square
        root of the number of candidates pass by chance. ``"cv"`` chooses the penalty by
        cross-validation, which is slower.

    Examples
    --------
    >>> from celosia.noise import Seeded
    >>> protocol = Rappor(seed=7)
    >>> reports = protocol.privatize(["sun"] * 40_000 + ["rain"] * 10_000, source=Seeded(7))
    >>> found = decode(protocol.aggregate().absorb(reports), ["sun", "rain", "snow"] + [f"w{i}" for i in range(997)])
    >>> [word for word, there in zip(found.candidates, found.significant(), strict=True) if there]
    ['sun', 'rain']
    """
    protocol, labels, words = _read_inputs(aggregate, candidates)
    if len(np.unique(words)) < len(words):
        raise InputError("local.repeated_candidates")
    ones, sizes = aggregate.state["ones"], aggregate.state["sizes"]
    whole = Equations.of(protocol, ones.sum(axis=0), sizes.sum(axis=0))
    design, count = build_design(protocol, words), len(words)
    counts, p_values, chosen = np.zeros(count), np.ones(count), np.ones(count, dtype=np.bool_)
    errors = np.full(count, math.sqrt(protocol.variance(whole.reports)))
    test = whole
    if count and (penalty is not None or count > min(_MAX_UNSELECTED, len(whole.kept) // 4)):
        choose, test = (Equations.of(protocol, ones[half], sizes[half]) for half in range(2))
        chosen = _choose(protocol, choose, design, penalty) if choose.reports else ~chosen
    if chosen.any() and whole.reports:
        part = design[:, np.flatnonzero(chosen)]
        shares, _, nulls = solve(protocol, test, part)
        hits = chance_hits(protocol, test.reports, test.reports**2 * float(nulls.max()))
        p_values[chosen] = _upper_tail(shares, nulls, hits)
        errors[chosen] = whole.reports * np.sqrt(solve(protocol, whole, part)[1])
        counts[chosen] = whole.reports * solve_non_negative(protocol, whole, part)
    return Decoded(
        candidates=labels,
        counts=counts,
        standard_errors=errors,
        chosen=chosen,
        p_values=p_values,
        adjusted=holm(p_values),
        reports=aggregate.reports,
    )


def holm(p_values: "Sequence[float] | Floats") -> "Floats":
    """Return p-values with family-wise adjustment (Holm 1979)."""
    given = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(given, kind="stable")
    raised = np.maximum.accumulate(given[order] * np.arange(given.size, 0, -1))
    adjusted = np.empty_like(given)
    adjusted[order] = np.minimum(raised, 1.0)
    return adjusted


def _read_inputs(aggregate: "Aggregate[Any]", candidates: Any) -> "tuple[Rappor, list[Any], NDArray[np.uint64]]":
    protocol = aggregate.protocol
    if not isinstance(protocol, Rappor):
        raise ParameterError("local.not_a_rappor_aggregate", protocol=type(protocol).__name__)
    if candidates is None:
        raise InputError("local.bloom_needs_candidates")
    column = read_column(candidates, name="candidates")
    return protocol, list(column.tolist()), digest(column, seed=protocol.seed)


def _choose(
    protocol: Rappor, equations: Equations, design: "sparse.csc_array", penalty: Exact | str | None
) -> "NDArray[np.bool_]":
    """Return the candidates that a Lasso with non-negative coefficients keeps."""
    from scipy.special import ndtri
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import Lasso, LassoCV

    rows = design.tocsr()[equations.kept].tocsc()
    seen = equations.people / equations.sizes
    model: Lasso | LassoCV
    if penalty == "cv":
        model = LassoCV(positive=True, cv=5, alphas=50, max_iter=5000)
    else:
        count = design.shape[1]
        chance = float(ndtri(1 - 1 / (2 * math.sqrt(count))))
        needed = chance if penalty is None else float(exact_non_negative(penalty, name="penalty"))
        # The penalty of one standard error: a candidate's share of the bits, less those that any value sets by chance.
        error = math.sqrt(protocol.variance(equations.reports)) / equations.reports
        inside = rows.nnz / count * (1 - protocol.density) / rows.shape[0]
        model = Lasso(alpha=max(needed * error * inside, 1e-12), positive=True, max_iter=5000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # an approximate Lasso is as good
        model.fit(rows, seen)
    chosen = np.asarray(model.coef_) > 0
    most = min(MAX_JOINT_CANDIDATES, len(equations.kept) // 2)
    if chosen.sum() > most:  # the other half cannot distinguish more of them
        chosen = np.asarray(model.coef_) >= np.sort(model.coef_)[-most]
    return chosen


def _upper_tail(shares: "Floats", variances: "Floats", hits: float) -> "Floats":
    """Return the p-value of a share under the hypothesis that the candidate is absent.

    It is the larger of those of the normal law and, as in ``Estimate.significant``, of the Poisson law of ``hits``.
    """
    from scipy.special import ndtr, pdtrc

    known = variances > 0
    errors = shares / np.sqrt(np.where(known, variances, 1.0))
    tails = np.asarray(ndtr(-errors))
    if hits < _MAX_POISSON_HITS:  # pdtrc(k, m) is the probability of more than k
        more = np.floor(errors * math.sqrt(hits) + hits - 1)
        rare = np.where(more < 0, 1.0, pdtrc(np.maximum(more, 0.0), hits))
        tails = np.where(errors > 0, np.maximum(tails, rare), tails)
    return np.where(known, tails, 1.0)
