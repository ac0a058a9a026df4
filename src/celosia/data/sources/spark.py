"""Open what Spark reads: Parquet files, and tables of its catalogue.

Spark starts in this process when the first source is opened. Its master, memory and catalogue are those of its own
configuration (``spark-defaults.conf``). Unless that says otherwise, there is no web page of Spark, which would show
exact numbers of rows, no log, which may quote rows, and on one machine no port that others can reach.
"""

import contextlib
import re
import threading
from typing import Any, Final

from celosia.core.errors import EngineError
from celosia.core.extras import require
from celosia.data.sources.classify import SparkFiles, SparkPath, SparkSource, SparkTable

_SETTINGS: Final = {"spark.ui.enabled": "false", "spark.log.level": "OFF"}
_LOCAL_SETTINGS: Final = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
_STARTING: Final = threading.Lock()
_GLOB: Final = re.compile(r"([][{}*?\\])")


def open_frame(source: SparkSource | SparkFiles | SparkPath | SparkTable) -> Any:
    """Return the Spark DataFrame of a source; no row is read."""
    if isinstance(source, SparkSource):
        return source.frame
    session = start_spark()
    try:
        match source:
            case SparkTable(names=names):
                return session.table(".".join(f"`{name}`" for name in names))
            case SparkPath(path=path):
                return session.read.parquet(path)
            case SparkFiles(paths=paths):  # of this machine, whatever file system Spark has by default
                return session.read.parquet(*("file:" + _GLOB.sub(r"\\\1", path) for path in paths))
    except Exception:  # noqa: BLE001 - Spark's errors quote addresses, and rows where a view has any
        raise EngineError("data.spark_source_not_opened") from None


def start_spark() -> Any:
    """Return the Spark session of this process, which is started if there is none, or its Java process has ended."""
    require("pyspark", extra="spark")
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    try:
        with _STARTING:
            _forget_ended(SparkContext)
            SparkContext._ensure_initialized()  # noqa: SLF001 - only then has SparkConf what Spark's own files say
            SparkContext.getOrCreate(_complete(SparkConf()))  # a context that runs keeps its settings
            return SparkSession.builder.getOrCreate()
    except Exception:  # noqa: BLE001 - they quote settings, among which are passwords
        raise EngineError("data.spark_not_started") from None


def _complete(settings: Any) -> Any:
    """Add what Spark's own configuration does not set."""
    local = settings.get("spark.master", "local").startswith("local")
    for name, value in (_SETTINGS | _LOCAL_SETTINGS if local else _SETTINGS).items():
        settings.setIfMissing(name, value)
    return settings.set("spark.ui.showConsoleProgress", "false")


def _forget_ended(context: Any) -> None:
    """Drop the connection to a Java process that has ended; PySpark would keep it for ever."""
    process = getattr(context._gateway, "proc", None)  # noqa: SLF001 - PySpark has no public access to it
    if process is None or process.poll() is None:
        return
    with contextlib.suppress(Exception):
        context._active_spark_context.stop()  # noqa: SLF001 - as above
    context._active_spark_context = context._gateway = context._jvm = None  # noqa: SLF001 - as above
