"""Several callbacks as one."""

from typing import Any

from ...core import AbstractCallback, Plan


class Several(AbstractCallback):
    """Tells each of some callbacks, in their order."""

    def __init__(self, *callbacks: AbstractCallback):
        self._callbacks = callbacks

    def begin(self, plan: Plan) -> None:
        """Tells all of them."""
        for callback in self._callbacks:
            callback.begin(plan)

    def check(self, entry: dict[str, Any], seconds_left: float) -> None:
        """Tells all of them."""
        for callback in self._callbacks:
            callback.check(entry, seconds_left)

    def end(self, sentence: str) -> None:
        """Tells all of them."""
        for callback in self._callbacks:
            callback.end(sentence)
