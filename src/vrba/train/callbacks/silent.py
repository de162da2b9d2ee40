"""Nothing is told."""

from typing import Any

from ...core import AbstractCallback, Plan


class Silent(AbstractCallback):
    """For programs that look at the solution only."""

    def begin(self, plan: Plan) -> None:
        """Nothing."""

    def check(self, entry: dict[str, Any], seconds_left: float) -> None:
        """Nothing."""

    def end(self, sentence: str) -> None:
        """Nothing."""
