"""Memoised answers: a client draws an answer once for each value, and repeats it whenever it has that value.

Fresh noise every day averages out; an answer that is drawn once and repeated does not. A client stores no answers, only
one secret of 32 bytes, from which it draws them again (``noise.keyed``). The key of an answer is HMAC-SHA256, under the
secret, of the protocol and of the subject; the draws are the keystream of that key. Without the secret this is fresh
noise unless HMAC-SHA256 or ChaCha20 is broken: over time the guarantee is computational. Memoisation does not hide
*when* an answer changes or returns. Hence ``lifetime`` has a guarantee for ``SameChanges`` only; ``plain_lifetime``
has the one between any two histories, which is larger or infinite.
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
"""Source of the memoised draws for a purpose ("client" or "value") and a number."""

_WORD = 64


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class Memoised(Protocol[E_co]):
    """A protocol whose clients repeat their answers when they pass their secret.

    A client that answers several questions of the same protocol needs a secret, or a protocol with another seed, for
    each: otherwise equal values have equal answers. A subclass also implements ``sample_memoised``,
    ``sample_one_memoised`` and ``lifetime_epsilon``.

    >>> from celosia.local.longitudinal.d_bit_flip import DBitFlip
    >>> protocol = DBitFlip(buckets=10, d=4, epsilon=1)
    >>> protocol.report(3, secret=bytes(32)) == protocol.report(3, secret=bytes(32))
    True
    """

    def privatize(
        self, values: Any, *, secrets: "NDArray[np.uint8] | list[bytes] | None" = None, source: "Source | None" = None
    ) -> Reports:
        """Return one report for each value.

        ``secrets`` are the clients' secrets, 32 bytes each, in an array (values, 32) or a list: memoised draws come
        from them. Without secrets, each value is that of a new client, which reports once.

        >>> from celosia.local.longitudinal.d_bit_flip import DBitFlip
        >>> protocol = DBitFlip(buckets=10, d=4, epsilon=1)
        >>> reports = protocol.privatize([3, 3], secrets=[bytes(32), bytes(32)])
        >>> bool((reports.payload[0] == reports.payload[1]).all())
        True
        """
        if secrets is None:
            return super(Memoised, self).privatize(values, source=source)  # slots=True replaces the class
        source = source_or_system(source)
        items = self.encode(values)
        rows = _read_secrets(secrets, len(items))
        payload = np.empty((len(items), self.bytes_per_report), dtype=np.uint8)
        for first in range(0, len(items), CHUNK):
            part = slice(first, first + CHUNK)
            payload[part] = self.sample_memoised(items[part], rows[part], source)
        return Reports(protocol=self, payload=payload, seeded=source.seeded)

    def report(self, value: Any, *, secret: bytes | None = None, source: "Source | None" = None) -> bytes:
        """Return the record of one value; memoised draws come from the client's ``secret``, if given.

        >>> from celosia.local.longitudinal.d_bit_flip import DBitFlip
        >>> len(DBitFlip(buckets=10, d=4, epsilon=1).report(3, secret=bytes(32)))
        6
        """
        if secret is None:
            return super(Memoised, self).report(value, source=source)  # slots=True replaces the class
        source = source_or_system(source)
        item = self.encode([value])[0]
        number = self.sample_one_memoised(item, self.open_memo(bytes(_read_secrets([secret], 1)[0])), source)
        return self.header + number.to_bytes(self.bytes_per_report, "little")

    def lifetime(self, reports: int, *, values: int | None = None) -> "Event":
        """Return the event of ``reports`` reports of one person.

        Without ``values`` the reports are independent, without a secret. With ``values``, the client passes its secret
        and has at most that many different values. The guarantee is then for ``SameChanges``: it holds between
        histories whose memoised answers change and return at the same times, and no ledger accepts it. See
        ``plain_lifetime`` for any two histories.

        >>> from celosia.local.longitudinal.d_bit_flip import DBitFlip
        >>> protocol = DBitFlip(buckets=10, d=4, epsilon=1)
        >>> protocol.lifetime(365, values=2).guarantee
        PureDP(epsilon=2, adjacency=SameChanges, unit='person')
        """
        if values is None:
            return super(Memoised, self).lifetime(reports)  # slots=True replaces the class
        return _event(self.lifetime_epsilon(reports, values), SameChanges)

    def plain_lifetime(self, reports: int, *, values: int) -> "Event":
        """Return the event of memoised reports of at most ``values`` different values, between any two histories.

        It has a plain replace-one guarantee, which a ledger accepts. If none is finite, it raises ``ParameterError``.

        >>> from celosia.local.longitudinal.loloha import LOLOHA
        >>> protocol = LOLOHA(domain=100, epsilon=1, epsilon_infinity=2, g=2)
        >>> print(protocol.plain_lifetime(10, values=2).guarantee)
        PureDP(epsilon=≈11.2919, adjacency=ReplaceOne, unit='person')
        """
        epsilon = self.plain_lifetime_epsilon(reports, values)
        if epsilon is None:
            raise ParameterError(
                "local.no_finite_lifetime_epsilon", reports=reports, values=values, protocol=type(self).__name__
            )
        return _event(epsilon, ReplaceOne)

    @abstractmethod
    def lifetime_epsilon(self, reports: int, values: int) -> "Fraction":
        """Return the epsilon of memoised reports of at most ``values`` different values, under ``SameChanges``.

        It holds between any two histories whose memoised answers change, and return to earlier answers, at the same
        times, for every outcome of the client's draws. Memoised noise does not hide that they change, nor when.

        >>> from celosia.local.longitudinal.d_bit_flip import DBitFlip
        >>> DBitFlip(buckets=10, d=4, epsilon=1).lifetime_epsilon(365, 2)
        Fraction(2, 1)
        """

    def plain_lifetime_epsilon(self, reports: int, values: int) -> "Fraction | None":
        """Return the epsilon of memoised reports between any two histories of ``values`` values; None if infinite.

        Histories of one value never change, so ``lifetime_epsilon`` holds between any two of them. With more values,
        reports that repeat an answer exactly are equal if the value stayed, and differ with positive probability if it
        changed. Protocols with fresh noise on each report have a finite bound, which grows with the reports.

        >>> from celosia.local.longitudinal.d_bit_flip import DBitFlip
        >>> protocol = DBitFlip(buckets=10, d=4, epsilon=1)
        >>> protocol.plain_lifetime_epsilon(365, 1), protocol.plain_lifetime_epsilon(365, 2)
        (Fraction(1, 1), None)
        """
        times, different = self.exact_history(reports, values)
        return self.lifetime_epsilon(times, 1) if different == 1 else None

    @staticmethod
    def exact_history(reports: int, values: int) -> tuple[int, int]:
        """Return the number of reports, and of different values among them, or raise ``ParameterError``."""
        times = exact_integer(reports, name="reports")
        return times, min(times, exact_integer(values, name="values"))

    @abstractmethod
    def sample_memoised(self, items: "NDArray[Any]", secrets: "NDArray[np.uint8]", source: "Source") -> Bytes:
        """Return one report for each item, with the memoised draws from the clients' secrets."""

    @abstractmethod
    def sample_one_memoised(self, item: Any, memo: Memo, source: "Source") -> int:
        """Return one report, drawn word by word: memoised draws from ``memo``, the others from ``source``."""

    def sample_one(self, item: Any, source: "Source") -> int:
        """Return one report of a client without a secret, drawn word by word."""
        return self.sample_one_memoised(item, lambda _purpose, _number: source, source)

    def open_memo(self, secret: bytes) -> Memo:
        """Return the source of a client's memoised draws."""

        def memo(purpose: str, number: int) -> Keyed:
            return Keyed(derive(secret, _message(self, purpose) + number.to_bytes(8, "little")))

        return memo

    def derive_keys(
        self, secrets: "NDArray[np.uint8]", purpose: str, numbers: "NDArray[Any] | int"
    ) -> "NDArray[np.uint8]":
        """Return the keys of many clients' answers, as ``open_memo`` derives them."""
        prefix = np.frombuffer(_message(self, purpose), dtype=np.uint8)
        messages = np.empty((len(secrets), prefix.size + 8), dtype=np.uint8)
        messages[:, : prefix.size] = prefix
        numbers = np.broadcast_to(np.asarray(numbers).astype("<u8"), len(secrets))
        messages[:, prefix.size :] = np.ascontiguousarray(numbers).view(np.uint8).reshape(-1, 8)
        return derive_keys(secrets, messages)


