"""Compare ways to train, at the same cost: how good the models are, what is sent, and how long it takes.

Every way is run several times, and each model is scored on records that were kept apart. Beside them stand a fit with
privacy and one without, both with all records in one place. This is for experiments: every run spends anew and no
ledger counts it, and scores are computed from records without noise.
"""

import copy
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from celosia.core.adjacency import ReplaceOne
from celosia.core.errors import InputError, ParameterError
from celosia.core.exact import exact_epsilon, exact_integer, safe_repr
from celosia.federated.contributions import INTEGER_BYTES
from celosia.federated.federation import UPDATES, Federation
from celosia.federated.parties.party import Party, read_parties
from celosia.federated.updates.one_shot import OneShot
from celosia.noise.keyed import Keyed, derive
from celosia.query.progress import Bar

if TYPE_CHECKING:
    import pyarrow as pa

    from celosia.core import Source
    from celosia.core.adjacency import Adjacency
    from celosia.core.exact import Exact
    from celosia.federated.updates.proximal.update import Proximal
    from celosia.federated.updates.sgd import SGD

    Update = OneShot | Proximal | SGD

CENTRAL: Final = "one place"
"""The name of a private fit with all records in one place."""

NON_PRIVATE: Final = "no privacy"
"""The name of a fit without privacy, with all records in one place."""

