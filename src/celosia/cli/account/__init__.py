"""``celosia account``: prices of mechanisms, calibration, the decision game, charts."""
