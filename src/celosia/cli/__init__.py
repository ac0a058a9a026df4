"""The command line: ``celosia --help``.

The top of the import order. It only calls the packages below: it draws no randomness, adds no noise and keeps no budget
of its own. Errors that Celosía raises on purpose are one line on standard error, never a traceback.
"""

from celosia.cli.app import main

__all__ = ["main"]
