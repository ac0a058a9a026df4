"""The server's side of a round of masked sums.

It relays public keys and sealed shares, adds the masked numbers of those who sent them, and asks the survivors for what
brings back the remaining masks. If fewer than the threshold stay, or one would be visible alone, it gives the round up:
it does not ask, and what it holds stays masked. Bonawitz and others 2017.
"""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from celosia.core.errors import EngineError, InputError, ParameterError
from celosia.core.exact import safe_repr
from celosia.federated.masking.masks import add_streams, reduce_bits, to_signed
from celosia.federated.masking.messages import (
    BOXES,
    KEYS,
    SERVER,
    SHARES,
    SURVIVORS,
    check_parties,
    pack,
    unpack,
    unpack_numbers,
)
from celosia.federated.masking.roster import Roster, check_keys, commit, derive_mask_key, derive_own_mask, read_roster
from celosia.federated.masking.secret_sharing import join_shares
from celosia.federated.masking.settings import MaskingSettings
from celosia.noise.agreement import KeyAgreement, clamp_key, compute_public_key

STEPS: Final = ("keys", "shares", "numbers", "reveal")
"""The messages of a party, in order."""

_ROWS: Final = {"keys": KEYS, "shares": BOXES, "reveal": SHARES}


class MaskingServer:
    """The server in one round. Each method takes the messages that arrived, by name, and returns what to send.

    Parameters
    ----------
    settings
        The round.

    Examples
    --------
    See ``MaskingParty`` for a whole round.

    >>> from celosia.federated import MaskingSettings
    >>> server = MaskingServer(MaskingSettings(federation="try", number=1, parties=("a", "b"), width=1, threshold=2))
    >>> server.receive_keys({})
    Traceback (most recent call last):
    ...
    celosia.core.errors.EngineError: The round of masked sums is given up: 0 parties are left, of at least 2.
    """

    __slots__ = ("_roster", "_step", "_total", "senders", "settings", "survivors")

    def __init__(self, settings: MaskingSettings) -> None:
        self.settings = settings
        self.senders: tuple[str, ...] = ()
        self.survivors: tuple[str, ...] = ()
        self._step = 0
        self._roster: Roster | None = None
        self._total: NDArray[np.uint64] = np.zeros(settings.width, dtype=np.uint64)

    @property
    def step(self) -> int:
        """The place in ``STEPS`` of the messages that come next; their number after the last."""
        return self._step

    def check(self, name: str, message: object) -> None:
        """Raise ``InputError`` for a message that the next step cannot use."""
        self._read(name, message)

    def receive_keys(self, messages: Mapping[str, bytes]) -> bytes:
        """Return the roster, for every party that sent its keys."""
        received = self._read_all("keys", messages)
        rows = np.concatenate([received[party] for party in sorted(received)])
        message = pack("roster", self.settings, SERVER, rows)
        self._roster = read_roster(message, self.settings)
        self._step += 1
        return message

    def receive_shares(self, messages: Mapping[str, bytes]) -> dict[str, bytes]:
        """Return the sealed shares for each party that sent its own."""
        received = self._read_all("shares", messages)
        senders = sorted(received)
        passed = np.zeros((len(senders), len(self.settings.parties)), dtype=BOXES)
        for place, sender in enumerate(senders):
            passed[place, received[sender]["party"]] = received[sender]
            passed[place]["party"] = sender
        self.senders = tuple(self.settings.parties[sender] for sender in senders)
        self._step += 1
        return {
            self.settings.parties[party]: pack("boxes", self.settings, SERVER, np.delete(passed[:, party], place))
            for place, party in enumerate(senders)
        }

    def receive_numbers(self, messages: Mapping[str, bytes]) -> bytes:
        """Return the list of survivors, for every survivor."""
        found = self._read_all("numbers", messages)
        survivors = tuple(self.settings.parties[party] for party in sorted(found))
        if self.settings.is_visible_alone(survivors):
            raise EngineError("federated.masked_party_alone")
        self._total = np.asarray(np.sum(list(found.values()), axis=0, dtype=np.uint64))
        self.survivors = survivors
        self._step += 1
        rows = np.array(sorted(found), dtype="<u4").view(SURVIVORS)
        return pack("survivors", self.settings, SERVER, rows)

    def receive_reveals(self, messages: Mapping[str, bytes]) -> NDArray[np.int64]:
        """Return the sum of the survivors' numbers."""
        remaining = self._recover_masks(self._read_all("reveal", messages))
        self._step += 1
        return to_signed(reduce_bits(self._total - remaining, self.settings.bits), self.settings.bits)

    def _recover_masks(self, received: dict[int, NDArray[Any]]) -> NDArray[np.uint64]:
        """Return what is left of the masks in the total, from shares that fit what their owners published.

        With more parties than the threshold, wrong shares are left out: other parties are tried, in a circle.
        """
        holders, least = sorted(received), self.settings.threshold
        senders = sorted(map(self.settings.get_index, self.senders))
        last: EngineError | None = None
        for first in range(len(holders) if len(holders) > least else 1):
            chosen = [holders[(first + place) % len(holders)] for place in range(least)]
            secrets = join_shares(np.stack([received[holder]["share"] for holder in chosen]), chosen)
            try:
                return self._find_masks(dict(zip(senders, secrets, strict=True)))
            except EngineError as error:
                last = error
        assert last is not None  # noqa: S101 - for the type checker: there is one try at least
        raise last

    def _find_masks(self, secrets: dict[int, bytes | None]) -> NDArray[np.uint64]:
        """Return what is left of the masks in the total: the survivors' own, and those shared with silent parties."""
        roster = self._get_roster()
        alive = [self.settings.get_index(name) for name in self.survivors]
        own: list[bytes] = []
        added: list[bytes] = []
        subtracted: list[bytes] = []
        for party, secret in secrets.items():
            if party in alive:
                own.append(derive_own_mask(self._check_secret(party, secret, is_key=False)))
                continue
            agreement = KeyAgreement(self._check_secret(party, secret, is_key=True), roster.session)
            for other in alive:
                if self.settings.adjacency[party, other]:
                    key = derive_mask_key(agreement, roster, party, other)
                    (added if party > other else subtracted).append(key)  # as the survivor did
        width = self.settings.width
        return add_streams([*own, *added], width) - add_streams(subtracted, width)

    def _check_secret(self, party: int, secret: bytes | None, *, is_key: bool) -> bytes:
        """Return a secret that shares gave back, if it belongs to what the party published."""
        roster = self._get_roster()
        if secret is not None and is_key and clamp_key(secret) == secret:
            if compute_public_key(secret) == roster.mask_keys[party]:
                return secret
        elif secret is not None and not is_key and commit(secret, party) == roster.commitments[party]:
            return secret
        raise EngineError("federated.mask_share_wrong", name=safe_repr(self.settings.parties[party]))

    def _read_all(self, step: str, messages: Mapping[str, bytes]) -> dict[int, NDArray[Any]]:
        """Return the rows of the messages of a step, by party."""
        if self._step >= len(STEPS) or STEPS[self._step] != step:
            raise ParameterError("federated.mask_step_out_of_order", step=step)
        found = dict(self._read(name, message) for name, message in messages.items())
        if len(found) < self.settings.threshold:
            raise EngineError("federated.masked_round_given_up", least=self.settings.threshold, found=len(found))
        return found

    def _read(self, name: str, message: object) -> tuple[int, NDArray[Any]]:
        """Return the number of a party, and the rows of its message of the next step."""
        step, names = STEPS[self._step], self.settings.parties
        roster = [] if self._roster is None else self._roster.parties
        senders = {"shares": tuple(names[party] for party in roster), "numbers": self.senders, "reveal": self.survivors}
        party = self._find(name, senders.get(step, names))
        if step == "numbers":
            return party, unpack_numbers(message, self.settings, party)
        rows = unpack(message, step, self.settings, party, _ROWS[step])
        others = [other for other in roster if other != party]
        wanted = {"keys": [party], "shares": others}.get(step) or sorted(map(self.settings.get_index, self.senders))
        if check_parties(rows, self.settings) != wanted:
            raise InputError("federated.not_a_mask_message")
        if step == "keys":
            check_keys(rows[0])
        return party, rows

    def _find(self, name: str, expected: tuple[str, ...]) -> int:
        if name not in expected:
            raise InputError("federated.mask_message_unexpected", name=safe_repr(name))
        return self.settings.get_index(name)

    def _get_roster(self) -> Roster:
        assert self._roster is not None  # noqa: S101 - set by the first step
        return self._roster

    def __repr__(self) -> str:
        return f"MaskingServer({self.settings!r})"
