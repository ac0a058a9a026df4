"""Canonical names of the places where the rows of a data set are.

Budgets are counted by data set: the same rows under two names would have two budgets, and the people in them a weaker
guarantee. So a source of another data set is refused, and a private source cannot be public elsewhere. Files of this
machine are the same whether Spark reads them or not. Copies, views, other addresses of the same server, and files under
a table of Spark or under another path elsewhere are not detected: the owner must know them.
"""

import ipaddress
import posixpath
import re
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, urlsplit

from celosia.core.errors import CelosiaError, ParameterError
from celosia.data.sources.classify import Database, SparkPath, SparkTable, classify
from celosia.data.sources.files import Files
from celosia.serving.addresses import expand_variables, hide_secrets

_THIS_MACHINE: Final = "this machine"
_SCHEMES: Final = {"s3": "s3a", "s3n": "s3a"}
_WHOLE_FOLDER: Final = re.compile(r"(part-)?\*+(\.[\w.]+)?")
_DEFAULT_NAMES: Final = ("spark_catalog", "default")


def find_places(source: str, relation: str | None = None) -> frozenset[str]:
    """Return the names of the places that a source reads now; empty if it cannot be found."""
    try:
        found = classify(_expand(source), name=relation)
    except CelosiaError:
        return frozenset()
    match found:
        case Database():
            return frozenset({_database_place(found)})
        case SparkPath(path=path):
            return frozenset({_remote_place(path)})
        case SparkTable(names=names):
            missing = len(_DEFAULT_NAMES) + 1 - len(names)
            return frozenset({"spark: " + ".".join((*_DEFAULT_NAMES[:missing], *names)).casefold()})
        case Files(paths=paths):
            return frozenset(place for path in paths for place in _file_places(path))
    return frozenset()


def _expand(source: str) -> str:
    """Return a source with its variables; a password need not be known to tell where the rows are."""
    try:
        return expand_variables(source, name="source")
    except ParameterError:
        return expand_variables(hide_secrets(source, keep_variables=False), name="source")


def _file_places(path: str) -> tuple[str, ...]:
    """Return the real path and the inode of a file: a hard link is the same file."""
    real = Path(path).resolve()
    try:
        status = real.stat()
    except OSError:  # gone since it was found
        return (str(real),)
    return str(real), f"{status.st_dev}:{status.st_ino}"


def _remote_place(address: str) -> str:
    """Return the address of a path or glob without credentials; a glob of all files of a folder is the folder."""
    scheme, _, rest = address.partition("://")
    authority, _, path = rest.partition("/")
    user, at, host = authority.rpartition("@")
    container = "" if ":" in user else user + at  # abfss://container@account
    scheme, host = _SCHEMES.get(scheme.lower(), scheme.lower()), host.lower().removesuffix(":8020")
    folder, name = posixpath.split(posixpath.normpath("/" + path.lstrip("/")))
    return f"{scheme}://{container}{host}{folder if _WHOLE_FOLDER.fullmatch(name) else posixpath.join(folder, name)}"


def _database_place(source: Database) -> str:
    parts = urlsplit(source.url)
    given = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    host = _normalize_host(given.get("host") or parts.hostname or "")
    port = given.get("port") or parts.port or 5432
    database = given.get("dbname") or parts.path.strip("/") or parts.username or ""
    return f"postgresql://{host}:{port}/{database} {source.schema or 'public'}.{source.table}"


def _normalize_host(name: str) -> str:
    if name in ("", "localhost") or name.startswith("/"):
        return _THIS_MACHINE
    try:
        return _THIS_MACHINE if ipaddress.ip_address(name).is_loopback else name
    except ValueError:
        return name.lower().rstrip(".")
