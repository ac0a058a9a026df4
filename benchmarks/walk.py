"""Count the files and the call depth of one private query and of one fit: ``python -m benchmarks.walk [--list]``.

A profiler hook (``sys.setprofile``) records every function of ``src/celosia`` that a call enters. The session is open
and its imports are warm before the count begins; code that runs while a module is imported does not count. A file
counts once. The depth is the largest number of functions of ``src/celosia`` on the call stack at one time;
comprehensions and lambdas do not count.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import celosia as cl

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, FrameType

PACKAGE = str(Path(cl.__file__).parent) + "/"
MODULE_NAME = "<module>"
ANONYMOUS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>", "<lambda>")


@dataclass(slots=True)
class Walk:
    """The files and the deepest call stack of one call."""

    functions: dict[str, set[str]] = field(default_factory=dict)  # by file
    deepest: tuple[str, ...] = ()

    def record(self, frame: FrameType, kind: str, _: object) -> None:
        """Note a function that is entered. This is the hook of ``sys.setprofile``."""
        if kind != "call" or not _is_counted(frame.f_code):
            return
        self.functions.setdefault(_short_path(frame.f_code), set()).add(frame.f_code.co_qualname)
        stack = []
        caller: FrameType | None = frame
        while caller is not None:
            if caller.f_code.co_name == MODULE_NAME and caller.f_code.co_filename.startswith(PACKAGE):
                return  # called by the import of a module
            if _is_counted(caller.f_code):
                stack.append(f"{_short_path(caller.f_code)}:{caller.f_code.co_qualname}")
            caller = caller.f_back
        if len(stack) > len(self.deepest):
            self.deepest = tuple(reversed(stack))


def _is_counted(code: CodeType) -> bool:
    return code.co_filename.startswith(PACKAGE) and code.co_name not in (MODULE_NAME, *ANONYMOUS)


def _short_path(code: CodeType) -> str:
    return code.co_filename.removeprefix(PACKAGE)


def measure(call: Callable[[], object]) -> Walk:
    """Run a call under the profiler hook."""
    walk = Walk()
    sys.setprofile(walk.record)
    try:
        call()
    finally:
        sys.setprofile(None)
    return walk


def prepare_query() -> Callable[[], object]:
    """Open a session and return a call that answers a SQL query."""
    import pyarrow as pa

    people = pa.table({"region": ["north", "south", "east"] * 200, "age": list(range(100)) * 6})
    schema = cl.Schema(region=cl.Category("north", "south", "east"), age=cl.Integer(0, 120))
    table = cl.table(people, schema=schema, name="people")
    session = cl.Session(table, budget=cl.PureDP(epsilon=10))
    session.sql("SELECT SUM(age) FROM people").release(epsilon=1)
    text = "SELECT region, COUNT(*), AVG(age) FROM people GROUP BY region"
    return lambda: session.sql(text).release(epsilon=1)


def prepare_fit() -> Callable[[], object]:
    """Return a call that fits a linear regression."""
    from celosia.learn import LinearRegression

    inputs = np.linspace(0, 10, 2000)[:, None]
    target = 3 * inputs[:, 0] + 5
    model = LinearRegression(epsilon=1, bounds=(0, 10), bounds_y=(0, 40))
    LinearRegression(epsilon=2, bounds=(0, 5), bounds_y=(0, 30)).fit(inputs[:1000], target[:1000])
    return lambda: model.fit(inputs, target)


WALKS = {"session.sql(...).release": prepare_query, "LinearRegression.fit": prepare_fit}


def main() -> None:
    """Print the files, the depth and the deepest stack of each walk."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.walk", description="Files and depth of two calls.")
    parser.add_argument("--list", action="store_true", help="also list the files and the functions entered")
    options = parser.parse_args()
    for name, prepare in WALKS.items():
        walk = measure(prepare())
        print(f"{name}: {len(walk.functions)} files, depth {len(walk.deepest)}")
        if options.list:
            for path, functions in sorted(walk.functions.items()):
                print(f"  {path}: {', '.join(sorted(functions))}")
        print("  deepest stack:")
        for line in walk.deepest:
            print(f"    {line}")


if __name__ == "__main__":
    main()
