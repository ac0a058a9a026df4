"""Defects of other packages that must not come here: row numbers left in, empty frames, nulls that are ignored."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from celosia.anonymity import Microdata, Prefixes, Roles, read_microdata
from celosia.anonymity.generalization import (
    DropRecords,
    Generalize,
    LocalSuppression,
    Mondrian,
    Recode,
    Round,
    Suppress,
    SuppressRisky,
    TopCode,
)
from celosia.core.errors import InfeasibleError
from celosia.noise import Seeded

if TYPE_CHECKING:
    from celosia.anonymity import Step

STEPS: list[Step] = [
    Mondrian(k=3),
    Mondrian(k=3, relaxed=True),
    LocalSuppression(k=3),
    LocalSuppression(combinations={1: 3}),
    DropRecords(k=2),
    Generalize(levels={"zip": 2}),
    Recode(column="zip", values={"28001": "28002"}),
    TopCode(column="age", at=40),
    Round(column="age", to=10),
    Suppress(columns=["zip"]),
    SuppressRisky(column="age", threshold=0.5),
]


def read() -> Microdata:
    lot = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "dni": [f"{place:08}" for place in range(40)],
            "age": np.append(lot.integers(30, 50, 36).astype(float), [np.nan] * 4),
            "zip": [*lot.choice(["28001", "28002", "41001"], 36).tolist(), None, "28001", "28001", None],
            "ill": lot.choice(["flu", "cold"], 40),
        },
        index=np.arange(1000, 1040),
    )
    roles = Roles(identifiers=["dni"], quasi_identifiers=["age", "zip"], sensitive=["ill"])
    return read_microdata(frame, roles=roles, hierarchies={"zip": Prefixes(5)})


@pytest.mark.parametrize("step", STEPS, ids=repr)
def test_no_step_leaves_row_numbers_or_identifiers_in_the_release(step: Step) -> None:
    """anjana leaves the original row number in a column ``index``."""
    done = step.apply(read(), source=Seeded(1))
    frame = done.to_frame(Seeded(2))
    assert list(frame.columns) == ["age", "zip", "ill"]
    assert list(frame.index) == list(range(len(done)))


@pytest.mark.parametrize("step", STEPS, ids=repr)
def test_steps_change_nothing_of_their_input_and_keep_its_order(step: Step) -> None:
    data = read()
    before, spreads = data.table, dict(data.spreads)
    done = step.apply(data, source=Seeded(1))
    assert data.table.equals(before)
    assert data.spreads == spreads
    kept = before.column("dni").take(pa.array(done.rows))
    assert done.table.column("dni").to_pylist() == kept.to_pylist()
    assert all(len(spread) == len(done) for spread in done.spreads.values())


@pytest.mark.parametrize("step", [Mondrian(k=41), LocalSuppression(k=41), DropRecords(k=41)], ids=repr)
def test_an_infeasible_k_is_an_error_and_not_an_empty_frame(step: Step) -> None:
    with pytest.raises(InfeasibleError) as caught:
        step.apply(read())
    assert caught.value.fields["k"] == 41


@pytest.mark.parametrize("step", STEPS[:4], ids=repr)
def test_records_with_nan_are_protected_like_all_others(step: Step) -> None:
    """pycanon leaves out rows with NaN, so a lone one is never seen."""
    done = step.apply(read(), source=Seeded(1))
    assert len(done) == 40
    columns = [done.get_column(name).to_pylist() for name in ("age", "zip")]
    keys = zip(*columns, strict=True) if not isinstance(step, LocalSuppression) or step.k else iter(columns[0])
    assert min(Counter(keys).values()) >= 3
