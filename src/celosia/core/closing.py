"""Objects that a ``with`` block closes: sessions, ledgers, engines, guards and connections."""

from abc import ABC, abstractmethod
from typing import Self


class Closing(ABC):
    """Base of the classes whose ``close`` runs at the end of a ``with`` block."""

    __slots__ = ()

    @abstractmethod
    def close(self) -> None:
        """Release files and connections."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
