"""A whole round of masked sums in one process, with every message that a network would carry.

Parties may fall silent at any step, as they do in practice. The result has the form of an unmasked round's, and the
bytes that each party sent and received.
"""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr
from celosia.federated.masking.party import MaskingParty, check_numbers
from celosia.federated.masking.round import MaskedSum, run_round
from celosia.federated.masking.server import STEPS
from celosia.federated.masking.settings import MaskingSettings

if TYPE_CHECKING:
    from celosia.core import Source


def sum_masked(
    contributions: Mapping[str, NDArray[Any] | None],
    *,
    threshold: int,
    edges: Collection[tuple[str, str]] | None = None,
    silent: Mapping[str, str] | None = None,
    largest: int | None = None,
    number: int = 1,
    source: "Source | None" = None,
) -> MaskedSum:
    """Add integers of several parties such that a server learns the sum only.

    Parameters
    ----------
    contributions
        Arrays of integers of one length, by party; None where a party has no answer after it sent its shares.
    threshold
        How many parties must stay: more than half. Fewer end the round with an ``EngineError``; nothing is revealed.
    edges
        Pairs of parties that mask with each other; all do by default.
    silent
        By party, the first message that it does not send: ``"keys"``, ``"shares"``, ``"numbers"`` or ``"reveal"``.
    largest, number
        As in ``MaskingSettings``.
    source
        Where the parties' secrets come from; the system by default.

    Examples
    --------
    >>> given = {"north": np.array([1, 2]), "south": np.array([3, 4]), "west": np.array([-9, 5])}
    >>> sum_masked(given, threshold=2).total.tolist()
    [-5, 11]
    >>> found = sum_masked(given, threshold=2, silent={"west": "numbers"})
    >>> found.total.tolist(), dict(found.rejected)
    ([4, 6], {'west': 'silent'})
    """
    settings = _make_settings(contributions, threshold, edges, largest, number)
    answers = {name: check_numbers(values, settings) for name, values in contributions.items() if values is not None}
    parties = _Parties(settings, answers, _read_silent(contributions, silent), source)
    return run_round(settings, parties.answer)


def _make_settings(
    contributions: object,
    threshold: int,
    edges: Collection[tuple[str, str]] | None,
    largest: int | None,
    number: int,
) -> MaskingSettings:
    if not isinstance(contributions, Mapping):
        raise ParameterError("federated.not_party_names", parties=type(contributions).__name__)
    sizes = [values.size for values in contributions.values() if isinstance(values, np.ndarray)]
    return MaskingSettings(
        federation="in one process",
        number=number,
        parties=tuple(contributions),
        width=max([1, *sizes]),
        threshold=threshold,
        edges=edges,
        largest=largest,
    )


def _read_silent(contributions: Mapping[str, object], silent: Mapping[str, str] | None) -> dict[str, str]:
    """Return the first message that each silent party does not send."""
    found = {name: "numbers" for name, values in contributions.items() if values is None}
    for name, step in (silent or {}).items():
        if name not in contributions or step not in STEPS:
            raise ParameterError("federated.unknown_silence", name=safe_repr(name), step=safe_repr(step))
        found[name] = min(step, found.get(name, step), key=STEPS.index)
    return found


class _Parties:
    """The parties of a round, which fall silent as stated."""

    def __init__(
        self,
        settings: MaskingSettings,
        numbers: Mapping[str, NDArray[np.int64]],
        silent: Mapping[str, str],
        source: "Source | None",
    ) -> None:
        self._parties = {name: MaskingParty(settings, name, source=source) for name in settings.parties}
        self._numbers, self._silent = numbers, silent

    def answer(self, step: str, messages: Mapping[str, bytes]) -> dict[str, bytes]:
        """Return what the parties that are left answer to the messages of a step."""
        for name in [name for name, last in self._silent.items() if last == step]:
            self._parties.pop(name, None)
        return {
            name: party.answer(step, messages[name], lambda name=name: self._numbers[name])  # type: ignore[misc] # at once
            for name, party in self._parties.items()
            if name in messages
        }
