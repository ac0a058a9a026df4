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
from celosia.core.messages.message import Message, join_names
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

RequiredInput: TypeAlias = Literal["domain", "bounds", "spelling", "nothing"]
"""What must be stated about values before collection."""

_DEFAULT_BITS = 4  # of dBitFlip


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A protocol of the catalogue; ``options`` are its parameters besides epsilon."""

    name: str
    kind: "type[Protocol[Any]]"
    summary: str
    task: Task
    requires: RequiredInput = "nothing"
    options: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict)
    renamed: Mapping[str, str] = field(default_factory=dict)


def _over_domain(name: str, kind: "type[Protocol[Any]]", summary: str, *options: str, **more: Any) -> Entry:
    """Return the entry of a protocol for counts over a known domain, with its options besides the domain."""
    every = ("domain", *options) if options else ()
    return Entry(name=name, kind=kind, summary=summary, task="counts", requires="domain", options=every, **more)


def _of_mean(name: str, kind: "type[Protocol[Any]]", summary: str, *options: str) -> Entry:
    """Return the entry of a protocol for a mean, with its options besides the bounds."""
    every = ("low", "high", *options) if options else ()
    return Entry(name=name, kind=kind, summary=summary, task="mean", requires="bounds", options=every)


def _of_any_values(name: str, kind: "type[Protocol[Any]]", summary: str, *options: str, **more: Any) -> Entry:
    """Return the entry of a protocol for counts of any values, with its options."""
    return Entry(name=name, kind=kind, summary=summary, task="counts", options=options, **more)


def _of_words(name: str, kind: "type[Protocol[Any]]", summary: str, *options: str, **more: Any) -> Entry:
    """Return the entry of a protocol that discovers words, with its options."""
    return Entry(name=name, kind=kind, summary=summary, task="words", requires="spelling", options=options, **more)


_SKETCH = {"hashes": 1024, "width": 1024}

_ENTRIES = (
    _of_any_values("cms", CountMeanSketch, Message("local.about_cms"), *_SKETCH, "seed", defaults=_SKETCH),
    _of_any_values("hcms", HadamardCountMeanSketch, Message("local.about_hcms"), *_SKETCH, "seed", defaults=_SKETCH),
    _of_words(
        "sfp",
        SequenceFragmentPuzzle,
        Message("local.about_sfp"),
        *("alphabet", "length", "fragment", "fragment_epsilon", "hashes", "width"),
        *("fragment_hashes", "fragment_width", "seed"),
        defaults={"alphabet": string.ascii_lowercase},
    ),
    _of_any_values(
        "rappor", Rappor, Message("local.about_rappor"), *("bits", "hashes", "cohorts", "f", "p", "q", "seed")
    ),
    _over_domain("dbitflip", DBitFlip, Message("local.about_dbitflip"), *("d", "seed"), renamed={"domain": "buckets"}),
    _of_mean("onebit", OneBitMean, Message("local.about_onebit")),
    _over_domain("grr", DirectEncoding, Message("local.about_grr")),
    _over_domain("oue", OptimizedUnary, Message("local.about_oue")),
    _over_domain("sue", OptimizedUnary, Message("local.about_sue"), defaults={"symmetric": True}),
    _over_domain("olh", LocalHashing, Message("local.about_olh"), "hashes", "buckets", "seed"),
    _over_domain("hr", HadamardResponse, Message("local.about_hr"), "blocks"),
    _over_domain("ss", SubsetSelection, Message("local.about_ss"), "chosen"),
    _of_mean("duchi", Duchi, Message("local.about_duchi")),
    _of_mean("piecewise", Piecewise, Message("local.about_piecewise"), "grid", "width"),
    _of_mean("hybrid", Hybrid, Message("local.about_hybrid"), "grid", "width"),
    _of_mean("laplace", LocalLaplace, Message("local.about_laplace"), "grid"),
    Entry(
        name="hierarchy",
        kind=HierarchicalHistogram,
        summary=Message("local.about_hierarchy"),
        task="ranges",
        requires="domain",
        options=("domain", "fanout", "oracle"),
    ),
    _of_words(
        "pem",
        PrefixExtension,
        Message("local.about_pem"),
        *("domain", "alphabet", "length", "step", "hashes", "seed"),
    ),
    _over_domain("loloha", LOLOHA, Message("local.about_loloha"), *("epsilon_infinity", "g", "functions", "seed")),
    Entry(
        name="distinct",
        kind=DistinctCount,
        summary=Message("local.about_distinct"),
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
        raise ParameterError("local.unknown_protocol", known=", ".join(catalogue), name=safe_repr(name))
    return catalogue[name]


def build(name: str, *, epsilon: Exact | None = None, **options: Any) -> "Protocol[Any]":
    """Return the protocol of a short name; options that are None keep their defaults."""
    entry = find(name)
    stated = _STATED[entry.requires]
    known = entry.options or stated
    given = {option: value for option, value in options.items() if value is not None}
    for option in given:
        if option not in known:
            raise ParameterError("local.unknown_protocol_option", name=name, known=join_names(known), option=option)
    missing = [option for option in stated if option not in given]
    if missing:
        raise ParameterError("local.missing_protocol_option", name=name, missing=join_names(missing))
    settings = {**entry.defaults, **given, **_derive_options(entry, given, epsilon)}
    return entry.kind(**{entry.renamed.get(option, option): value for option, value in settings.items()})


def _derive_options(entry: Entry, given: Mapping[str, Any], epsilon: Exact | None) -> dict[str, Any]:
    """Return epsilon, and the options whose defaults depend on other parameters."""
    if entry.kind is Rappor:
        if epsilon is not None:
            raise ParameterError("local.rappor_takes_no_epsilon")
        return {}
    if epsilon is None:
        raise ParameterError("local.missing_epsilon", name=entry.name)
    filled: dict[str, Any] = {"epsilon": epsilon}
    if entry.kind is DBitFlip:
        filled["d"] = given.get("d", min(_DEFAULT_BITS, domain_size(exact_domain(given["domain"]))))
    if entry.kind is LOLOHA:
        filled["epsilon_infinity"] = given.get("epsilon_infinity", 2 * exact_epsilon(epsilon))
    if entry.kind is PrefixExtension and not {"domain", "alphabet"} & set(given):
        filled |= {"alphabet": string.ascii_lowercase, "length": given.get("length", 8)}
    return filled
