"""``python -m benchmarks [room ...] [--rows N]``: every room that has benchmarks, or the ones named.

``--rows`` makes the tables of the room ``query`` smaller (or larger) than their ten million rows.
"""

from __future__ import annotations

import argparse
import os
import sys

from benchmarks.harness import rooms, run_room


def main() -> None:
    """Run the rooms named on the command line."""
    known = rooms()
    parser = argparse.ArgumentParser(prog="./dev bench", description="Benchmarks against other libraries.")
    parser.add_argument("room", nargs="*", help=f"one of {', '.join(known) or 'none yet'}; all without any")
    parser.add_argument("--rows", type=int, metavar="N", help="rows of the tables that are queried (10000000)")
    options = parser.parse_args()
    chosen = options.room or known
    if not chosen:
        sys.exit("no room has benchmarks yet: write benchmarks/<room>.py")
    if options.rows is not None:
        # The peers read it too, each in a process of its own.
        os.environ["CELOSIA_BENCH_ROWS"] = str(options.rows)
    for room in chosen:
        if room not in known:
            sys.exit(f"{room} has no benchmarks; these have: {', '.join(known) or 'none'}")
        run_room(room)


if __name__ == "__main__":
    main()
