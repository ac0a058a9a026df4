"""The protocol of a private step, which makes synthetic records with a guarantee and is paid from a budget."""

from typing import TYPE_CHECKING, Protocol, TypeAlias, Union, runtime_checkable

from celosia.anonymity.microdata import Microdata, Step
from celosia.anonymity.private import PrivateMicrodata

if TYPE_CHECKING:
    from celosia.core.mechanism import Source


@runtime_checkable
class PrivateStep(Protocol):
    """Protocol of a differentially private method, such as ``NoisyHistogramSampling``."""

    def release(self, data: Microdata, *, budget: object = None, source: "Source | None" = None) -> PrivateMicrodata:
        """Return the private file, with its event and guarantee. ``budget`` pays before the data are read."""


AnyStep: TypeAlias = Union[Step, PrivateStep]  # noqa: UP007 - protocols have no |
"""What a plan may hold."""
