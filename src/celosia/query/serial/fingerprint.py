"""Fingerprints of queries: equal for the same plan, declared tables, data and noise.

A fingerprint is a digest of everything that determines an answer besides chance: the canonical plan, the declarations
of the tables (schemas, persons, limits, adjacency, the content of public ones), the version of the private data, the
event and its guarantee. A ledger returns the stored answer to a query with an equal fingerprint; that reveals nothing
new, so it costs the data set nothing. Without a known version of the data there is no fingerprint: every query is new.
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
    guarantee: "Guarantee",
    *,
    version: str | None = None,
    contents: "Mapping[str, str] | None" = None,
    model: str | None = None,
) -> str | None:
    """Return the fingerprint of a plan, or None where the version of the data is not known.

    ``version`` is the owner's name for the state of the data. Files also have the time of their last change, so that a
    replaced file never returns answers of the old one. ``contents`` are known digests of public tables, and known
    states of files. ``model`` says which model is fitted to the rows of the plan.
    """
    known = dict(contents or {})
    declared = []
    for name in sorted(set(tables_of(plan.relation))):
        table = tables[name]
        state = (known.get(name) or content_digest(table)) if table.public else _state(table, version, known.get(name))
        if state is None:
            return None
        declared.append([declaration(table), state])
    parts = [_FORMAT, canonical(plan), declared, event.to_json(), guarantee.to_json()]
    parts += [] if model is None else ["model", model]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, allow_nan=False).encode()).hexdigest()


def _state(table: "Table", version: str | None, known: str | None) -> str | None:
    own = known or data_version(table)
    return None if version is None and own is None else json.dumps([version, own])


def declaration(table: "Table") -> dict[str, Any]:
    """Return the declaration of a table as plain values."""
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
    """Return the state of a table's files, by their paths, sizes and last changes; None for other sources."""
    if not isinstance(table.source, Files):
        return None
    try:
        states = [(path, (state := Path(path).stat()).st_size, state.st_mtime_ns) for path in table.source.paths]
    except OSError:  # the engine reports it
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
