"""``python -m benchmarks [room ...]``: every room that has benchmarks, or the ones named."""

from __future__ import annotations

import sys

from benchmarks.harness import rooms, run_room


def main() -> None:
    """Run the rooms named on the command line."""
    known = rooms()
    chosen = sys.argv[1:] or known
    if not chosen:
        sys.exit("no room has benchmarks yet: write benchmarks/<room>.py")
    for room in chosen:
        if room not in known:
            sys.exit(f"{room} has no benchmarks; these have: {', '.join(known) or 'none'}")
        run_room(room)


if __name__ == "__main__":
    main()
