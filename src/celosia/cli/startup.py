"""What a short command does not wait for.

Arrow imports pandas with the first array that it makes, if pandas is installed: a quarter of a second of CPU that no
answer needs. Commands that hand out no frame hide it. Python's collector looks through all that was imported again and
again, in vain: it is called less often.
"""

import gc
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder

__all__ = ["start_quickly"]

_SHORT = ("query", "limits", "schema")
_THRESHOLDS = (100_000, 50, 50)


class _HiddenPandas(MetaPathFinder):
    """Says that pandas is not installed, unless an engine of another package may need it."""

    def find_spec(self, fullname: str, _path: object = None, _target: object = None) -> None:
        """Refuse one name, and leave all others to the finders that follow."""
        if fullname != "pandas":
            return
        from celosia.query.summaries import other_engines

        if not other_engines():
            message = "pandas is hidden from this command."
            raise ModuleNotFoundError(message, name=fullname)


def start_quickly(arguments: Sequence[str]) -> bool:
    """Prepare this process for a short command, if its command line is one; return whether it is.

    Arrow remembers that there was no pandas, so this is for a process that ends with the command.

    >>> start_quickly(["learn", "models"])
    False
    """
    if not {*arguments[:1]} & {*_SHORT}:
        return False
    gc.set_threshold(*_THRESHOLDS)
    if "pandas" not in sys.modules:
        sys.meta_path.insert(0, _HiddenPandas())
    return True
