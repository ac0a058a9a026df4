"""What a private search is about, checked before anything is paid for: candidates, records, and how they are split.

Candidates are refused where they would choose what is not theirs to choose: the privacy itself, or the public bounds.
They are rehearsed on made-up records that lie evenly between the bounds, so that a wrong parameter costs nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import ParameterGrid

from celosia.core import Source
from celosia.core.adjacency import AddRemove
from celosia.core.errors import ParameterError
from celosia.core.exact import exact, safe_repr
from celosia.data.schema.columns import Kind
from celosia.learn.model_selection.held_out import Scoring
from celosia.learn.privacy.parameters import target_kind
from celosia.mechanisms.repetition import Repetitions, coin_split
from celosia.statistics.base.target import Target

_SPOKEN_FOR = ("epsilon", "delta", "rho", "adjacency", "budget", "source",
               "bounds", "bounds_y", "classes", "categories")  # fmt: skip
_ROWS = 64  # made-up records


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Plan:
    """A search that was checked: nothing was spent yet."""

    privacy: Target
    candidates: list[dict[str, Any]]
    settings: dict[str, Any]
    scoring: Scoring
    repetitions: Repetitions
    share: Fraction
    rows: Any
    target: NDArray[Any]

    def coins(self, source: Source) -> NDArray[np.bool_]:
        """Flip a coin for every record: True holds it out.

        Where the number of records is public, coins that leave none to fit are flipped again. Where it is private they
        stand, and a model is fitted to no record: to flip again, or to say so, would tell how few records there are.
        """
        out = coin_split(self.share, len(self.target), source)
        while out.all() and not (self.privacy.private and self.privacy.adjacency is AddRemove):
            out = coin_split(self.share, len(self.target), source)
        return out

    def split(self, out: NDArray[np.bool_]) -> tuple[Any, NDArray[Any], Any, NDArray[Any]]:
        """Return the rows and targets that are fitted, and those that are held out."""
        kept, held = np.flatnonzero(~out), np.flatnonzero(out)
        return _take(self.rows, kept), self.target[kept], _take(self.rows, held), self.target[held]


def _take(rows: Any, places: NDArray[np.intp]) -> Any:
    if isinstance(rows, np.ndarray):
        return rows[places]
    import narwhals as nw

    frame = nw.from_native(rows, eager_only=True)
    return frame[places.tolist(), :].to_native()


def candidates_of(estimator: Any, grid: Any) -> list[dict[str, Any]]:
    """Return the settings that a grid stands for.

    Refuse what an estimator does not have, or what is not to be chosen.
    """
    try:
        found = list(ParameterGrid(grid))
    except (TypeError, ValueError) as error:
        raise ParameterError("learn.malformed_param_grid", value=safe_repr(grid)) from error
    known = estimator.get_params(deep=False)
    for name in sorted({name for one in found for name in one}):
        if name in _SPOKEN_FOR:
            raise ParameterError("learn.parameter_not_searchable", name=repr(name))
        if name not in known:
            raise ParameterError("learn.unknown_grid_parameter", name=repr(name), estimator=type(estimator).__name__)
    return found


def exact_repetitions(repetitions: Any, candidates: int) -> Repetitions:
    """Return how often a search runs: as given, or twice the number of candidates on average."""
    if isinstance(repetitions, Repetitions):
        return repetitions
    return Repetitions(mean=max(2 * candidates, 4) if repetitions is None else repetitions)


def exact_share(holdout: Any) -> Fraction:
    """Return the share of records that are held out."""
    share = exact(holdout, name="holdout")
    if not 0 < share < 1:
        raise ParameterError("learn.holdout_out_of_range", value=safe_repr(holdout))
    return share


def made_up(kinds: Sequence[Kind], names: Sequence[str] | None) -> Any:
    """Return made-up records, evenly between the bounds, or every category in turn."""
    columns = [_spread_values(kind) for kind in kinds]
    if names is None:
        return np.column_stack(columns)
    import pyarrow as pa

    return pa.table(dict(zip(names, map(pa.array, columns), strict=True)))


def made_up_target(classes: Sequence[Any] | None, bounds_y: Any) -> NDArray[Any]:
    """Return made-up targets: every class in turn, or numbers evenly between the bounds."""
    if classes is None:
        return _spread_values(target_kind(bounds_y))
    return np.array(classes)[np.arange(_ROWS) % len(classes)]


def _spread_values(kind: Kind) -> NDArray[Any]:
    domain = None if kind.axis is not None else kind.domain()
    if domain:
        return np.array(domain)[np.arange(_ROWS) % len(domain)]
    axis = kind.axis
    if axis is None:
        raise ParameterError("learn.feature_not_number_or_category", kind=repr(kind))
    return np.linspace(float(axis.low), float(axis.high), _ROWS)


@contextmanager
def no_records(model: Any) -> Iterator[None]:
    """Let a model fit none of the records that it is shown: it learns their shape, and noise."""
    validated = model.read_data

    def none(*given: Any, **named: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        values, target = validated(*given, **named)
        return values[:0], target[:0]

    model.read_data = none
    try:
        yield
    finally:
        del model.read_data


def with_settings(estimator: Any, settings: Mapping[str, Any]) -> Any:
    """Return an unfitted estimator with other settings; no clone, for here the fits are accounted for."""
    return type(estimator)(**(estimator.get_params(deep=False) | dict(settings)))
