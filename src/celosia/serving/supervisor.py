"""The supervisor: holds the listening socket, starts workers, and replaces those that end.

It serves no request and opens no store, so only a signal can end it; a crash loses the replies of one worker, never the
service. SIGTERM and SIGINT stop the workers after their replies in progress. SIGHUP reads the configuration again and
replaces the workers; the old ones leave only when the new ones serve. ADR 17 compares it with uvicorn's own.
"""

import contextlib
import os
import select
import signal
import socket
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import FrameType
from typing import Generic, Protocol, TypeVar

from celosia.core.errors import CelosiaError, LedgerError
from celosia.serving.access_log import AccessLog
from celosia.serving.limits import Rates
from celosia.serving.listening import announce
from celosia.serving.settings import ServerSettings
from celosia.serving.worker import GRACE_SECONDS, READY, run_worker

_MAX_FAILURES = 5
C = TypeVar("C", bound=ServerSettings)
S_contra = TypeVar("S_contra", bound=ServerSettings, contravariant=True)


class Serve(Protocol[S_contra]):
    """Builds an application and serves it in the calling process until a signal ends it."""

    def __call__(
        self,
        config: S_contra,
        listening: socket.socket,
        *,
        rates: Rates,
        access_log: AccessLog,
        ready: Callable[[], None],
    ) -> None:
        """Serve; call ``ready`` when it listens."""


_MAX_PAUSE_SECONDS = 30.0


def pause_after(failures: int) -> float:
    """Return the seconds to wait before the next start, after this many failed starts in a row."""
    return 0.0 if failures < 3 else min(_MAX_PAUSE_SECONDS, 0.5 * 2 ** min(failures - 3, 10))


@dataclass(slots=True)
class _Worker:
    """A worker process, and the pipe of its report."""

    pid: int
    report: int
    ready: bool = False
    leaving: bool = False


