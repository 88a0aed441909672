"""
The pictures of the documents, drawn from what the code knows::

    python -m tests.docs.pictures
"""

import itertools
from collections.abc import Callable
from pathlib import Path

from nr_agent_core.domain.run_status import TRANSITIONS, RunStatus
from tests.docs.drawing import Drawing, Point

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "concepts" / "pictures"

# Where a status stands in the picture of the moves. A status that is new has to be given a place.
PLACES: dict[RunStatus | None, Point] = {
    None: (30, 210),
    RunStatus.QUEUED: (290, 60),
    RunStatus.RUNNING: (290, 210),
    RunStatus.WAITING_FOR_APPROVAL: (290, 360),
    RunStatus.FAILED: (700, 60),
    RunStatus.COMPLETED: (700, 210),
    RunStatus.CANCELLED: (700, 360),
}


def changes() -> dict[tuple[RunStatus | None, RunStatus], list[str]]:
    """The changes of status in the table of the code, each with the events that bring it."""
    found: dict[tuple[RunStatus | None, RunStatus], list[str]] = {}
    for status, moves in TRANSITIONS.items():
        for event, targets in moves.items():
            for target in targets:
                if target is not status:
                    found.setdefault((status, target), []).append(event)
    return found


def moves() -> Drawing:
    """How the status of a run changes, and by which event."""
    drawing = Drawing(820, 420, "The moves of a run")
    for status, place in PLACES.items():
        if status is None:
            drawing.dot("", place)
        else:
            kind = "end" if status.settled else "wait" if status is RunStatus.WAITING_FOR_APPROVAL else ""
            drawing.box(status.value, place, status.value, width=180, kind=kind)
    known = changes()
    for (before, after), events in known.items():
        names = (before.value if before else "", after.value)
        label = ", ".join(events)
        between = [PLACES[status] for status in PLACES if status not in {before, after}]
        (x1, y1), (x2, y2) = PLACES[before], PLACES[after]
        if any(x1 == x2 == x and min(y1, y2) < y < max(y1, y2) for x, y in between):
            drawing.around(*names, by=150, label=label)
        else:
            both_ways = before is not None and (after, before) in known
            drawing.arrow(
                *names, label, aside=32 if both_ways else 0, at=0.7 if before and y1 != y2 and x1 != x2 else 0.3
            )
    return drawing


def message() -> Drawing:
    """What becomes of a message."""
    drawing = Drawing(800, 640, "The way of a message")
    drawing.box("sent", (170, 45), "send(text, reader)", width=210)
    drawing.box("right", (170, 130), "may this reader send it?\nis there any text?", width=210)
    drawing.box("raised", (610, 130), "an error is raised;\nnothing is stored", width=240, kind="alarm")
    drawing.box("last", (170, 240), "what of the last run\nof this conversation?", width=210)
    drawing.box("busy", (610, 215), "busy: nothing is stored", width=240, kind="wait")
    drawing.box("held", (610, 290), "held: nothing is stored,\nthe reply points at the card", width=240, kind="wait")
    drawing.box("told", (610, 375), "delivered: stored together\nwith what became of the run", width=240, kind="end")
    drawing.box("turn", (170, 400), "a turn: message and run\nare stored at once", width=210)
    drawing.box("model", (170, 500), "the model is asked", width=210)
    drawing.box("calls", (170, 590), "the round is looked at\nas a whole", width=210)
    drawing.box("answer", (610, 500), "the answer, with its verdict", width=240, kind="end")
    drawing.box("card", (610, 590), "a card: the run waits\nfor a person", width=240, kind="wait")
    drawing.arrow("sent", "right")
    drawing.arrow("right", "raised", "no")
    drawing.arrow("right", "last", "yes")
    drawing.arrow("last", "busy", "at work")
    drawing.arrow("last", "held", "waits, and “go on”", at=0.6)
    drawing.arrow("last", "told", "ended elsewhere, and “go on”", at=0.55)
    drawing.arrow("last", "turn", "otherwise; a run that\nwaits gives way", at=0.5)
    drawing.arrow("turn", "model")
    drawing.arrow("model", "answer", "text alone")
    drawing.arrow("model", "calls", "calls", aside=40)
    drawing.arrow("calls", "model", "executed", aside=40)
    drawing.arrow("calls", "card", "a write")
    return drawing


# What a process does about one write, in order, and whether it is a commit.
STEPS = (
    ("opened", "commit: the\nturn is open", True),
    ("intent", "commit:\nthe intent", True),
    ("call", "the tool is\nexecuted", False),
    ("told", "the write is\nannounced", False),
    ("outcome", "commit:\nthe outcome", True),
    ("end", "commit: end\nand message", True),
)
UNDECIDED = """\
An intent without outcome. Idempotent: repeated under its key.
With reconcile: the host says what became of it.
Otherwise: never repeated; the outcome is unknown."""
# The windows between them: first and last step of each, and what the next process does.
WINDOWS = (
    ("opened", "intent", "the model is\nasked again", ""),
    (
        "intent",
        "outcome",
        UNDECIDED,
        "alarm",
    ),
    ("outcome", "end", "goes on from\nwhat is stored", ""),
)


def crashes() -> Drawing:
    """Where a process can die around one write, and what the next one does."""
    drawing = Drawing(980, 290, "The crash windows of a write")
    columns = {name: 85.0 + 162 * place for place, (name, _, _) in enumerate(STEPS)}
    for name, text, commit in STEPS:
        drawing.box(name, (columns[name], 60), text, width=116, kind="end" if commit else "")
    for (first, _, _), (second, _, _) in itertools.pairwise(STEPS):
        drawing.arrow(first, second)
    for first, last, text, kind in WINDOWS:
        middle = (columns[first] + columns[last]) / 2
        drawing.box(f"{first}-{last}", (middle, 220), text, width=480 if kind else 130, kind=kind)
        gaps = [x + 81 for x in columns.values() if columns[first] <= x < columns[last]]
        for gap in gaps:
            drawing.point(f"under {gap}", (gap, 190))
            drawing.point(f"gap {gap}", (gap, 66))
            drawing.arrow(f"under {gap}", f"gap {gap}", "died here" if gap == gaps[len(gaps) // 2] else "")
    return drawing


PICTURES: dict[str, Callable[[], Drawing]] = {
    "moves.svg": moves,
    "message.svg": message,
    "crashes.svg": crashes,
}


def main() -> None:
    """Draw every picture anew."""
    FOLDER.mkdir(exist_ok=True)
    for name, draw in PICTURES.items():
        (FOLDER / name).write_text(draw().svg(), encoding="utf-8")


if __name__ == "__main__":
    main()
