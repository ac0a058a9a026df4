"""Budget holders copy to themselves and cannot be pickled.

Libraries copy their arguments: scikit-learn's ``clone`` makes a deep copy of every parameter of an estimator, and a
search over parameters sends them to other processes. A copy of a budget would spend the same part twice. So a copy is
the original, and pickling is refused.
"""

from typing import NoReturn, Self

from celosia.core.errors import ParameterError


class NonCopyable:
    """Base of the classes that hold a budget.

    >>> import copy
    >>> import celosia as cl
    >>> account = cl.ledger.InMemoryBudget(cl.PureDP(epsilon=1))
    >>> copy.deepcopy([account, account]) == [account, account]
    True
    """

    __slots__ = ()

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise ParameterError("ledger.budget_cannot_be_copied", type=type(self).__name__)
