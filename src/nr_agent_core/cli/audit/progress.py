"""
A bar on standard error while a long input is read, and nothing anywhere else.
"""

import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE: Final = 1.0


class ReadingProgress:
    """
    Counts bytes; draws a bar once reading has taken longer than *patience*.

    It draws on a terminal only, and only where rich is installed: missing, it costs the bar.

    Args:
        total: bytes to be read, or None when nobody knows.

        out: standard error.

        patience: seconds before the bar appears.

        clock: a monotonic clock in seconds.
    """

    def __init__(
        self,
        total: int | None,
        out: TextIO,
        *,
        patience: float = PATIENCE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._total = total
        self._out = out
        self._clock = clock
        self._due = clock() + patience if out.isatty() else float("inf")
        self._read = 0
        self._bar: tuple[Progress, TaskID] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar[0].stop()

    def advance(self, count: int) -> None:
        """
        *count* more bytes were read.
        """
        self._read += count
        if self._bar is not None:
            progress, task = self._bar
            progress.update(task, completed=self._read)
        elif self._clock() >= self._due:
            self._due = float("inf")
            self._start()

    def _start(self) -> None:
        try:
            from rich.console import Console
            from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn
        except ModuleNotFoundError:
            return
        columns = (BarColumn(), DownloadColumn(), TimeRemainingColumn())
        progress = Progress(*columns, console=Console(file=self._out), transient=True, redirect_stdout=False)
        task = progress.add_task("reading", total=self._total, completed=self._read)
        progress.start()
        self._bar = progress, task
