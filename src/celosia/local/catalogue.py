"""All protocols by short names, with their parameters and sensible defaults.

Commands, experiments and comparisons choose a protocol by its short name. ``build`` names missing parameters, and
refuses a parameter that the protocol does not have. Other packages add entries: see ``celosia.local.base.plugins``.
"""

import string
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from celosia.core.errors import ParameterError
from celosia.core.exact import Exact, exact_epsilon, safe_repr
from celosia.local.base.plugins import load_plugins
from celosia.local.base.values import domain_size, exact_domain
from celosia.local.discovery.distinct_count import DistinctCount
from celosia.local.discovery.prefix_extension import PrefixExtension
from celosia.local.discovery.sequence_fragment_puzzle import SequenceFragmentPuzzle
from celosia.local.frequency.count_mean_sketch import CountMeanSketch
from celosia.local.frequency.direct_encoding import DirectEncoding
from celosia.local.frequency.hadamard_count_mean_sketch import HadamardCountMeanSketch
from celosia.local.frequency.hadamard_response import HadamardResponse
from celosia.local.frequency.local_hashing import LocalHashing
from celosia.local.frequency.optimized_unary import OptimizedUnary
from celosia.local.frequency.subset_selection import SubsetSelection
from celosia.local.longitudinal.d_bit_flip import DBitFlip
from celosia.local.longitudinal.loloha import LOLOHA
from celosia.local.longitudinal.one_bit_mean import OneBitMean
from celosia.local.longitudinal.rappor import Rappor
from celosia.local.means.duchi import Duchi
from celosia.local.means.hybrid import Hybrid
from celosia.local.means.local_laplace import LocalLaplace
from celosia.local.means.piecewise import Piecewise
from celosia.local.ranges.hierarchical_histogram import HierarchicalHistogram

if TYPE_CHECKING:
    from celosia.local.base.protocol import Protocol

Task: TypeAlias = Literal["counts", "ranges", "words", "mean", "distinct"]
"""What a protocol estimates; ``words`` are the counts of values that are not listed beforehand."""

Needs: TypeAlias = Literal["domain", "bounds", "spelling", "nothing"]
"""What must be stated about values before collection."""

