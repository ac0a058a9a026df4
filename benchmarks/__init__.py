"""What is timed, against whom: ``./dev bench [room ...]``. See :mod:`benchmarks.harness` for how to add a case."""