def _event(epsilon: "Fraction", adjacency: Adjacency) -> GuaranteedEvent:
    return GuaranteedEvent(guarantee=PureDP(epsilon=short_at_least(epsilon), adjacency=adjacency, unit=PERSON))


@lru_cache(maxsize=256)
def _message(protocol: Protocol[Any], purpose: str) -> bytes:
    """Return the prefix of the authenticated message: ``celosia/<kind>/<purpose>/1/`` and SHA-256 of the JSON.

    It has all 256 bits. If two protocols shared keys, their answers would share noise, and a server that chooses
    parameters could subtract one from the other. The three bytes of a fingerprint would not prevent that.
    """
    kind = f"celosia/{type(protocol).__name__}/{purpose}/1/"
    return kind.encode() + hashlib.sha256(protocol.to_json().encode()).digest()


def _read_secrets(secrets: object, count: int) -> "NDArray[np.uint8]":
    """Return secrets as an array (count, 32); errors do not quote them."""
    if isinstance(secrets, list | tuple) and all(isinstance(one, bytes) and len(one) == KEY_BYTES for one in secrets):
        secrets = np.frombuffer(b"".join(secrets), dtype=np.uint8).reshape(-1, KEY_BYTES)
    if not isinstance(secrets, np.ndarray) or secrets.dtype != np.uint8 or secrets.shape != (count, KEY_BYTES):
        raise InputError("local.malformed_secrets", length=KEY_BYTES)
    return np.ascontiguousarray(secrets)


def flip_words(words: Words, probability: Enclosure) -> "tuple[NDArray[np.bool_], NDArray[np.bool_]]":
    """Return the result of ``flip`` for each word, and where it needs a further word (once in 2^64)."""
    prefix, exact = leading(probability, _WORD)
    if prefix >> _WORD:
        return np.ones(words.shape, dtype=np.bool_), np.zeros(words.shape, dtype=np.bool_)
    tied = np.zeros(words.shape, dtype=np.bool_) if exact else words == np.uint64(prefix)
    return words < np.uint64(prefix), tied


def reduce_words(words: Words, bound: int) -> "tuple[NDArray[np.int64], NDArray[np.bool_]]":
    """Return the result of ``integer_below`` for each word, and where it rejects the word."""
    spare = (1 << _WORD) % bound
    rejected = words > np.uint64((1 << _WORD) - 1 - spare)
    return (words % np.uint64(bound)).astype(np.int64), rejected