@dataclass(slots=True)
class Supervisor(Generic[C]):
    """Starts workers and replaces those that end; ``read_config`` reads the configuration again."""

    serve: Serve[C]
    read_config: Callable[[], C]
    config: C
    listening: socket.socket
    access_log: AccessLog = field(default_factory=AccessLog)
    language: str = "en"
    _rates: Rates = field(default_factory=Rates)
    _workers: list[_Worker] = field(default_factory=list)
    _outgoing: list[_Worker] = field(default_factory=list)
    _previous_config: C | None = None
    _failures: int = 0
    _next_start: float = 0.0
    _kill_time: float | None = None
    _announced: bool = False
    _gave_up: bool = False
    _reason: str = ""
    _alive_pipe: tuple[int, int] = (-1, -1)
    _wakeup_pipe: tuple[int, int] = (-1, -1)

    def run(self) -> None:
        """Serve until SIGTERM or SIGINT; raise ``LedgerError`` if no worker starts."""
        self._alive_pipe = os.pipe()
        with self._signals():
            while self._kill_time is None or self._workers:
                self._start_missing()
                self._wait()
                self._reap()
                self._hand_over()
                self._kill_after_grace()
        for end in self._alive_pipe:
            os.close(end)
        self.listening.close()
        if self._gave_up:
            raise LedgerError(self._reason or "serving.no_worker_started")

    # ------------------------------------------------------------------------------------------------------ signals

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """Write signals as bytes into a pipe, so that none is lost between checking and waiting."""
        self._wakeup_pipe = os.pipe()
        for end in self._wakeup_pipe:
            os.set_blocking(end, False)
        handled = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)
        before = {number: signal.signal(number, _ignore_signal) for number in handled}
        wakeup = signal.set_wakeup_fd(self._wakeup_pipe[1], warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(wakeup)
            for number, handler in before.items():
                signal.signal(number, handler)
            for end in self._wakeup_pipe:
                os.close(end)

    def _wait(self) -> None:
        """Wait for a signal, a worker's report, or the time to start or kill a worker."""
        pipes = {worker.report: worker for worker in self._workers if worker.report >= 0}
        limit = max(0.0, self._next_start - time.monotonic()) if self._count_missing() else None
        if self._kill_time is not None:
            limit = max(0.0, self._kill_time - time.monotonic())
        readable, _, _ = select.select([self._wakeup_pipe[0], *pipes], [], [], limit)
        for pipe in readable:
            if pipe in pipes:
                self._read_report(pipes[pipe])
        if self._wakeup_pipe[0] in readable:
            for number in os.read(self._wakeup_pipe[0], 4096):
                self._on_signal(number)

    def _on_signal(self, number: int) -> None:
        if number in {signal.SIGTERM, signal.SIGINT}:
            # A second signal kills at once.
            self._kill_time = time.monotonic() + (GRACE_SECONDS + 5 if self._kill_time is None else 0)
            self._signal_workers(self._workers, signal.SIGTERM)
        elif number == signal.SIGHUP and self._kill_time is None:
            self._reload()

    def _kill_after_grace(self) -> None:
        if self._kill_time is not None and time.monotonic() >= self._kill_time:
            self._signal_workers(self._workers, signal.SIGKILL)
            self._kill_time = time.monotonic() + 1

    @staticmethod
    def _signal_workers(workers: list[_Worker], number: int) -> None:
        for worker in workers:
            worker.leaving = True
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker.pid, number)

    # ------------------------------------------------------------------------------------------------------ workers

    def _count_missing(self) -> int:
        """Return how many workers of the current configuration are missing."""
        if self._kill_time is not None:
            return 0
        present = sum(not worker.leaving for worker in self._workers) - len(self._outgoing)
        return max(0, self.config.processes - present)

    def _start_missing(self) -> None:
        while self._count_missing() and time.monotonic() >= self._next_start:
            self._start()

    def _start(self) -> None:
        ours, theirs = os.pipe()
        # A signal to the child before it has its own handlers would wake the parent instead.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # about BLAS's idle threads, which handle forks
            pid = os.fork()
        if pid == 0:
            self._become_worker(ours, theirs, mask)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        os.close(theirs)
        self._workers.append(_Worker(pid, ours))
        self.access_log.line(f"worker {pid} began")

    def _become_worker(self, ours: int, theirs: int, mask: "set[int | signal.Signals]") -> None:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for end in (ours, self._alive_pipe[1], *self._wakeup_pipe, *(worker.report for worker in self._workers)):
            if end >= 0:
                os.close(end)
        run_worker(
            lambda ready: self.serve(
                self.config, self.listening, rates=self._rates, access_log=self.access_log, ready=ready
            ),
            access_log=self.access_log,
            report=theirs,
            alive=self._alive_pipe[0],
        )

    def _read_report(self, worker: _Worker) -> None:
        """Read a worker's report: ready, or the reason of its failure."""
        report = os.read(worker.report, 4096)
        os.close(worker.report)
        worker.report = -1
        if report != READY:
            self._reason = report.decode(errors="replace") or self._reason
            return
        worker.ready, self._failures, self._reason = True, 0, ""
        if not self._announced:
            self._announced = True
            announce(self.config, self.listening, language=self.language)

    def _reap(self) -> None:
        for worker in list(self._workers):
            pid, status = os.waitpid(worker.pid, os.WNOHANG)
            if not pid:
                continue
            if worker.report >= 0:
                self._read_report(worker)
            self._workers.remove(worker)
            self.access_log.line(f"worker {pid} ended ({os.waitstatus_to_exitcode(status)})")
            new = worker not in self._outgoing
            if not new:
                self._outgoing.remove(worker)
            # A worker killed from outside did not fail.
            killed = os.waitstatus_to_exitcode(status) == -signal.SIGKILL
            if new and not (worker.ready or worker.leaving or killed):
                self._count_failure()

    def _count_failure(self) -> None:
        self._failures += 1
        self._next_start = time.monotonic() + pause_after(self._failures)
        if self._outgoing and self._previous_config is not None:
            self._restore_config()
        elif not self._announced and self._failures >= _MAX_FAILURES:
            self._gave_up = True
            self._on_signal(signal.SIGTERM)

    # ------------------------------------------------------------------------------------------- new configuration

    def _reload(self) -> None:
        try:
            config = self.read_config()
        except CelosiaError as error:
            self._report_refusal(str(error))
            return
        if (config.host, config.port) != (self.config.host, self.config.port):
            self._report_refusal("host and port cannot change while the server runs: stop it, and start it again.")
            return
        if not self._outgoing:
            self._previous_config, self._outgoing = (
                self.config,
                [worker for worker in self._workers if not worker.leaving],
            )
        else:  # during an earlier change: replace those that are not ready yet
            self._signal_workers([worker for worker in self._workers if worker not in self._outgoing], signal.SIGTERM)
        self.config, self._failures = config, 0
        self.access_log.line("the configuration was read again")

    def _hand_over(self) -> None:
        """Stop the old workers when the new ones serve."""
        new = [worker for worker in self._workers if worker not in self._outgoing and not worker.leaving]
        if self._outgoing and not self._count_missing() and all(worker.ready for worker in new):
            self._signal_workers(self._outgoing, signal.SIGTERM)
            self._outgoing, self._previous_config = [], None

    def _restore_config(self) -> None:
        """Keep the old workers and their configuration, because the new ones fail to start."""
        self._report_refusal(self._reason or "The new processes did not start.")
        self._signal_workers([worker for worker in self._workers if worker not in self._outgoing], signal.SIGTERM)
        if self._previous_config is not None:
            self.config = self._previous_config
        self._outgoing, self._previous_config, self._reason, self._failures, self._next_start = [], None, "", 0, 0.0

    def _report_refusal(self, reason: str) -> None:
        self.access_log.line("the new configuration was not taken")
        sys.stderr.write(f"The configuration stays as it was: {reason}\n")
        sys.stderr.flush()


def _ignore_signal(_number: int, _frame: FrameType | None) -> None:
    """Do nothing: the wake-up pipe holds the signal."""
