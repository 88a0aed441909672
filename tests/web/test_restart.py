"""
A server of the web chat that is killed in the middle of everything, and the next one over its files.
"""

import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from examples.site_chat.site import Site
from examples.web_chat.house import SettingsFile
from examples.web_chat.script import QUESTIONS
from nr_agent_core.domain.texts import failure_sentence, reply_sentence
from tests.web.test_bad_input import until
from tests.web.visitors import Visitor, codes, digest_in, seen
from tests.web_server import process_of

_, CLAIM, _, _, _, DRAFT, PRICES, _, LONG = QUESTIONS["en"]
SLOW = 3600.0

pytestmark = pytest.mark.process


def moved(visitor: Visitor, address: str) -> Visitor:
    """The same browser, with its cookie and its conversation, at the next server."""
    visitor.http.base_url = address
    return visitor


def test_a_waiting_card_and_a_sign_in_outlive_a_killed_server(tmp_path: Path) -> None:
    """The next server shows the same card to the same people, and what it showed can be decided once."""
    with process_of(tmp_path) as (address, kill):
        administrator = Visitor(address, "administrator")
        administrator.say(DRAFT)
        page = administrator.look()
        assert kill() == -signal.SIGKILL
    with process_of(tmp_path) as (address, _):
        moved(administrator, address)
        assert digest_in(administrator.look()) == digest_in(page)
        decided = administrator.decide("approve", page).text
        again = administrator.decide("approve", page).text
        records = administrator.get("/records").text
    administrator.close()

    assert codes(decided) == ["written"]
    assert reply_sentence("alreadyDecided", "en") in seen(again)
    assert [entry.title for entry in Site(tmp_path / "site.db").pages()][3:] == ["Team"]
    assert "pages:4" in records


def test_a_server_that_is_killed_amid_an_answer_leaves_a_run_that_can_be_ended(tmp_path: Path) -> None:
    """The next one says that it is at work elsewhere, takes no second message, and ends it when asked to."""
    with process_of(tmp_path, pace=SLOW) as (address, kill):
        editor = Visitor(address, "editor")
        opened = editor.post("/chat", text=LONG, open="yes").json()
        editor.conversation = opened["conversation"]
        assert next(editor.turn_of(LONG))["type"] == "RUN_STARTED"
        kill()
    with process_of(tmp_path) as (address, _):
        moved(editor, address)
        at_work, busy = editor.look(), editor.say(CLAIM)
        ended = editor.post(f"/chat/{editor.conversation}/cancel").text
        after = editor.say(CLAIM).text
    editor.close()

    assert 'class="state running"' in at_work
    assert busy.status_code == 409
    assert reply_sentence("conversationBusy", "en") in seen(busy.text)
    assert codes(ended) == ["runEnded"]
    assert codes(after)[:2] == ["runEnded", "nothingSaved"]


def test_a_server_that_is_killed_behind_a_write_leaves_an_unknown_outcome(tmp_path: Path) -> None:
    """The page was made once; nobody says that it was saved or that it was not (P4, P5, R7)."""
    SettingsFile(tmp_path / "settings.json").change(mishap="killed")
    with process_of(tmp_path) as (address, _):
        administrator = Visitor(address, "administrator")
        administrator.say(PRICES)
        page = administrator.look()
        with pytest.raises(Exception, match=r"disconnected|reset|closed"):
            administrator.decide("approve", page)
    _lease_is_over(tmp_path)
    with process_of(tmp_path) as (address, _):
        moved(administrator, address)
        until(lambda: 'class="state running"' not in administrator.look())
        page = administrator.look()
    administrator.close()

    assert codes(page) == ["runEnded", "writeOutcomeUnknown"]
    assert failure_sentence("writeOutcomeUnknown", "en") in seen(page)
    assert 'id="retry"' not in page
    assert [entry.title for entry in Site(tmp_path / "site.db").pages()][3:] == ["Prices"]


def _lease_is_over(folder: Path) -> None:
    """As if its seconds had passed: nobody needs to wait for them."""
    with closing(sqlite3.connect(folder / "chat.db", timeout=10)) as connection, connection:
        assert connection.execute("UPDATE run SET lease_until = 1 WHERE status = 'running'").rowcount == 1
