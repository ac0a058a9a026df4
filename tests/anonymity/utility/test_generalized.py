"""Loss, discernibility and class sizes, worked by hand."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from celosia.anonymity import Microdata, Roles, read_microdata
from celosia.anonymity.utility import count_suppressed, measure_class_size, measure_discernibility, measure_loss
from celosia.core.errors import InputError


def read() -> Microdata:
    frame = pa.table({"age": [20, 20, 30, 40], "sex": ["F", "F", "M", None]})
    return read_microdata(frame, roles=Roles(quasi_identifiers=["age", "sex"]))


def test_loss_is_the_mean_spread_and_dropped_records_lose_all() -> None:
    data = read()
    spreads = {"age": np.array([0.25, 0.25, 0.5, 1.0])}
    masked = data.replace_columns({}, spreads=spreads)
    assert measure_loss(data, masked) == {"age": 0.5, "sex": 0.0}
    kept = masked.keep_rows(np.array([2, 3]))
    assert measure_loss(data, kept) == {"age": (0.5 + 1.0 + 2) / 4, "sex": 0.5}
    assert measure_loss(data, data) == {"age": 0.0, "sex": 0.0}


def test_discernibility_is_the_sum_of_squares_and_n_for_each_dropped_record() -> None:
    data = read()
    assert measure_discernibility(data, data) == 2**2 + 1 + 1
    assert measure_discernibility(data, data.keep_rows(np.array([0, 1]))) == 2**2 + 2 * 4


def test_class_size_is_a_multiple_of_k() -> None:
    assert measure_class_size(read()) == 4 / 3
    assert measure_class_size(read(), k=2) == 4 / 3 / 2


def test_only_values_that_became_null_are_suppressed() -> None:
    data = read()
    masked = data.replace_columns({"sex": pa.array([None, "F", "M", None])}).keep_rows(np.array([3, 2, 0]))
    assert count_suppressed(data, masked) == {"age": 0, "sex": 1}


def test_files_of_other_records_are_refused() -> None:
    data = read()
    part = data.keep_rows(np.array([0, 1]))
    for measure in (measure_loss, measure_discernibility, count_suppressed):
        with pytest.raises(InputError) as caught:
            measure(part, data)
        assert caught.value.code == "anonymity_utility.other_records"
