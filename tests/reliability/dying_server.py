"""A guard that serves as usual, but kills itself once where it is told to: before an answer is committed, or after.

Run with the path of a configuration. A file ``die before commit`` or ``die after commit`` beside it is the order; it is
taken away by whoever obeys, so that one process dies for each.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from celosia.guard.server.serve import serve
from celosia.ledger import Ledger

__all__: list[str] = []


def obey(order: Path) -> None:
    """Die if told so, as by a pulled plug."""
    try:
        order.unlink()
    except FileNotFoundError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    config = Path(sys.argv[1])
    commit = Ledger.commit

    def dying_commit(self: Ledger, *args: Any, **kwargs: Any) -> None:
        obey(config.with_name("die before commit"))
        commit(self, *args, **kwargs)
        obey(config.with_name("die after commit"))

    Ledger.commit = dying_commit  # type: ignore[method-assign]
    serve(config)


if __name__ == "__main__":
    main()
