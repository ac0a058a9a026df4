"""The stream is ChaCha20, never repeats across processes and threads, and is the same everywhere for a seed."""

from __future__ import annotations

import copy
import hashlib
import multiprocessing
import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import numpy as np
import pytest

from celosia.core import CelosiaError, ParameterError, Source
from celosia.noise import DiscreteGaussian, DiscreteLaplace, Geometric, Seeded, System, source, uniform_below
from celosia.noise.source import SYSTEM, source_or_system

if TYPE_CHECKING:
    from collections.abc import Callable

# Equal on every machine and version; changing one of these breaks published results.
WORDS = [9194513530514296720, 4589656103726682091, 2914135795133372079, 6134282565708107056]
LAPLACE = [53, -5, -6, 19, 38, 0, 4, -9, 9, 0, -4, -8]
GAUSSIAN = [25, -5, -6, 14, 21, 0, 4, -8, 8, 0, -4, -7]
GEOMETRIC = [53, 5, 5, 18, 38, 0, 3, 9, 8, 0, 3, 8]
WIDE = [5342045611679, 953105249590, -587211407719, 2039236069179]
WIDER = 5849207205492062017083056
UNIFORM = [832, 503, 227, 584, 927, 112, 488, 958]
MANY = "b2850a4c716dee99a6faf40b86f9b5afbb5b400b21d3c223e2a7a20f6c7679e1"

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform cannot fork")


class Forgetful(System):
    """A source that does not notice a fork: the mutant that the fork tests must catch."""

    __slots__ = ()

    def word(self) -> int:
        if self._local.process == -1:
            self._start(self._local)
        if not self._local.pool:
            self._local.pool = self._draw(self._local, 512).tolist()
        return self._local.pool.pop()

    def words(self, count: int) -> np.ndarray[tuple[int, ...], np.dtype[np.uint64]]:
        if self._local.process == -1:
            self._start(self._local)
        return self._draw(self._local, count)


