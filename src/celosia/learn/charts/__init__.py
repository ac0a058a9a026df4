"""Charts of fitted models."""
