"""All measures of two files together."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from celosia.anonymity import Roles, read_microdata
from celosia.anonymity.utility import compare_files


def test_all_measures_that_apply_are_printed() -> None:
    lot = np.random.default_rng(2)
    frame = pa.table(
        {"age": lot.integers(20, 30, 40), "sex": ["F", "M"] * 20, "x": lot.normal(size=40), "y": np.arange(40.0)}
    )
    data = read_microdata(frame, roles=Roles(quasi_identifiers=["age", "sex"], sensitive=["x", "y"]))
    masked = data.replace_columns(
        {"sex": pa.nulls(40, pa.string()), "x": pa.array(frame.column("x").to_numpy() + 0.1)},
        spreads={"sex": np.ones(40)},
    ).keep_rows(np.arange(30))
    found = compare_files(data, masked)
    assert found.records == (40, 30)
    assert found.losses == {"age": 0.25, "sex": 1.0}
    assert found.loss == 0.625
    assert found.suppressed == {"age": 0, "sex": 30}
    assert list(found.tables) == ["age", "sex", "x", "y"]
    assert found.tables["sex"].total_variation == 1
    assert found.before.columns == ("age", "x", "y")
    printed = str(found)
    assert all(name in printed for name in ("loss (NCP)", "IL1s", "pMSE ratio", "KL divergence, pairs"))
    assert "nan" not in printed
    same = compare_files(data, data).measures
    assert all(
        abs(value) < 1e-9 for name, value in same.items() if name not in {"records", "discernibility", "class_size"}
    )


def test_a_file_without_numbers_or_keys_has_the_other_measures() -> None:
    data = read_microdata(pa.table({"sex": ["F", "M"]}), roles=Roles(others=["sex"]))
    printed = str(compare_files(data, data))
    assert "total variation" in printed
    assert "loss" not in printed
    assert "IL1s" not in printed
