"""Simulation of a collection on known data: clients report, a server estimates, and the result is compared.

The result contains true counts. It is for synthetic or public data, to evaluate a protocol before deployment. It times
clients, server and estimate separately.
"""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core.errors import InputError
from celosia.core.exact import Exact, exact_level
from celosia.core.messages.message import Message, join_messages
from celosia.local.base.values import domain_labels
from celosia.local.longitudinal.d_bit_flip import DBitFlip
from celosia.local.means.interval import read_numbers
from celosia.local.metrics import Metrics, compare
from celosia.noise.source import Seeded, source_or_system
from celosia.sketches.hashing.columns import Column, read_column

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source
    from celosia.local.base.aggregate import Aggregate
    from celosia.local.base.protocol import Protocol
    from celosia.local.catalogue import Task

    Floats = NDArray[np.float64]

_SHARES = (0.25, 0.5, 0.75)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seconds:
    """Seconds of the clients, the server's counting and its estimate."""

    client: float
    update: float
    estimate: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantile:
    """A true quantile, its estimate and its bounds."""

    share: float
    true: Any
    estimated: Any
    low: Any
    high: Any


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Simulation:
    """True and estimated numbers, key by key, with intervals of ``level``.

    For a mean or a distinct count there is one key, and no ``metrics``. If a protocol discovers words, the first
    ``found`` keys are its discoveries; missed true ones come after them, with an estimate of 0. ``expected_rmse``
    follows from the standard errors, None if keys were missed. ``statement`` is the protocol's statement of its limits.

    >>> from celosia.local import DirectEncoding
    >>> from celosia.noise import Seeded
    >>> simulate(DirectEncoding(domain=3, epsilon=2), [0] * 600 + [2] * 400, source=Seeded(7))
    Simulation(DirectEncoding(epsilon=2, domain=3), 1000 reports, 3 keys, rmse=15.3)
    """

    protocol: "Protocol[Any]"
    task: "Task"
    reports: int
    seeded: bool
    level: float
    keys: list[Any]
    found: int
    true: "Floats"
    estimated: "Floats"
    low: "Floats"
    high: "Floats"
    expected_rmse: float | None
    metrics: Metrics | None
    seconds: Seconds
    statement: str | None = None
    quantiles: tuple[Quantile, ...] = ()

    @property
    def coverage(self) -> float:
        """The share of the found keys whose interval contains the true number.

        >>> from celosia.local import DirectEncoding
        >>> from celosia.noise import Seeded
        >>> simulate(DirectEncoding(domain=3, epsilon=2), [0] * 600 + [2] * 400, source=Seeded(7)).coverage
        1.0
        """
        if not self.found:
            return 1.0
        low, true, high = (side[: self.found] for side in (self.low, self.true, self.high))
        return float(((low <= true) & (true <= high)).mean())

    def to_arrow(self) -> "pa.Table":
        """Return the rows as a table; missed keys have no interval.

        >>> from celosia.local import DirectEncoding
        >>> simulate(DirectEncoding(domain=3, epsilon=2), [0, 2]).to_arrow().column_names
        ['value', 'true', 'estimated', 'low', 'high']
        """
        import pyarrow as pa

        columns = {"true": self.true, "estimated": self.estimated}
        missed = np.arange(len(self.keys)) >= self.found
        bounds = {"low": pa.array(self.low, mask=missed), "high": pa.array(self.high, mask=missed)}
        return pa.table({"value": pa.array(self.keys), **columns, **bounds})

    def __repr__(self) -> str:
        error = "" if self.metrics is None else f", rmse={self.metrics.rmse:.3g}"
        keys = f"{len(self.keys)} key{'s'[: len(self.keys) != 1]}"
        return f"Simulation({self.protocol!r}, {self.reports} reports, {keys}{error})"


def simulate(
    protocol: "Protocol[Any]",
    values: Any,
    *,
    task: "Task" = "counts",
    source: "Source | None" = None,
    level: Exact = 0.95,
    postprocess: str | None = None,
    watch: Callable[[int], None] | None = None,
) -> Simulation:
    """Report all values, estimate, and compare with the truth.

    Parameters
    ----------
    protocol
        A protocol for ``task`` (see ``celosia.local.catalogue``).
    values
        One value per person.
    source
        The source of the clients' coins.
    level
        The coverage probability of each interval.
    postprocess
        Post-processing of counts: ``"clip"`` or ``"norm-sub"``.
    watch
        Called after each batch with the number of reports so far.

    Examples
    --------
    >>> from celosia.local import Duchi
    >>> from celosia.noise import Seeded
    >>> simulation = simulate(Duchi(low=0, high=1, epsilon=4), [0.25] * 1000, task="mean", source=Seeded(7))
    >>> simulation.keys, simulation.true.tolist(), simulation.estimated.round(2).tolist()
    (['mean'], [0.25], [0.27])
    """
    source, certain = source_or_system(source), exact_level(level)
    values = read_numbers(values) if task == "mean" else read_column(values)
    if not len(values):
        raise InputError("local.nothing_to_simulate")
    _warm(protocol, values, task)
    aggregate, client, update = _collect(protocol, values, source, watch)
    truth = _Truth(protocol, values, task)
    begun = time.perf_counter()
    estimate = aggregate.estimate(truth.candidates(), **({} if postprocess is None else {"postprocess": postprocess}))
    seconds = Seconds(client=client, update=update, estimate=time.perf_counter() - begun)
    rows = truth.rows(estimate, certain)
    counted = task not in ("mean", "distinct")
    metrics = (
        compare(dict(zip(rows.keys, rows.true, strict=True)), dict(zip(rows.keys, rows.estimated, strict=True)))
        if counted
        else None
    )
    return Simulation(
        protocol=protocol,
        task=task,
        reports=aggregate.reports,
        seeded=source.seeded,
        level=certain,
        keys=rows.keys,
        found=rows.found,
        true=np.asarray(rows.true, dtype=np.float64),
        estimated=np.asarray(rows.estimated, dtype=np.float64),
        low=np.asarray(rows.low, dtype=np.float64),
        high=np.asarray(rows.high, dtype=np.float64),
        expected_rmse=rows.expected,
        metrics=metrics,
        seconds=seconds,
        statement=truth.statement(estimate),
        quantiles=truth.quantiles(estimate, certain),
    )


