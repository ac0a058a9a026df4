"""Privacy-loss distributions: grids, convolution and privacy curves, as upper bounds."""
