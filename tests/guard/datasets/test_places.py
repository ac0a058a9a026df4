from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from celosia.guard.datasets.places import find_places

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("age\n34\n", encoding="utf-8")
    return tmp_path


def test_a_file_is_the_same_by_whatever_path(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "soft.csv").symlink_to(folder / "a.csv")
    os.link(folder / "a.csv", folder / "hard.csv")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("CELOSIA_TEST_FOLDER", str(folder))
    plain = find_places(str(folder / "a.csv"))
    for other in ("a.csv", "./a.csv", "soft.csv", "hard.csv", "${CELOSIA_TEST_FOLDER}/a.csv", "*.csv"):
        assert plain & find_places(other), other
    assert not plain & find_places("b.csv")


@pytest.mark.parametrize(
    ("address", "relation"),
    [
        ("postgresql://localhost/registry", "deaths"),
        ("postgresql://ana:secret@127.0.0.1:5432/registry", "public.deaths"),
        ("postgres://[::1]/registry?sslmode=require", "deaths"),
        ("postgresql:///registry", "deaths"),
        ("postgresql:///registry?host=/run/postgresql", "deaths"),
        ("postgresql://db.example/other?host=localhost&dbname=registry&port=5432", "deaths"),
    ],
)
def test_a_database_on_this_machine_is_the_same_by_whatever_name(address: str, relation: str) -> None:
    assert find_places(address, relation) == find_places("postgresql://localhost/registry", "deaths")


@pytest.mark.parametrize(
    ("address", "relation"),
    [
        ("postgresql://localhost/registry", "births"),
        ("postgresql://localhost/registry", "private.deaths"),
        ("postgresql://localhost/other", "deaths"),
        ("postgresql://localhost:5433/registry", "deaths"),
        ("postgresql://db.example/registry", "deaths"),
    ],
)
def test_other_tables_are_other_places(address: str, relation: str) -> None:
    assert not find_places(address, relation) & find_places("postgresql://localhost/registry", "deaths")


def test_case_and_the_dot_of_a_host_do_not_matter_and_passwords_are_not_kept() -> None:
    one = find_places("postgresql://ana:secret@DB.Example./registry", "deaths")
    assert one == find_places("postgresql://eva:other@db.example/registry", "deaths")
    assert "secret" not in "".join(one)


def test_the_place_of_a_database_is_known_without_its_password() -> None:
    known = find_places("postgresql://ana:secret@db.example/registry", "deaths")
    assert find_places("postgresql://ana:${CELOSIA_NO_SUCH}@db.example/registry", "deaths") == known
    assert find_places("postgresql://db.example/registry?password=${CELOSIA_NO_SUCH}", "deaths") == known
    assert find_places("postgresql://ana:x@${CELOSIA_NO_SUCH}/registry", "deaths") == frozenset()


def test_files_are_the_same_whether_spark_reads_them_or_not(tmp_path: Path) -> None:
    for name in ("a.parquet", "b.parquet"):
        (tmp_path / name).touch()
    plain = find_places(str(tmp_path / "a.parquet"))
    assert plain == find_places(f"spark:{tmp_path}/a.parquet")
    assert plain < find_places(f"spark:{tmp_path}/*.parquet")
    assert not plain & find_places(f"spark:{tmp_path}/b.parquet")


def test_a_path_elsewhere_has_one_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CELOSIA_TEST_HOST", "HOST")
    visits = find_places("spark:hdfs://host/data/visits")
    for same in (
        "hdfs://HOST:8020/data/visits/",
        "HDFS://host//data/./visits/*",
        "hdfs://host/data/other/../visits/*.parquet",
        "hdfs://host/data/visits/part-*.snappy.parquet",
        "hdfs://ana:${CELOSIA_NO_SUCH}@${CELOSIA_TEST_HOST}/data/visits",
    ):
        assert find_places(f"spark:{same}") == visits, same
    for other in (
        "hdfs://host/data/visits_2",
        "hdfs://host:9000/data/visits",
        "hdfs://host/data",
        "hdfs://b/data/visits",
    ):
        assert not find_places(f"spark:{other}") & visits, other
    assert find_places("spark:s3://bucket/a") == find_places("spark:s3a://KEY:hush@bucket/a")
    assert "hush" not in "".join(find_places("spark:s3a://KEY:hush@bucket/a"))
    boxes = [find_places(f"spark:abfss://{box}@account.example/a") for box in ("one", "two")]
    assert not boxes[0] & boxes[1]


def test_a_table_of_the_catalogue_has_one_name() -> None:
    visits = find_places("spark:", "visits")
    assert visits == find_places("spark:", "Default.Visits") == find_places("spark:", "spark_catalog.default.visits")
    assert not visits & find_places("spark:", "registry.visits")
    assert not visits & find_places("postgresql://localhost/default", "visits")


@pytest.mark.parametrize(
    "source",
    [
        "nowhere.csv",
        "spark:nowhere.parquet",
        "spark:FILE:///a.parquet",
        "${CELOSIA_NO_SUCH}/a.csv",
        "mysql://db/x",
        "postgresql://[bad/x",
        "postgresql://a:b:c/x",
    ],
)
def test_what_cannot_be_found_is_nowhere(source: str) -> None:
    assert find_places(source, "deaths") == frozenset()
