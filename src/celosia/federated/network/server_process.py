"""The server app that a SuperLink starts: it waits for parties, trains, and writes the model.

What happens goes line by line into a file that the command which started the SuperLink reads: the rounds, and in the
end the model's file or the error.
"""

import json
from pathlib import Path
from typing import IO, Any

from celosia.core.errors import CelosiaError
from celosia.federated.network.description import load_description
from celosia.federated.network.flower import FlowerTransport, create_server_app
from celosia.federated.network.launch import read_job


def train(grid: Any) -> None:
    """Train the federation of this process's job over a grid."""
    job = read_job()
    with Path(job["report"]).open("a", encoding="utf-8") as file:
        try:
            _train(grid, job, file)
        except CelosiaError as error:
            fields = {name: value if isinstance(value, int) else str(value) for name, value in error.fields.items()}
            _tell(file, {"kind": type(error).__name__, "code": error.code, "fields": fields})
            raise
        except Exception as error:
            _tell(file, {"kind": "EngineError", "code": "federated.server_failed", "fields": {"error": _name(error)}})
            raise
        _tell(file, {"model": job["model"]})


def _train(grid: Any, job: dict[str, Any], file: IO[str]) -> None:
    description = load_description(job["description"])
    federation = description.describe({}, budget=description.open_budget())
    transport = FlowerTransport.of(
        federation,
        grid,
        nodes=job["nodes"],
        deadline=description.deadline,
        terms=description.terms,
        report=lambda number, asked, found: _tell(file, {"round": number, "asked": asked, "answered": found}),
    )
    transport.wait(federation.needed_parties)
    model = federation.run(job["checkpoint"], transport=transport)
    _tell(file, {"history": model.history_})
    model.save(job["model"])


def _tell(file: IO[str], told: dict[str, Any]) -> None:
    file.write(json.dumps(told) + "\n")
    file.flush()


def _name(error: Exception) -> str:
    return type(error).__name__


def make_app() -> Any:
    """Return the server app of this process's federation."""
    return create_server_app(train)
