"""When two questions have one answer: the same plan, the same declared tables, the same data, and equal noise.

A fingerprint is a digest of all that an answer depends on besides chance: the canonical plan, what was declared of the
tables it reads (schemas, persons, limits, neighbours, the whole content of public ones), the version of the private
data, the event and what it promises. A ledger gives the stored answer again to whoever asks with an equal fingerprint;
that tells nothing new, so it costs the data set nothing. Data whose version is not known have no fingerprint, and every
question about them is a new one.
"""

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.data.sources.classify import Frame
from celosia.data.sources.files import Files
from celosia.query.plan.relations import tables_of
from celosia.query.serial.plan import canonical

if TYPE_CHECKING:
    from collections.abc import Mapping

    from celosia.core import Event, Guarantee
    from celosia.data.table import Table
    from celosia.query.plan.nodes import Plan

_FORMAT = "celosia answer 1"


def fingerprint(
    plan: "Plan",
    tables: "Mapping[str, Table]",
    event: "Event",
    promise: "Guarantee",
    *,
    version: str | None = None,
    contents: "Mapping[str, str] | None" = None,
) -> str | None:
    """Return the digest of all that the answer depends on besides chance, or None where a version is not known.

    ``version`` is what the owner calls the state of the data. Files also have that of their last change, so that a file
    that was replaced is never answered for by the one before; other sources have no state of their own. ``contents``
    are digests of public tables that are known already.
    """
    known = dict(contents or {})
    declared = []
    for name in sorted(set(tables_of(plan.relation))):
        table = tables[name]
        state = (known.get(name) or content_digest(table)) if table.public else _state(table, version)
        if state is None:
            return None
        declared.append([declaration(table), state])
    parts = [_FORMAT, canonical(plan), declared, event.to_json(), promise.to_json()]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, allow_nan=False).encode()).hexdigest()


def _state(table: "Table", version: str | None) -> str | None:
    own = data_version(table)
    return None if version is None and own is None else json.dumps([version, own])


def declaration(table: "Table") -> dict[str, Any]:
    """Return all that was declared of a table, as plain values."""
    text, most = table.text.to_dict(), table.max_rows_per_person
    return {
        **({"text": text} if text else {}),
        **({} if most is None else {"max_rows_per_person": most}),
        "name": table.name,
        "schema": table.schema.to_toml(),
        "person": table.person,
        "max_groups_per_person": table.max_groups_per_person,
        "max_rows_per_group": table.max_rows_per_group,
        "adjacency": table.adjacency.value,
        "public": table.public,
        "key": list(table.key),
    }


def data_version(table: "Table") -> str | None:
    """Return the state of a table's files, by their paths, sizes and last changes; None for what is in no file."""
    if not isinstance(table.source, Files):
        return None
    try:
        states = [(path, (state := Path(path).stat()).st_size, state.st_mtime_ns) for path in table.source.paths]
    except OSError:  # the engine will say so
        return None
    return json.dumps(states)


def content_digest(table: "Table") -> str | None:
    """Return a digest of the rows of a public table; equal for equal rows, however they are laid out in memory."""
    if not table.public or not isinstance(table.source, Frame):
        return None
    import pyarrow as pa

    rows = pa.concat_tables([table.source.frame]).combine_chunks()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows.take(np.arange(rows.num_rows)))  # a slice would bring the rest of its buffers
    return hashlib.sha256(sink.getvalue()).hexdigest()
