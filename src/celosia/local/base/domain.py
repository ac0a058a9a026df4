"""Base class of the protocols over a known domain."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from celosia.core.exact import Exact, exact_epsilon
from celosia.local.base.protocol import Protocol
from celosia.local.base.values import Domain, codes, domain_size, exact_domain

if TYPE_CHECKING:
    from numpy.typing import NDArray

E_co = TypeVar("E_co", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class DomainProtocol(Protocol[E_co]):
    """A protocol over a known domain: the number k of values, which are then 0 to k - 1, or the values themselves.

    >>> from celosia.local import DirectEncoding
    >>> isinstance(DirectEncoding(domain=4, epsilon=1), DomainProtocol)
    True
    """

    domain: Domain

    def __init__(self, *, domain: Domain | list[str] | list[int], epsilon: Exact) -> None:
        self._set(domain=exact_domain(domain), epsilon=exact_epsilon(epsilon))

    @property
    def size(self) -> int:
        """The number of values.

        >>> from celosia.local import DirectEncoding
        >>> DirectEncoding(domain=["red", "green"], epsilon=1).size
        2
        """
        return domain_size(self.domain)

    @property
    def known_domain(self) -> Domain:
        """The domain."""
        return self.domain

    def encode(self, values: Any) -> "NDArray[Any]":
        """Return the index of each value in the domain."""
        return codes(values, self.domain)
