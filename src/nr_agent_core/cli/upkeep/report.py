"""
What upkeep did, as lines and for programs.
"""

import json
from collections.abc import Callable, Iterator
from typing import Final, TextIO

from nr_agent_core.cli.audit.visible_text import visible_line
from nr_agent_core.cli.upkeep.work import Told

AT_MOST: Final = 20
"""How many ids one line names."""

COUNTS: Final = ("conversations", "messages", "runs", "events", "writes")

_RUNS: Final = {
    "recovered": "runs gone on with",
    "expired": "waiting runs ended, as their time is over",
    "failed": "runs ended that cannot be gone on with",
    "left": "runs left, which need the application (--app), are somebody else's, or failed again",
}


def write_text(told: Told, out: TextIO) -> None:
    """
    One line for each thing that happened; one line when nothing did.
    """
    lines = list(_lines(told))
    if told.foretold:
        lines.insert(0, "Nothing was changed. This would happen by now:" if lines else "Nothing would happen by now.")
    out.write("\n".join(lines or ["Nothing was due."]) + "\n")


def _lines(told: Told) -> Iterator[str]:
    for name, what in _RUNS.items():
        ids = getattr(told, name)
        if ids:
            more = f" and {len(ids) - AT_MOST} more" if len(ids) > AT_MOST else ""
            yield f"{what} ({len(ids)}): {', '.join(map(visible_line, ids[:AT_MOST]))}{more}"
    gone = [f"{name} {getattr(told.purged, name)}" for name in COUNTS if getattr(told.purged, name)]
    if gone:
        yield f"rows deleted: {', '.join(gone)}"


def write_json(told: Told, out: TextIO) -> None:
    """
    An object with the same.
    """
    runs = {name: list(getattr(told, name)) for name in _RUNS}
    purged = {name: getattr(told.purged, name) for name in COUNTS}
    json.dump({"dry_run": told.foretold, **runs, "purged": purged}, out, ensure_ascii=False, indent=2)
    out.write("\n")


WRITERS: Final[dict[str, Callable[[Told, TextIO], None]]] = {"text": write_text, "json": write_json}