def _warm(protocol: "Protocol[Any]", values: Any, task: "Task") -> None:
    """Report once before the clock runs, so that compilation and imports do not count."""
    first = read_numbers(values)[:1] if task == "mean" else values.slice(0, 1)
    protocol.aggregate().absorb(protocol.privatize(first, source=Seeded(0)))


def _collect(
    protocol: "Protocol[Any]",
    values: Any,
    source: "Source",
    watch: Callable[[int], None] | None,
) -> "tuple[Aggregate[Any], float, float]":
    aggregate = protocol.aggregate()
    client = update = 0.0
    batches: Iterator[Any] = iter(protocol.batches(values, source=source))
    while True:
        begun = time.perf_counter()
        batch = next(batches, None)
        client += time.perf_counter() - begun
        if batch is None:
            return aggregate, client, update
        begun = time.perf_counter()
        aggregate.absorb(batch)
        update += time.perf_counter() - begun
        if watch is not None:
            watch(aggregate.reports)


@dataclass(frozen=True, slots=True)
class _Rows:
    keys: list[Any]
    found: int
    true: list[float]
    estimated: list[float]
    low: list[float]
    high: list[float]
    expected: float | None = None


class _Truth:
    """The true numbers of the data."""

    def __init__(self, protocol: "Protocol[Any]", values: Any, task: "Task") -> None:
        self.task = task
        self.domain = getattr(protocol, "buckets" if isinstance(protocol, DBitFlip) else "domain", None)
        if task == "mean":
            self.mean = float(values.mean())
            return
        length = getattr(protocol, "length", None) if task == "words" else None
        self.counts = _count_values(values, length)

    def candidates(self) -> list[Any] | None:
        """Return the candidates, or None if the protocol needs none."""
        return list(self.counts) if self.task == "counts" and self.domain is None else None

    def rows(self, estimate: Any, level: float) -> _Rows:
        if self.task == "mean":
            low, high = estimate.interval(level)
            return _Rows(
                [Message("local.mean_key")],
                1,
                [self.mean],
                [estimate.mean],
                [low],
                [high],
                float(estimate.standard_error),
            )
        if self.task == "distinct":
            true = sum(count >= estimate.least for count in self.counts.values())
            name = Message("local.frequent_values", least=estimate.least)
            most = estimate.high if math.isfinite(estimate.high) else float(len(self.counts))
            # The estimate's lower bound is of all values that occur; there may be no frequent ones.
            return _Rows([name], 1, [float(true)], [estimate.estimate], [0.0], [float(most)])
        low, high = estimate.interval(level)
        keys = list(estimate.candidates)
        found = dict.fromkeys(keys)
        missed = [key for key in self.counts if key not in found]  # words that did not surface; none for other tasks
        nothing = [0.0] * len(missed)
        errors = np.asarray(estimate.standard_errors, dtype=np.float64)
        return _Rows(
            [*keys, *missed],
            len(keys),
            [float(self.counts.get(key, 0)) for key in (*keys, *missed)],
            [*estimate.counts.tolist(), *nothing],
            [*low.tolist(), *nothing],
            [*high.tolist(), *nothing],
            math.sqrt(float((errors**2).mean())) if keys and not missed else None,
        )

    def statement(self, estimate: Any) -> str | None:
        """Return the protocol's statement of its limits; for distinct values, with the truth."""
        statement: Message | None = getattr(estimate, "statement", None)
        if self.task != "distinct" or statement is None:
            return statement
        frequent = sum(count >= estimate.least for count in self.counts.values())
        return join_messages([statement, Message("local.in_truth", frequent=frequent, all=len(self.counts))])

    def quantiles(self, estimate: Any, level: float) -> tuple[Quantile, ...]:
        if self.task != "ranges":
            return ()
        labels = domain_labels(self.domain)  # type: ignore[arg-type]  # ranges have one
        rising = np.cumsum([self.counts.get(label, 0) for label in labels])
        found = []
        for share in _SHARES:
            true = labels[int(np.searchsorted(rising, share * rising[-1]))]
            low, high = estimate.quantile_interval(share, level)
            found.append(Quantile(share=share, true=true, estimated=estimate.quantile(share), low=low, high=high))
        return tuple(found)


def _count_values(values: Column, length: int | None) -> dict[Any, int]:
    import pyarrow as pa
    import pyarrow.compute as pc

    array = pa.array(values.tolist() if values.integers is None else values.integers)
    if length is not None and values.text:
        array = pc.utf8_slice_codeunits(array, 0, length)
    counts = pc.value_counts(array)
    pairs = zip(counts.field("values").to_pylist(), counts.field("counts").to_pylist(), strict=True)
    return dict(sorted(pairs, key=lambda pair: -pair[1]))
