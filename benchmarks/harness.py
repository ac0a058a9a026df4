"""The benchmark harness: our time, a peer's time, the ratio, in one run on one machine.

A room's benchmarks are a file ``benchmarks/<room>.py`` whose function ``cases()`` returns a list of :class:`Case`.
``./dev bench <room>`` runs them, prints a table, and writes ``benchmarks/results/<room>.json``::

    from benchmarks.harness import Case
    from benchmarks.peers.stopwatch import correlation_with_time

    def cases() -> list[Case]:
        laplace = Laplace(epsilon=1, sensitivity=1)
        zeros = np.zeros(1_000_000)
        return [
            # A time per call: best of `repeats` runs, each of `calls` calls. Many calls make a scalar's µs measurable.
            Case.timed("scalar Laplace", lambda: laplace.release(108), calls=2000,
                       parameters={"epsilon": 1}, peers={"diffprivlib": "laplace-scalar"}, aim="diffprivlib: faster"),
            Case.timed("vector Laplace", lambda: laplace.release(zeros), parameters={"epsilon": 1, "n": zeros.size},
                       peers={"opendp": "laplace-vector", "numpy": "laplace-vector"}, aim="opendp: 100 x"),
            # Any other number, here a correlation: the function returns it, and there is no ratio.
            Case.number("timing tells noise", lambda: correlation_with_time(draw), unit="Spearman",
                        peers={"diffprivlib": "laplace-timing"}, aim="|ours| < 0.05"),
        ]

``peers`` maps a peer to one of its cases: ``benchmarks/peers/<peer>.py`` holds a table of functions that return one
number, seconds per call or whatever the case is about. It runs as ``python -m benchmarks.peers.<peer> <case>`` in an
environment with the pins of ``benchmarks/peers.toml``, made once by uv and cached under ``$CELOSIA_PEERS``, else
``$XDG_CACHE_HOME``, else ``~/.cache``; with ``celosia = true`` this checkout runs in it, too. A peer that cannot be
installed or fails is reported below the table, and the run goes on. A ratio is the peer's time over ours: above 1 we
are faster.
"""

from __future__ import annotations

import importlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from benchmarks.peers.cache import cache
from benchmarks.peers.stopwatch import seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Case", "Outcome", "PeerError", "rooms", "run_room"]

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent
INSTALL_TIMEOUT = 900  # seconds
PEER_TIMEOUT = 300  # seconds; the slowest vector case of a peer takes about 70


class PeerError(Exception):
    """A peer could not be installed or did not answer; the message is printed below the table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One row of the table per peer: what is measured, how, and against whom."""

    what: str
    measure: Callable[[], float]
    unit: str
    parameters: Mapping[str, object] = field(default_factory=dict)
    peers: Mapping[str, str] = field(default_factory=dict)
    aim: str = ""

    @classmethod
    def timed(
        cls,
        what: str,
        action: Callable[[], object],
        *,
        calls: int = 1,
        repeats: int = 5,
        parameters: Mapping[str, object] | None = None,
        peers: Mapping[str, str] | None = None,
        aim: str = "",
    ) -> Case:
        """Seconds per call of ``action``, after one call to warm up (Numba compiles in it)."""
        return cls(
            what=what,
            measure=lambda: seconds(action, calls=calls, repeats=repeats),
            unit="s",
            parameters=parameters or {},
            peers=peers or {},
            aim=aim,
        )

    @classmethod
    def number(
        cls,
        what: str,
        measure: Callable[[], float],
        *,
        unit: str,
        parameters: Mapping[str, object] | None = None,
        peers: Mapping[str, str] | None = None,
        aim: str = "",
    ) -> Case:
        """Any number that is not a time: ``measure`` returns it."""
        return cls(what=what, measure=measure, unit=unit, parameters=parameters or {}, peers=peers or {}, aim=aim)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a case against one peer; ``theirs`` is None without a peer, or when it gave no answer."""

    what: str
    parameters: Mapping[str, object]
    unit: str
    ours: float
    peer: str = ""
    theirs: float | None = None
    trouble: str = ""
    aim: str = ""

    @property
    def ratio(self) -> float | None:
        """Their time over ours; None where there is no peer, or no time."""
        return self.theirs / self.ours if self.unit == "s" and self.theirs is not None and self.ours else None


def rooms() -> list[str]:
    """Rooms that have benchmarks."""
    return sorted(
        file.stem for file in FOLDER.glob("*.py") if file.stem not in {"__init__", "__main__", "harness", "walk"}
    )


def run_room(room: str, console: Console | None = None) -> list[Outcome]:
    """Run a room's cases, print their table, and write their JSON."""
    console = console or _console()
    module = importlib.import_module(f"benchmarks.{room}")
    cases: list[Case] = module.cases()
    outcomes: list[Outcome] = []
    with console.status("") as status:
        for case in cases:
            status.update(f"{room}: {case.what}")
            ours = case.measure()
            for peer in case.peers or [""]:
                status.update(f"{room}: {case.what}, {peer or 'ours'}")
                outcomes.append(_against(case, ours, peer))
    console.print(_table(room, outcomes))
    for outcome in outcomes:
        if outcome.trouble:
            console.print(f"{outcome.what}, {outcome.peer}: {outcome.trouble}", markup=False, highlight=False)
    _write(room, outcomes)
    return outcomes


