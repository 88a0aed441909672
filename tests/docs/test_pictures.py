"""
The pictures of the documents are those that are drawn from the code, and readable by themselves.
"""

import re

import pytest

from nr_agent_core.domain.run_status import TRANSITIONS, RunStatus
from tests.docs import pictures
from tests.docs.pictures import FOLDER, PICTURES


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_the_one_that_is_drawn(name: str) -> None:
    """A picture in the documents shows what the code says now; `python -m tests.docs.pictures` draws it anew."""
    assert (FOLDER / name).read_text(encoding="utf-8") == PICTURES[name]().svg()


def test_every_picture_is_drawn_here() -> None:
    """No picture is left behind that nothing compares."""
    assert {path.name for path in FOLDER.iterdir()} == set(PICTURES)


def test_every_change_of_status_has_its_arrow() -> None:
    """(R1) The picture of the moves has one arrow for each change in the table, and each status and event by name."""
    svg = PICTURES["moves.svg"]().svg()
    words = set(re.findall(r">([^<>]+)</text>", svg))
    pairs = {
        (status, target)
        for status, events in TRANSITIONS.items()
        for targets in events.values()
        for target in targets
        if target is not status
    }

    assert PICTURES["moves.svg"]().arrows == len(pairs)
    assert {status.value for status in RunStatus} <= words
    assert {event for events in pictures.changes().values() for event in events} <= set(", ".join(words).split(", "))


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_loads_nothing(name: str) -> None:
    """A picture is complete by itself: no font, picture or script comes from elsewhere."""
    svg = (FOLDER / name).read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")

    assert not re.search(r"https?:|url\(|<script|<image|@import", svg)
