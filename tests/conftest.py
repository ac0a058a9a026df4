"""Quick and thorough runs, programs that may be missing, and servers that tests share.

A quick run draws a tenth of the examples of each property, the same ones every time, and takes every n-th case of the
tests marked `sampled(n)`. `--thorough` draws all of them from new seeds, and takes in the tests marked `thorough`.
"""

from __future__ import annotations

import gc
import os
import shutil
import sys
import tempfile
import warnings
from collections import Counter
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Iterator

QUICK_PART, QUICK_FLOOR = 10, 5
SPREAD = ("statistical/", "testing/", "reliability/test_scikit_learn.py")
_SCHEMAS = count()

PROGRAMS: dict[str, tuple[str, ...]] = {
    "needs_java": ("java",),
    "needs_chromium": ("chromium", "chromium-browser", "google-chrome"),
}


def find_program(marker: str) -> str | None:
    """Path of the first of a marker's programs that is installed."""
    return next((path for name in PROGRAMS[marker] if (path := shutil.which(name))), None)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--thorough", action="store_true", help="all examples from new seeds, and the tests marked thorough"
    )


def pytest_configure(config: pytest.Config) -> None:
    # A busy machine is slow: neither a deadline nor the health check of a clock decides.
    calm: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
    settings.register_profile("thorough", **calm)
    settings.register_profile("quick", derandomize=True, database=None, **calm)
    settings.load_profile("thorough" if config.getoption("thorough") else "quick")


def reduce_examples(full: settings) -> settings:
    """Settings with a tenth of the examples, but not fewer than five."""
    return settings(full, max_examples=min(full.max_examples, max(full.max_examples // QUICK_PART, QUICK_FLOOR)))


def make_quick(items: list[pytest.Item]) -> None:
    """Draw fewer examples in every property and state machine, also where a test states how many it draws."""
    functions: set[Any] = {item.obj for item in items if isinstance(item, pytest.Function)}
    for test in (function for function in functions if hasattr(function, "hypothesis")):
        test._hypothesis_internal_use_settings = reduce_examples(test._hypothesis_internal_use_settings)
    machines = {item.cls for item in items if isinstance(item, pytest.Function) and hasattr(item.cls, "settings")}
    for machine in machines:
        machine.settings = reduce_examples(machine.settings)


def find_left_out(items: list[pytest.Item]) -> set[pytest.Item]:
    """Return the items that quick runs leave out: the thorough ones, and all but every n-th of those sampled."""
    left_out = {item for item in items if item.get_closest_marker("thorough")}
    places: Counter[tuple[Path, str]] = Counter()
    for item in items:
        sampled = item.get_closest_marker("sampled")
        if sampled is not None and item not in left_out:
            test = item.path, getattr(item, "originalname", item.name)
            if places[test] % sampled.args[0]:
                left_out.add(item)
            places[test] += 1
    return left_out


def share_out(items: list[pytest.Item]) -> None:
    """Say which tests stay in one of several processes, and which come first.

    A file's tests stay together, for they share fixtures and compiled kernels. Servers, Spark and browsers come first,
    for they take longest. Long independent tests come last, one by one, so that all processes end together.
    """
    ranks = {}
    for item in items:
        path = item.path.relative_to(Path(__file__).parent).as_posix()
        if item.get_closest_marker("xdist_group"):
            ranks[item] = 0
        elif path.startswith(SPREAD):
            ranks[item] = 2
        else:
            item.add_marker(pytest.mark.xdist_group(path))
            ranks[item] = 0 if path.startswith("reliability") else 1
    items.sort(key=ranks.__getitem__)


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads the groups in the same hook
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):
        share_out(items)
    if config.getoption("thorough"):
        return
    left_out = find_left_out(items)
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=list(left_out))
    make_quick(items)


def pytest_collection_finish() -> None:
    # Modules and collected tests stay; going through them for garbage took a tenth of the time of queries.
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def pytest_unconfigure() -> None:
    gc.unfreeze()  # what is left at the end is let go as ever


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker, names in PROGRAMS.items():
        if item.get_closest_marker(marker) and find_program(marker) is None:
            pytest.skip(f"needs {' or '.join(names)}, which is not installed")


@pytest.fixture(scope="session")
def thorough(pytestconfig: pytest.Config) -> bool:
    """Whether tests take minutes for more draws, kills and questions."""
    return bool(pytestconfig.getoption("thorough"))


@pytest.fixture(scope="session")
def chromium() -> str:
    """Path of a Chromium to drive."""
    path = find_program("needs_chromium")
    if path is None:
        pytest.skip(f"needs {' or '.join(PROGRAMS['needs_chromium'])}, which is not installed")
    return path


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a PostgreSQL server of this process alone."""
    pgserver = pytest.importorskip("pgserver")
    folder = tempfile.mkdtemp(prefix="pg")  # short: the path of a socket may have 107 characters
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about folders of the user, which pgserver looks for
        server = pgserver.get_server(folder)
    import psycopg

    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        # Tests kill processes of ours, never the machine: what the server has written need not be on a disk.
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("SELECT pg_reload_conf()")
    yield server.get_uri()
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["sqlite", "postgresql"])
def shared(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a new ledger that several processes can share."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'budget.db'}"
    import psycopg

    address: str = request.getfixturevalue("postgres")
    schema = f"ledger_{os.getpid()}_{next(_SCHEMAS)}"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
    return f"{address}&options=-csearch_path%3D{schema}"


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A Spark session of this process, tuned for queries of a few rows; its time zone is nobody's."""
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.default.parallelism": "1",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.session.timeZone": "Asia/Kathmandu",
        "spark.sql.warehouse.dir": tempfile.gettempdir(),
        # Queries that run once are not worth the second compiler.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    os.environ["PYSPARK_PYTHON"] = sys.executable  # workers need what this process has, not what is first on the path
    builder = SparkSession.builder.master("local[1]").appName("celosia")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