def _console() -> Console:
    """A console that does not fold the table where the output is a file."""
    console = Console()
    return console if console.is_terminal else Console(width=160)


def _against(case: Case, ours: float, peer: str) -> Outcome:
    theirs, trouble, name = None, "", peer
    if peer:
        try:
            name = f"{peer} {_version(peer)}"
            theirs = _ask(peer, case.peers[peer])
        except PeerError as error:
            trouble = str(error)
    return Outcome(
        what=case.what,
        parameters=dict(case.parameters),
        unit=case.unit,
        ours=ours,
        peer=name,
        theirs=theirs,
        trouble=trouble,
        aim=case.aim,
    )


def _pins(peer: str) -> dict[str, Any]:
    pins = tomllib.loads((FOLDER / "peers.toml").read_text(encoding="utf-8"))
    if peer not in pins:
        raise PeerError("not in benchmarks/peers.toml")
    return dict(pins[peer])


def _requirements(peer: str) -> list[str]:
    pins = _pins(peer)
    own = [str(requirement) for requirement in pins["requirements"]]
    return own + (_locked({_name(one) for one in own}) if pins.get("celosia") else [])


def _locked(others: set[str]) -> list[str]:
    """Return what Celosía itself needs, as requirements.lock pins it, without what others pin."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = {_name(one): one for one in project["dependencies"]}
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    pins = [line.removesuffix("\\").strip() for line in lines if line[:1].isalnum()]
    return [_with_extras(pin, wanted[_name(pin)]) for pin in pins if _name(pin) in wanted.keys() - others]


def _name(requirement: str) -> str:
    return re.split(r"[^\w.-]", requirement, maxsplit=1)[0].lower()


def _with_extras(pin: str, requirement: str) -> str:
    extras = re.search(r"\[.*\]", requirement)
    return pin.replace("==", f"{extras.group()}==", 1) if extras else pin


def _version(peer: str) -> str:
    return _requirements(peer)[0].partition("==")[2]


def _environment(peer: str) -> Path:
    """Path of the Python that has the peer, installed on first use."""
    folder = cache() / "peers" / f"{peer}-{_version(peer)}"
    python = folder / "bin" / "python"
    stamp = folder / "installed.json"
    wanted = json.dumps({"python": platform.python_version(), "requirements": _requirements(peer)})
    if python.exists() and stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return python
    uv = shutil.which("uv", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
    if uv is None:
        raise PeerError("not installed: there is no uv; run through ./dev bench")
    shutil.rmtree(folder, ignore_errors=True)
    _run([uv, "venv", "--quiet", "--python", sys.executable, str(folder)], "not installed", INSTALL_TIMEOUT)
    install = [uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", str(python), *_requirements(peer)]
    _run(install, "not installed", INSTALL_TIMEOUT)
    # Written last: an interrupted installation is done again.
    stamp.write_text(wanted, encoding="utf-8")
    return python


def _run(command: list[str], trouble: str, limit: float = PEER_TIMEOUT, more: Mapping[str, str] | None = None) -> str:
    environment = os.environ | (more or {})
    try:
        answer = subprocess.run(
            command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True, timeout=limit
        )
    except subprocess.TimeoutExpired:
        raise PeerError(f"{trouble}: no answer in {limit} s") from None
    if answer.returncode:
        last = (answer.stderr.strip() or "no message").splitlines()[-1]
        raise PeerError(f"{trouble}: {last}")
    return answer.stdout


def _ask(peer: str, case: str) -> float:
    more = {"PYTHONPATH": str(ROOT / "src")} if _pins(peer).get("celosia") else {}
    answer = _run([str(_environment(peer)), "-m", f"benchmarks.peers.{peer}", case], "failed", more=more)
    return float(json.loads(answer.splitlines()[-1])["value"])


def _show(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    if unit != "s":
        return f"{value:.3g}"
    for size, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= size:
            return f"{value / size:.3g} {name}"
    return f"{value / 1e-9:.3g} ns"


def _table(room: str, outcomes: list[Outcome]) -> Table:
    table = Table(title=f"{room} on {platform.machine()}, Python {platform.python_version()}, {os.cpu_count()} cores")
    for heading in ("what", "parameters", "ours", "peer", "peer's", "ratio", "aim"):
        table.add_column(heading, justify="right" if heading in {"ours", "peer's", "ratio"} else "left")
    for outcome in outcomes:
        what = outcome.what if outcome.unit == "s" else f"{outcome.what} ({outcome.unit})"
        table.add_row(
            what,
            ", ".join(f"{name}={value}" for name, value in outcome.parameters.items()),
            _show(outcome.ours, outcome.unit),
            outcome.peer,
            "see below" if outcome.trouble else _show(outcome.theirs, outcome.unit),
            "" if outcome.ratio is None else f"{outcome.ratio:.3g} ×",
            outcome.aim,
        )
    return table


def _write(room: str, outcomes: list[Outcome]) -> None:
    folder = FOLDER / "results"
    folder.mkdir(exist_ok=True)
    results = {
        "room": room,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "results": [{**asdict(outcome), "ratio": outcome.ratio} for outcome in outcomes],
    }
    text = json.dumps(results, indent=2, default=str, ensure_ascii=False)
    (folder / f"{room}.json").write_text(f"{text}\n", encoding="utf-8")