def fork(draw: Callable[[], list[int]], generations: int = 1) -> list[int]:
    """Return what a chain of forked processes draws, the words of all of them."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            drawn = draw() + (fork(draw, generations - 1) if generations > 1 else [])
            os.write(writing, np.array(drawn, dtype=np.uint64).tobytes())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        words: list[int] = np.frombuffer(pipe.read(), dtype=np.uint64).tolist()
    os.waitpid(child, 0)
    return words


def repeated(words: list[int]) -> int:
    return len(words) - len(set(words))


@needs_fork
@pytest.mark.parametrize("form", ["word", "words"])
def test_forks_draw_no_equal_words(form: str, *, thorough: bool) -> None:
    forks = 64 if thorough else 3

    def drawn(stream: System) -> list[int]:
        def draw() -> list[int]:
            return stream.words(20).tolist() if form == "words" else [stream.word() for _ in range(20)]

        words = draw()  # fills what can be copied
        for _ in range(forks):
            words += fork(draw)
        return words + draw()

    words = drawn(System())
    assert len(words) == (forks + 2) * 20
    assert repeated(words) == 0
    # By chance two of so many words are equal with probability 2^-44: any repetition is a copied state.
    assert repeated(drawn(Forgetful())) > 15 * forks


@needs_fork
def test_forks_of_forks_draw_no_equal_words() -> None:
    def drawn(stream: System) -> list[int]:
        def draw() -> list[int]:
            return [stream.word(), *stream.words(2).tolist()]

        return draw() + fork(draw, generations=2) + fork(draw, generations=2) + draw()

    words = drawn(System())
    assert len(words) == 6 * 3
    assert repeated(words) == 0
    assert repeated(drawn(Forgetful())) > 0


@needs_fork
def test_a_process_number_that_comes_again_is_no_disguise(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = System()
    number = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: number)  # as in a container's second life
    assert repeated(stream.words(4).tolist() + fork(lambda: stream.words(4).tolist()) + stream.words(4).tolist()) == 0


def test_a_fork_that_python_did_not_see_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = System()
    stream.word()
    before, pool = stream._local.keystream, stream._local.pool
    monkeypatch.setattr(os, "getpid", lambda: -7)
    stream.word()
    assert stream._local.keystream is not before
    assert stream._local.pool is not pool


def test_spawned_processes_draw_no_equal_words() -> None:
    drawn = "__import__('celosia.noise.source').noise.source.SYSTEM.words(8).tolist()"
    context = multiprocessing.get_context("spawn")
    with context.Pool(2, maxtasksperchild=1) as pool:
        words = [word for part in pool.map(eval, [drawn] * 4, chunksize=1) for word in part]
    words += SYSTEM.words(8).tolist()
    assert len(words) == 40
    assert repeated(words) == 0


def test_threads_draw_no_equal_words() -> None:
    stream, words = System(), []
    gate = threading.Barrier(16)

    def work() -> None:
        gate.wait()
        words.extend([stream.word() for _ in range(1500)] + stream.words(1500).tolist())

    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(words) == 16 * 3000
    assert repeated(words) == 0


def test_two_systems_share_nothing() -> None:
    assert repeated(System().words(100).tolist() + System().words(100).tolist() + SYSTEM.words(100).tolist()) == 0


@pytest.mark.parametrize("requests", [[1 << 17, 1], [100_000] * 4, [1, 1 << 18], [(1 << 17) - 1, 2, 1]])
def test_a_key_serves_for_a_mebibyte(requests: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    streams: list[source._Keystream] = []

    class Noted(source._Keystream):
        __slots__ = ()

        def __init__(self, key: bytes) -> None:
            super().__init__(key)
            streams.append(self)

    monkeypatch.setattr(source, "_Keystream", Noted)
    stream = System()
    words = [word for count in requests for word in stream.words(count).tolist()]
    assert repeated(words) == 0
    assert sum(each.used for each in streams) == 8 * len(words)
    assert max(each.used for each in streams) <= 1 << 20
    assert len(streams) == -(-8 * len(words) // (1 << 20))


# ----------------------------------------------------------------------------------------------------------- the stream


def chacha20(key: bytes, block: int) -> bytes:
    """RFC 8439, section 2.3, written out: an oracle that shares no code with the library."""
    state = [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574, *np.frombuffer(key, "<u4").tolist(), block, 0, 0, 0]
    mixed = list(state)

    def quarter(a: int, b: int, c: int, d: int) -> None:
        for x, y, z, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            mixed[x] = (mixed[x] + mixed[y]) & 0xFFFFFFFF
            mixed[z] ^= mixed[x]
            mixed[z] = (mixed[z] << turn | mixed[z] >> (32 - turn)) & 0xFFFFFFFF

    for _ in range(10):
        for i in range(4):
            quarter(i, 4 + i, 8 + i, 12 + i)
        for i in range(4):
            quarter(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
    return np.array([(x + y) & 0xFFFFFFFF for x, y in zip(state, mixed, strict=True)], dtype="<u4").tobytes()


def test_the_keystream_is_that_of_the_standard() -> None:
    # RFC 8439, appendix A.1, test vector 1: key, nonce and counter zero.
    vector = (
        "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
        "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586"
    )
    out = bytearray(64)
    source._Keystream(bytes(32)).fill(memoryview(out))
    assert out.hex() == vector == chacha20(bytes(32), 0).hex()


def test_a_seed_gives_the_stream_that_anybody_can_compute() -> None:
    cases: list[int] = [0, 7, 2**200]
    for seed in cases:
        key = hashlib.sha256(f"celosia.noise.Seeded/1/{seed}".encode()).digest()
        expected = np.frombuffer(b"".join(chacha20(key, block) for block in range(20)), "<u8")
        assert Seeded(seed).words(160).tolist() == expected.tolist()
        stream = Seeded(seed)
        assert [stream.word() for _ in range(160)] == expected.tolist()


def test_the_stream_of_seed_seven_never_changes() -> None:
    assert Seeded(7).words(4).tolist() == WORDS
    assert DiscreteLaplace(10).sample(12, Seeded(7)).tolist() == LAPLACE
    assert DiscreteGaussian(100).sample(12, Seeded(7)).tolist() == GAUSSIAN
    assert Geometric(10).sample(12, Seeded(7)).tolist() == GEOMETRIC
    assert DiscreteLaplace(2**40).sample(4, Seeded(7)).tolist() == WIDE
    assert DiscreteLaplace(2**80).draw(Seeded(7)) == WIDER
    assert uniform_below(1000, 8, Seeded(7)).tolist() == UNIFORM
    many = DiscreteLaplace("0.3").sample(300_000, Seeded(7))
    assert hashlib.sha256(many.astype("<i8").tobytes()).hexdigest() == MANY


def test_a_seed_gives_the_same_in_another_process() -> None:
    program = (
        "from celosia.noise import DiscreteGaussian, Seeded; print(DiscreteGaussian(3).sample(50, Seeded(7)).tolist())"
    )
    printed = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    assert printed.strip() == str(DiscreteGaussian(3).sample(50, Seeded(7)).tolist())


def test_single_and_bulk_words_mix() -> None:
    stream = Seeded(7)
    ahead = Seeded(7).words(1600).tolist()
    assert stream.words(3).tolist() == ahead[:3]
    assert [stream.word(), stream.word()] == ahead[3:5]  # fills a pool of 512
    assert stream.words(2).tolist() == ahead[515:517]
    assert [stream.word() for _ in range(510)] == ahead[5:515]
    assert stream.word() == ahead[517]
    assert stream.words(0).size == 0
    assert stream.words(1).dtype == np.uint64
    assert stream.words(2**17 + 3).size == 2**17 + 3


def test_a_seeded_stream_in_threads_loses_and_repeats_nothing() -> None:
    stream, words = Seeded(7), []

    def work() -> None:
        for _ in range(200):
            words.extend([stream.word(), *stream.words(3).tolist()])

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(words) == 8 * 200 * 4
    assert repeated(words) == 0
    assert set(words) <= set(Seeded(7).words(10_000).tolist())


def test_what_is_no_seed_is_refused() -> None:
    cases: list[object] = [-1, 1.0, "7", None, True, b"7", 2**1100]
    for seed in cases:
        with pytest.raises(CelosiaError, match="seed"):
            Seeded(seed)  # type: ignore[arg-type]


def test_what_is_no_count_is_refused() -> None:
    stream_cases: list[Source] = [System(), Seeded(7)]
    count_cases: list[object] = [-1, 1.0, "3", None, True]
    for stream in stream_cases:
        for count in count_cases:
            with pytest.raises(CelosiaError, match="count"):
                stream.words(count)  # type: ignore[arg-type]


def test_who_is_a_source() -> None:
    assert isinstance(System(), Source)
    assert isinstance(Seeded(7), Source)
    assert not System().seeded
    assert Seeded(7).seeded
    assert repr(System()) == "System()"
    assert repr(Seeded(7)) == "Seeded(7)"
    assert source_or_system(None) is SYSTEM
    for other in (7, "system", np.random.default_rng(7)):
        with pytest.raises(CelosiaError, match="source"):
            source_or_system(other)  # type: ignore[arg-type]


def test_a_copy_of_the_system_is_a_system_and_a_seeded_stream_has_none() -> None:
    assert isinstance(copy.deepcopy(System()), System)
    with pytest.raises(ParameterError, match=r"Seeded\(7\)"):
        copy.copy(Seeded(7))
