"""Serve a federation, join it as a party, or run all of it on this machine.

What a command does is here, and what it prints is the command's. The server's process pays, trains and writes the
model; this one starts it, and reads its report. Logs of Flower's processes stay where something failed.
"""

import json
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

from celosia.core import errors
from celosia.core.errors import EngineError, InputError
from celosia.core.exact import safe_repr
from celosia.federated.network.agreement import agree
from celosia.federated.network.certificates import AUTHORITY, SERVER, find_key, write_certificates
from celosia.federated.network.launch import (
    Processes,
    SuperLink,
    check_flower,
    find_port,
    is_listening,
    start_supernode,
)

if TYPE_CHECKING:
    from celosia.federated.network.description import Description
    from celosia.federated.network.node import PartyNode

_PAUSE: Final = 0.2  # seconds between two looks
_RETRY: Final = 2.0  # seconds before a SuperNode is started again
_FOLDER: Final = "nodes"  # logs, records of answered rounds and checkpoints, beside the description


def serve(description: "Description", model: Path, *, keys: Path | None = None) -> Iterator[dict[str, Any]]:
    """Serve a federation until its model is written, and yield what happens; ``keys`` is the folder of certificates."""
    with _start_server(description, model, (keys or description.path.parent).resolve(), description.address) as watched:
        yield from watched[1]


def run(description: "Description", files: Mapping[str, str], model: Path) -> Iterator[dict[str, Any]]:
    """Run the server and all parties on this machine, each in processes of its own, and yield what happens."""
    check_records(description, files)
    address = f"127.0.0.1:{find_port()}"
    with tempfile.TemporaryDirectory(prefix="celosia-") as made:
        keys = Path(made).resolve()
        write_certificates(keys, len(description.names), ["127.0.0.1"])
        with _start_server(description, model, keys, address) as (processes, events):
            for place, (name, data) in enumerate(files.items()):
                job = _make_job(description, name, data, processes.folder / "answered")
                pair = keys / AUTHORITY, find_key(keys, list(description.names).index(name))
                start_supernode(processes, f"party-{place + 1}", pair, address, job)
            yield from events


def run_here(description: "Description", files: Mapping[str, str], model: Path) -> "tuple[Mapping[str, Any], ...]":
    """Run a federation in this process, and return what each round received."""
    check_records(description, files)
    federation = description.describe(files, budget=description.open_budget())
    fitted = federation.run(_find_checkpoint(description))
    fitted.save(model)
    history: tuple[Mapping[str, Any], ...] = fitted.history_
    return history


def check_records(description: "Description", files: Mapping[str, str]) -> None:
    """Refuse files that are not those of all parties."""
    missing = [name for name in description.names if name not in files]
    if missing:
        raise InputError("federated.records_elsewhere", name=safe_repr(missing[0]))


def open_party(description: "Description", name: str, data: str) -> "PartyNode":
    """Return the node of a party, with its records read and checked; nothing leaves it."""
    from celosia.federated.network.node import PartyNode

    folder = _make_folder(description)
    return PartyNode.of(description.describe({name: data}), folder, description.terms)


def join(description: "Description", node: "PartyNode", data: str, *, keys: tuple[Path, Path]) -> Iterator[int]:
    """Answer for a party, and yield each round that it answered; ends after the last, when the server has gone.

    A SuperNode that ends is started again, for as long as a round may take.

    ``keys`` are the authority's certificate and the party's private key.
    """
    for key in keys:
        _check_file(key)
    job = _make_job(description, node.party, data, node.answered.path.parent)
    with _make_processes(description) as processes:
        start = partial(start_supernode, processes, "supernode", keys, description.address, job)
        supernode, told = start(), node.answered.last
        patience = time.monotonic() + description.deadline
        while told < node.plan.rounds or is_listening(description.address):
            if supernode.poll() is not None:  # the server does not know the key yet, or starts again
                if time.monotonic() > patience:
                    processes.check(supernode)
                time.sleep(_RETRY)
                supernode = start()
            time.sleep(_PAUSE)
            if (last := node.answered.last) > told:
                yield from range(told + 1, last + 1)
                told, patience = last, time.monotonic() + description.deadline


@contextmanager
def _start_server(
    description: "Description", model: Path, keys: Path, address: str
) -> "Iterator[tuple[Processes, Iterator[dict[str, Any]]]]":
    """Start a SuperLink with a server app; give its processes, and what the app reports."""
    check_flower()
    for name in (AUTHORITY, *SERVER):
        _check_file(keys / name)
    with _make_processes(description) as processes:
        report = processes.folder / "report.jsonl"
        report.touch()
        link = SuperLink.start(processes, keys, address, report)
        public = [find_key(keys, place).with_suffix(".pub") for place in range(len(description.names))]
        job = {
            "description": str(description.path.resolve()),
            "nodes": dict(zip(description.names, map(link.register, public), strict=True)),
            "model": str(model.resolve()),
            "report": str(report),
            "checkpoint": str(_find_checkpoint(description)),
        }
        link.run(job)
        yield processes, _watch(report, processes, link)


@contextmanager
def _make_processes(description: "Description") -> Iterator[Processes]:
    """Give processes a folder for their logs, which stays if one of them failed."""
    folder = Path(tempfile.mkdtemp(prefix="flower-", dir=_make_folder(description))).resolve()
    try:
        with Processes(folder) as processes:
            yield processes
    except EngineError:
        raise
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    shutil.rmtree(folder, ignore_errors=True)


def _watch(report: Path, processes: Processes, link: SuperLink) -> Iterator[dict[str, Any]]:
    """Yield what the server's process reports, up to the model; raise the error that ended it."""
    with report.open(encoding="utf-8") as file:
        line = ""
        while True:
            line += file.readline()
            if line.endswith("\n"):
                told, line = json.loads(line), ""
                if "code" in told:
                    _raise(told)
                if "ended" in told:
                    raise EngineError("federated.process_ended", program=told["ended"], folder=str(processes.folder))
                yield told
                if "model" in told:
                    return
            else:
                processes.check(link.process)
                time.sleep(_PAUSE)


def _raise(told: Mapping[str, Any]) -> NoReturn:
    kind = getattr(errors, told["kind"])
    raise kind(told["code"], **told["fields"])


def _make_job(description: "Description", name: str, data: str, answered: Path) -> dict[str, str]:
    file = str(Path(data).resolve()) if Path(data).is_file() else data
    path = str(description.path.resolve())
    return {"description": path, "party": name, "data": file, "answered": str(answered.resolve())}


def _make_folder(description: "Description") -> Path:
    folder = description.path.parent / _FOLDER
    folder.mkdir(exist_ok=True)
    return folder


def _find_checkpoint(description: "Description") -> Path:
    """Return where the progress of this training goes: another description has another file."""
    _, digest = agree(description.describe({}), description.terms)
    return (_make_folder(description) / f"checkpoint-{digest[:32]}.json").resolve()


def _check_file(path: Path) -> None:
    if not path.is_file():
        raise InputError("federated.no_certificate", path=str(path))
