"""Links of masked records: all of an unmasked file, at most 1/k of a microaggregated one."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from celosia.anonymity import Roles, read_microdata
from celosia.audit.releases import link_masked_records


def test_masking_hides_in_groups() -> None:
    lot = np.random.default_rng(8)
    pay = np.sort(lot.normal(size=120))
    original = read_microdata(pa.table({"pay": pay}), roles=Roles(quasi_identifiers=["pay"]))
    assert link_masked_records(original, original).rate == 1
    for k in (2, 3, 6):
        masked = original.replace_columns({"pay": pa.array(pay.reshape(-1, k).mean(axis=1).repeat(k))})
        assert 0 < link_masked_records(original, masked).rate <= 1 / k


def test_sentences() -> None:
    original = read_microdata(pa.table({"pay": [1.0, 2.0, 4.0]}), roles=Roles(quasi_identifiers=["pay"]))
    found = link_masked_records(original, original, ["pay"])
    assert str(found).splitlines() == [
        "3 of 3 masked records are expected to be linked to the right person: 100 %, where guessing gives 33.3 %.",
        "3 of them have a single nearest original, which is the right one.",
    ]
    assert "33,3 %" in found.describe("es")
