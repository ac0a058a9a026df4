"""What a round of masked sums is: who takes part, who masks with whom, how large the numbers may be.

All parties and the server hold the same settings. Their digest is in every message and in every key, so a message of
another round or federation is refused, and does not decrypt. Arithmetic is modulo a power of two beyond every sum.
"""

import hashlib
import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import scipy
from numpy.typing import NDArray

from celosia.core.errors import ParameterError
from celosia.core.exact import exact_integer, exact_text, safe_repr

MAX_SUM: Final = 2**62
"""The largest magnitude of a sum, unless a smaller one is stated."""

_MIN_PARTIES: Final = 2
_MAX_PARTIES: Final = 10_000
_LEAST_GROUP: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class MaskingSettings:
    """The settings of one round; ``digest`` and ``adjacency`` (who masks with whom, by number) follow from the others.

    Parameters
    ----------
    federation, number
        The name of the federation and the number of the round; no two rounds may share both.
    parties
        The names of the parties, in an order that all know.
    width
        How many integers each party contributes.
    threshold
        How many parties must stay to the end: more than half of them. Fewer than ``threshold`` parties cannot bring
        back a mask, even together with the server.
    edges
        Pairs of names that mask with each other; None if all do. Then only the sums of connected parties are visible.
    largest
        The largest magnitude of a contributed integer.

    Examples
    --------
    >>> settings = MaskingSettings(
    ...     federation="hospitals", number=1, parties=("north", "south", "west"), width=2, threshold=2, largest=1000
    ... )
    >>> settings.bits, settings.max_silent
    (13, 1)
    """

    federation: str
    number: int
    parties: tuple[str, ...]
    width: int
    threshold: int
    edges: Collection[tuple[str, str]] | None = None
    largest: int | None = None
    digest: bytes = field(init=False)
    adjacency: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        names = _check_names(self.parties)
        checked: dict[str, Any] = {
            "federation": exact_text(self.federation, name="federation"),
            "number": exact_integer(self.number, name="number", least=0),
            "parties": names,
            "width": exact_integer(self.width, name="width"),
            "threshold": _check_threshold(self.threshold, len(names)),
            "edges": None if self.edges is None else _check_edges(self.edges, names),
            "largest": _check_largest(self.largest, len(names)),
        }
        text = json.dumps(["celosia.federated.masking/1", *checked.values()])
        checked["digest"] = hashlib.sha256(text.encode()).digest()
        checked["adjacency"] = _make_adjacency(checked["edges"], names)
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        if self.is_visible_alone(names):
            raise ParameterError("federated.party_without_edge")

    @property
    def max_number(self) -> int:
        """The largest magnitude of a contributed integer."""
        assert self.largest is not None  # noqa: S101 - set when made
        return self.largest

    @property
    def bits(self) -> int:
        """The number of bits of the modulus: every sum fits, with its sign."""
        return (2 * len(self.parties) * self.max_number).bit_length()

    @property
    def bytes_per_number(self) -> int:
        """The number of bytes of a masked integer."""
        return -(-self.bits // 8)

    @property
    def max_silent(self) -> int:
        """How many parties may fall silent before the round is given up."""
        return len(self.parties) - self.threshold

    def get_index(self, name: object) -> int:
        """Return the number of a party."""
        if name not in self.parties:
            raise ParameterError("federated.unknown_party", name=safe_repr(name))
        return self.parties.index(name)

    def find_groups(self, names: Iterable[str]) -> tuple[tuple[str, ...], ...]:
        """Return the connected groups of the parties given: the sum of each group is visible, and no other."""
        chosen = sorted(map(self.get_index, names))
        number, labels = scipy.sparse.csgraph.connected_components(
            scipy.sparse.coo_array(self.adjacency[np.ix_(chosen, chosen)]), directed=False
        )
        return tuple(
            tuple(self.parties[chosen[place]] for place in np.flatnonzero(labels == group)) for group in range(number)
        )

    def is_visible_alone(self, names: Iterable[str]) -> bool:
        """Return whether one of the parties given would be visible alone, for want of those around it."""
        return min(map(len, self.find_groups(names)), default=0) < _LEAST_GROUP

    def __repr__(self) -> str:
        return f"MaskingSettings(federation={self.federation!r}, number={self.number}, parties={len(self.parties)})"


def _check_names(parties: object) -> tuple[str, ...]:
    if not isinstance(parties, tuple | list):
        raise ParameterError("federated.not_party_names", parties=safe_repr(parties))
    names = tuple(exact_text(name, name="parties") for name in parties)
    if not _MIN_PARTIES <= len(names) <= _MAX_PARTIES:
        raise ParameterError("federated.number_of_parties", least=_MIN_PARTIES, most=_MAX_PARTIES, found=len(names))
    if len(set(names)) < len(names):
        raise ParameterError("federated.party_named_twice", name=safe_repr(max(names, key=names.count)))
    return names


def _check_threshold(threshold: int, parties: int) -> int:
    found, least = exact_integer(threshold, name="threshold"), parties // 2 + 1
    if not least <= found <= parties:
        raise ParameterError("federated.threshold_out_of_range", least=least, most=parties, found=found)
    return found


def _check_largest(largest: int | None, parties: int) -> int:
    found = MAX_SUM // parties if largest is None else exact_integer(largest, name="largest")
    if found > MAX_SUM // parties:
        raise ParameterError("federated.largest_too_large", most=MAX_SUM // parties, parties=parties)
    return found


def _make_adjacency(edges: Collection[tuple[str, str]] | None, names: tuple[str, ...]) -> NDArray[np.bool_]:
    """Return who masks with whom, by number."""
    if edges is None:
        return np.asarray(~np.eye(len(names), dtype=np.bool_))
    places, found = {name: place for place, name in enumerate(names)}, np.zeros((len(names),) * 2, dtype=np.bool_)
    for one, other in edges:
        found[places[one], places[other]] = found[places[other], places[one]] = True
    return found


def _check_edges(edges: object, names: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    if not isinstance(edges, Collection) or isinstance(edges, str | bytes):
        raise ParameterError("federated.not_edges", edges=safe_repr(edges))
    places, found = {name: place for place, name in enumerate(names)}, set()
    for edge in edges:
        known = isinstance(edge, tuple | list) and len(edge) == 2 and all(isinstance(name, str) for name in edge)
        if not known or edge[0] == edge[1] or not places.keys() >= set(edge):
            raise ParameterError("federated.unknown_edge", edge=safe_repr(edge))
        found.add(tuple(sorted(edge, key=places.__getitem__)))
    return tuple(sorted(found))
