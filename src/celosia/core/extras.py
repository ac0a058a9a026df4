"""Optional and heavy dependencies, loaded when they are used.

``import celosia`` must stay quick, and a hospital that only counts need not install Spark. ``require`` imports a module
on demand; if it is missing, the error names the extra to install.
"""

import importlib
from types import ModuleType

from celosia.core.errors import MissingExtraError


def require(module: str, *, extra: str) -> ModuleType:
    """Import ``module``, or raise ``MissingExtraError`` with the command that installs it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise  # the module is installed, but one of its own imports is missing: hiding that would mislead
        raise MissingExtraError("core.missing_extra", module=module, extra=extra) from error
