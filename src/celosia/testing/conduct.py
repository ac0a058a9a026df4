"""Checks of a mechanism's behaviour that do not depend on its mathematics.

It follows the protocol. Its event and guarantee are exact and survive JSON. Nothing beside the noisy value depends on
the data. A seeded source makes it repeatable and is reported; the default source does not repeat, not even in forked
processes. Extreme inputs are answered or refused, never turned into NaN or an error that quotes them.
"""

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from celosia.audit import Draws, gather
from celosia.core import CelosiaError, ConformanceError, Event, Guarantee, Mechanism, Release
from celosia.noise import Seeded
from celosia.testing.streams import check_fork_safety, check_thread_safety

_LEVEL = 0.95
_CHANCE = 1e-12
_MAX_RELEASES = 4096
_LARGE_INTEGER = 2**62


def check_protocol(mechanism: Mechanism, a: Any, b: Any) -> str:
    """Check members, types, JSON and exactness, and that only the noisy value differs between neighbours."""
    if not isinstance(mechanism, Mechanism):
        _fail("protocol", f"{type(mechanism).__name__} needs the members event, guarantee and release.")
    stated: tuple[object, object] = mechanism.event, mechanism.guarantee
    if not isinstance(stated[0], Event) or not isinstance(stated[1], Guarantee):
        _fail("protocol", "event must be a celosia.core.Event and guarantee a celosia.core.Guarantee.")
    before = repr(mechanism)
    here, there = mechanism.release(a, source=Seeded(1)), mechanism.release(b, source=Seeded(2))
    for release in (here, there):
        if not isinstance(release, Release):
            _fail("protocol", f"release must return a celosia.Release, not a {type(release).__name__}.")
        if release.guarantee != mechanism.guarantee:
            _fail("protocol", f"a release says {release.guarantee!r}, the mechanism says {mechanism.guarantee!r}.")
        if type(release.event) is not type(mechanism.event):
            _fail("protocol", f"a release says {release.event!r}, the mechanism says {mechanism.event!r}.")
    for record in (mechanism.event, mechanism.guarantee, here.event, here.guarantee):
        _check_record(record)
    if np.shape(a) == np.shape(b) and (here.event != there.event or not _same_margin(here, there)):
        _fail("sideways", "the event or the error bar of a release differs between neighbours.")
    if repr(mechanism) != before:
        _fail("sideways", "the repr of the mechanism changed with a release: it may hold on to data.")
    return f"{type(mechanism.event).__name__}, {mechanism.guarantee!r}"


def check_seeding(mechanism: Mechanism, value: Any, releases: int) -> str:
    """Check that a seed repeats the releases and is reported, and that the default source does not repeat.

    ``releases`` is how many it takes for two independent runs to differ (see ``enough_releases``); with 0 only the
    checks for any mechanism are made.
    """
    count = max(releases, 8)
    sources = Seeded(11), Seeded(11), Seeded(12), None, None
    runs = [[mechanism.release(value, source=source) for _ in range(count)] for source in sources]
    for run, source in zip(runs, sources, strict=True):
        if any(release.seeded is not (source is not None) for release in run):
            _fail("seeding", f"a release from source={source!r} must say seeded={source is not None}.")
    once, again, other, free, freer = (gather([release.value for release in run]).keys.tolist() for run in runs)
    if once != again:
        _fail("seeding", "the same seed gave two different releases: source is ignored, or not the only randomness.")
    if releases and once == other:
        _fail("seeding", "two seeds gave the same releases: source is ignored.")
    if releases and free == freer:
        _fail("seeding", "the default source repeats itself.")
    return f"{count} releases repeat with a seed{' and not without' if releases else ''}"


def check_forks(mechanism: Mechanism, value: Any, releases: int, *, processes: int) -> str:
    """Check that forked processes release different noise."""
    if not releases:
        return "not checked: the output hardly varies"
    streams = check_fork_safety(_stream(mechanism, value, releases), processes=processes)
    return f"{streams} processes, no equal streams" if streams else "not checked: this platform cannot fork"


def check_threads(mechanism: Mechanism, value: Any, releases: int, *, threads: int) -> str:
    """Check that threads release different noise."""
    if not releases:
        return "not checked: the output hardly varies"
    check_thread_safety(_stream(mechanism, value, releases), threads=threads, rounds=1)
    return f"{threads} threads, no equal streams"


