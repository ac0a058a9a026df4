"""The sequence fragment puzzle: find frequent strings of an open domain, from sketches of their fragments.

A client reports its whole string by one count-mean sketch, and one fragment of it, with a tag of eight bits of the
string's digest, by another. The place of the fragment does not depend on the string; the two reports are independent,
so their epsilons add up (``proofs/count-mean-sketch.md`` and composition). The server finds fragments that are frequent
at their place, combines those with the same tag, and tests the combinations in the sketch of whole strings, whose noise
has no part in the choice. Apple's Differential Privacy Team
2017, *Learning with privacy at scale*; each place is estimated from the reports about that place.
"""

import math
import string
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core.errors import ParameterError
from celosia.core.exact import Exact, exact_epsilon, exact_integer, exact_positive, safe_repr
from celosia.core.structure import ComposedEvent
from celosia.local.base.aggregate import Aggregate
from celosia.local.base.checks import exact_at_most, exact_total
from celosia.local.base.estimate import Estimate
from celosia.local.base.hashed_rows import exact_seed
from celosia.local.base.packing import Bytes, field_width, has_clear_padding, pack
from celosia.local.base.protocol import MAX_OUTPUTS, Protocol, State
from celosia.local.discovery.base import FAILURE, POWER_ERRORS, Discovery, build_discovery, threshold_multiple
from celosia.local.discovery.fragments import Pieces, tags
from celosia.local.discovery.spelling import Alphabet, exact_alphabet, letter_type, spell
from celosia.local.frequency.count_mean_sketch import CountMeanSketch
from celosia.noise.uniform import integer_below, uniform_below
from celosia.sketches.hashing.digest import digest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source

