"""Tables are held against the guarantee, and draws against the table."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from celosia.audit import gather
from celosia.core import ApproxDP, ConformanceError, PureDP
from celosia.testing.table import check_table, check_table_draws


@dataclass(frozen=True)
class Table:
    """States any probabilities for inputs 0 and 1."""

    masses: dict[int, dict[str, float]] = field(default_factory=dict)

    def outputs(self, value: int, /) -> list[str] | None:
        return list(self.masses[value]) if value in self.masses else None

    def log_masses(self, value: int, outputs: object, /) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        assert isinstance(outputs, list)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log([self.masses[value].get(output, 0.0) for output in outputs]))


FAIR = Table({0: {"yes": 0.75, "no": 0.25}, 1: {"yes": 0.25, "no": 0.75}})
ONE_SIDED = Table({0: {"yes": 1.0}, 1: {"yes": 0.5, "no": 0.5}})


def test_the_fraction_used_is_returned() -> None:
    assert check_table(FAIR, PureDP(epsilon=2), 0, 1) == pytest.approx(np.log(3) / 2)


def test_a_broken_guarantee_is_reported_with_its_factor() -> None:
    with pytest.raises(ConformanceError, match=r"reach 1\.0986.* times what PureDP\(epsilon=1\) allows"):
        check_table(FAIR, PureDP(epsilon=1), 0, 1)


def test_an_output_of_one_side_only_breaks_pure_privacy() -> None:
    with pytest.raises(ConformanceError, match="reach inf times"):
        check_table(ONE_SIDED, PureDP(epsilon=50), 0, 1)
    assert check_table(ONE_SIDED, ApproxDP(epsilon=1, delta="0.5"), 0, 1) == pytest.approx(1)


def test_masses_must_add_up() -> None:
    with pytest.raises(ConformanceError, match=r"add up to 0\.9"):
        check_table(Table({0: {"yes": 0.5, "no": 0.5}, 1: {"yes": 0.4, "no": 0.5}}), PureDP(epsilon=1), 0, 1)


def test_without_a_table_nothing_is_said() -> None:
    assert check_table(Table(), PureDP(epsilon=1), 0, 1) is None
    assert check_table_draws(Table(), 0, gather(["yes"]), failure=1e-6) is None


def test_draws_are_held_against_the_table() -> None:
    assert check_table_draws(FAIR, 0, gather(["yes"] * 300 + ["no"] * 100), failure=1e-6) == pytest.approx(1)
    with pytest.raises(ConformanceError, match="p-value"):
        check_table_draws(FAIR, 0, gather(["yes"] * 200 + ["no"] * 200), failure=1e-6)
    with pytest.raises(ConformanceError, match="p-value"):
        check_table_draws(FAIR, 0, gather(["yes"] * 300 + ["no"] * 99 + ["perhaps"]), failure=1e-6)