_BAND: Final = (0.1, 0.9)


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodResult:
    """What one way to train gave at one epsilon, over all repetitions.

    ``scores`` has one number for each repetition, and ``round_scores`` the mean over them after each round.
    ``bytes_sent`` is what all parties send in one training, ``seconds`` the median time of one. With all records in one
    place the bytes are those of the records, as doubles; epsilon is None without privacy.

    >>> shape = {"method": "SGD", "epsilon": Fraction(1), "rounds": 1, "bytes_sent": 80, "seconds": 0.1}
    >>> result = MethodResult(scores=(0.5, 0.7), round_scores=(0.6,), **shape)
    >>> round(result.score, 3), [round(end, 3) for end in result.band]
    (0.6, [0.52, 0.68])
    """

    method: str
    epsilon: Fraction | None
    rounds: int
    scores: tuple[float, ...]
    round_scores: tuple[float, ...] = field(repr=False)
    bytes_sent: int
    seconds: float

    @property
    def score(self) -> float:
        """The mean score."""
        return float(np.mean(self.scores))

    @property
    def band(self) -> tuple[float, float]:
        """The ends of the middle four fifths of the scores."""
        low, high = np.quantile(self.scores, _BAND)
        return float(low), float(high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The results of all methods at all epsilons, by epsilon and in the order of the methods.

    ``metric`` is what a score is: R² for numbers, the accuracy for classes.

    >>> Comparison(results=(), metric="R²", parties=2, repetitions=1, seeded=False).to_arrow().num_rows
    0
    """

    results: tuple[MethodResult, ...]
    metric: str
    parties: int
    repetitions: int
    seeded: bool

    def to_arrow(self) -> "pa.Table":
        """Return the table: a row for each method and epsilon."""
        import pyarrow as pa

        rows = [
            {
                "method": one.method,
                "epsilon": None if one.epsilon is None else float(one.epsilon),
                "rounds": one.rounds,
                "score": one.score,
                "low": one.band[0],
                "high": one.band[1],
                "bytes": one.bytes_sent,
                "seconds": one.seconds,
            }
            for one in self.results
        ]
        return pa.Table.from_pylist(rows)

    def __str__(self) -> str:
        lines = [f"{'method':<14}{'epsilon':>9}{'rounds':>8}{self.metric:>10}{'bytes':>12}{'seconds':>10}"]
        for one in self.results:
            spent = "–" if one.epsilon is None else f"{float(one.epsilon):.4g}"
            shown = f"{one.rounds:>8}{one.score:>10.3f}{one.bytes_sent:>12,}{one.seconds:>10.3f}"
            lines.append(f"{one.method:<14}{spent:>9}{shown}")
        return "\n".join(lines)


def compare_methods(  # noqa: PLR0913 - the parameters of an experiment
    parties: Any,
    test: tuple[Any, Any],
    *,
    methods: "Mapping[str, Update | tuple[Update, Mapping[str, Any]]]",
    epsilons: "Sequence[Exact]" = (1,),
    delta: "Exact | None" = "1e-5",
    adjacency: "Adjacency | str" = ReplaceOne,
    rounds: int | Mapping[str, int] = 50,
    repetitions: int = 5,
    reference: Any = None,
    source: "Source | None" = None,
    watch: Callable[[float], None] | None = None,
) -> Comparison:
    """Train with every method at every epsilon, several times, and score the models. For experiments only.

    Parameters
    ----------
    parties
        Names and records, as for a ``Federation``; all of them in this process.
    test
        X and y of records that no party has.
    methods
        What is compared, by names: ``{"one-shot": OneShot(...), "masked": (OneShot(...), {"masks": Masks()})}``. A
        pair has other parameters of a ``Federation`` too.
    epsilons, delta, adjacency
        The privacy target, the same for all methods.
    rounds
        For all methods, or for each by name. ``OneShot`` has one.
    repetitions
        How often each training is run, with new noise.
    reference
        The estimator that is fitted with all records in one place; that of the first method if left out.
    source
        Where the noise comes from. With a seeded source every training has a stream of its own.
    watch
        Called with the share that is done, instead of a progress bar.

    Examples
    --------
    >>> from celosia.federated import SGD, OneShot, compare_methods, make_debt
    >>> from celosia.learn import LinearRegression
    >>> from celosia.noise import Seeded
    >>> debt, test = make_debt(rows=1000), make_debt(seed=1).together()
    >>> line = LinearRegression(bounds=debt.bounds, bounds_y=debt.bounds_y)
    >>> found = compare_methods(
    ...     debt.parties, test, methods={"one-shot": OneShot(line), "SGD": SGD(estimator=line)}, source=Seeded(7)
    ... )
    >>> [one.method for one in found.results], found.metric
    (['one-shot', 'SGD', 'one place', 'no privacy'], 'R²')
    >>> [round(one.score, 1) for one in found.results]
    [0.6, 0.6, 0.6, 0.6]
    """
    held = read_parties(parties)
    ways, spent = _read_methods(methods), _read_epsilons(epsilons)
    for one in held:
        if one.is_remote:
            raise InputError("federated.records_elsewhere", name=safe_repr(one.name))
    times = int(exact_integer(repetitions, name="repetitions"))
    plain = ways[0][1].estimator if reference is None else reference
    runs = _Runs(
        parties=held,
        test=test,
        target={"delta": delta, "adjacency": adjacency},
        times=times,
        source=source,
        secret=source.words(4).tobytes() if source is not None and source.seeded else None,
    )
    jobs: list[Callable[[], MethodResult]] = []
    for epsilon in spent:
        jobs += [
            partial(runs.train, name, update, options, _find_rounds(name, update, rounds), epsilon)
            for name, update, options in ways
        ]
        jobs.append(partial(runs.fit, CENTRAL, plain, epsilon))
    jobs.append(partial(runs.fit, NON_PRIVATE, plain, None))
    return Comparison(
        results=tuple(_run_jobs(jobs, watch)),
        metric="R²" if plain.learns == "number" else "accuracy",
        parties=len(held),
        repetitions=times,
        seeded=runs.secret is not None,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Runs:
    """The trainings of one comparison."""

    parties: tuple[Party, ...]
    test: tuple[Any, Any]
    target: dict[str, Any]
    times: int
    source: "Source | None"
    secret: bytes | None = field(repr=False)

    def train(
        self, method: str, update: "Update", options: Mapping[str, Any], rounds: int, epsilon: Fraction
    ) -> MethodResult:
        """Train with one method several times."""
        seconds, sent, scores = [], 0, []
        for number in range(self.times):
            models: list[Any] = []
            federation = Federation(
                parties=self.parties,
                update=update,
                epsilon=epsilon,
                rounds=rounds,
                source=self._get_source(method, epsilon, number),
                **(self.target | dict(options)),
            )
            start = time.perf_counter()
            model = federation.run(on_round=partial(_keep_model, models))
            seconds.append(time.perf_counter() - start)
            scores.append([one.score(*self.test) for one in models])
            sent = max(sent, sum(told["bytes"] for told in model.history_))
        return MethodResult(
            method=method,
            epsilon=epsilon,
            rounds=rounds,
            scores=tuple(float(of_rounds[-1]) for of_rounds in scores),
            round_scores=tuple(np.mean(scores, axis=0).tolist()),
            bytes_sent=sent,
            seconds=float(np.median(seconds)),
        )

    def fit(self, method: str, estimator: Any, epsilon: Fraction | None) -> MethodResult:
        """Fit with all records in one place, several times; without an epsilon once, without privacy."""
        features = np.concatenate([np.asarray(one.X) for one in self.parties])
        targets = np.concatenate([np.asarray(one.y) for one in self.parties])
        privacy: dict[str, Any] = (
            {"epsilon": float("inf"), "delta": None} if epsilon is None else {"epsilon": epsilon, **self.target}
        )
        seconds, scores = [], []
        for number in range(1 if epsilon is None else self.times):
            model = copy.deepcopy(estimator).set_params(
                **privacy, rho=None, budget=None, source=self._get_source(method, epsilon, number)
            )
            start = time.perf_counter()
            model.fit(features, targets)
            seconds.append(time.perf_counter() - start)
            scores.append(float(model.score(*self.test)))
        return MethodResult(
            method=method,
            epsilon=epsilon,
            rounds=1,
            scores=tuple(scores),
            round_scores=(float(np.mean(scores)),),
            bytes_sent=INTEGER_BYTES * (features.size + targets.size),
            seconds=float(np.median(seconds)),
        )

    def _get_source(self, method: str, epsilon: Fraction | None, number: int) -> "Source | None":
        """Return the source of one training, so that its noise does not depend on what else is compared."""
        if self.secret is None:
            return self.source
        return Keyed(derive(self.secret, f"celosia.federated/comparison/{epsilon}/{number}/{method}".encode()))


def _keep_model(models: list[Any], _: int, model: Any) -> None:
    models.append(model)


def _run_jobs(
    jobs: Sequence[Callable[[], MethodResult]], watch: Callable[[float], None] | None
) -> Iterator[MethodResult]:
    """Yield the results, with a bar on a terminal after two seconds."""
    tell = Bar(text="Comparing") if watch is None else watch
    try:
        for done, job in enumerate(jobs):
            tell(done / len(jobs))
            yield job()
    finally:
        tell(1)


def _find_rounds(name: str, update: "Update", rounds: int | Mapping[str, int]) -> int:
    if isinstance(update, OneShot):
        return 1
    if not isinstance(rounds, Mapping):
        return int(exact_integer(rounds, name="rounds"))
    if name not in rounds:
        raise ParameterError("federated.rounds_not_stated", name=safe_repr(name))
    return int(exact_integer(rounds[name], name="rounds"))


def _read_methods(methods: object) -> "list[tuple[str, Update, Mapping[str, Any]]]":
    named = list(methods.items()) if isinstance(methods, Mapping) else []
    if not named or not all(isinstance(name, str) and name not in {CENTRAL, NON_PRIVATE} for name, _ in named):
        raise ParameterError("federated.methods_without_names", reserved=f"{CENTRAL!r}, {NON_PRIVATE!r}")
    found = []
    for name, method in named:
        update, options = method if isinstance(method, tuple) and len(method) == 2 else (method, {})
        if not isinstance(update, UPDATES) or not isinstance(options, Mapping):
            raise ParameterError("federated.unknown_update", update=safe_repr(update))
        found.append((name, update, options))
    return found


def _read_epsilons(epsilons: "Sequence[Exact]") -> list[Fraction]:
    spent = [exact_epsilon(epsilon) for epsilon in epsilons]
    if not spent or len(set(spent)) < len(spent):
        raise ParameterError("federated.epsilons_to_compare", epsilons=safe_repr(epsilons))
    return spent
