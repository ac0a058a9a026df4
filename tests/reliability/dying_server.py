"""A guard that serves as usual, but kills itself once where it is told to: before an answer is committed, or after.

A file ``die before commit`` or ``die after commit`` beside the configuration is the order; it is taken away by whoever
obeys, so that one process dies for each.
"""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any

from celosia.guard.server.serve import serve
from celosia.ledger import Ledger

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["serve_until_told_to_die"]


def obey(order: Path) -> None:
    """Die if told so, as by a pulled plug."""
    try:
        order.unlink()
    except FileNotFoundError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def serve_until_told_to_die(config: Path) -> None:
    """Serve, in a process of its own: the ledger of all that it imports is changed."""
    commit = Ledger.commit

    def dying_commit(self: Ledger, *args: Any, **kwargs: Any) -> None:
        obey(config.with_name("die before commit"))
        commit(self, *args, **kwargs)
        obey(config.with_name("die after commit"))

    Ledger.commit = dying_commit  # type: ignore[method-assign]
    serve(config)
