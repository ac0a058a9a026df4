"""Answers that stay: what a client draws once for each value, and gives again whenever it has that value.

Noise drawn anew every day averages out; an answer that is drawn once and replayed does not. A client stores no answers
but one secret of 32 bytes, from which it draws them again (``noise.keyed``): the key of an answer is HMAC-SHA256, under
the secret, of the protocol and of what is answered about, and its draws are the keystream of that key. To whoever has
no secret this is fresh noise unless HMAC-SHA256 or ChaCha20 is broken: over time the guarantee is computational. What
replaying does not hide is *when* an answer changes and when it comes back. ``lifetime`` therefore has a guarantee for
``SameChanges`` only; ``plain_lifetime`` has the one between any two histories, which is larger or infinite.
"""

import hashlib
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from celosia.core.adjacency import Adjacency, ReplaceOne, SameChanges
from celosia.core.errors import InputError, ParameterError
from celosia.core.exact import exact_integer, short_at_least
from celosia.core.guarantees import PureDP
from celosia.core.structure import GuaranteedEvent
from celosia.local.base.packing import Bytes, Words
from celosia.local.base.protocol import CHUNK, PERSON, Protocol
from celosia.local.base.reports import Reports
from celosia.noise.decide import Enclosure, leading
from celosia.noise.keyed import KEY_BYTES, Keyed, derive, derive_keys
from celosia.noise.source import source_or_system

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from celosia.core.events import Event
    from celosia.core.mechanism import Source

E_co = TypeVar("E_co", covariant=True)

Memo = Callable[[str, int], "Source"]
"""Where a client draws what stays: for a purpose ("client" or "value") and a number, the source of that answer."""

