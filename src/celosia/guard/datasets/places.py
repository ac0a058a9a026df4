"""Where the rows of a data set are, in a form in which the same place has the same name.

A person's protection is counted by data set; the same rows under two names would be paid for twice and promised once.
So a source that another data set has is refused, and a private one cannot be offered as public. Copies, views and other
addresses of the same server are not found out: they are for whoever adds a data set to know.
"""

import ipaddress
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, urlsplit

from celosia.core.errors import CelosiaError
from celosia.data.sources.classify import Database, DataSource, classify
from celosia.data.sources.files import Files, find_files
from celosia.guard.addresses import expand_variables

_THIS_MACHINE: Final = "this machine"


def find_places(source: str, relation: str | None = None) -> frozenset[str]:
    """Return the names of the places that a source reads now; none if it cannot be found."""
    try:
        text = expand_variables(source, name="source")
        found: DataSource = classify(text, name=relation) if "://" in text else find_files(text)
    except CelosiaError:
        return frozenset()
    if isinstance(found, Database):
        return frozenset({_database_place(found)})
    return (
        frozenset(place for path in found.paths for place in _file_places(path))
        if isinstance(found, Files)
        else frozenset()
    )


def _file_places(path: str) -> tuple[str, ...]:
    """A file by its real path, and by its number on the disk: a hard link is the same file."""
    real = Path(path).resolve()
    try:
        status = real.stat()
    except OSError:  # gone since it was found
        return (str(real),)
    return str(real), f"{status.st_dev}:{status.st_ino}"


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
