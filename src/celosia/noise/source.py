"""Random words: the operating system's by default, a repeatable stream for tests.

``System`` expands keys from the operating system with ChaCha20 (RFC 8439), whose running time does not depend on the
key. Every thread has its own stream; a stream made before a fork is never used after it; a key serves for at most one
mebibyte. ``Seeded`` is the same keystream from a public key: it gives equal draws on every machine, and no privacy.
"""

import hashlib
import os
import threading
from typing import TYPE_CHECKING, ClassVar, NoReturn

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

from celosia.core.errors import ParameterError
from celosia.core.exact import exact_integer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source

_KEY = 32
_NONCE = bytes(16)
_ZEROS = bytes(1 << 16)
_POOL = 512  # words kept ready for scalar draws
_MAX_READY = 256  # samplers that keep draws ready
_KEY_LIFE = 1 << 20  # bytes


class _Keystream:
    """The ChaCha20 keystream of one key."""

    __slots__ = ("_encryptor", "used")

    def __init__(self, key: bytes) -> None:
        self._encryptor = Cipher(ChaCha20(key, _NONCE), mode=None).encryptor()
        self.used = 0

    def fill(self, target: memoryview) -> None:
        for begin in range(0, len(target), len(_ZEROS)):
            part = target[begin : begin + len(_ZEROS)]
            self._encryptor.update_into(_ZEROS[: len(part)], part)
        self.used += len(target)


class _Generation:
    """Counts the forks between the first process and this one, so that a copied stream is recognised."""

    now: ClassVar[int] = 0

    @classmethod
    def advance(cls) -> None:
        cls.now += 1


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_Generation.advance)


class _Local(threading.local):
    """The stream of one thread of one process."""

    keystream: _Keystream
    pool: list[int]
    ready: dict[object, list[int]]
    process = -1
    generation = -1


class System:
    """The default source: unpredictable, safe under fork and in threads.

    >>> System().words(4).shape, System().seeded
    ((4,), False)
    """

    __slots__ = ("_local",)

    def __init__(self) -> None:
        self._local = _Local()

    @property
    def seeded(self) -> bool:
        """False: the stream cannot be repeated.

        >>> System().seeded
        False
        """
        return False

    def word(self) -> int:
        """Return 64 uniform bits.

        >>> 0 <= System().word() < 2**64
        True
        """
        local = self._local
        # The process number catches forks that Python did not see, the generation catches a number that came again.
        if local.process != os.getpid() or local.generation != _Generation.now:
            self._start(local)
        if not local.pool:
            local.pool = self._draw(local, _POOL).tolist()
        return local.pool.pop()

    def words(self, count: int) -> "NDArray[np.uint64]":
        """Return ``count`` words of 64 uniform bits.

        >>> len(set(System().words(1000).tolist()))
        1000
        """
        local = self._local
        if local.process != os.getpid() or local.generation != _Generation.now:
            self._start(local)
        return self._draw(local, exact_integer(count, name="count", least=0))

    def ready(self, sampler: object) -> list[int]:
        """Return the draws that a sampler keeps ready in this thread of this process; empty after a fork.

        A scalar draw that was made in an earlier call takes no time, whatever its size.

        >>> System().ready("a sampler")
        []
        """
        local = self._local
        if local.process != os.getpid() or local.generation != _Generation.now:
            self._start(local)
        draws = local.ready.get(sampler)
        if draws is None:
            if len(local.ready) >= _MAX_READY:
                local.ready.clear()  # unused draws may be dropped
            draws = local.ready[sampler] = []
        return draws

    @staticmethod
    def _start(local: _Local) -> None:
        local.process, local.generation = os.getpid(), _Generation.now
        local.keystream = _Keystream(os.urandom(_KEY))
        local.pool = []
        local.ready = {}

    @staticmethod
    def _draw(local: _Local, count: int) -> "NDArray[np.uint64]":
        words = np.empty(count, dtype="<u8")
        target = words.view(np.uint8).data
        while len(target):
            left = _KEY_LIFE - local.keystream.used
            if not left:
                local.keystream, left = _Keystream(os.urandom(_KEY)), _KEY_LIFE
            local.keystream.fill(target[:left])
            target = target[left:]
        return words.astype(np.uint64, copy=False)

    def __reduce__(self) -> "tuple[type[System], tuple[()]]":
        return System, ()  # a copy has its own streams

    def __repr__(self) -> str:
        return "System()"


class Seeded:
    """A repeatable source for tests, experiments and teaching. Releases drawn from it are marked ``seeded=True``.

    >>> Seeded(7).word() == Seeded(7).word()
    True
    >>> Seeded(7).word() == Seeded(8).word()
    False
    """

    __slots__ = ("_keystream", "_lock", "_pool", "_seed")

    def __init__(self, seed: int) -> None:
        self._seed = exact_integer(seed, name="seed", least=0)
        self._keystream = _Keystream(hashlib.sha256(f"celosia.noise.Seeded/1/{self._seed}".encode()).digest())
        self._pool: list[int] = []
        self._lock = threading.Lock()

    @property
    def seeded(self) -> bool:
        """True: the seed determines the noise.

        >>> Seeded(7).seeded
        True
        """
        return True

    def word(self) -> int:
        """Return the next 64 bits of the stream.

        >>> source = Seeded(7)
        >>> source.word() == source.word()
        False
        """
        with self._lock:
            if not self._pool:
                self._pool = self._draw(_POOL).tolist()[::-1]
            return self._pool.pop()

    def words(self, count: int) -> "NDArray[np.uint64]":
        """Return the next ``count`` words of the stream.

        >>> bool((Seeded(7).words(5) == Seeded(7).words(5)).all())
        True
        """
        with self._lock:
            return self._draw(exact_integer(count, name="count", least=0))

    def _draw(self, count: int) -> "NDArray[np.uint64]":
        words = np.empty(count, dtype="<u8")
        self._keystream.fill(words.view(np.uint8).data)
        return words.astype(np.uint64, copy=False)

    def __reduce__(self) -> NoReturn:
        raise ParameterError("noise.seeded_stream_copied", seed=self._seed)

    def __repr__(self) -> str:
        return f"Seeded({self._seed})"


SYSTEM = System()
"""The source that is used when none is given."""


def source_or_system(source: "Source | None") -> "Source":
    """Return ``source``, or the system's when there is none."""
    if source is None:
        return SYSTEM
    if not (hasattr(source, "words") and hasattr(source, "word") and hasattr(source, "seeded")):
        raise ParameterError("noise.not_a_source", kind=type(source).__name__)
    return source
