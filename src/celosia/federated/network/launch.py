"""The processes of Flower: a SuperLink for the server, a SuperNode for each party.

A SuperNode runs whatever code its SuperLink sends. Ours does not: the program that it starts for each message is ours
(``party_process``), found first on its path, and all others by Flower's names end at once, so that a server cannot run
code where records are. Interfaces of Flower that need no other machine listen on the loopback only, also where Flower
has one port for all of them (``superlink_process``), and Flower reports to nobody.
"""

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from celosia.core.errors import EngineError
from celosia.core.extras import require
from celosia.federated.network.certificates import AUTHORITY, SERVER

JOB: Final = "CELOSIA_FEDERATION_JOB"
"""The environment variable that tells our processes within Flower's what to do: the path of a JSON file."""

_TESTED: Final = ("1.32.", "1.41.")  # Flower's versions whose SuperNode is known to start only programs of our names
_GRPC: Final = "1.32."  # the version that has a port for each interface; later ones have one for all
_QUIET: Final = {"FLWR_TELEMETRY_ENABLED": "0", "FLWR_DISABLE_UPDATE_CHECK": "1"}
_LOOPBACK: Final = "127.0.0.1"
_GRACE: Final = 20.0  # seconds for a process to end by itself
_PAUSE: Final = 0.1
# Runs a command, and ends its whole group when standard input does, that is when the process that holds it is gone.
_WATCH: Final = """\
trap : TERM
exec 3<&0 </dev/null
"$0" "$@" 3<&- & child=$!
(trap '' TERM; cat <&3 >/dev/null; kill -TERM -$$; sleep 20; kill -KILL -$$) & watch=$!
exec 3<&-
wait $child; code=$?
while kill -0 $child 2>/dev/null; do wait $child; code=$?; done
kill -KILL $watch 2>/dev/null
exit $code
"""
_APP: Final = """\
[project]
name = "celosia-federation"
version = "1.0.0"
description = "A federation of Celosia"
license = "Apache-2.0"
dependencies = []

[tool.flwr.app]
publisher = "celosia"

[tool.flwr.app.components]
serverapp = "bridge:server"
clientapp = "bridge:client"

[tool.flwr.app.config]
"""
_BRIDGE: Final = """\
from celosia.federated.network import party_process, server_process

server = server_process.make_app()
client = party_process.make_app()
"""


def check_flower() -> None:
    """Refuse a Flower whose SuperNode might run the code of its SuperLink."""
    from importlib.metadata import version

    require("flwr", extra="federated")
    if not version("flwr").startswith(_TESTED):
        raise EngineError("federated.flower_not_tested", version=version("flwr"), known=", ".join(_TESTED))


def has_one_port() -> bool:
    """Return whether a SuperLink of this Flower serves all its interfaces at one port."""
    from importlib.metadata import version

    return not version("flwr").startswith(_GRPC)


