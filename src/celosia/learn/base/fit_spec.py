"""The public facts of a fit from sums, from which its request is made."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from celosia.data.schema.columns import Kind
from celosia.statistics.base.noise import ContributionBounds, RowSensitivity
from celosia.statistics.base.summary_request import Part, SummaryRequest, unit_sensitivity
from celosia.statistics.base.target import Target

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FitSpec:
    """The public facts of a fit: the kinds of the columns, the classes, the privacy target, the contribution bounds.

    ``target`` is the kind of a target that is a number. ``droppable``: a row may be left out for what it holds.
    """

    features: tuple[Kind, ...]
    privacy: Target
    bounding: ContributionBounds
    target: Kind | None = None
    classes: tuple[Any, ...] | None = None
    names: tuple[str, ...] | None = None
    droppable: bool = False

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of all columns; the target of a regression is the last."""
        return self.features if self.target is None else (*self.features, self.target)

    def request(
        self,
        parts: "Sequence[Part]",
        row_sensitivity: RowSensitivity,
        *,
        combination: Any = None,
    ) -> SummaryRequest:
        """Return the request for these parts, with noise for the row sensitivity and the guarantee."""
        sensitivity = unit_sensitivity(row_sensitivity, self.bounding, droppable=self.droppable)
        cells = 1 if self.classes is None else len(self.classes)
        summed = sum(part.measure.width * (cells if part.by_class else 1) for part in parts)
        noise = self.privacy.noise(sensitivity, summed if combination is None else combination.shape[0])
        guarantee = self.privacy.guarantee
        assert guarantee is not None  # noqa: S101 - for the type checker: a request is private
        return SummaryRequest(
            parts=tuple(parts),
            row_sensitivity=row_sensitivity,
            bounding=self.bounding,
            noise=noise,
            event=self.privacy.event(noise.event),
            guarantee=guarantee,
            classes=self.classes,
            combination=combination,
            spec=self,
        )


def read_spec(request: SummaryRequest) -> FitSpec:
    """Return the public facts of a fit that a request was made for."""
    spec = request.spec
    assert isinstance(spec, FitSpec)  # noqa: S101 - for the type checker: it was made here
    return spec
