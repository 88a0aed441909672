"""
The story on a terminal: in colours where there are some, and readable without.
"""

import sys
import textwrap
from collections.abc import Callable

_WIDTH = 112
_NAMES = 15

Write = Callable[[str, str], None]


class Terminal:
    """
    Prints scenes, and keeps count of what did not hold.

    Attributes:
        broken: the sentences that were stated and do not hold.
    """

    def __init__(self) -> None:
        reconfigure = getattr(sys.stdout, "reconfigure", None)
        if reconfigure is not None:
            # A terminal that knows no umlauts shows question marks; it does not end the story.
            reconfigure(errors="replace")
        self._write = _writer()
        self.broken: list[str] = []

    def scene(self, letter: str, title: str) -> None:
        """A new scene begins."""
        self._write("", "")
        self._write(f"({letter}) {title}", "bold")

    def says(self, who: str, text: str) -> None:
        """*who* says *text*."""
        self._lines(who, text, "")

    def label(self, text: str) -> None:
        """A label beside a message, as the reader sees it."""
        self._lines("", f"[!] {text}", "yellow")

    def shown(self, what: str, text: str) -> None:
        """Something that is stored, sent or executed, named by *what*."""
        self._lines(what, text, "cyan")

    def holds(self, sentence: str, *facts: tuple[str, bool]) -> None:
        """
        The line at the end of a scene: *sentence* is true if all *facts* are, each with its name.
        """
        failed = [name for name, true in facts if not true]
        if failed:
            self.broken.append(sentence)
            self._lines("DOES NOT HOLD:", f"{sentence} (failed: {', '.join(failed)})", "bold red")
        else:
            self._lines("HOLDS:", sentence, "green")

    def _lines(self, head: str, text: str, style: str) -> None:
        for number, paragraph in enumerate(text.splitlines() or [""]):
            first = head if number == 0 else ""
            wrapped = textwrap.wrap(paragraph, _WIDTH - _NAMES, break_on_hyphens=False) or [""]
            for place, line in enumerate(wrapped):
                self._write(f"    {first if place == 0 else '':<{_NAMES}} {line}".rstrip(), style)


def _writer() -> Write:
    try:
        from rich.console import Console
        from rich.text import Text
    except ImportError:
        # The extra `cli` is not installed.
        return lambda line, _: print(line)
    console = Console(highlight=False)
    return lambda line, style: console.print(Text(line, style=style), soft_wrap=True)
