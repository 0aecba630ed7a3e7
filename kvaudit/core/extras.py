"""Optional packages, imported at the moment they are needed.

Every import of a package outside the core dependencies goes through `load`, so that
``kvaudit lint`` never pays for torch and a missing package ends in one sentence.
"""

import importlib
from types import ModuleType

from kvaudit.core.errors import MissingExtra


def load(module: str, *, extra: str) -> ModuleType:
    """Import ``module``, or say which extra of kvaudit brings it.

    Raises `MissingExtra` when the module is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != module.partition(".")[0]:
            raise
        raise MissingExtra(
            f"{module.partition('.')[0]} is not installed, and this needs it; "
            f"install it with: pip install 'kvaudit[{extra}]'"
        ) from None
