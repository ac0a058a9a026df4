"""Models as files, and model cards."""
