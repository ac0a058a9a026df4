"""Scores of records that were held out: what one record can move, and what the noisy sums say."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core import AddRemove, ParameterError, ReplaceOne
from celosia.learn.model_selection.held_out import SCORES, Scoring, scoring_for
from celosia.noise import Seeded
from celosia.statistics.base.target import Target


class Fixed:
    """A model that answers with the first feature, and has probabilities of its own."""

    bounds_y = (0, 10)
    classes_ = np.array([0, 1])

    def predict(self, rows: Any) -> Any:
        return np.asarray(rows)[:, 0]

    def predict_proba(self, rows: Any) -> Any:
        yes = np.asarray(rows)[:, 0]
        return np.column_stack([1 - yes, yes])


_values = st.floats(allow_nan=True, allow_infinity=True, width=32)


@given(st.sampled_from(SCORES), st.lists(st.tuples(_values, st.integers(0, 1)), min_size=1, max_size=8), _values)
def test_one_record_moves_the_sums_by_the_sensitivity_at_most(
    name: str, records: list[tuple[float, int]], other: float
) -> None:
    scoring, answers = Scoring(name=name), np.array([[answer] for answer, _ in records])
    scores = scoring.of_records(Fixed(), answers, np.array([label for _, label in records]))
    assert ((scores >= 0) & (scores <= scoring.steps)).all()
    assert scores.dtype == np.int64
    short = scoring.steps - scores
    for one, left in zip(scores.tolist(), short.tolist(), strict=True):
        # add-remove: both sums together; replace-one: the first sum alone
        assert one + left <= scoring.sensitivity.l1
        assert one**2 + left**2 <= scoring.sensitivity.l2_squared
    changed = answers.copy()
    changed[0] = other
    again = scoring.of_records(Fixed(), changed, np.array([label for _, label in records]))
    assert abs(int(again.sum()) - int(scores.sum())) <= scoring.sensitivity.l1
    assert (again[1:] == scores[1:]).all()


def test_scores_are_what_they_are_called() -> None:
    model = Fixed()
    assert Scoring(name="accuracy").of_records(model, [[1], [0]], np.array([1, 1])).tolist() == [1, 0]
    assert Scoring(name="brier").of_records(model, [[1.0], [0.5]], np.array([1, 1])).tolist() == [1024, 768]
    assert Scoring(name="squared error").of_records(model, [[5.0], [99]], np.array([0, 0])).tolist() == [768, 0]
    assert Scoring(name="absolute error").of_records(model, [[5.0], [99]], np.array([0, 5])).tolist() == [512, 0]
    assert Scoring(name="accuracy").of_records(model, np.zeros((0, 1)), np.zeros(0)).size == 0


def test_noisy_sums_say_the_mean_score() -> None:
    scoring = Scoring(name="accuracy")
    scores = np.repeat([1, 0], [800, 200])
    for adjacency in (AddRemove, ReplaceOne):
        target = Target.of(epsilon=5, adjacency=adjacency)
        noise = target.noise(scoring.sensitivity, scoring.width(adjacency))
        noisy = scoring.release(scores, noise, Seeded(1))
        assert noisy.size == scoring.width(adjacency)
        assert scoring.mean(noisy, scores.size) == pytest.approx(0.8, abs=0.02)
        assert scoring.rank(noisy) == pytest.approx(600 if adjacency is AddRemove else 800, abs=10)
    assert scoring.mean(np.array([-3, 1]), 0) == 0
    assert scoring.mean(np.array([3, -9]), 0) == 1


def test_a_score_must_fit_the_estimator() -> None:
    assert scoring_for("brier", "classifier").name == "brier"
    for scoring, kind in [
        ("r2", "regressor"),
        ("brier", "regressor"),
        ("squared error", "classifier"),
        (None, "regressor"),
    ]:
        with pytest.raises(ParameterError, match="scoring"):
            scoring_for(scoring, kind)  # type: ignore[arg-type]
