"""The log of a run for TensorBoard."""

import os
from pathlib import Path
from typing import Any

from typing_extensions import override

from ..runs import AbstractCallback, Plan


class TensorBoard(AbstractCallback):
    """A callback that writes every logged number into a folder for TensorBoard.

    `residual_l2 initial` becomes the curve `initial` of the group `residual_l2`. Needs
    tensorboardX (`pip install '.[tensorboard]'` in a clone).
    """

    def __init__(self, folder: str | os.PathLike[str]):
        try:
            from tensorboardX import SummaryWriter
        except ImportError as error:
            raise ImportError(
                "`TensorBoard` needs tensorboardX: `pip install tensorboardX`."
            ) from error
        self._writer = SummaryWriter(str(Path(folder)))

    @override
    def on_start(self, plan: Plan) -> None:
        self._writer.add_text("plan", plan.text(), plan.first_step)

    @override
    def on_check(self, entry: dict[str, Any], seconds_left: float) -> None:
        for key, value in entry.items():
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if is_number and key != "step":
                group, _, name = key.partition(" ")
                tag = f"{group}/{name}" if name else key
                self._writer.add_scalar(tag, value, entry["step"])
        self._writer.flush()

    @override
    def on_end(self, sentence: str) -> None:
        self._writer.add_text("result", sentence)
        self._writer.close()
