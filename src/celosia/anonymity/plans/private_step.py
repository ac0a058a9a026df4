"""The protocol of a private step, which makes synthetic records with a guarantee and is paid from a budget."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias, Union, runtime_checkable

from celosia.anonymity.microdata import Microdata, Step
from celosia.anonymity.private import PrivateMicrodata
from celosia.core.errors import ParameterError

if TYPE_CHECKING:
    from celosia.core.mechanism import Source


@runtime_checkable
class PrivateStep(Protocol):
    """Protocol of a differentially private method, such as ``NoisyHistogramSampling``."""

    def release(self, data: Microdata, *, budget: object = None, source: "Source | None" = None) -> PrivateMicrodata:
        """Return the private file, with its event and guarantee. ``budget`` pays before the data are read."""


AnyStep: TypeAlias = Union[Step, PrivateStep]  # noqa: UP007 - protocols have no |
"""What a plan may hold."""


def check_order(step: AnyStep, before: Sequence[AnyStep]) -> None:
    """Refuse a private step on what other steps made of the true records.

    One record may change what these do to all others: then its guarantee would be false.
    """
    if isinstance(step, PrivateStep) and before and not any(isinstance(one, PrivateStep) for one in before):
        raise ParameterError("anonymity.private_step_not_first", value=type(step).__name__)
