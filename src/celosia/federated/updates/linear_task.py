"""Records of all parties on the scale that gradient methods are analysed on, and the way back to a fitted model.

A line or a logistic regression is learned from rows no longer than 1 and targets from -1 to 1, with weights in a ball.
All constants of the privacy proof follow from that, never from records: the longest gradient, the smoothness, the ball.
Records of parties stand one after the other, so that a round is computed for all of them at once.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from celosia.core.adjacency import ReplaceOne
from celosia.core.errors import InputError, ParameterError
from celosia.core.exact import Exact, exact_positive, safe_repr
from celosia.federated.parties.party import read_from
from celosia.federated.updates.shape import copy_estimator, read_example
from celosia.federated.updates.table_rows import read_tables
from celosia.learn.linear_model.linear import LinearRegression
from celosia.learn.linear_model.logistic import LogisticRegression
from celosia.learn.optimize.losses import LogisticLoss, Loss, SquaredLoss
from celosia.learn.optimize.projections import Ball
from celosia.learn.privacy.parameters import feature_kinds, target_kind
from celosia.learn.sgd.unit_rows import UnitRows, interval_of, shorten_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from celosia.core.events import Event
    from celosia.core.guarantees import Guarantee
    from celosia.federated.parties.party import Party
    from celosia.statistics.base.target import Target

Floats = NDArray[np.float64]

_CLIPS: Final = {SquaredLoss: Fraction(1, 4), LogisticLoss: Fraction(1, 2)}  # slopes of most records are smaller
_ROUNDED: Final = 1 + 2.0**-30  # how far projected weights may be outside, at the most
_REACH: Final = {LinearRegression: 1, LogisticRegression: 4}  # the radius of the default ball, in norms of a row


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinearTask:
    """What is learned, from what: the estimator, its loss, the ball of its weights, and the scaled records.

    ``names`` are those of all parties and ``sizes`` how many records they have, -1 where that is not known. The records
    of the parties in this process are in ``rows``, from ``offsets[place]`` to ``offsets[place + 1]`` in the order of
    ``held``.
    """

    model: Any
    target: "Target"
    loss: Loss
    ball: Ball
    scaling: UnitRows
    names: tuple[str, ...]
    sizes: NDArray[np.int64] = field(repr=False)
    held: tuple[str, ...]
    rows: Floats = field(repr=False)
    targets: Floats = field(repr=False)
    offsets: NDArray[np.int64] = field(repr=False)

    @property
    def dimension(self) -> int:
        """How many weights there are."""
        return self.scaling.dimension

    def check_state(self, state: object) -> Floats:
        """Return the public weights of a round, which may come from a file or a network; refuse what none can be.

        With more of them a compiled step would read beyond a record, into the next ones.
        """
        shapes = (self.dimension,), (len(self.names), self.dimension)
        if isinstance(state, np.ndarray) and state.dtype.kind in "if" and state.shape in shapes:
            weights, most = state.astype(np.float64), float(self.ball.radius) * _ROUNDED
            if weights.ndim == 2 and np.isfinite(weights).all():  # means with negative weights may be outside the ball
                lengths = np.linalg.norm(weights, axis=1, keepdims=True)
                weights *= np.minimum(1.0, float(self.ball.radius) / np.maximum(lengths, float(self.ball.radius)))
            rows = np.atleast_2d(weights)
            if np.abs(rows).max() <= most and np.linalg.norm(rows, axis=1).max() <= most:  # not if one is NaN
                return weights
        raise InputError("federated.state_not_usable", weights=self.dimension, radius=float(self.ball.radius))

    @property
    def steepest(self) -> Fraction:
        """The length of the longest gradient of a record."""
        return self.loss.lipschitz(self.ball.radius)

    def choose_clip(self, clip: Exact | None, usual: Fraction | None = None) -> Fraction:
        """Return where gradients are cut: at what is given, or usual for the loss, and no more than the longest."""
        if usual is None or type(self.loss) not in _CLIPS:
            usual = _CLIPS.get(type(self.loss), self.steepest)
        return min(self.steepest, usual if clip is None else exact_positive(clip, name="clip"))

    def find_places(self, names: "Sequence[str]") -> list[int]:
        """Return where parties stand among all."""
        return _find(names, self.names)

    def find_held(self, names: "Sequence[str]") -> list[int]:
        """Return where parties stand among those whose records are in this process."""
        return _find(names, self.held)

    def find_bounds(self, held: list[int]) -> NDArray[np.int64]:
        """Return where the records begin and end of parties that stand so among those in this process."""
        return np.column_stack([self.offsets[held], self.offsets[[place + 1 for place in held]]])

    def finish(
        self, weights: Floats, paid: "tuple[Event, Guarantee]", *, noise: float, seeded: bool, how: tuple[str, str]
    ) -> Any:
        """Return the estimator, fitted: with weights for features and targets in the caller's units."""
        model = self.model
        slopes, constant = self.scaling.coefficients(weights)
        middle, half = _read_range(model)
        model.set_coefficients(slopes * half, middle + constant * half, noise_scale=noise)
        model.event_, model.guarantee_ = paid
        model.seeded_, (model.method_, model.method_reason_) = seeded, how
        return model


