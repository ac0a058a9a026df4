"""Tables of the documentation that are made of measurements, each by ``python -m benchmarks.tables.<name>``."""