_MAX_LENGTH = 64
_MAX_HASHES, _MAX_WIDTH = 1 << 24, 1 << 31
_MAX_KINDS = 1 << 32


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class SequenceFragmentPuzzle(Protocol[Estimate]):
    """Find the strings that many people have, and their counts.

    Parameters
    ----------
    epsilon
        Epsilon of one report in all.
    fragment_epsilon
        The part of it for the fragment; the rest is for the whole string. The default is three quarters.
    alphabet
        The letters: a string of Unicode code points, or bytes. A value with other letters raises ``InputError``.
    length, fragment
        The number of letters of a string, truncated or padded, and of a piece: 10 and 2.
    hashes, width
        The sketch of whole strings.
    fragment_hashes, fragment_width
        The sketches of fragments, of which there is one for each place.
    seed
        Public seed of the hash functions and the tags.

    Examples
    --------
    >>> from celosia.noise import Seeded
    >>> protocol = SequenceFragmentPuzzle(epsilon=8, hashes=64, width=256, fragment_hashes=64, fragment_width=256)
    >>> words = ["sunshine"] * 6000 + ["rain"] * 3000 + ["fog"] * 10
    >>> aggregate = protocol.aggregate().absorb(protocol.privatize(words, source=Seeded(7)))
    >>> aggregate.estimate().candidates
    ['sunshine', 'rain']
    """

    fragment_epsilon: Fraction
    alphabet: Alphabet = string.ascii_lowercase
    length: int = 10
    fragment: int = 2
    hashes: int = 1024
    width: int = 1024
    fragment_hashes: int = 256
    fragment_width: int = 1024
    seed: int = 0

    def __init__(  # noqa: PLR0913 - two sketches and how texts are cut
        self,
        *,
        epsilon: Exact,
        fragment_epsilon: Exact | None = None,
        alphabet: Alphabet | bytes = string.ascii_lowercase,
        length: int = 10,
        fragment: int = 2,
        hashes: int = 1024,
        width: int = 1024,
        fragment_hashes: int = 256,
        fragment_width: int = 1024,
        seed: int = 0,
    ) -> None:
        total = exact_epsilon(epsilon)
        part = total * 3 / 4 if fragment_epsilon is None else exact_positive(fragment_epsilon, name="fragment_epsilon")
        if part >= total:
            raise ParameterError(
                "local.fragment_epsilon_too_large",
                epsilon=safe_repr(epsilon),
                fragment_epsilon=safe_repr(fragment_epsilon),
            )
        self._set(
            epsilon=total,
            fragment_epsilon=part,
            alphabet=exact_alphabet(alphabet),
            length=exact_at_most(length, _MAX_LENGTH, name="length"),
            fragment=exact_at_most(fragment, _MAX_LENGTH, name="fragment"),
            hashes=exact_at_most(hashes, _MAX_HASHES, name="hashes"),
            width=exact_at_most(width, _MAX_WIDTH, name="width", least=2),
            fragment_hashes=exact_at_most(fragment_hashes, _MAX_HASHES, name="fragment_hashes"),
            fragment_width=exact_at_most(fragment_width, _MAX_WIDTH, name="fragment_width", least=2),
            seed=exact_seed(seed),
        )
        if self.length % self.fragment or self.pieces.kinds * self.pieces.places > _MAX_KINDS:
            raise ParameterError("local.fragment_not_divisor", length=self.length, value=safe_repr(fragment))

    # ---------------------------------------------------------------- parts

    @property
    def texts(self) -> CountMeanSketch:
        """The sketch of whole texts.

        >>> SequenceFragmentPuzzle(epsilon=8).texts
        CountMeanSketch(epsilon=2, hashes=1024, width=1024)
        """
        return _build_parts(self)[0]

    @property
    def fragments(self) -> CountMeanSketch:
        """The sketch of the fragments of one place; it hashes their numbers, which include the place.

        >>> SequenceFragmentPuzzle(epsilon=8).fragments.epsilon
        Fraction(6, 1)
        """
        return _build_parts(self)[1]

    @property
    def pieces(self) -> Pieces:
        """The division of strings into fragments.

        >>> SequenceFragmentPuzzle(epsilon=8).pieces.places
        5
        """
        return _build_parts(self)[2]

    @property
    def event(self) -> ComposedEvent:
        """The event of one report: two independent reports about the same text.

        >>> len(SequenceFragmentPuzzle(epsilon=8).event.events)
        2
        """
        return ComposedEvent(events=(self.texts.event, self.fragments.event))

    @property
    def bits(self) -> int:
        """A report is one of the text and one of a fragment, each in whole bytes, and the place of the fragment.

        >>> SequenceFragmentPuzzle(epsilon=8).bits
        2075
        """
        return 8 * sum(self._sizes) + field_width(self.pieces.places)

    def variance(self, reports: int, count: float = 0.0) -> float:
        """Return the variance of an estimated count: that of the sketch of whole strings.

        >>> round(SequenceFragmentPuzzle(epsilon=8).variance(1), 3)
        0.923
        """
        return self.texts.variance(reports, count)

    # ---------------------------------------------------------------- the exact law

    def outputs(self) -> Bytes | None:
        """All reports of both sketches, with all places.

        >>> tiny = {"hashes": 1, "width": 2, "fragment_hashes": 1, "fragment_width": 2}
        >>> len(SequenceFragmentPuzzle(epsilon=8, **tiny).outputs())
        80
        """
        texts, fragments, places = self.texts.outputs(), self.fragments.outputs(), self.pieces.places
        if texts is None or fragments is None or len(texts) * len(fragments) * places > MAX_OUTPUTS:
            return None
        one, two, three = np.indices((len(texts), len(fragments), places)).reshape(3, -1)
        return np.concatenate([texts[one], fragments[two], self._place_bytes(three)], axis=1)

    def log_masses(self, value: Any, payload: Bytes) -> "NDArray[np.float64]":
        """Return the sums of the logarithms of both reports' probabilities, and of one over the number of places.

        >>> tiny = {"hashes": 1, "width": 2, "fragment_hashes": 1, "fragment_width": 2}
        >>> protocol = SequenceFragmentPuzzle(epsilon=8, **tiny)
        >>> round(float(np.exp(protocol.log_masses("sun", protocol.outputs())).sum()), 12)
        1.0
        """
        spelt = spell([value], self.alphabet, self.length)
        text, fragment, places = self._split(payload)
        masses = self.texts.log_masses(spelt.cut.tolist()[0], text) - math.log(self.pieces.places)
        for place in range(self.pieces.places):
            chosen = places == place
            number = self.pieces.numbers(spelt.letters, tags(spelt.cut, self.pieces.seed), np.array([place]))
            masses[chosen] += self.fragments.log_masses(int(number[0]), fragment[chosen])
        return masses

    # ---------------------------------------------------------------- client

    def encode(self, values: Any) -> "NDArray[Any]":
        spelt = spell(values, self.alphabet, self.length)
        items = np.empty(len(spelt.letters), dtype=_item(self.alphabet, self.length))
        items["digest"], items["tag"] = digest(spelt.cut), tags(spelt.cut, self.pieces.seed)
        items["letters"] = spelt.letters
        return items

    def sample(self, items: "NDArray[Any]", source: "Source") -> Bytes:
        places = uniform_below(self.pieces.places, items.size, source)
        numbers = self.pieces.numbers(items["letters"], items["tag"], places)
        text = self.texts.sample(np.ascontiguousarray(items["digest"]), source)
        fragment = self.fragments.sample(digest(numbers), source)
        return np.concatenate([text, fragment, self._place_bytes(places)], axis=1)

    def sample_one(self, item: Any, source: "Source") -> int:
        place = integer_below(self.pieces.places, source)
        number = self.pieces.numbers(item["letters"][None], np.array([item["tag"]]), np.array([place]))
        text = self.texts.sample_one(item["digest"], source)
        fragment = self.fragments.sample_one(digest(number)[0], source)
        first, second = self._sizes
        return text | fragment << 8 * first | place << 8 * (first + second)

    # ---------------------------------------------------------------- server

    @property
    def state_shapes(self) -> dict[str, tuple[int, ...]]:
        texts = {f"text_{name}": shape for name, shape in self.texts.state_shapes.items()}
        places = self.pieces.places
        fragments = self.fragments.state_shapes
        return texts | {f"fragment_{name}": (places, *shape) for name, shape in fragments.items()}

    def is_reachable(self, state: State, reports: int) -> bool:
        parts = [_part(state, "fragment_", place) for place in range(self.pieces.places)]
        sizes = [exact_total(part["reports"]) for part in parts]
        fragments = all(map(self.fragments.is_reachable, parts, sizes))
        return sum(sizes) == reports and fragments and self.texts.is_reachable(_part(state, "text_"), reports)

    def is_valid(self, payload: Bytes) -> "NDArray[np.bool_]":
        text, fragment, places = self._split(payload)
        parts = self.texts.is_valid(text) & self.fragments.is_valid(fragment)
        return parts & has_clear_padding(payload, self.bits) & (places < self.pieces.places)

    def accumulate(self, state: State, payload: Bytes) -> None:
        text, fragment, places = self._split(payload)
        self.texts.accumulate(_part(state, "text_"), text)
        for place in range(self.pieces.places):
            self.fragments.accumulate(_part(state, "fragment_", place), fragment[places == place])

    def estimate(self, aggregate: Aggregate[Any], candidates: Any, postprocess: str | None) -> Estimate:
        if candidates is None:
            return self.discover(aggregate, postprocess=postprocess)
        asked = spell(candidates, self.alphabet, self.length, name="candidates").cut
        return self._text_sketch(aggregate).estimate(asked, postprocess=postprocess)

    def discover(
        self, aggregate: Aggregate[Any], *, top: int = 256, failure: Exact = FAILURE, postprocess: str | None = None
    ) -> Discovery:
        """Return the strings that many people have.

        It combines the ``top`` fragments of each place. With probability at most ``failure``, any of the returned
        strings is absent. Only the reports about its place estimate a fragment: with equal parts of epsilon and five
        places, a string must stand about nine standard errors above zero before its fragments surface. ``surfaces``
        and ``statement`` give the number of people that this takes.

        >>> protocol = SequenceFragmentPuzzle(epsilon=8)
        >>> protocol.discover(protocol.aggregate()).candidates
        []
        """
        top = exact_integer(top, name="top")
        if aggregate.protocol != self:
            raise ParameterError("local.aggregate_of_other_protocol")
        texts = self.dictionary(aggregate, top=top) if aggregate.reports else []
        tested = self._text_sketch(aggregate).estimate(texts or [""])
        return build_discovery(
            texts,
            tested.raw[: len(texts)],
            variances=np.square(tested.standard_errors[: len(texts)]),
            null_variance=float(tested.null_errors[0]) ** 2,
            reports=aggregate.reports,
            postprocess=postprocess,
            failure=failure,
            surfaces=self._surfaces(aggregate, top),
            laws=tested.laws,
        )

    def dictionary(self, aggregate: Aggregate[Any], *, top: int = 256) -> list[Any]:
        """Return the combinations of frequent fragments, before they are tested.

        >>> protocol = SequenceFragmentPuzzle(epsilon=8, fragment_hashes=16)
        >>> type(protocol.dictionary(protocol.aggregate(), top=10))
        <class 'list'>
        """
        ones, family = aggregate.state["fragment_ones"], self.fragments.hash_family
        pieces = self.pieces
        return pieces.assemble(
            [pieces.most_frequent(ones[place], family, place, top) for place in range(pieces.places)]
        )

    def _surfaces(self, aggregate: Aggregate[Any], top: int) -> float:
        """Return about how many people must have a string so that all its fragments stand out."""
        most = 0.0
        for place in range(self.pieces.places):
            part = self._fragment_sketch(aggregate, place)
            if not part.reports:
                return float(aggregate.reports)
            noise = float(part.estimate([0]).null_errors[0])
            cut = threshold_multiple(Fraction(min(top, self.pieces.kinds // 2), self.pieces.kinds), 1) * noise
            # The number of its holders who drew this place is random too.
            count = cut + POWER_ERRORS * math.sqrt(noise**2 + cut + POWER_ERRORS * noise)
            most = max(most, count * aggregate.reports / part.reports)
        return most

    def _text_sketch(self, aggregate: Aggregate[Any]) -> Aggregate[Estimate]:
        return _aggregate(self.texts, _part(aggregate.state, "text_"))

    def _fragment_sketch(self, aggregate: Aggregate[Any], place: int) -> Aggregate[Estimate]:
        return _aggregate(self.fragments, _part(aggregate.state, "fragment_", place))

    # ---------------------------------------------------------------- bytes

    @property
    def _sizes(self) -> tuple[int, int]:
        return self.texts.bytes_per_report, self.fragments.bytes_per_report

    def _place_bytes(self, places: "NDArray[np.int64]") -> Bytes:
        return pack([(places, field_width(self.pieces.places))])

    def _split(self, payload: Bytes) -> "tuple[Bytes, Bytes, NDArray[np.int64]]":
        first, second = self._sizes
        place = payload[:, first + second :].astype(np.int64).sum(axis=1)  # one byte, or none if there is one place
        return payload[:, :first], payload[:, first : first + second], place


@lru_cache(maxsize=64)
def _build_parts(protocol: SequenceFragmentPuzzle) -> tuple[CountMeanSketch, CountMeanSketch, Pieces]:
    of_fragments, of_tags = digest([1, 2], seed=protocol.seed).tolist()
    return (
        CountMeanSketch(
            epsilon=protocol.epsilon - protocol.fragment_epsilon,
            hashes=protocol.hashes,
            width=protocol.width,
            seed=protocol.seed,
        ),
        CountMeanSketch(
            epsilon=protocol.fragment_epsilon,
            hashes=protocol.fragment_hashes,
            width=protocol.fragment_width,
            seed=of_fragments,
        ),
        Pieces(alphabet=protocol.alphabet, length=protocol.length, fragment=protocol.fragment, seed=of_tags),
    )


def _item(alphabet: Alphabet, length: int) -> "np.dtype[Any]":
    return np.dtype([("digest", np.uint64), ("tag", np.uint8), ("letters", letter_type(alphabet), (length,))])


def _part(state: State, prefix: str, *place: int) -> State:
    return {name.removeprefix(prefix): array[place] for name, array in state.items() if name.startswith(prefix)}


def _aggregate(protocol: CountMeanSketch, state: State) -> Aggregate[Estimate]:
    part = protocol.aggregate()
    part.state, part.reports = state, int(state["reports"].sum())
    return part
