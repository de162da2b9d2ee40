"""Several runs at once: a line for each that has ended, and where the others stand."""

from collections.abc import Sequence

from rich.console import Console
from rich.live import Live
from rich.table import Table

Row = tuple[str, ...]


class Board:
    """Lines that stay, and below them on a terminal a table that changes, on standard
    error unless a console is given. `close` gives the terminal back."""

    def __init__(self, console: Console | None = None):
        self._console = Console(stderr=True) if console is None else console
        self._rows: Sequence[Row] = ()
        self._live = Live(
            console=self._console,
            get_renderable=self._table,
            refresh_per_second=2,
            transient=True,
        )
        if self.is_live:
            self._live.start()

    @property
    def is_live(self) -> bool:
        """Whether anyone would see a table that changes."""
        return self._console.is_terminal

    def tell(self, line: str) -> None:
        """Writes a line that stays."""
        self._console.print(line, highlight=False, markup=False, soft_wrap=True)

    def show(self, rows: Sequence[Row]) -> None:
        """Replaces the table."""
        self._rows = rows

    def close(self) -> None:
        """Stops to draw."""
        self._live.stop()

    def _table(self) -> Table:
        table = Table.grid(padding=(0, 2))
        for row in self._rows:
            table.add_row(*row)
        return table
