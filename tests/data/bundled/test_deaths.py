from __future__ import annotations

from importlib import resources

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from celosia.data import AGES, CAUSES, DIABETES, SEXES, STATES, VIOLENCE, deaths


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return deaths()


def counts(table: pa.Table, column: str) -> dict[str, int]:
    return {row["values"].as_py(): row["counts"].as_py() for row in pc.value_counts(table[column].cast(pa.string()))}


def test_there_are_200_000_rows_without_a_gap(table: pa.Table) -> None:
    assert table.num_rows == 200_000
    assert table.column_names == ["age", "sex", "cause", "state"]
    assert all(column.null_count == 0 for column in table.columns)


def test_ages_are_small_integers_within_their_bounds(table: pa.Table) -> None:
    assert table.schema.field("age").type == pa.uint8()
    ages = table["age"].to_numpy()
    assert AGES[0] == ages.min() == 0
    assert 95 < ages.max() <= AGES[1]
    assert 55 < ages.mean() < 70


@pytest.mark.parametrize(("column", "domain"), [("sex", SEXES), ("cause", tuple(CAUSES)), ("state", STATES)])
def test_texts_are_encoded_and_fill_their_domain(table: pa.Table, column: str, domain: tuple[str, ...]) -> None:
    assert pa.types.is_dictionary(table.schema.field(column).type)
    assert set(counts(table, column)) == set(domain)


def test_exactly_108_minors_died_of_diabetes(table: pa.Table) -> None:
    by_diabetes = np.isin(table["cause"].cast(pa.string()).to_numpy(), DIABETES)
    assert int((by_diabetes & (table["age"].to_numpy() < 18)).sum()) == 108


def test_the_most_common_causes_are_covid_and_then_infarction(table: pa.Table) -> None:
    by_cause = counts(table, "cause")
    assert sorted(by_cause, key=by_cause.__getitem__, reverse=True)[:2] == ["U071", "I219"]


def test_violence_strikes_the_young(table: pa.Table) -> None:
    ages = table["age"].to_numpy()[np.isin(table["cause"].cast(pa.string()).to_numpy(), VIOLENCE)]
    assert np.bincount(ages // 10).argmax() == 2


@pytest.mark.parametrize("code", ["C539", "C61X"])
def test_causes_of_one_sex_are_of_one_sex(table: pa.Table, code: str) -> None:
    rows = table.filter(pc.equal(table["cause"].cast(pa.string()), code))
    assert len(counts(rows, "sex")) == 1


def test_the_groups_of_causes_are_the_chapters_of_the_classification() -> None:
    assert DIABETES == ("E101", "E109", "E112", "E115", "E119", "E149")
    assert VIOLENCE == ("X954", "X959", "X999")
    assert all(len(code) == 4 for code in CAUSES)
    assert len(STATES) == len(set(STATES)) == 32


def test_the_file_says_that_it_is_synthetic_and_is_small(table: pa.Table) -> None:
    assert table.schema.metadata[b"description"].startswith(b"SYNTHETIC")
    assert len((resources.files("celosia.data.bundled") / "deaths_2021.parquet").read_bytes()) < 1_000_000