def _stream(mechanism: Mechanism, value: Any, releases: int) -> Callable[[], list[int]]:
    def draw() -> list[int]:
        keys: list[int] = gather([mechanism.release(value).value for _ in range(releases)]).keys.tolist()
        return keys

    return draw


def enough_releases(draws: Draws, pairs: int) -> int:
    """Return how many releases two runs need to differ but for a chance of 1e-12, among ``pairs`` pairs of runs.

    0 if not even some thousands are enough, because the output hardly varies.
    """
    counts = np.unique(draws.keys, return_counts=True)[1].astype(np.float64)
    equal = float((counts**2).sum()) / len(draws) ** 2
    equal += 5 * math.sqrt(equal * (1 - equal) / len(draws))  # the estimate of it may be low
    if equal >= 1:
        return 0
    needed = max(8, math.ceil(math.log(_CHANCE / pairs) / math.log(equal)))
    return needed if needed <= _MAX_RELEASES else 0


def check_extremes(mechanism: Mechanism, value: Any) -> str:
    """Release zero, negative, very large, very small and undefined inputs in the shape of ``value``.

    Each must be answered without NaN and in the ordinary type, or refused by a ``ValueError`` (ours is ``InputError``)
    or ``TypeError`` whose message does not quote it.
    """
    ordinary = mechanism.release(value, source=Seeded(21)).value
    extremes = _extremes(value)
    answered = sum(_try_extreme(mechanism, extreme, ordinary) for extreme in extremes)
    return (
        f"{len(extremes)} extreme values: {answered} answered, {len(extremes) - answered} refused"
        if extremes
        else "not checked: no numbers go in"
    )


def _try_extreme(mechanism: Mechanism, extreme: Any, ordinary: Any) -> bool:
    try:
        answer = mechanism.release(extreme, source=Seeded(22)).value
    except (ValueError, TypeError) as error:
        if str(_LARGE_INTEGER) in str(error) or str(float(_LARGE_INTEGER)) in str(error):
            _fail("extreme inputs", "an error message quotes the true value.")
        return False
    except Exception as error:
        raise ConformanceError("testing.extreme_input_raised", type=type(error).__name__) from error
    if type(answer) is not type(ordinary) or getattr(answer, "dtype", None) != getattr(ordinary, "dtype", None):
        _fail("extreme inputs", f"a {type(answer).__name__} came out where a {type(ordinary).__name__} is usual.")
    drawn = gather([answer])
    if np.isnan(drawn.numbers[:, : int(drawn.lengths[0])]).any() and not isinstance(answer, str):
        _fail("extreme inputs", "the answer is NaN.")
    return True


def _extremes(value: Any) -> list[Any]:
    """Return extreme inputs of the type and shape of an ordinary one; none if it is not a number."""
    array = np.asarray(value)
    whole: list[float] = [0, 1, -1, _LARGE_INTEGER, -_LARGE_INTEGER]
    if array.dtype.kind == "i" and array.dtype.itemsize == np.dtype(np.int64).itemsize:
        numbers = whole
    elif array.dtype.kind == "f":
        smallest = math.ulp(0.0)
        numbers = [*map(float, whole), 1e-300, -smallest, -0.0, 1e300, math.nan, math.inf, -math.inf]
    else:
        return []
    if array.ndim == 0:
        return [type(value)(number) for number in numbers]
    arrays = [np.full(array.shape, number).astype(array.dtype) for number in numbers]
    return [item.tolist() if isinstance(value, Sequence) else item for item in arrays]


def _check_record(record: Event | Guarantee) -> None:
    name = type(record).__name__
    for field in dataclasses.fields(record):
        content = getattr(record, field.name)
        for item in content if isinstance(content, tuple) else (content,):
            if isinstance(item, float):
                _fail("fractions", f"{name}.{field.name} is a float; parameters are exact: Fraction or int.")
    try:
        again = type(record).from_json(record.to_json())
    except (CelosiaError, TypeError) as error:
        raise ConformanceError("testing.json_not_read_back", name=name, error=error) from error
    if again != record:
        _fail("JSON", f"{name} does not come back equal from its own JSON.")


def _same_margin(here: Release[Any], there: Release[Any]) -> bool:
    if here.margin is None or there.margin is None:
        return here.margin is there.margin
    return np.array_equal(here.margin(_LEVEL), there.margin(_LEVEL))


def _fail(check: str, what: str) -> None:
    raise ConformanceError("testing.conduct_check_failed", check=check, finding=what)
