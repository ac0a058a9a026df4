"""Fingerprints are equal where an answer may be given again, and differ for whatever it depends on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

import celosia as cl
from celosia.core import LaplaceEvent
from celosia.data.sources.classify import Database
from celosia.data.sources.text_format import TextFormat
from celosia.query.plan.nodes import Aggregate, Base, Join, Plan
from celosia.query.serial.fingerprint import content_digest, data_version, declaration, fingerprint
from celosia.query.sql.expressions import parse_expression
from tests.query.samples import FULL, code_book, persons_table, rows_table

if TYPE_CHECKING:
    from celosia.data.table import Table

COUNT = Aggregate(kind="count", name="count")
PLAN = Plan(relation=Base("deaths"), filter=parse_expression("age < 18 AND alive"), aggregates=(COUNT,))
JOINED = replace(PLAN, relation=Join(left=Base("deaths"), right=Base("towns"), on=(("town", "town"),)))
EVENT = LaplaceEvent(scale=10, sensitivity=1)
GUARANTEE = cl.PureDP(epsilon="0.1")


def mark(
    plan: Plan = PLAN, *tables: Table, event: Any = EVENT, guarantee: Any = GUARANTEE, **options: Any
) -> str | None:
    named = {table.name: table for table in (tables or (rows_table(),))}
    return fingerprint(plan, named, event, guarantee, **{"version": "1", **options})


def test_equal_questions_have_equal_fingerprints() -> None:
    turned = replace(PLAN, filter=parse_expression("alive AND age < 18"))
    assert mark() == mark(turned) == mark(PLAN, rows_table())
    assert len(mark() or "") == 64


def test_tables_that_are_not_read_do_not_matter() -> None:
    assert mark(PLAN, rows_table(), code_book()) == mark()
    unversioned = cl.table(pa.table({"age": [3]}), schema=cl.Schema(age=cl.Integer(0, 9)), name="other")
    assert mark(PLAN, rows_table(), unversioned) == mark()


def test_whatever_an_answer_depends_on_is_seen() -> None:
    cases: list[dict[str, Any]] = [
        {"plan": replace(PLAN, filter=None)},
        {"plan": replace(PLAN, aggregates=(replace(COUNT, name="n"),), outputs=())},
        {"version": "2"},
        {"event": LaplaceEvent(scale=5, sensitivity=1)},
        {"guarantee": cl.PureDP(epsilon="0.2")},
        {"guarantee": cl.ApproxDP(epsilon="0.1", delta=0)},
        {"table": rows_table(schema=FULL)},
        {"table": rows_table(adjacency=cl.ReplaceOne)},
        {"table": persons_table()},
        {"table": persons_table(groups=3)},
        {"table": persons_table(rows=4)},
        {"table": replace(rows_table(), person="who")},
    ]
    for other in cases:
        table, plan = other.pop("table", rows_table()), other.pop("plan", PLAN)
        assert mark(plan, table, **other) not in (mark(), None)


def test_every_declaration_is_seen() -> None:
    tables = [rows_table(), rows_table(schema=FULL), persons_table(), persons_table(groups=3), persons_table(rows=4)]
    tables += [rows_table(adjacency=cl.ReplaceOne), code_book(), replace(code_book(), key=("town", "beds"))]
    tables += [replace(rows_table(), text=TextFormat(decimal=",")), replace(persons_table(), max_rows_per_person=9)]
    texts = [json.dumps(declaration(table), sort_keys=True) for table in tables]
    assert len(set(texts)) == len(texts)
    declared = set(declaration(tables[-2])) | set(declaration(tables[-1]))
    assert declared == {*rows_table().__dataclass_fields__} - {"source", "unit"}  # the unit follows from the person
    # Answers from before these could be declared are found again.
    assert not {"text", "max_rows_per_person"} & set(declaration(rows_table()))


# ------------------------------------------------------------------------------------------------------------ versions


def test_frames_and_databases_have_no_version_of_their_own() -> None:
    database = replace(rows_table(), source=Database("postgresql://db.example/registry", "deaths"))
    for table in (rows_table(), database):
        assert data_version(table) is None
        assert mark(PLAN, table, version=None) is None
        assert mark(PLAN, table) is not None


def test_files_have_the_version_of_their_last_change(tmp_path: Path) -> None:
    def table(pattern: str = "*.parquet") -> Table:
        return cl.table(str(tmp_path / pattern), schema=cl.Schema(age=cl.Integer(0, 120)), name="deaths")

    seen = set()
    for ages in ([1, 2, 3], [1, 2, 3, 4] * 1_000):
        pq.write_table(pa.table({"age": ages}), tmp_path / "a.parquet")
        seen.add(data_version(table()))
        assert data_version(table()) == data_version(table())
    state = (tmp_path / "a.parquet").stat()
    os.utime(tmp_path / "a.parquet", ns=(state.st_atime_ns, state.st_mtime_ns + 1))  # the same size, a moment later
    seen.add(data_version(table()))
    pq.write_table(pa.table({"age": [1]}), tmp_path / "b.parquet")
    seen.add(data_version(table()))
    seen.add(data_version(table("b.parquet")))
    assert len(seen) == 5
    assert None not in seen
    gone = table("b.parquet")
    (tmp_path / "b.parquet").unlink()
    assert data_version(gone) is None
    plan = Plan(relation=Base("deaths"), aggregates=(COUNT,))
    assert mark(plan, gone, version=None) is None


# ------------------------------------------------------------------------------------------------------------ contents


def book(*pieces: pa.Table) -> Table:
    return cl.table(pa.concat_tables(pieces), name="towns", public=True, key="town", schema=BOOK)


BOOK = cl.Schema(town=cl.Category("A", "B", "C"), beds=cl.Integer(0, 9))
ROWS = pa.table({"town": ["A", "B", "C"], "beds": [1, None, 3]})


def test_the_content_of_a_public_table_is_what_its_rows_say() -> None:
    whole = content_digest(book(ROWS))
    assert whole == content_digest(book(ROWS.slice(0, 1), ROWS.slice(1)))
    assert whole == content_digest(book(pa.concat_tables([ROWS, ROWS]).slice(3, 3)))
    assert whole == content_digest(
        book(pa.table({"town": ["A", "B", "C"], "beds": pa.array([1, None, 3], pa.int64())}))
    )
    others = [
        book(ROWS.slice(0, 2)),
        book(ROWS.take([1, 0, 2])),
        book(pa.table({"town": ["A", "B", "C"], "beds": [1, 2, 3]})),
        book(pa.table({"town": ["A", "B", "C"], "beds": [1, 0, 3]})),
    ]
    assert len({whole, *map(content_digest, others)}) == 5
    assert content_digest(rows_table()) is None


def test_a_public_table_that_changed_is_another_question() -> None:
    first = mark(JOINED, rows_table(), book(ROWS))
    assert first == mark(JOINED, rows_table(), book(ROWS), contents={"towns": content_digest(book(ROWS)) or ""})
    assert first != mark(JOINED, rows_table(), book(ROWS.slice(0, 2)))
    assert first != mark(JOINED, rows_table(), book(ROWS), contents={"towns": "another"})
    assert mark(JOINED, rows_table(), book(ROWS), version=None) is None


def test_another_process_finds_the_same(tmp_path: Path) -> None:
    script = tmp_path / "other.py"
    script.write_text(
        "from tests.query.serial.test_fingerprint import JOINED, ROWS, book, mark, rows_table\n"
        "print(mark(), mark(JOINED, rows_table(), book(ROWS)))\n"
    )
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, str(script)],
        check=True,
        capture_output=True,
        text=True,
        cwd=root,
        env=os.environ | {"PYTHONPATH": str(root), "PYTHONHASHSEED": "7"},
    )
    assert done.stdout.split() == [mark(), mark(JOINED, rows_table(), book(ROWS))]