_WORD = 64


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class Memoised(Protocol[E_co]):
    """A protocol whose clients answer alike for ever, when they give their secret.

    A client with several questions of the same protocol needs a secret, or a protocol with a seed of its own, for each:
    else equal values would have equal answers.

    >>> from celosia.local.longitudinal.d_bit_flip import DBitFlip
    >>> protocol = DBitFlip(buckets=10, d=4, epsilon=1)
    >>> protocol.report(3, secret=bytes(32)) == protocol.report(3, secret=bytes(32))
    True
    """

    def privatize(
        self,
        values: Any,
        *,
        secrets: "NDArray[np.uint8] | list[bytes] | None" = None,
        source: "Source | None" = None,
    ) -> Reports:
        """Return one report for each value.

        ``secrets`` are the clients' own, 32 bytes each, in an array (values, 32) or a list: what stays is drawn from
        them. Without, each value is a new client's, whose secret nobody will use again.

        >>> from celosia.local.longitudinal.d_bit_flip import DBitFlip
        >>> protocol = DBitFlip(buckets=10, d=4, epsilon=1)
        >>> reports = protocol.privatize([3, 3], secrets=[bytes(32), bytes(32)])
        >>> bool((reports.payload[0] == reports.payload[1]).all())
        True
        """
        if secrets is None:
            return super(Memoised, self).privatize(values, source=source)  # slots make the class twice
        source = source_or_system(source)
        read = self._read(values)
        rows = _read_secrets(secrets, len(read))
        payload = np.empty((len(read), self.bytes_per_report), dtype=np.uint8)
        for first in range(0, len(read), CHUNK):
            part = slice(first, first + CHUNK)
            payload[part] = self._draw_memoised(read[part], rows[part], source)
        return Reports(protocol=self, payload=payload, seeded=source.seeded)

    def report(
        self,
        value: Any,
        *,
        secret: bytes | None = None,
        source: "Source | None" = None,
    ) -> bytes:
        """Return the report of one value as it travels; with the client's ``secret``, what stays is drawn from it.

        >>> from celosia.local.longitudinal.d_bit_flip import DBitFlip
        >>> len(DBitFlip(buckets=10, d=4, epsilon=1).report(3, secret=bytes(32)))
        6
        """
        if secret is None:
            return super(Memoised, self).report(value, source=source)  # slots make the class twice
        source = source_or_system(source)
        read = self._read([value])[0]
        number = self._draw_from(read, self._memo(bytes(_read_secrets([secret], 1)[0])), source)
        return self.header + number.to_bytes(self.bytes_per_report, "little")

    def lifetime(self, reports: int, *, values: int | None = None) -> "Event":
        """What so many reports of one person run together.

        Without ``values`` each is drawn anew, without a secret. With ``values``, the client gives its secret and has at
        most so many different values in that time. The guarantee is then for ``SameChanges``: it holds between
        histories whose memoised answers change and return at the same times, and no ledger takes it. See
        ``plain_lifetime`` for any two histories.

        >>> from celosia.local.longitudinal.d_bit_flip import DBitFlip
        >>> protocol = DBitFlip(buckets=10, d=4, epsilon=1)
        >>> protocol.lifetime(365, values=2).guarantee
        PureDP(epsilon=2, adjacency=SameChanges, unit='person')
        """
        if values is None:
            return super(Memoised, self).lifetime(reports)  # slots make the class twice
        return _stated(self.lifetime_epsilon(reports, values), SameChanges)

    def plain_lifetime(self, reports: int, *, values: int) -> "Event":
        """What so many memoised reports of at most so many different values run, between any two such histories.

        A plain replace-one guarantee, which a ledger takes. Where none is finite, ``ParameterError`` says so.

        >>> from celosia.local.longitudinal.loloha import LOLOHA
        >>> protocol = LOLOHA(domain=100, epsilon=1, epsilon_infinity=2, g=2)
        >>> print(protocol.plain_lifetime(10, values=2).guarantee)
        PureDP(epsilon=≈11.2919, adjacency=ReplaceOne, unit='person')
        """
        epsilon = self.plain_lifetime_epsilon(reports, values)
        if epsilon is None:
            raise ParameterError(
                f"{reports} memoised reports of {values} values have no finite epsilon between any two histories: "
                f"{type(self).__name__} repeats an answer exactly, so reports show when it changed. "
                "lifetime(reports, values=...) states what holds between histories that change at the same times."
            )
        return _stated(epsilon, ReplaceOne)

    @abstractmethod
    def lifetime_epsilon(self, reports: int, values: int) -> "Fraction":
        """Return what memoised reports of at most so many different values spend together, under ``SameChanges``.

        It holds between any two histories whose memoised answers change at the same times and return to earlier answers
        at the same times, whatever the client drew. That they change, and when, is not hidden by noise that stays.

        >>> from celosia.local.longitudinal.d_bit_flip import DBitFlip
        >>> DBitFlip(buckets=10, d=4, epsilon=1).lifetime_epsilon(365, 2)
        Fraction(2, 1)
        """

    def plain_lifetime_epsilon(self, reports: int, values: int) -> "Fraction | None":
        """Return what memoised reports of so many values spend between any two histories; None where nothing is finite.

        Histories of one value never change, so ``lifetime_epsilon`` holds between any two of them. With more values,
        reports that repeat an answer exactly are equal if the value stayed, and differ with positive probability if it
        changed. Protocols with fresh noise on each report have a finite bound, which grows with the reports.

        >>> from celosia.local.longitudinal.d_bit_flip import DBitFlip
        >>> protocol = DBitFlip(buckets=10, d=4, epsilon=1)
        >>> protocol.plain_lifetime_epsilon(365, 1), protocol.plain_lifetime_epsilon(365, 2)
        (Fraction(1, 1), None)
        """
        times, different = self._times(reports, values)
        return self.lifetime_epsilon(times, 1) if different == 1 else None

    @staticmethod
    def _times(reports: int, values: int) -> tuple[int, int]:
        """Return the number of reports, and of values among them, or refuse them."""
        times = exact_integer(reports, name="reports")
        return times, min(times, exact_integer(values, name="values"))

    @abstractmethod
    def _draw_memoised(self, read: "NDArray[Any]", secrets: "NDArray[np.uint8]", source: "Source") -> Bytes:
        """Return one report for each item, where what stays is drawn from the clients' secrets."""

    @abstractmethod
    def _draw_from(self, read: Any, memo: Memo, source: "Source") -> int:
        """Return one report, word by word: what stays from ``memo``, the rest from ``source``."""

    def _draw_one(self, read: Any, source: "Source") -> int:
        return self._draw_from(read, lambda _purpose, _number: source, source)

    def _memo(self, secret: bytes) -> Memo:
        def memo(purpose: str, number: int) -> Keyed:
            return Keyed(derive(secret, _message(self, purpose) + number.to_bytes(8, "little")))

        return memo

    def _keys(self, secrets: "NDArray[np.uint8]", purpose: str, numbers: "NDArray[Any] | int") -> "NDArray[np.uint8]":
        """Return the keys of many clients' answers, as ``_memo`` derives them."""
        prefix = np.frombuffer(_message(self, purpose), dtype=np.uint8)
        messages = np.empty((len(secrets), prefix.size + 8), dtype=np.uint8)
        messages[:, : prefix.size] = prefix
        numbers = np.broadcast_to(np.asarray(numbers).astype("<u8"), len(secrets))
        messages[:, prefix.size :] = np.ascontiguousarray(numbers).view(np.uint8).reshape(-1, 8)
        return derive_keys(secrets, messages)


