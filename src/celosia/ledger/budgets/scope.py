"""Scopes of a budget: a data set, an analyst, or an analyst on a data set.

A query is charged in every scope that applies to it. The data set's own scope protects the people in the data, however
many analysts query it together; the other two only divide it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from celosia.core.errors import ParameterError
from celosia.core.exact import exact_text
from celosia.core.messages.message import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """A data set, an analyst, or both.

    >>> print(Scope(dataset="deaths"), "and", Scope(dataset="deaths", analyst="ana"))
    data set 'deaths' and analyst 'ana' on data set 'deaths'
    >>> Scope()
    Traceback (most recent call last):
    ...
    celosia.core.errors.ParameterError: A budget is for a data set, for an analyst or for both: give dataset or analyst.
    """

    dataset: str | None = None
    analyst: str | None = None

    def __post_init__(self) -> None:
        if self.dataset is None and self.analyst is None:
            raise ParameterError("ledger.budget_without_scope")
        if self.dataset is not None:
            object.__setattr__(self, "dataset", exact_text(self.dataset, name="dataset"))
        if self.analyst is not None:
            object.__setattr__(self, "analyst", exact_text(self.analyst, name="analyst"))

    @property
    def message(self) -> Message:
        """The scope for a reader."""
        if self.analyst is None:
            return Message("ledger.scope_dataset", dataset=repr(self.dataset))
        if self.dataset is None:
            return Message("ledger.scope_analyst", analyst=repr(self.analyst))
        return Message("ledger.scope_both", analyst=repr(self.analyst), dataset=repr(self.dataset))

    def __str__(self) -> str:
        return str(self.message)


def list_scopes(dataset: str, analyst: str | None) -> Iterator[Scope]:
    """Return the scopes that apply to a query, the data set's own first."""
    yield Scope(dataset=dataset)
    if analyst is not None:
        yield Scope(analyst=analyst)
        yield Scope(dataset=dataset, analyst=analyst)