_TABLE = {"hashes": 1024, "width": 1024}
_DEFAULT_BITS = 4  # of dBitFlip


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A protocol of the catalogue; ``options`` are its parameters besides epsilon."""

    name: str
    kind: "type[Protocol[Any]]"
    summary: str
    task: Task
    needs: Needs = "nothing"
    options: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict)
    renamed: Mapping[str, str] = field(default_factory=dict)


_SKETCH = ("hashes", "width", "seed")
_DOMAIN: dict[str, Any] = {"task": "counts", "needs": "domain"}
_BOUNDS: dict[str, Any] = {"task": "mean", "needs": "bounds"}
_SPELT: dict[str, Any] = {"task": "words", "needs": "spelling"}

_ENTRIES = (
    Entry(
        name="cms",
        kind=CountMeanSketch,
        summary="count-mean sketch: counts of any values, a report of some hundred bits",
        task="counts",
        options=_SKETCH,
        defaults=_TABLE,
    ),
    Entry(
        name="hcms",
        kind=HadamardCountMeanSketch,
        summary="Hadamard count-mean sketch: the same with one bit and two indices",
        task="counts",
        options=_SKETCH,
        defaults=_TABLE,
    ),
    Entry(
        name="sfp",
        kind=SequenceFragmentPuzzle,
        summary="sequence fragment puzzle: words that are not listed beforehand",
        options=(
            *("alphabet", "length", "fragment", "fragment_epsilon", "hashes", "width"),
            *("fragment_hashes", "fragment_width", "seed"),
        ),
        defaults={"alphabet": string.ascii_lowercase},
        **_SPELT,
    ),
    Entry(
        name="rappor",
        kind=Rappor,
        summary="RAPPOR: Bloom filters, randomized once for all and once for each report",
        task="counts",
        options=("bits", "hashes", "cohorts", "f", "p", "q", "seed"),
    ),
    Entry(
        name="dbitflip",
        kind=DBitFlip,
        summary="dBitFlip: histograms from d bits, which clients may keep",
        options=("domain", "d", "seed"),
        renamed={"domain": "buckets"},
        **_DOMAIN,
    ),
    Entry(name="onebit", kind=OneBitMean, summary="1BitMean: a mean from one bit that clients may keep", **_BOUNDS),
    Entry(name="grr", kind=DirectEncoding, summary="direct encoding (generalized randomized response)", **_DOMAIN),
    Entry(name="oue", kind=OptimizedUnary, summary="optimized unary encoding: one bit for each value", **_DOMAIN),
    Entry(
        name="sue",
        kind=OptimizedUnary,
        summary="symmetric unary encoding: RAPPOR without its memory",
        defaults={"symmetric": True},
        **_DOMAIN,
    ),
    Entry(
        name="olh",
        kind=LocalHashing,
        summary="optimized local hashing; fast with a number of public hashes",
        options=("domain", "hashes", "buckets", "seed"),
        **_DOMAIN,
    ),
    Entry(
        name="hr",
        kind=HadamardResponse,
        summary="Hadamard response: short reports, quick estimates",
        options=("domain", "blocks"),
        **_DOMAIN,
    ),
    Entry(
        name="ss",
        kind=SubsetSelection,
        summary="subset selection: the least variance for small domains",
        options=("domain", "chosen"),
        **_DOMAIN,
    ),
    Entry(name="duchi", kind=Duchi, summary="Duchi: a mean from one bit", **_BOUNDS),
    Entry(
        name="piecewise",
        kind=Piecewise,
        summary="piecewise: a mean from noisy numbers",
        options=("low", "high", "grid", "width"),
        **_BOUNDS,
    ),
    Entry(
        name="hybrid",
        kind=Hybrid,
        summary="hybrid: piecewise or Duchi by a coin, for the worst case",
        options=("low", "high", "grid", "width"),
        **_BOUNDS,
    ),
    Entry(
        name="laplace",
        kind=LocalLaplace,
        summary="local Laplace: a mean from numbers with wide noise",
        options=("low", "high", "grid"),
        **_BOUNDS,
    ),
    Entry(
        name="hierarchy",
        kind=HierarchicalHistogram,
        summary="hierarchical histogram: ranges and quantiles of ordered values",
        task="ranges",
        needs="domain",
        options=("domain", "fanout", "oracle"),
    ),
    Entry(
        name="pem",
        kind=PrefixExtension,
        summary="prefix extension: values of a huge domain that many people have",
        options=("domain", "alphabet", "length", "step", "hashes", "seed"),
        **_SPELT,
    ),
    Entry(
        name="loloha",
        kind=LOLOHA,
        summary="LOLOHA: counts, again and again, for a bounded price",
        options=("domain", "epsilon_infinity", "g", "functions", "seed"),
        **_DOMAIN,
    ),
    Entry(
        name="distinct",
        kind=DistinctCount,
        summary="how many values are shared by many people",
        task="distinct",
        options=("buckets", "hashes", "seed"),
    ),
)

_STATED = {"domain": ("domain",), "bounds": ("low", "high"), "spelling": (), "nothing": ()}


def load_catalogue() -> dict[str, Entry]:
    """Return the protocols by their short names, with those of other packages."""
    return {entry.name: entry for entry in (*load_plugins(), *_ENTRIES)}


def find(name: str) -> Entry:
    """Return the entry of a short name."""
    catalogue = load_catalogue()
    if name not in tuple(catalogue):  # a tuple also compares unhashable objects
        raise ParameterError(f"protocol must be one of {', '.join(catalogue)}; not {safe_repr(name)}.")
    return catalogue[name]


def build(name: str, *, epsilon: Exact | None = None, **options: Any) -> "Protocol[Any]":
    """Return the protocol of a short name; options that are None keep their defaults."""
    entry = find(name)
    stated = _STATED[entry.needs]
    known = entry.options or stated
    given = {option: value for option, value in options.items() if value is not None}
    for option in given:
        if option not in known:
            raise ParameterError(f"{name} takes {_join_names(known)} besides epsilon, not {option}.")
    missing = [option for option in stated if option not in given]
    if missing:
        raise ParameterError(f"{name} needs the {_join_names(missing)} of the values.")
    settings = {**entry.defaults, **given, **_derive_options(entry, given, epsilon)}
    return entry.kind(**{entry.renamed.get(option, option): value for option, value in settings.items()})


def _derive_options(entry: Entry, given: Mapping[str, Any], epsilon: Exact | None) -> dict[str, Any]:
    """Return epsilon, and the options whose defaults depend on other parameters."""
    if entry.kind is Rappor:
        if epsilon is not None:
            raise ParameterError("The epsilon of rappor follows from hashes, f, p and q: give those, and no epsilon.")
        return {}
    if epsilon is None:
        raise ParameterError(f"{entry.name} needs an epsilon, such as 2.")
    filled: dict[str, Any] = {"epsilon": epsilon}
    if entry.kind is DBitFlip:
        filled["d"] = given.get("d", min(_DEFAULT_BITS, domain_size(exact_domain(given["domain"]))))
    if entry.kind is LOLOHA:
        filled["epsilon_infinity"] = given.get("epsilon_infinity", 2 * exact_epsilon(epsilon))
    if entry.kind is PrefixExtension and not {"domain", "alphabet"} & set(given):
        filled |= {"alphabet": string.ascii_lowercase, "length": given.get("length", 8)}
    return filled


def _join_names(names: "tuple[str, ...] | list[str]") -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
