"""Start the server: load the libraries once, open the socket, and run the supervisor and its workers.

Forked workers share the loaded libraries, so a worker starts, or is replaced, within some hundredths of a second.
Without ``fork``, one process serves.
"""

import contextlib
import gc
import importlib
import os
import socket
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from celosia.guard.config.settings import Config
from celosia.guard.server.app import create_app
from celosia.guard.service import Guard
from celosia.mechanisms import Gaussian, Laplace
from celosia.serving.access_log import AccessLog, redirect_output
from celosia.serving.limits import Rates
from celosia.serving.listening import announce, listen
from celosia.serving.supervisor import Supervisor
from celosia.serving.worker import serve_app

_PRELOADED = (
    "duckdb",
    "ibis.backends.duckdb",
    "pyarrow.compute",
    "pyarrow.parquet",
    "sqlalchemy",
    "sqlglot",
    "uvicorn.lifespan.off",
    "uvicorn.protocols.http.h11_impl",
    "celosia.ledger",
    "celosia.query.engines.duckdb",
    "celosia.query.execution.person_level",
    "celosia.query.execution.row_level",
)
_PRELOADED_IF_INSTALLED = ("pandas", "psycopg", "pyarrow.pandas_compat")


def serve(path: str | os.PathLike[str]) -> None:
    """Serve a configuration until a signal ends the server.

    >>> serve("nowhere.toml")
    Traceback (most recent call last):
    ...
    celosia.core.errors.ParameterError: There is no configuration 'nowhere.toml': celosia guard init writes one.
    """
    config = Config.read(path)
    Guard.open(config, create=False).close()  # its errors are reported once here, not by every worker
    listening = listen(config)
    with _preload_libraries():
        if hasattr(os, "fork"):
            Supervisor(serve_guard, partial(Config.read, path), config, listening).run()
            return
        access_log = AccessLog()
        redirect_output(access_log)
        ready = partial(announce, config, listening)
        serve_guard(config, listening, rates=Rates(), access_log=access_log, ready=ready)


def serve_guard(
    config: Config, listening: socket.socket, *, rates: Rates, access_log: AccessLog, ready: Callable[[], None]
) -> None:
    """Open the guard of this process and serve it."""
    with Guard.open(config, create=False) as guard:
        guard.open_datasets()
        serve_app(create_app(guard, rates=rates, access_log=access_log), config, listening, ready=ready)


@contextlib.contextmanager
def _preload_libraries() -> Iterator[None]:
    """Load once what every worker needs; start no thread, because a fork would lose it."""
    for name in _PRELOADED:
        importlib.import_module(name)
    for name in _PRELOADED_IF_INSTALLED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    for mechanism in (Laplace(epsilon=1, sensitivity=1), Gaussian(rho=1, sensitivity=1)):
        mechanism.release(np.zeros(16, dtype=np.int64))  # loads the compiled samplers
    gc.collect()
    gc.freeze()  # workers share these pages while their garbage collectors do not write to them
    try:
        yield
    finally:
        gc.unfreeze()
