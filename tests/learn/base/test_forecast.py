"""A forecast in words."""

import celosia as cl
from celosia.learn.base.forecast import Forecast


def test_it_says_what_it_supposes() -> None:
    told = Forecast(rows=10, guarantee=None, noise_scale=0, error=0.5, what="the mean", assumption="nothing")
    assert str(told) == "With 10 rows and no privacy: the mean is off by about 0.5, supposing nothing."
    private = Forecast(
        rows=10, guarantee=cl.PureDP(epsilon=1), noise_scale=1, error=0.5, what="the mean", assumption="nothing"
    )
    assert "PureDP(epsilon=1)" in str(private)
