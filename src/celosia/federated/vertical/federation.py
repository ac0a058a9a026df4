"""Learn from columns of the same persons that different parties hold, such as a bank and a tax office.

The products of all columns are summed under masks (``round``), with one noise that the parties share, and the model is
solved from their total. No party shows a column, and the server sees noisy sums only. The server deals the pads: the
guarantee is against it, or against some of the parties, and not against both together (proofs/masked-products.md).
"""

import math
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from celosia.core.adjacency import ReplaceOne
from celosia.core.errors import InputError, ParameterError
from celosia.core.exact import exact_integer, safe_repr
from celosia.federated.contributions import RoundSum
from celosia.federated.masked import MaskedPlan, Masks
from celosia.federated.parties.party import Party, PartySources, read_from, read_parties
from celosia.federated.updates.one_shot import OneShotPlan
from celosia.federated.updates.shape import copy_estimator
from celosia.federated.vertical.needed_sums import NeededSums
from celosia.federated.vertical.round import ColumnParty, add_products, count_bytes
from celosia.learn.base.estimator import spend
from celosia.learn.base.reading import public_classes, read_features, read_labels, read_target
from celosia.learn.base.summaries import SummaryEstimator

if TYPE_CHECKING:
    from collections.abc import Sequence

    from celosia.core import Source
    from celosia.core.events import Event
    from celosia.core.exact import Exact
    from celosia.core.guarantees import Guarantee
    from celosia.statistics.base.summary_request import SummaryRequest

_MAX_SUM: Final = 2**61


