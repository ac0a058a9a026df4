"""PipelineDP on its local backend, the one that needs no cluster: Python objects, row by row.

A million rows take about twenty seconds, so it is asked about a tenth of the table.
"""

from __future__ import annotations

from functools import cache
from operator import itemgetter

import pipeline_dp
import pyarrow.parquet as pq

from benchmarks.peers.question import BOUNDS, GROUPS, MAX_GROUPS, MAX_ROWS, ROWS, path
from benchmarks.peers.stopwatch import main, peak_megabytes, seconds


@cache
def rows(column: str, part: int = 10) -> list[tuple[int, int, int, float]]:
    """Number of the row, person, group and value: reading them is not timed."""
    table = pq.read_table(path(ROWS // part), columns=["person", "g", column])
    return list(zip(range(table.num_rows), *(table[name].to_pylist() for name in table.column_names), strict=True))


def answer(column: str, part: int = 10, *, person: bool = False) -> list[object]:
    """The question, where a row or a person is protected."""
    low, high = BOUNDS[column]
    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=1, total_delta=1e-6)
    engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
    parameters = pipeline_dp.AggregateParams(
        noise_kind=pipeline_dp.NoiseKind.LAPLACE,
        metrics=[pipeline_dp.Metrics.COUNT, pipeline_dp.Metrics.SUM, pipeline_dp.Metrics.MEAN],
        max_partitions_contributed=MAX_GROUPS if person else 1,
        max_contributions_per_partition=MAX_ROWS if person else 1,
        min_value=low,
        max_value=high,
    )
    extractors = pipeline_dp.DataExtractors(
        privacy_id_extractor=itemgetter(1 if person else 0),
        partition_extractor=itemgetter(2),
        value_extractor=itemgetter(3),
    )
    answers = engine.aggregate(rows(column, part), parameters, extractors, public_partitions=list(range(GROUPS)))
    accountant.compute_budgets()
    return list(answers)


def timed(column: str, *, person: bool = False) -> float:
    """Seconds of one answer."""
    rows(column)
    return seconds(lambda: answer(column, person=person), repeats=1, warm=False)


def peak() -> float:
    """Most memory held while answering, the rows included."""
    answer("age", 100)
    return peak_megabytes()


CASES = {
    "tenth-age": lambda: timed("age"),
    "tenth-person-age": lambda: timed("age", person=True),
    "peak-hundredth": peak,
}

if __name__ == "__main__":
    main(CASES)
