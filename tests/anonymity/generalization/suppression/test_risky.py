"""Suppression of one column in records at risk."""

from __future__ import annotations

import pyarrow as pa
import pytest

from celosia.anonymity import Microdata, Roles, read_microdata
from celosia.anonymity.generalization import SuppressRisky
from celosia.core.errors import ParameterError


def read(nulls: str = "category") -> Microdata:
    frame = pa.table({"age": [30, 30, 40, None, 50], "sex": ["F", "F", "M", "M", "M"], "w": [1.0, 3.0, 2.0, 1.0, 5.0]})
    return read_microdata(frame, roles=Roles(quasi_identifiers=["age", "sex"], weight="w", nulls=nulls))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("nulls", "threshold", "expected"),
    [
        ("category", 0.25, [30, 30, None, None, 50]),  # of 4, 4, 2, 1 and 5 persons
        ("category", 0.5, [30, 30, 40, None, 50]),
        ("wildcard", 0.25, [30, 30, None, None, 50]),  # of 4, 4, 3, 8 and 6 persons
        ("wildcard", 0.2, [None, None, None, None, 50]),
    ],
)
def test_risk_is_one_over_the_persons_that_match(nulls: str, threshold: float, expected: list[int | None]) -> None:
    data = read(nulls)
    done = SuppressRisky(column="age", threshold=threshold).apply(data)
    assert done.get_column("age").to_pylist() == expected
    hidden = [a is not None and b is None for a, b in zip(data.get_column("age").to_pylist(), expected, strict=True)]
    assert done.spreads["age"].tolist() == [float(one) for one in hidden]
    assert done.get_column("sex").equals(data.get_column("sex"))


def test_bad_input_is_refused() -> None:
    for make, code in (
        (lambda: SuppressRisky(column="age", threshold=0), "anonymity_recoding.threshold_no_probability"),
        (lambda: SuppressRisky(column="age", threshold=1.5), "anonymity_recoding.threshold_no_probability"),
        (lambda: SuppressRisky(column="w", threshold=0.5).apply(read()), "anonymity_recoding.not_a_quasi_identifier"),
    ):
        with pytest.raises(ParameterError) as caught:
            make()
        assert caught.value.code == code
