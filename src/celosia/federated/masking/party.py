"""A party's side of a round of masked sums.

Four messages: its public keys; shares of its two secrets, sealed for each other party; its masked numbers; and, of
every party, either a share of the key to its pairwise masks, if it fell silent, or of its own mask, if it did not. Both
together would reveal a contribution, so a party answers for one list of survivors only. Bonawitz and others, *Practical
secure aggregation for privacy-preserving machine learning*, 2017.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from celosia.core.errors import InputError, ParameterError
from celosia.core.exact import safe_repr
from celosia.federated.masking.masks import add_masks, add_streams
from celosia.federated.masking.messages import (
    BOXES,
    SERVER,
    SHARES,
    SURVIVORS,
    check_parties,
    pack,
    pack_numbers,
    unpack,
)
from celosia.federated.masking.roster import (
    Roster,
    commit,
    derive_mask_key,
    derive_own_mask,
    make_keys_row,
    read_roster,
)
from celosia.federated.masking.secret_sharing import DIGITS, split_secrets
from celosia.federated.masking.settings import MaskingSettings
from celosia.federated.masking.state import PartyState
from celosia.noise.agreement import KeyAgreement, clamp_key, compute_public_key, seal, unseal
from celosia.noise.keyed import KEY_BYTES, Keyed, derive
from celosia.noise.source import source_or_system

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Set as AbstractSet

    from celosia.core import Source


class MaskingParty:
    """One party in one round.

    Parameters
    ----------
    settings
        The round.
    name
        The party's name in the settings.
    source
        Where its secret comes from; the system by default.

    Examples
    --------
    >>> from celosia.federated import MaskingServer, MaskingSettings
    >>> settings = MaskingSettings(federation="try", number=1, parties=("north", "south"), width=1, threshold=2)
    >>> server, parties = MaskingServer(settings), [MaskingParty(settings, name) for name in settings.parties]
    >>> roster = server.receive_keys({party.name: party.send_keys() for party in parties})
    >>> boxes = server.receive_shares({party.name: party.send_shares(roster) for party in parties})
    >>> numbers = {party.name: party.send_numbers(boxes[party.name], np.array([4])) for party in parties}
    >>> survivors = server.receive_numbers(numbers)
    >>> server.receive_reveals({party.name: party.send_reveal(survivors) for party in parties}).tolist()
    [8]
    """

    __slots__ = ("_channel", "_index", "_senders", "_state", "settings")

    def __init__(self, settings: MaskingSettings, name: str, *, source: "Source | None" = None) -> None:
        self.settings, self._index = settings, settings.get_index(name)
        self._state = PartyState(name=name, secret=source_or_system(source).words(KEY_BYTES // 8).tobytes())
        self._channel: tuple[bytes, KeyAgreement] | None = None  # agreed already, of a session
        self._senders: list[int] | None = None  # whose shares were accepted, until numbers are masked

    @property
    def name(self) -> str:
        """The party's name."""
        return self._state.name

    def save(self) -> bytes:
        """Return the state, which is secret. Save after every message, and load only what was saved last."""
        return self._state.to_bytes()

    @classmethod
    def load(cls, settings: MaskingSettings, saved: bytes) -> Self:
        """Return a party as it was saved."""
        state = PartyState.from_bytes(saved)
        found = cls(settings, state.name)
        found._state = state
        return found

    def answer(
        self, step: str, message: bytes, compute: "Callable[[], object]", store: "Callable[[], None] | None" = None
    ) -> bytes:
        """Return the message of a step, by its name in ``STEPS``.

        Where numbers are sent, ``compute`` returns them. Before it is called, ``store`` is, and must keep the state:
        then no other request of the round can have numbers computed, also if that fails.
        """
        match step:
            case "keys":
                return self.send_keys()
            case "shares":
                return self.send_shares(message)
            case "numbers":
                self.accept_boxes(message)
                if store is not None:
                    store()
                return self.mask_numbers(compute())
            case "reveal":
                return self.send_reveal(message)
        raise ParameterError("federated.unknown_mask_step", step=safe_repr(step))

    def send_keys(self) -> bytes:
        """Return the first message: public keys."""
        publics = compute_public_key(self._get_mask_key()), compute_public_key(self._derive(b"channel key"))
        row = make_keys_row(self._index, (*publics, commit(self._derive(b"own mask"), self._index)))
        return pack("keys", self.settings, self._index, row)

    def send_shares(self, roster: bytes) -> bytes:
        """Return the second message: shares of the two secrets, sealed for each other party of the roster."""
        self._refuse_change(self._state.roster, roster)
        known = read_roster(roster, self.settings)
        if self._index not in known.parties:
            raise InputError("federated.not_a_mask_message")
        others = [party for party in known.parties if party != self._index]
        shares, channel = self._split(), self._open_channel(known)
        rows = np.zeros(len(others), dtype=BOXES)
        rows["party"] = others
        for place, other in enumerate(others):
            key = channel.derive_key(known.channel_keys[other], purpose=b"shares", ends=(self._index, other))
            sealed = seal(key, shares[other].astype("<u4").tobytes(), known.session)
            rows["box"][place] = np.frombuffer(sealed, dtype=np.uint8)
        self._state = replace(self._state, roster=roster)
        return pack("shares", self.settings, self._index, rows)

    def send_numbers(self, boxes: bytes, numbers: object) -> bytes:
        """Return the third message: the masked numbers. A party sends it once, for masks must not serve twice."""
        check_numbers(numbers, self.settings)
        self.accept_boxes(boxes)
        return self.mask_numbers(numbers)

    def accept_boxes(self, boxes: bytes) -> None:
        """Take the sealed shares of the others. After that, and before it is loaded, a party may mask numbers once."""
        if self._state.boxes is not None:
            raise ParameterError("federated.mask_numbers_sent_twice")
        self._senders = [*self._open_boxes(boxes, self._read_roster()), self._index]
        self._state = replace(self._state, boxes=boxes)

    def mask_numbers(self, numbers: object) -> bytes:
        """Return the third message: the masked numbers."""
        senders, self._senders = self._senders, None
        if senders is None:
            raise ParameterError("federated.mask_numbers_sent_twice")
        values = check_numbers(numbers, self.settings)
        own = add_streams([derive_own_mask(self._derive(b"own mask"))], self.settings.width)
        above, below = self._add_shared(self._read_roster(), senders)
        masked = add_masks(values, own=own, added=above, subtracted=below, bits=self.settings.bits)
        return pack_numbers(masked, self.settings, self._index)

    def send_reveal(self, survivors: bytes) -> bytes:
        """Return the last message: a share of each party's own mask if it survived, else of its key.

        Raises
        ------
        InputError
            If survivors are too few, if one of them would be visible alone, or if another list was answered before.
        """
        known = self._read_roster()
        if self._state.boxes is None:
            raise ParameterError("federated.mask_step_too_early")
        self._refuse_change(self._state.survivors, survivors)
        shares = self._open_boxes(self._state.boxes, known) | {self._index: self._split()[self._index]}
        alive = self._check_survivors(survivors, shares.keys())
        self._state = replace(self._state, survivors=survivors)
        rows = np.zeros(len(shares), dtype=SHARES)
        rows["party"] = sorted(shares)
        rows["share"] = [shares[party][int(party in alive)] for party in sorted(shares)]
        return pack("reveal", self.settings, self._index, rows)

    def _get_mask_key(self) -> bytes:
        return clamp_key(self._derive(b"mask key"))

    def _derive(self, purpose: bytes) -> bytes:
        return derive(self._state.secret, purpose + self.settings.digest)

    def _split(self) -> NDArray[np.uint32]:
        """Return the shares of the mask key and of the own mask, of all parties."""
        return split_secrets(
            [self._get_mask_key(), self._derive(b"own mask")],
            threshold=self.settings.threshold,
            parties=len(self.settings.parties),
            source=Keyed(self._derive(b"polynomials")),
        )

    def _add_shared(self, known: Roster, senders: list[int]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Return the sums of the masks shared with parties of higher numbers, and of lower ones."""
        agreement = KeyAgreement(self._get_mask_key(), known.session)
        partners = [party for party in senders if self.settings.adjacency[self._index, party]]
        above, below = (
            [
                derive_mask_key(agreement, known, self._index, party)
                for party in partners
                if (party > self._index) is side
            ]
            for side in (True, False)
        )
        return add_streams(above, self.settings.width), add_streams(below, self.settings.width)

    def _read_roster(self) -> Roster:
        if self._state.roster is None:
            raise ParameterError("federated.mask_step_too_early")
        return read_roster(self._state.roster, self.settings)

    def _open_channel(self, known: Roster) -> KeyAgreement:
        if self._channel is None or self._channel[0] != known.session:
            self._channel = known.session, KeyAgreement(self._derive(b"channel key"), known.session)
        return self._channel[1]

    def _open_boxes(self, boxes: bytes, known: Roster) -> dict[int, NDArray[np.uint32]]:
        """Return the shares of each other party whose shares the server passed on."""
        rows = unpack(boxes, "boxes", self.settings, SERVER, BOXES)
        senders, channel = check_parties(rows, self.settings), self._open_channel(known)
        if self._index in senders or not set(senders) <= set(known.parties):
            raise InputError("federated.not_a_mask_message")
        self._check_number(len(senders) + 1)
        found = {}
        for sender, box in zip(senders, rows["box"], strict=True):
            key = channel.derive_key(known.channel_keys[sender], purpose=b"shares", ends=(sender, self._index))
            opened = unseal(key, box.tobytes(), known.session)
            if opened is None:
                raise InputError("federated.mask_share_unreadable", name=safe_repr(self.settings.parties[sender]))
            found[sender] = np.frombuffer(opened, dtype="<u4").reshape(2, DIGITS)
        return found

    def _check_survivors(self, survivors: bytes, senders: "AbstractSet[int]") -> set[int]:
        rows = unpack(survivors, "survivors", self.settings, SERVER, SURVIVORS)
        alive = set(check_parties(rows, self.settings))
        if self._index not in alive or not alive <= senders:
            raise InputError("federated.not_a_mask_message")
        self._check_number(len(alive))
        if self.settings.is_visible_alone(self.settings.parties[party] for party in alive):
            raise InputError("federated.party_visible_alone")
        return alive

    def _check_number(self, found: int) -> None:
        if found < self.settings.threshold:
            raise InputError("federated.too_few_survivors", least=self.settings.threshold, found=found)

    @staticmethod
    def _refuse_change(before: bytes | None, message: object) -> None:
        if before not in (None, message):
            raise InputError("federated.mask_message_changed")

    def __repr__(self) -> str:
        return f"MaskingParty({self.name!r})"


def check_numbers(numbers: object, settings: MaskingSettings) -> NDArray[np.int64]:
    """Return contributed numbers, or raise ``InputError`` without quoting them."""
    if not isinstance(numbers, np.ndarray) or numbers.dtype.kind not in "iu":
        raise InputError("federated.mask_numbers_not_integers")
    if numbers.shape != (settings.width,):
        raise InputError("federated.mask_numbers_wrong_shape", wanted=settings.width, shape=safe_repr(numbers.shape))
    if (numbers > settings.max_number).any() or (numbers < -settings.max_number).any():
        raise InputError("federated.mask_numbers_too_large", most=settings.max_number)
    return numbers.astype(np.int64)
