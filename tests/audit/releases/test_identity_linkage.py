"""Records that fit persons against a comparison of each with each, and the bound of k-anonymity."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.anonymity import (
    Categories,
    Dates,
    FullDomain,
    Hierarchy,
    Intervals,
    LocalSuppression,
    Microdata,
    Mondrian,
    Prefixes,
    Roles,
    Step,
    read_microdata,
)
from celosia.audit.releases import link_identities
from celosia.core.errors import CelosiaError
from celosia.plots.save import render

ages = st.sampled_from(["1", "2", "3", "1-2", "2-3", ">1", "*", None])
records = st.lists(
    st.tuples(ages, st.sampled_from(["F", "M", None]), st.sampled_from(["flu", "mono", None])), min_size=1, max_size=15
)
people = st.lists(
    st.tuples(st.sampled_from([1, 2, 3, None]), st.sampled_from(["F", "M", None])), min_size=1, max_size=8
)
RANGES = {"1": {1}, "2": {2}, "3": {3}, "1-2": {1, 2}, "2-3": {2, 3}, ">1": {2, 3}, "*": {1, 2, 3}}


def read(rows: list[tuple[Any, ...]], nulls: Any = "category") -> Microdata:
    age, sex, illness = map(list, zip(*rows, strict=True))
    table = pa.table(
        {
            "age": pa.array(age, pa.string()),
            "sex": pa.array(sex, pa.string()),
            "illness": pa.array(illness, pa.string()),
        }
    )
    return read_microdata(table, roles=Roles(quasi_identifiers=["age", "sex"], sensitive=["illness"], nulls=nulls))


def register_of(rows: list[tuple[Any, ...]]) -> pa.Table:
    age, sex = map(list, zip(*rows, strict=True))
    names = [f"person {place}" for place in range(len(rows))]
    return pa.table({"name": names, "age": pa.array(age, pa.int64()), "sex": pa.array(sex, pa.string())})


def fits(person: tuple[Any, ...], record: tuple[Any, ...], *, wild: bool) -> bool:
    def fits_one(known: Any, label: Any, allowed: Any) -> bool:
        return known is None or (wild if label is None else known in allowed)

    return fits_one(person[0], record[0], RANGES.get(record[0])) and fits_one(person[1], record[1], {record[1]})


@given(records, people, st.sampled_from(["category", "wildcard"]))
def test_records_that_fit_are_those_of_a_comparison(rows: Any, persons: Any, nulls: Any) -> None:
    found = link_identities(read(rows, nulls), register_of(persons), identity="name")
    for place, person in enumerate(persons):
        name, wild = f"person {place}", nulls == "wildcard"
        chosen = [row for row in rows if fits(person, row, wild=wild)]
        assert found.count_fitting(name) == len(chosen)
        said = {row[2] for row in chosen} - ({None} if wild else set())
        assert found.get_learned(name) == ({"illness": said.pop() or ""} if len(said) == 1 else {})
    assert found.count_learned("illness") == sum(bool(found.get_learned(f"person {i}")) for i in range(len(persons)))
    assert len(found.reidentified) == int((found.fitting == 1).sum())


@given(st.lists(st.tuples(st.integers(1, 3), st.sampled_from("FM")), min_size=6, max_size=30), st.integers(2, 4))
def test_in_an_anonymous_file_at_least_k_records_fit_who_is_in_it(persons: list[tuple[int, str]], k: int) -> None:
    """The unprotected file gives all away where keys differ; blocks of k sorted persons with one label do not."""
    order = sorted(persons)
    blocks = [order[start : start + k] for start in range(0, len(order) - k + 1, k)]
    blocks[-1] += order[k * len(blocks) :]
    rows = [(f"{min(a for a, _ in block)}-{max(a for a, _ in block)}", "*", "flu") for block in blocks for _ in block]
    everyone = register_of(order)
    protected = link_identities(read(rows), everyone, identity="name")
    assert protected.fitting.min() >= k
    assert protected.highest <= 1 / k
    assert protected.reidentified == ()
    unprotected = link_identities(read([(str(a), s, "flu") for a, s in order]), everyone, identity="name")
    assert unprotected.fitting.tolist() == [order.count(person) for person in order]


@pytest.mark.parametrize(
    "step",
    [
        Mondrian(k=5),
        Mondrian(k=5, labels="hierarchy"),
        FullDomain(limit=0.2),
        LocalSuppression(k=5),
    ],
    ids=["ranges", "hierarchy", "full domain", "suppression"],
)
def test_what_our_methods_write_is_read_by_the_attacker(step: Step) -> None:
    """The attack finds most persons in the original; of the anonymous file, at least k records fit who is in it."""
    lot = np.random.default_rng(9)
    size = 300
    table = pa.table(
        {
            "age": lot.integers(18, 90, size),
            "height": lot.normal(170, 10, size).round(1),
            "born": pa.array([date(1940, 1, 1) + timedelta(days=int(day)) for day in lot.integers(0, 25_000, size)]),
            "job": lot.choice(["Python", "Java", "React", "Vue, Nuxt"], size),
            "code": lot.choice(["28001", "28002", "41001", "41002"], size),
        }
    )
    hierarchies: dict[str, Hierarchy] = {
        "age": Intervals.of_widths(0, 100, [5, 10, 50]),
        "height": Intervals.of_widths(100, 250, [10, 50]),
        "born": Dates(["year", "decade"], low=date(1940, 1, 1), high=date(2020, 1, 1)),
        "job": Categories({"Python": "Back", "Java": "Back", "React": "Front", "Vue, Nuxt": "Front"}),
        "code": Prefixes(5, keep=[2]),
    }
    roles = Roles(quasi_identifiers=table.column_names, nulls="wildcard")
    data = read_microdata(table, roles=roles, hierarchies=hierarchies)
    register = table.append_column("name", pa.array([f"person {place}" for place in range(size)]))
    assert len(link_identities(data, register, identity="name").reidentified) == size
    protected = step.apply(data)
    found = link_identities(protected, register, identity="name", hierarchies=hierarchies)
    assert found.fitting[protected.rows].min() >= 5
    assert found.found >= len(protected)


def test_the_order_of_records_and_persons_does_not_matter() -> None:
    lot = np.random.default_rng(4)
    rows = [(str(age), sex, "flu") for age, sex in zip(lot.integers(1, 4, 40), lot.choice(list("FM"), 40), strict=True)]
    register = register_of([(1, "F"), (2, "M"), (3, None)])
    found = link_identities(read(rows), register, identity="name").fitting
    shuffled = read(rows).keep_rows(lot.permutation(40))
    again = link_identities(shuffled, register.take([2, 0, 1]), identity="name").fitting
    assert again.tolist() == found[[2, 0, 1]].tolist()


def test_many_persons_go_through_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(str(1 + place % 3), "F", f"illness {place % 7}") for place in range(30)]
    register = register_of([(1 + place % 3, "F") for place in range(9)])
    whole = link_identities(read(rows), register, identity="name")
    monkeypatch.setattr("celosia.audit.releases.candidates._CELLS", 10)
    parts = link_identities(read(rows), register, identity="name")
    assert parts.fitting.tolist() == whole.fitting.tolist() == [10] * 9


def test_sentences_and_charts() -> None:
    found = link_identities(
        read([("1", "F", "flu"), ("2", "M", "flu")]), register_of([(1, "F"), (9, "F")]), identity="name"
    )
    assert str(found).splitlines() == [
        "Records fit 1 of the 2 persons of the register.",
        "For 1 of them a single record fits: they are re-identified.",
        "For 1 of them all records that fit agree on 'illness': it is learned.",
    ]
    assert found.describe("es").startswith("Hay registros que encajan con 1 de las 2 personas")
    assert "flu" not in repr(found)
    for language, title in (("en", "Persons of a register"), ("es", "Personas de un registro")):
        spec = found.draw(language=language).to_dict()
        assert spec["title"]["text"].startswith(title)
        assert render(spec, ".svg").startswith(b"<svg")
    nobody = link_identities(read([("1", "F", "flu")]), register_of([(9, "F")]), identity="name")
    assert (nobody.found, nobody.highest, nobody.reidentified) == (0, 0, ())
    assert nobody.draw().to_dict()


def test_bad_registers_are_refused() -> None:
    released, register = read([("1", "F", "flu")]), register_of([(1, "F"), (2, "F")])
    bad: list[tuple[Any, dict[str, Any], str]] = [
        (register, {"identity": "dni"}, "anonymity.unknown_column"),
        (register.slice(0, 0), {"identity": "name"}, "audit.register_empty"),
        (register, {"identity": "sex"}, "audit.identity_repeated"),
        (register.select(["name"]), {"identity": "name"}, "audit.nothing_shared"),
        (register, {"identity": "name", "on": ["weight"]}, "anonymity.unknown_column"),
        (register, {"identity": "name", "on": []}, "audit.nothing_shared"),
    ]
    for frame, options, code in bad:
        with pytest.raises(CelosiaError) as caught:
            link_identities(released, frame, **options)
        assert caught.value.code == code
    with pytest.raises(CelosiaError) as caught:
        link_identities(released, register, identity="name").count_fitting("nobody")
    assert caught.value.code == "audit.unknown_identity"
    assert "nobody" not in str(caught.value)