@dataclass(slots=True, eq=False)
class Processes:
    """Processes that end with the block that they are started in, also if this process is asked to end."""

    folder: Path
    _started: list[subprocess.Popen[bytes]] = field(default_factory=list, init=False)
    _before: Any = field(default=None, init=False)

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGTERM, _interrupt)
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._end()
        finally:
            if self._before is not None:
                signal.signal(signal.SIGTERM, self._before)

    def _end(self) -> None:
        for process in self._started:
            _signal(process, signal.SIGTERM)
        end = time.monotonic() + _GRACE
        for process in self._started:
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, end - time.monotonic()))
            _signal(process, signal.SIGKILL)  # what it started, and has not ended
            with process:  # which closes its input
                pass

    def start(self, name: str, command: list[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
        """Start a process with a log of its own, in a session of its own; it ends if this process is killed."""
        with (self.folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(  # noqa: S603 - our own command lines
                ["/bin/sh", "-c", _WATCH, *command],
                env=dict(environment),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._started.append(process)
        return process

    def check(self, process: subprocess.Popen[bytes]) -> None:
        """Raise if a process has ended that should run."""
        if process.poll() is not None:
            program = Path(process.args[3]).name  # type: ignore[arg-type, index]
            raise EngineError("federated.process_ended", program=program, folder=str(self.folder))


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)


@dataclass(frozen=True, slots=True, kw_only=True)
class SuperLink:
    """A running SuperLink, and the environment of commands to it."""

    process: subprocess.Popen[bytes] = field(repr=False)
    environment: Mapping[str, str] = field(repr=False)
    folder: Path

    @classmethod
    def start(cls, processes: Processes, keys: Path, address: str, report: Path) -> Self:
        """Start a SuperLink that admits registered keys only, and wait until it listens.

        When its server app has ended, however that was, a last line in ``report`` says so.
        """
        control = f"{_LOOPBACK}:{find_port()}"
        environment = make_environment(processes.folder, "server")
        line = shlex.quote('{"ended": "flwr-serverapp"}')
        program = f'{shlex.quote(find_program("flwr-serverapp"))} "$@"\necho {line} >>{shlex.quote(str(report))}'
        programs = {"flwr-serverapp": program}
        if has_one_port():
            programs["flower-superlink"] = _run_module("superlink_process", address)
        _put_programs(environment, programs)
        home = Path(environment["FLWR_HOME"])
        lines = ["[superlink]", 'default = "here"', "[superlink.here]"]
        lines += [f"{name} = {json.dumps(value)}" for name, value in _name_control(control, keys).items()]
        (home / "config.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
        command = ["flower-superlink", "--enable-supernode-auth", "--disable-runtime-dependency-installation"]
        command += ["--ssl-ca-certfile", str(keys / AUTHORITY), "--ssl-certfile", str(keys / SERVER[0])]
        command += ["--ssl-keyfile", str(keys / SERVER[1])]
        if has_one_port():
            command += _name_port(control)
        else:
            command += ["--fleet-api-address", address, "--control-api-address", control]
            command += ["--serverappio-api-address", f"{_LOOPBACK}:{find_port()}"]
        process = processes.start("superlink", command, environment)
        for place in (control, address):
            while not is_listening(place):
                processes.check(process)
                time.sleep(_PAUSE)
        return cls(process=process, environment=environment, folder=processes.folder)

    def register(self, public_key: Path) -> int:
        """Admit a party by its public key, and return its node."""
        return int(self._call("supernode", "register", str(public_key))["node-id"])

    def run(self, job: Mapping[str, Any]) -> None:
        """Start the server app with a job."""
        write_job(self.environment, job)
        app = self.folder / "app"
        app.mkdir()
        (app / "pyproject.toml").write_text(_APP, encoding="utf-8")
        (app / "bridge.py").write_text(_BRIDGE, encoding="utf-8")
        self._call("run", str(app))

    def _call(self, *words: str) -> dict[str, Any]:
        """Return what a command of Flower answers in JSON."""
        command = [find_program("flwr"), *words, "--format", "json"]
        done = subprocess.run(  # noqa: S603 - our own command lines
            command, env=dict(self.environment), stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
        try:
            found = json.loads(done.stdout)
        except ValueError:
            found = None
        if done.returncode or not isinstance(found, dict) or not found.get("success"):
            (self.folder / "flwr.log").write_bytes(done.stdout + done.stderr)
            raise EngineError("federated.flower_command_failed", command=" ".join(words[:1]), folder=str(self.folder))
        return found


def start_supernode(
    processes: Processes, name: str, keys: tuple[Path, Path], address: str, job: Mapping[str, Any]
) -> subprocess.Popen[bytes]:
    """Start the SuperNode of a party: ``keys`` are the authority's certificate and the party's private key."""
    check_flower()
    environment = make_environment(processes.folder, name)
    write_job(environment, job)
    # Which program a SuperNode starts may be the server's choice: others of Flower would load the server's code.
    programs = {name: f"echo {name} is not run at a party >&2\nexit 1" for name in find_loaders()}
    _put_programs(environment, programs | {"flwr-clientapp": _run_module("party_process")})
    command = [find_program("flower-supernode"), "--superlink", address, "--root-certificates", str(keys[0])]
    command += ["--auth-supernode-private-key", str(keys[1])]
    if has_one_port():
        command += _name_port(f"{_LOOPBACK}:{find_port()}")
    else:
        command += ["--clientappio-api-address", f"{_LOOPBACK}:0"]
    return processes.start(name, command, environment)


def make_environment(folder: Path, name: str) -> dict[str, str]:
    """Return the environment of Flower's processes: their own home, no telemetry, and the path of their job."""
    home = folder / f"{name}-flower"
    home.mkdir(exist_ok=True)
    path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)])
    return {**os.environ, **_QUIET, "FLWR_HOME": str(home), "PATH": path, JOB: str(home / "job.json")}


def find_loaders() -> list[str]:
    """Return the programs of Flower but its SuperLink and SuperNode, and what these start to start others."""
    from importlib.metadata import distribution

    scripts = distribution("flwr").entry_points.select(group="console_scripts")
    return sorted(script.name for script in scripts if script.name.startswith("flwr"))


def _put_programs(environment: dict[str, str], programs: Mapping[str, str]) -> None:
    """Let programs of ours be found first by names of Flower's."""
    folder = Path(environment["FLWR_HOME"]) / "programs"
    folder.mkdir(exist_ok=True)
    for name, lines in programs.items():
        file = folder / name
        file.write_text(f"#!/bin/sh\n{lines}\n", encoding="utf-8")
        file.chmod(0o700)
    environment["PATH"] = os.pathsep.join([str(folder), environment["PATH"]])


def _run_module(name: str, *words: str) -> str:
    """Return the line of a program that runs a module of ours with some words, and those that it is given."""
    command = [sys.executable, "-m", f"celosia.federated.network.{name}", *words]
    return f'exec {shlex.join(command)} "$@"'


def _name_port(address: str) -> list[str]:
    host, _, port = address.rpartition(":")
    return ["--host", host, "--port", port]


def write_job(environment: Mapping[str, str], job: Mapping[str, Any]) -> None:
    """Store the job of the processes of an environment."""
    Path(environment[JOB]).write_text(json.dumps(job), encoding="utf-8")


def read_job() -> dict[str, Any]:
    """Return the job of this process."""
    found: dict[str, Any] = json.loads(Path(os.environ[JOB]).read_text(encoding="utf-8"))
    return found


def find_program(name: str) -> str:
    """Return the path of a program of Flower, as installed beside this Python."""
    return str(Path(sysconfig.get_path("scripts")) / name)


def find_port() -> int:
    """Return a port of the loopback that is free now."""
    with socket.socket() as found:
        found.bind((_LOOPBACK, 0))
        return int(found.getsockname()[1])


def is_listening(address: str) -> bool:
    """Return whether somebody listens at an address."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=1).close()
    except OSError:
        return False
    return True


def _name_control(address: str, keys: Path) -> dict[str, str]:
    return {"address": address, "root-certificates": str(keys / AUTHORITY)}