def read_task(
    estimator: Any,
    parties: "tuple[Party, ...]",
    privacy: Mapping[str, Any],
    *,
    loss: object,
    radius: Exact | None,
    widest: int | None = None,
) -> LinearTask:
    """Read and check the records of the parties in this process.

    ``widest`` is the radius of the ball, in norms of a row, for classes where none is given: slopes of the logistic
    loss do not grow with it.
    """
    estimator, parties = read_tables(estimator, parties)
    model = copy_estimator(estimator, privacy)
    target = model.find_privacy_target()
    if not target.private:
        raise ParameterError("learn.sums_need_privacy")
    read_example(model, parties, partial(_read_first, model))
    if model.learns == "classes" and len(model.classes_) != 2:
        raise ParameterError("federated.more_than_two_classes", found=len(model.classes_))
    names = getattr(model, "feature_names_in_", None)
    kinds = feature_kinds(model.bounds, model.n_features_in_, None if names is None else tuple(names))
    scaling = UnitRows.of(kinds, intercept=bool(model.fit_intercept))
    middle, half = _read_range(model)
    held = [one for one in parties if not one.is_remote]
    found = [_read_records(model, one, target) for one in held]
    sizes = {one.name: len(values) for one, (values, _) in zip(held, found, strict=True)}
    rows = [np.zeros((0, scaling.dimension)), *(scaling.rows(values) for values, _ in found)]
    targets = np.concatenate([np.zeros(0), *(target for _, target in found)])
    widest = None if isinstance(model, LinearRegression) else widest
    reach = (_REACH[type(model)] if widest is None else widest) * Fraction(math.ceil(scaling.norm * 1024), 1024)
    return LinearTask(
        model=model,
        target=target,
        loss=_find_loss(model, loss),
        ball=Ball(reach if radius is None else exact_positive(radius, name="radius")),
        scaling=scaling,
        names=tuple(one.name for one in parties),
        sizes=np.array([sizes.get(one.name, _find_size(one, target)) for one in parties]),
        held=tuple(sizes),
        rows=shorten_rows(np.concatenate(rows)),
        targets=np.clip((np.clip(targets, middle - half, middle + half) - middle) / half, -1.0, 1.0),
        offsets=np.cumsum([0, *sizes.values()]),
    )


def _find(names: "Sequence[str]", among: tuple[str, ...]) -> list[int]:
    if names == among:
        return list(range(len(among)))
    places = {name: place for place, name in enumerate(among)}
    return [places[name] for name in names]


def _find_size(party: "Party", target: "Target") -> int:
    """Return how many records a party has that are not read, -1 where that is not known; public under replace-one."""
    size = party.count_records() if target.adjacency is ReplaceOne else party.records
    return -1 if size is None else size


def describe_target(target: "Target") -> dict[str, Any]:
    """Return the privacy parameters of a target for whole parties, as an estimator takes them."""
    epsilon = 1 if target.rho is not None else target.epsilon  # an estimator's epsilon gives way to a rho
    return {"epsilon": epsilon, "rho": target.rho, "delta": target.delta or None, "adjacency": target.adjacency}


def check_estimator(estimator: object, update: str) -> None:
    """Refuse an estimator that is neither a line nor a logistic regression."""
    if type(estimator) not in _REACH:
        raise ParameterError(
            "federated.estimator_without_gradient", update=update, type=safe_repr(type(estimator).__name__)
        )


def check_sizes(task: LinearTask) -> None:
    """Refuse a task that does not know how many records each party has."""
    for name, size in zip(task.names, task.sizes.tolist(), strict=True):
        if size < 0:
            raise ParameterError("federated.records_not_stated", name=safe_repr(name))


def _find_loss(model: Any, loss: object) -> Loss:
    if loss is None:
        return SquaredLoss() if isinstance(model, LinearRegression) else LogisticLoss()
    if not isinstance(loss, Loss):
        raise ParameterError("federated.not_a_loss", loss=safe_repr(loss))
    return loss


def _read_records(model: Any, party: "Party", privacy: "Target") -> tuple[Floats, Floats]:
    """Return features and targets of a party, of two classes -1 and 1.

    Their number is compared with the stated one only where it is public: an error would tell it.
    """
    classes = getattr(model, "classes_", None)
    values, target = read_from(party, lambda: model.read_data(party.X, party.y, classes, first=False))
    if privacy.adjacency is ReplaceOne and party.records not in {None, len(values)}:
        raise InputError("federated.records_differ", name=safe_repr(party.name), records=party.records)
    return values, target if isinstance(model, LinearRegression) else np.where(target == 1, 1.0, -1.0)


def _read_first(model: Any, features: Any, target: Any) -> Any:
    return model.read_data(features, target, getattr(model, "classes", None), first=True)


def _read_range(model: Any) -> tuple[float, float]:
    """Return the middle and half of the target's bounds; classes are -1 and 1 already."""
    if not isinstance(model, LinearRegression):
        return 0.0, 1.0
    low, high = interval_of(target_kind(model.bounds_y))
    return low / 2 + high / 2, high / 2 - low / 2