def _stated(epsilon: "Fraction", adjacency: Adjacency) -> GuaranteedEvent:
    return GuaranteedEvent(guarantee=PureDP(epsilon=short_at_least(epsilon), adjacency=adjacency, unit=PERSON))


@lru_cache(maxsize=256)
def _message(protocol: Protocol[Any], purpose: str) -> bytes:
    """Return what is authenticated, but for the number: ``celosia/<kind>/<purpose>/1/`` and SHA-256 of the JSON.

    All of its 256 bits: were two protocols to share keys, their answers would share noise, and a server that chooses
    parameters could subtract one from the other. The three bytes of a fingerprint are no obstacle to that.
    """
    kind = f"celosia/{type(protocol).__name__}/{purpose}/1/"
    return kind.encode() + hashlib.sha256(protocol.to_json().encode()).digest()


def _read_secrets(secrets: object, count: int) -> "NDArray[np.uint8]":
    """Return secrets as an array (count, 32); an error tells nothing of them."""
    if isinstance(secrets, list | tuple) and all(isinstance(one, bytes) and len(one) == KEY_BYTES for one in secrets):
        secrets = np.frombuffer(b"".join(secrets), dtype=np.uint8).reshape(-1, KEY_BYTES)
    if not isinstance(secrets, np.ndarray) or secrets.dtype != np.uint8 or secrets.shape != (count, KEY_BYTES):
        raise InputError(
            f"secrets must be {KEY_BYTES} bytes for each value: an array of uint8 (values, 32), or a list of bytes."
        )
    return np.ascontiguousarray(secrets)


def coins_from(words: Words, probability: Enclosure) -> "tuple[NDArray[np.bool_], NDArray[np.bool_]]":
    """Return what ``flip`` shows for each word, and where it would have asked for a further word (once in 2^64)."""
    prefix, exact = leading(probability, _WORD)
    if prefix >> _WORD:
        return np.ones(words.shape, dtype=np.bool_), np.zeros(words.shape, dtype=np.bool_)
    tied = np.zeros(words.shape, dtype=np.bool_) if exact else words == np.uint64(prefix)
    return words < np.uint64(prefix), tied


def numbers_from(words: Words, bound: int) -> "tuple[NDArray[np.int64], NDArray[np.bool_]]":
    """Return what ``integer_below`` makes of each word, and where it would have rejected the word."""
    spare = (1 << _WORD) % bound
    rejected = words > np.uint64((1 << _WORD) - 1 - spare)
    return (words % np.uint64(bound)).astype(np.int64), rejected
