"""Planted faults, each of which the quick tests must notice: ``./dev mutants``.

``mutants.toml`` names a file, a text that stands in it once, the fault to put in its place, and the tests that must
then fail. One fault at a time is planted in a copy of the tree. The same tests must pass on the copy without a fault.
The exit code is 1 if a fault survives, or if a text or a test is not found.
"""

from __future__ import annotations

import argparse
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
TABLE = Path(__file__).with_name("mutants.toml")
FAILED = 1  # pytest's code for tests that ran and failed; any other code but 0 is no verdict
FOLDERS = ("src", "tests", "docs", "clients", "proofs", "benchmarks")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One planted fault."""

    name: str
    file: str
    find: str
    replace: str
    tests: tuple[str, ...]

    def apply(self, text: str) -> str:
        """Return the faulty text."""
        found = text.count(self.find)
        if found != 1:
            raise ValueError(f"{self.name}: {self.find!r} stands {found} times in {self.file}, not once")
        return text.replace(self.find, self.replace)


def load_mutants() -> list[Mutant]:
    """Return the table of faults."""
    rows = tomllib.loads(TABLE.read_text(encoding="utf-8"))["mutant"]
    return [Mutant(**row | {"tests": tuple(row["tests"])}) for row in rows]


class Copy:
    """A copy of the tree, in which one fault at a time is planted."""

    def __init__(self, folder: Path) -> None:
        self.root = folder
        for name in FOLDERS:
            if (ROOT / name).exists():
                shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "results"))
        for name in ("pyproject.toml", "README.md", "README.es.md"):
            shutil.copy2(ROOT / name, folder / name)
        self._edits = 0

    def run(self, tests: tuple[str, ...], *options: str, cache: str | None = None) -> tuple[int, str]:
        """Run tests, and return pytest's exit code and output; compiled kernels go to ``cache``."""
        command = [sys.executable, "-m", "pytest", "-q", "-x", "--tb=line", "-p", "no:cacheprovider", *options, *tests]
        environment = os.environ | {"PYTHONPATH": str(self.root / "src")}
        if cache is not None:
            environment["NUMBA_CACHE_DIR"] = cache
        done = subprocess.run(command, cwd=self.root, env=environment, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def try_mutant(self, mutant: Mutant) -> tuple[int, str]:
        """Plant a fault, run its tests, and put the file right again."""
        path = self.root / mutant.file
        sound, before = path.read_text(encoding="utf-8"), path.stat()
        path.write_text(mutant.apply(sound), encoding="utf-8")
        self._edits += 1
        # Bytecode goes by the time of a file in seconds: every fault gets one of its own.
        os.utime(path, (before.st_atime, before.st_mtime + self._edits))
        try:
            if "njit" not in sound:
                return self.run(mutant.tests)
            # A cached kernel does not notice that a kernel it calls has changed.
            with tempfile.TemporaryDirectory(prefix="kernels") as cache:
                return self.run(mutant.tests, cache=cache)
        finally:
            path.write_text(sound, encoding="utf-8")
            os.utime(path, (before.st_atime, before.st_mtime))


def check_table(mutants: list[Mutant]) -> list[str]:
    """Return what is wrong with the table itself."""
    wrong = []
    for mutant in mutants:
        try:
            mutant.apply((ROOT / mutant.file).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            wrong.append(str(error))
        wrong += [f"{mutant.name}: no {test}" for test in mutant.tests if not (ROOT / test.partition("::")[0]).exists()]
        if mutant.find == mutant.replace or not mutant.tests:
            wrong.append(f"{mutant.name}: changes nothing, or names no tests")
    names = [mutant.name for mutant in mutants]
    wrong += sorted({f"{name}: more than once" for name in names if names.count(name) > 1})
    return wrong


def judge(code: int) -> str:
    """Say what pytest's exit code means for a fault."""
    return {0: "SURVIVED", FAILED: "caught"}.get(code, "NO VERDICT")


def run_all(mutants: list[Mutant], jobs: int, folder: Path) -> list[str]:
    """Try every fault, print progress, and return the names of those that were not caught."""
    free: queue.SimpleQueue[Copy] = queue.SimpleQueue()
    copies = [Copy(folder / str(number)) for number in range(jobs)]
    tests = tuple(dict.fromkeys(test for mutant in mutants for test in mutant.tests))
    print(f"without a fault: {len(tests)} parts of the tests …", flush=True)
    code, output = copies[0].run(tests, "-n", str(jobs), "--dist", "loadgroup")
    if code != 0:
        print(output[-4000:])
        return ["the tests fail without a fault"]
    for copy in copies:
        free.put(copy)
    missed: list[str] = []
    done = 0

    def one(mutant: Mutant) -> None:
        nonlocal done
        copy, begun = free.get(), time.monotonic()
        try:
            code, output = copy.try_mutant(mutant)
        finally:
            free.put(copy)
        done += 1
        verdict = judge(code)
        print(f"[{done:2}/{len(mutants)}] {verdict:10} {mutant.name} ({time.monotonic() - begun:.0f} s)", flush=True)
        if code != FAILED:
            missed.append(mutant.name)
        if code not in (0, FAILED):
            print(output[-2000:])

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(one, mutants))
    return missed


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="./dev mutants", description="Plant faults that the quick tests must notice.")
    parser.add_argument("--only", action="append", metavar="NAME", help="faults whose name contains this; repeatable")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many at a time (all processors)")
    parser.add_argument("--list", action="store_true", help="print the names, and run nothing")
    options = parser.parse_args()
    mutants = [one for one in load_mutants() if not options.only or any(part in one.name for part in options.only)]
    if options.list:
        print("\n".join(mutant.name for mutant in mutants))
        return 0
    wrong = check_table(mutants) if mutants else ["no fault has such a name"]
    if wrong:
        print("\n".join(wrong), file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="mutants") as folder:
        missed = run_all(mutants, max(1, options.jobs), Path(folder))
    print(f"{len(mutants) - len(missed)} of {len(mutants)} caught" + "".join(f"\nmissed: {name}" for name in missed))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
