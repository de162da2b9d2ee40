"""How far something has come, where there is no run to tell of."""

from types import TracebackType

from rich.console import Console
from rich.progress import Progress, TimeRemainingColumn


class Bar:
    """A line that fills, on the standard error output; nothing if that is no terminal,
    but for the beginning."""

    def __init__(self, what: str):
        console = Console(stderr=True)
        if not console.is_terminal:
            console.print(f"{what} ...")
        self._progress = Progress(
            *Progress.get_default_columns()[:2],
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._progress.add_task(what, total=None)

    def __enter__(self) -> "Bar":
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def update(self, done: int, total: int) -> None:
        """So many of so many are done."""
        self._progress.update(self._task, completed=done, total=total)
