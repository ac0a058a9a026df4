"""A plan: steps in order, and the privacy models that the result must satisfy."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from celosia.anonymity.microdata import Microdata, Step
from celosia.anonymity.models import check
from celosia.anonymity.plans.history import History, LogEntry
from celosia.anonymity.plans.private_step import AnyStep, PrivateStep, check_order
from celosia.core.errors import InfeasibleError, ParameterError
from celosia.core.exact import exact_integer
from celosia.core.guarantees import Guarantee

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A plan applied to a file: the original, every state, the log, and the file to publish.

    >>> import pyarrow as pa
    >>> from celosia.anonymity import Mondrian, Plan, Roles, read_microdata
    >>> data = read_microdata(pa.table({"age": [30, 31]}), roles=Roles(quasi_identifiers=["age"]))
    >>> outcome = Plan(steps=[Mondrian(k=2)]).apply(data)
    >>> outcome.log[0].after.k, outcome.to_release()["age"].to_pylist()
    (2, ['30-31', '30-31'])
    """

    plan: "Plan"
    history: History

    @property
    def original(self) -> Microdata:
        """The file before the plan."""
        return self.history.original

    @property
    def data(self) -> Microdata:
        """The file after the plan, its records in the order of the original."""
        return self.history.data

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """The guarantees of the private steps."""
        return self.history.guarantees

    @property
    def log(self) -> tuple[LogEntry, ...]:
        """What each step did to risk and utility."""
        return self.history.log

    def to_release(self) -> "pa.Table":
        """Return the file to publish; a plan with a seed gives the same one every time."""
        return self.data.to_release(self.history.make_source("release"))

    def to_frame(self) -> Any:
        """Return the file to publish in the library of the frame that was read."""
        return self.data.to_frame(self.history.make_source("release"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Steps, and the models that the result must satisfy.

    Parameters
    ----------
    steps
        What is done, in order. A private step must be the first, because it needs the true records.
    require
        Privacy models. A result that does not satisfy them is not given out.
    seed
        Makes the plan give the same file every time. Keep it as secret as the data. Without one, every run draws anew,
        and so do private steps in any case.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from celosia.anonymity import KAnonymity, Mondrian, Roles, read_microdata
    >>> frame = pa.table({"age": [30, 31, 58, 60], "illness": ["flu", "flu", "none", "asthma"]})
    >>> data = read_microdata(frame, roles=Roles(quasi_identifiers=["age"], sensitive=["illness"]))
    >>> outcome = Plan(steps=[Mondrian(k=2)], require=[KAnonymity(k=2)], seed=7).apply(data)
    >>> sorted(outcome.to_frame()["age"].to_pylist())
    ['30-31', '30-31', '58-60', '58-60']
    """

    steps: Sequence[AnyStep] = ()
    require: Sequence[Any] = ()
    seed: int | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", tuple(self.steps))
        object.__setattr__(self, "require", tuple(self.require))
        if self.seed is not None:
            exact_integer(self.seed, name="seed", least=0)
        for place, step in enumerate(self.steps):
            if not isinstance(step, Step | PrivateStep):
                raise ParameterError("anonymity.not_a_step", value=type(step).__name__)
            check_order(step, self.steps[:place])

    @property
    def is_private(self) -> bool:
        """Whether a step has a guarantee of differential privacy, and spends budget each time the plan is applied."""
        return any(isinstance(step, PrivateStep) for step in self.steps)

    def apply(self, data: Microdata, *, budget: object = None) -> Outcome:
        """Apply all steps, check the models, and return what came of it.

        ``budget`` pays for private steps: a ledger's account, or an ``InMemoryBudget``.
        """
        history = History.of(data, seed=self.seed)
        for step in self.steps:
            history = history.apply(step, budget=budget)
        # A guarantee holds without classes, and no error may tell of the original.
        if self.is_private or not self.require:
            return Outcome(plan=self, history=history)
        for model, holds in check(history.data, self.require, original=data).items():
            if not holds:
                raise InfeasibleError("anonymity.model_not_satisfied", model=repr(model))
        return Outcome(plan=self, history=history)
