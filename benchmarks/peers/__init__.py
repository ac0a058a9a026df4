"""Other libraries' answers to our cases.

Each module runs in an environment of its own, which holds that library and not Celosía, so nothing here imports either.
By hand: ``python -m benchmarks.peers.numpy laplace-vector`` from the root of the repository.
"""
