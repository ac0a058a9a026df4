"""The HTTP telemetry collector: the server half of the local model.

Here will live the service that receives randomized reports, absorbs them into mergeable aggregates, and publishes
estimates with their intervals. It is private even against its own operator: each report was randomized on the device
by a client of :mod:`celosia.local` before it was sent, so nothing that arrives is anybody's true value.
"""

__all__: list[str] = []
