"""What a run logs, for TensorBoard."""

import os
from pathlib import Path
from typing import Any

from ..core import AbstractCallback, Plan


class TensorBoard(AbstractCallback):
    """Writes every number of each check into a folder that TensorBoard reads; needs
    tensorboardX (`pip install '.[tensorboard]'` in a clone)."""

    def __init__(self, folder: str | os.PathLike[str]):
        try:
            from tensorboardX import SummaryWriter
        except ImportError as error:
            raise ImportError(
                "`TensorBoard` needs tensorboardX: `pip install tensorboardX`."
            ) from error
        self._writer = SummaryWriter(str(Path(folder)))

    def begin(self, plan: Plan) -> None:
        """The plan in words."""
        self._writer.add_text("plan", plan.text(), plan.first_step)

    def check(self, entry: dict[str, Any], seconds_left: float) -> None:
        """One curve for each number; `residual_l2 initial` becomes a curve `initial` in
        the group `residual_l2`."""
        for key, value in entry.items():
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if is_number and key != "step":
                group, _, name = key.partition(" ")
                tag = f"{group}/{name}" if name else key
                self._writer.add_scalar(tag, value, entry["step"])
        self._writer.flush()

    def end(self, sentence: str) -> None:
        """The result in words."""
        self._writer.add_text("result", sentence)
        self._writer.close()
