"""Packages that only some need."""

import importlib.util


def needed(package: str, extra: str, what: str) -> None:
    """Refuses to go on without a package, and says how to get it."""
    if importlib.util.find_spec(package) is None:
        raise ModuleNotFoundError(
            f"`{package}` is needed to {what}: install it with "
            f"`pip install '.[{extra}]'` in a clone of vrba."
        )
