"""Start the server: load the libraries once, open the socket, and run the supervisor and its workers.

Forked workers share the loaded libraries, so a worker starts, or is replaced, within some hundredths of a second.
Without ``fork``, one process serves.
"""

import contextlib
import gc
import importlib
import os
import socket
from collections.abc import Callable, Iterable, Iterator
from functools import partial

import numpy as np

from celosia.core.extras import hide_module, load_on_demand
from celosia.guard.config.settings import Config
from celosia.guard.server.app import create_app
from celosia.guard.service import Guard
from celosia.mechanisms import Gaussian, Laplace
from celosia.query.engines.registry import plugin_engines
from celosia.serving.access_log import AccessLog, redirect_output
from celosia.serving.limits import Rates
from celosia.serving.listening import announce, listen
from celosia.serving.supervisor import Supervisor
from celosia.serving.worker import serve_app

_PRELOADED = (
    "duckdb",
    "ibis.backends.duckdb",
    "ibis.expr.types.groupby",
    "ibis.formats.pyarrow",
    "pyarrow.compute",
    "pyarrow.parquet",
    "scipy.special",
    "sqlalchemy",
    "sqlglot",
    "uvicorn.lifespan.off",
    "uvicorn.protocols.http.h11_impl",
    "celosia.ledger",
    "celosia.query.engines.duckdb",
    "celosia.query.execution.person_level",
    "celosia.query.execution.row_level",
    "celosia.query.execution.text_values",
)
_PRELOADED_FOR_POSTGRESQL = ("psycopg", "ibis.backends.postgres")
_COMPILERS = "ibis.backends.sql.compilers"


def serve(path: str | os.PathLike[str], *, language: str = "en") -> None:
    """Serve a configuration until a signal ends the server; its address is announced in a language.

    >>> serve("nowhere.toml")
    Traceback (most recent call last):
    ...
    celosia.core.errors.ParameterError: There is no configuration 'nowhere.toml': celosia guard init writes one.
    """
    config = Config.read(path)
    libraries = _choose_libraries(config)  # its errors are reported once here, not by every worker
    listening = listen(config)
    with _preload_libraries(libraries):
        if hasattr(os, "fork"):
            Supervisor(serve_guard, partial(Config.read, path), config, listening, language=language).run()
            return
        access_log = AccessLog()
        redirect_output(access_log)
        ready = partial(announce, config, listening, language=language)
        serve_guard(config, listening, rates=Rates(), access_log=access_log, ready=ready)


def serve_guard(
    config: Config, listening: socket.socket, *, rates: Rates, access_log: AccessLog, ready: Callable[[], None]
) -> None:
    """Open the guard of this process and serve it."""
    with Guard.open(config, create=False) as guard:
        guard.open_datasets()
        serve_app(create_app(guard, rates=rates, access_log=access_log), config, listening, ready=ready)


def _choose_libraries(config: Config) -> tuple[str, ...]:
    """Open the guard, and return the libraries that its data sets need."""
    with Guard.open(config, create=False) as guard:
        places = {place for dataset in guard.catalogue.all() if not dataset.retired for place in dataset.places()}
    in_database = any(place.startswith("postgresql:") for place in places)
    return (*_PRELOADED, *(_PRELOADED_FOR_POSTGRESQL if in_database else ()))


@contextlib.contextmanager
def _preload_libraries(names: Iterable[str] = _PRELOADED) -> Iterator[None]:
    """Load once what every worker needs; start no thread, because a fork would lose it."""
    gc.disable()  # a collection would scan the libraries again and again, and find next to nothing
    try:
        load_on_demand(_COMPILERS)
        _hide_pandas_from_arrow()
        for name in names:
            importlib.import_module(name)
        for mechanism in (Laplace(epsilon=1, sensitivity=1), Gaussian(rho=1, sensitivity=1)):
            mechanism.release(np.zeros(16, dtype=np.int64))  # loads the compiled samplers
        gc.freeze()  # workers share these pages while their garbage collectors do not write to them
    finally:
        gc.enable()
    try:
        yield
    finally:
        gc.unfreeze()


def _hide_pandas_from_arrow() -> None:
    """Let Arrow find no pandas, unless an engine of another package may need it.

    Arrow looks for pandas with the first array that it makes, and remembers. No query needs it; it stays importable.
    """
    import pyarrow as pa

    with contextlib.nullcontext() if plugin_engines() else hide_module("pandas"):
        pa.array([0])