@dataclass(frozen=True, slots=True, kw_only=True)
class VerticalPreview:
    """What a vertical fit would cost and send, known before any record is read.

    ``noise_ratio`` is how many times the noise of a fit with all columns in one place a number of the total has.

    >>> from celosia.learn import PCA
    >>> rows = np.zeros((50, 2))
    >>> VerticalFederation(parties={"a": rows, "b": rows}, estimator=PCA(bounds=(0, 1)), rho="0.1").preview().features
    4
    """

    guarantee: "Guarantee"
    event: "Event"
    parties: tuple[str, ...]
    features: int
    bytes_sent: int
    noise_ratio: float
    colluders: int

    def __str__(self) -> str:
        return (
            f"{len(self.parties)} parties with {self.features} features, 1 round, {self.bytes_sent} bytes from all.\n"
            f"Guarantee for every record, against the server, or any {self.colluders} of the parties, but not both"
            f" together:\n{self.guarantee!r}.\n"
            f"The noise is {self.noise_ratio:.2f} times that of a fit with all columns in one place."
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VerticalFederation:
    """Parties that hold different columns of the same persons, and what is learned from all columns together.

    Parameters
    ----------
    parties
        Names and columns: ``{"bank": X, "tax office": (X, y)}``. One of them has the target; it may have that alone,
        ``(None, y)``. Rows are the same persons in the same order at all parties.
    estimator
        ``LinearRegression``, ``Ridge``, ``PCA``, or ``LogisticRegression(method="functional")``: what learns from sums
        of products of two columns. Bounds are for all columns, in the order of the parties.
    epsilon, delta, rho
        The privacy target for every person under replace-one: how many there are, all parties know. It needs a delta
        or a rho, because parties can share Gaussian noise only.
    colluders
        How many parties may tell each other what they know; each knows its own share of the noise.
    budget
        Who pays: a session or an account of a ledger. Without one nothing is recorded.
    source
        Where noise and pads come from; the system by default.

    Examples
    --------
    >>> from celosia.learn import LinearRegression
    >>> rng = np.random.default_rng(7)
    >>> income, debt = rng.uniform(0, 9, (4000, 1)), rng.uniform(0, 5, (4000, 1))
    >>> late = 2 * debt[:, 0] - income[:, 0] + rng.normal(size=4000)
    >>> federation = VerticalFederation(
    ...     parties={"tax office": income, "bank": (debt, late)},
    ...     estimator=LinearRegression(bounds=([0, 0], [9, 5]), bounds_y=(-12, 12)), epsilon=1, delta="1e-6",
    ... )
    >>> print(federation.preview())
    2 parties with 2 features, 1 round, 96256 bytes from all.
    Guarantee for every record, against the server, or any 1 of the parties, but not both together:
    ApproxDP(epsilon=1, delta='1e-06', adjacency=ReplaceOne).
    The noise is 1.41 times that of a fit with all columns in one place.
    >>> model = federation.run()
    >>> bool(abs(model.coef_ - [-1, 2]).max() < 0.3)
    True
    """

    parties: Any = field(repr=False)
    estimator: Any
    epsilon: "Exact | None" = None
    delta: "Exact | None" = None
    rho: "Exact | None" = None
    colluders: int = 1
    budget: Any = field(default=None, repr=False)
    source: "Source | None" = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.estimator, SummaryEstimator):
            raise ParameterError("federated.estimator_not_from_sums", type=safe_repr(type(self.estimator).__name__))
        if self.epsilon is None and self.rho is None:
            raise ParameterError("federated.no_privacy_target")
        parties = read_parties(self.parties)
        exact_integer(self.colluders, name="colluders")
        holders = [one.name for one in parties if one.y is not None]
        wanted = int(self.estimator.learns != "features")
        if len(holders) != wanted:
            raise ParameterError("federated.targets_of_columns", wanted=wanted, found=len(holders))
        if empty := [one.name for one in parties if one.X is None and one.y is None]:
            raise InputError("federated.records_elsewhere", name=safe_repr(empty[0]))
        object.__setattr__(self, "parties", parties)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parties."""
        return tuple(one.name for one in self.parties)

    def preview(self) -> VerticalPreview:
        """Return the cost, the noise and the traffic. No record is read, and nothing is spent."""
        outlines = [_read_outline(self._make_model(), one) for one in self.parties]
        plan, sums = self._plan(outlines)
        persons = [one.count for one in outlines if one.count is not None]
        scale = plan.get_noise_scale(float(plan.find_spread(len(self.parties))))
        return VerticalPreview(
            guarantee=plan.guarantee,
            event=plan.event,
            parties=self.names,
            features=sum(one.width for one in outlines),
            bytes_sent=count_bytes(sums, len(self.parties), persons[0] if persons else 0, plan.width),
            noise_ratio=scale / plan.get_noise_scale(1),
            colluders=self.colluders,
        )

    def run(self) -> Any:
        """Pay, sum the products, and return the model; ``model.history_`` has what the round sent."""
        model, sources = self._make_model(), PartySources(self.source)
        read = [_read_columns(model, one) for one in self.parties]
        if len({len(one.values) for one in read}) > 1:
            raise InputError("federated.persons_differ")
        plan, sums = self._plan([one.outline for one in read])
        question = f"Fit {type(self.estimator).__name__} with columns of {len(self.parties)} parties"
        paid = plan.event, plan.guarantee
        with spend(self.budget, self.source, *paid, question=question, kind="federated") as payment:
            parties, noise = [], []
            for number, (name, one) in enumerate(zip(self.names, read, strict=True)):
                own, columns = sources.get(name, 1), sums.read_columns(number, one.table, one.codes)
                parties.append(ColumnParty(sums, number, columns, own))
                noise.append(plan.shares.draw(plan.width, own))
            found = add_products(parties, noise, sources.get("", 1))
            round_ = RoundSum(total=found.total.astype(object), accepted=self.names, rejected={})
            state = plan.advance(plan.start(), round_)
            model = plan.finish([state], plan.find_spread(len(parties)), seeded=sources.seeded)
            payment.deliver(state)
        model.history_ = ({"round": 1, "accepted": list(self.names), "rejected": {}, "bytes": found.bytes_sent},)
        against = f"the server, or any {self.colluders} of the parties, but not both together"
        told = f"columns of {len(parties)} parties; the guarantee holds against {against}"
        model.provenance_ = {**getattr(model, "provenance_", {}), "federation": told}
        return model

    def _make_model(self) -> Any:
        given: dict[str, Any] = {"epsilon": self.epsilon, "delta": self.delta, "rho": self.rho, "budget": self.budget}
        if self.epsilon is None:
            given["epsilon"] = 1  # an estimator's own epsilon gives way to a rho
        return copy_estimator(self.estimator, given | {"adjacency": ReplaceOne, "gaussian": True})

    def _plan(self, outlines: "Sequence[_Outline]") -> tuple[MaskedPlan, NeededSums]:
        """Plan from public facts alone: how many columns each party has, their names, and the classes."""
        model, count = self._make_model(), sum(one.width for one in outlines)
        if count == 0:
            raise ParameterError("federated.no_columns")
        request = model.plan_sums(*_make_example(model, outlines, count))
        _check_size(request, max((one.count or 0 for one in outlines), default=0))
        owners = [number for number, one in enumerate(outlines) for _ in range(one.width)]
        target = next((number for number, one in enumerate(self.parties) if one.y is not None), None)
        if model.learns == "number" and target is not None:
            owners.append(target)
        inner = OneShotPlan(model=model, request=request, sums={}, records={})
        return Masks(colluders=self.colluders).plan(inner, self.names), NeededSums.of(request, owners, target)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Outline:
    """The public facts of a party: how many features it has, their names, and how many persons it says there are."""

    width: int
    names: tuple[str, ...] | None
    count: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Columns:
    """What a party holds: features, a target that is a number, or the places of classes."""

    outline: _Outline
    values: NDArray[np.float64] = field(repr=False)
    target: NDArray[np.float64] | None = field(repr=False)
    codes: NDArray[np.int64] | None = field(repr=False)

    @property
    def table(self) -> NDArray[np.float64]:
        """The features, and a target that is a number last."""
        return self.values if self.target is None else np.column_stack([self.values, self.target])


def _check_size(request: "SummaryRequest", persons: int) -> None:
    """Refuse more persons than sums modulo 2^64 have room for, with their noise; how many there are is public."""
    most = _MAX_SUM // (math.isqrt(request.row_sensitivity.l2_squared) + 1)  # no number of a row is longer than the row
    if persons > most:
        raise InputError("learn.too_many_rows", most=most)


def _read_outline(model: Any, party: Party) -> _Outline:
    if party.X is None:
        return _Outline(width=0, names=(), count=_count_rows(party))
    outline: Any = party.withhold().outline
    model.hides_number = True  # an outline has no row
    values = read_from(party, partial(read_features, model, outline.X, reset=True))
    return _Outline(width=values.shape[1], names=_get_names(model), count=outline.count)


def _read_columns(model: Any, party: Party) -> _Columns:
    """Read and check a party's columns; errors name the party."""
    values = np.zeros((_count_rows(party), 0))
    names: tuple[str, ...] | None = ()
    if party.X is not None:
        values = read_from(party, partial(read_features, model, party.X, reset=True))
        names = _get_names(model)
    outline = _Outline(width=values.shape[1], names=names, count=len(values))
    if party.y is None:
        return _Columns(outline=outline, values=values, target=None, codes=None)
    if model.learns == "number":
        target = read_from(party, partial(read_target, party.y, len(values), model))
        return _Columns(outline=outline, values=values, target=target, codes=None)
    labels = read_from(party, partial(read_labels, party.y, len(values), model))
    known = read_from(party, partial(public_classes, model.classes, party.y, labels))
    codes = np.searchsorted(known, labels).astype(np.int64)
    return _Columns(outline=outline, values=values, target=None, codes=codes)


def _count_rows(party: Party) -> int:
    """Return how many rows the target of a party has; 0 if it has none."""
    try:
        return 0 if party.y is None else len(party.y)
    except TypeError:
        raise InputError("federated.records_not_a_pair", name=safe_repr(party.name)) from None


def _get_names(model: Any) -> tuple[str, ...] | None:
    names = vars(model).pop("feature_names_in_", None)
    return None if names is None else tuple(map(str, names))


def _make_example(model: Any, outlines: "Sequence[_Outline]", count: int) -> tuple[Any, Any]:
    """Return a made-up person, with the names of columns where all parties state them."""
    features: Any = np.zeros((1, count))
    stated = [one.names for one in outlines]
    if None not in stated:
        import pyarrow as pa

        names = [name for one in stated for name in one or ()]
        if len(set(names)) < len(names):
            raise ParameterError("federated.column_of_two_parties", name=safe_repr(max(names, key=names.count)))
        features = pa.table({name: [0.0] for name in names})
    if model.learns == "features":
        return features, None
    if model.learns == "classes" and model.classes is None:
        raise ParameterError("federated.classes_not_stated")
    return features, np.array([0.0]) if model.learns == "number" else np.array(model.classes)[:1]
