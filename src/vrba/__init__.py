"""vrba: residual-based adaptivity that follows from one convex potential."""

import difflib
import inspect
from importlib.metadata import version
from typing import Any

import lazy_loader

_load, _list_names, __all__ = lazy_loader.attach_stub(__name__, __file__)
__version__ = version("vrba")


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used: `__init__.pyi` lists them."""
    try:
        return _load(name)
    except AttributeError:
        near = _room_of(name) or difflib.get_close_matches(name, __all__, 1)
        hint = f" Did you mean `vrba.{near[0]}`?" if near else ""
        message = f"module `vrba` has no attribute `{name}`.{hint}"
        # with a name and no object, Python adds no suggestion of its own
        raise AttributeError(message, name=name, obj=None) from None


def _room_of(name: str) -> list[str]:
    """The full name of something that a room exports."""
    rooms = [one for one in __all__ if inspect.ismodule(_load(one))]
    return [f"{room}.{name}" for room in rooms if hasattr(_load(room), name)][:1]


def __dir__() -> list[str]:
    return [*_list_names(), "__version__"]
