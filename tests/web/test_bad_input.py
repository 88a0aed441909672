"""
What people, browsers and attackers do to the web chat that they should not.
"""

import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote

import pytest

from examples.web_chat.house import Person, Settings, SettingsFile
from examples.web_chat.rendering import said
from examples.web_chat.script import QUESTIONS
from examples.web_chat.wiring import host_over
from nr_agent_core import ModelAnswer
from nr_agent_core.domain.texts import reply_sentence
from nr_agent_core.ports.model_provider import AnyModel
from nr_agent_core.testing.scripted_model import ScriptedModel, call
from tests.web.visitors import People, Visitor, codes, digest_in, run_in, seen
from tests.web_server import PATIENCE, Gate, Served

_, CLAIM, _, _, _, DRAFT, _, _, LONG = QUESTIONS["en"]
ATTACK = "<script>alert(1)</script><img src=x onerror=alert(2)>"
POSTS = ["/sign-in", "/sign-out", "/language", "/chat", "/settings", "/inbox/{run}/decide", "/runs/{run}/cancel"]
POSTS += [f"/chat/{{conversation}}/{action}" for action in ("send", "turn", "decide", "retry", "cancel")]


def waiting(people: People, person: str = "administrator") -> Visitor:
    """Somebody whose draft waits for a decision."""
    visitor = people(person)
    visitor.say(DRAFT)
    return visitor


def until(true: Callable[[], bool]) -> None:
    """Ask until it is so; the test's patience ends it otherwise."""
    end = threading.Event()
    timer = threading.Timer(PATIENCE, end.set)
    timer.start()
    try:
        while not true():
            assert not end.is_set(), "it did not come true"
    finally:
        timer.cancel()


# -- forms and sessions -------------------------------------------------------------------------


@pytest.mark.parametrize("token", [None, "", "forged", "ümlaut"])
def test_a_form_without_its_token_does_nothing(served: Served, people: People, token: str | None) -> None:
    """What another site posts with this browser's cookie is refused, and nothing happened."""
    administrator = waiting(people)
    page = administrator.look()
    fields = {"person": "editor", "language": "de", "text": "x", "decision": "approve", "chat": "off"}
    fields |= {"run": run_in(page), "digest": digest_in(page)} | ({} if token is None else {"csrf": token})

    for path in POSTS:
        target = path.format(conversation=administrator.conversation, run=run_in(page))
        assert administrator.http.post(target, data=fields).status_code == 403, path
    assert digest_in(administrator.look()) == digest_in(page)
    assert administrator.look().count('class="message user"') == 1
    assert len(served.host.site.pages()) == 3
    assert served.host.settings.now().chat == "on"


def test_a_form_from_another_origin_does_nothing(people: People) -> None:
    """A right token does not help a page of another site."""
    editor = people("editor")
    headers = {"origin": "https://elsewhere.example"}
    response = editor.http.post("/chat", data={"csrf": editor.token, "text": "x"}, headers=headers)

    assert response.status_code == 403


@pytest.mark.parametrize("origin", ["http://[", "http://[::1", "null", "", "://", "http://]"])
def test_an_origin_that_is_no_address_is_another_one(people: People, origin: str) -> None:
    """Whatever stands there: refused, and no failure of ours."""
    nobody = people()
    token = nobody.token
    response = nobody.http.post("/sign-in", data={"csrf": token, "person": "editor"}, headers={"origin": origin})

    assert response.status_code == 403


def test_another_browsers_token_does_nothing(people: People) -> None:
    """A token belongs to one session."""
    editor, other = people("editor"), people("editor")
    assert editor.http.post("/chat", data={"csrf": other.token, "text": "x"}).status_code == 403


@pytest.mark.parametrize("path", ["/chat", "/inbox", "/records", "/site", "/site/pages/1", "/settings", "/runs/1"])
def test_nobody_sees_a_page_without_signing_in(people: People, path: str) -> None:
    """A page sends to the sign-in and back to itself; a script hears 401."""
    nobody = people()
    response = nobody.get(path)
    asked = nobody.http.get(path, headers={"x-requested-with": "fetch"})

    assert response.url.path == "/sign-in"
    assert f'name="next" value="{path}"' in response.text
    assert asked.status_code == 401


def test_a_forged_cookie_is_nobody(people: People) -> None:
    """A session that this server did not sign is none."""
    nobody = people()
    nobody.http.cookies.set("session", "eyJwZXJzb24iOiAiYWRtaW5pc3RyYXRvciJ9.forged.forged")
    assert nobody.get("/settings").url.path == "/sign-in"


@pytest.mark.parametrize(
    "target", ["https://elsewhere.example/", "//elsewhere.example", "/\\elsewhere.example", "javascript:alert(1)", ""]
)
def test_a_sign_in_leads_nowhere_else(people: People, target: str) -> None:
    """Where to go next is a path of this site, or the chat."""
    nobody = people()
    response = nobody.post("/sign-in", person="editor", next=target)

    assert response.url.path == "/chat"
    assert f'value="{target}"' not in nobody.get(f"/sign-in?next={quote(target)}").text or target == ""


def test_nobody_signs_in_as_a_stranger(people: People) -> None:
    """Only the people of the example."""
    assert people().post("/sign-in", person="root").status_code == 400


def test_a_sign_in_ends(served: Served, people: People) -> None:
    """After its time the same cookie is nobody's."""
    editor = people("editor")
    served.clock.advance(8 * 3600 + 1)
    assert editor.get("/chat").url.path == "/sign-in"


def test_a_sign_in_that_ends_amid_a_stream_ends_the_telling_only(served: Served, people: People) -> None:
    """No more is told to who is not signed in any more; the run goes on to its answer."""
    editor = people("editor")
    editor.say(CLAIM)
    served.gate.close()
    events = editor.turn_of(LONG)
    assert next(events)["type"] == "RUN_STARTED"
    served.gate.held.wait()
    served.clock.advance(8 * 3600 + 1)
    served.gate.open()

    assert [event["type"] for event in events] == []
    path = f"/chat/{editor.conversation}/thread"
    assert editor.http.get(path, headers={"x-requested-with": "fetch"}).status_code == 401
    editor.post("/sign-in", person="editor")
    until(lambda: "word by word" in editor.look())


@pytest.mark.parametrize("path", ["/settings", "/runs/1"])
def test_what_is_for_administrators_is_not_there_for_others(served: Served, people: People, path: str) -> None:
    """Neither the page nor the form."""
    editor = people("editor")

    assert editor.get(path).status_code == 404
    assert editor.post("/settings", chat="off").status_code == 404
    assert served.host.settings.now().chat == "on"


@pytest.mark.parametrize("fields", [{"chat": "maybe"}, {"mishap": ""}])
def test_a_setting_is_one_of_its_choices(served: Served, people: People, fields: dict[str, str]) -> None:
    """Anything else changes nothing."""
    assert people("administrator").post("/settings", **fields).status_code == 400
    assert not (served.folder / "settings.json").exists()


# -- conversations and cards --------------------------------------------------------------------


@pytest.mark.parametrize("person", ["editor", "approver"])
def test_a_foreign_conversation_is_not_there(served: Served, people: People, person: str) -> None:
    """Knowing an id authorises nothing: no page, no message, no decision, no end (O4)."""
    owner, other = waiting(people), people(person)
    page, path = owner.look(), f"/chat/{owner.conversation}"
    card = {"run": run_in(page), "digest": digest_in(page)}

    assert other.get(path).status_code == other.get(f"{path}/thread").status_code == 404
    assert other.post(f"{path}/send", text="x").status_code == 404
    assert other.post(f"{path}/decide", decision="approve", **card).status_code == 404
    assert other.post(f"{path}/retry").status_code == other.post(f"{path}/cancel").status_code == 404
    turn = other.http.post(f"{path}/turn", json={"threadId": owner.conversation}, headers={"x-csrf-token": other.token})
    assert turn.status_code == 404
    assert owner.look() == page
    assert len(served.host.site.pages()) == 3


def test_an_administrator_sees_and_does_not_send(people: People) -> None:
    """Others' conversations have no field for administrators, and take no message of theirs."""
    editor, administrator = people("editor"), people("administrator")
    editor.say(CLAIM)
    administrator.conversation = editor.conversation

    assert 'id="composer"' not in administrator.look()
    assert administrator.say("x").status_code == 403


@pytest.mark.parametrize("id_", ["0" * 32, "x", "%00", "..%2F..", "%F0%9F%98%80", "a" * 3000])
def test_an_unknown_conversation_is_not_there(people: People, id_: str) -> None:
    """Whatever the path holds."""
    editor = people("editor")

    assert editor.get(f"/chat/{id_}").status_code == 404
    assert editor.post(f"/chat/{id_}/send", text="x").status_code == 404


@pytest.mark.parametrize("before", ["0", "-1", "9" * 400, "²", "٣", "x", "1e3", "%00"])
def test_whatever_place_a_page_begins_before_it_is_a_page(people: People, before: str) -> None:
    """A number that is none begins at the end."""
    editor = people("editor")
    editor.say(CLAIM)

    assert editor.get(f"/chat/{editor.conversation}?before={before}").status_code == 200


@pytest.mark.parametrize("digest", ["", "0" * 64, "<b>", "ü" * 300])
def test_a_forged_card_decides_nothing(served: Served, people: People, digest: str) -> None:
    """A digest that is not the waiting round's is a stale card, in the chat and in the inbox (A1)."""
    administrator = waiting(people)
    page = administrator.look()
    run, path = run_in(page), f"/chat/{administrator.conversation}/decide"

    for answer in (
        administrator.post(path, decision="approve", run=run, digest=digest),
        administrator.post(path, decision="approve", run="0" * 32, digest=digest_in(page)),
        administrator.post(f"/inbox/{run}/decide", decision="approve", digest=digest),
    ):
        assert answer.status_code == 200
        assert reply_sentence("staleDecision", "en") in seen(answer.text)
    assert len(served.host.site.pages()) == 3
    assert digest_in(administrator.look()) == digest_in(page)


@pytest.mark.parametrize("decision", ["", "yes", "APPROVE"])
def test_what_is_no_decision_is_none(served: Served, people: People, decision: str) -> None:
    """Approve and deny, and nothing that looks like them."""
    administrator = waiting(people)
    page = administrator.look()

    assert administrator.decide(decision, page).status_code == 400
    assert administrator.post(f"/inbox/{run_in(page)}/decide", decision=decision).status_code == 400
    assert len(served.host.site.pages()) == 3


@pytest.mark.parametrize("decisions", [("approve", "approve"), ("approve", "deny"), ("deny", "deny")])
def test_two_clicks_decide_once(served: Served, people: People, decisions: tuple[str, str]) -> None:
    """In two tabs at the same moment: one decides, the other is told so (P7)."""
    tabs = [waiting(people), people("administrator")]
    tabs[1].conversation = tabs[0].conversation
    page, start = tabs[0].look(), threading.Barrier(2)

    def click(tab: Visitor, decision: str) -> str:
        start.wait()
        return tab.decide(decision, page).text

    with ThreadPoolExecutor(2) as pool:
        pages = list(pool.map(click, tabs, decisions))

    told = [reply_sentence("alreadyDecided", "en") in seen(page) for page in pages]
    assert sorted(told) == [False, True]
    made = len(served.host.site.pages()) - 3
    assert made == (decisions[told.index(False)] == "approve")


def test_a_page_of_before_decides_nothing(served: Served, people: People) -> None:
    """Back to a page whose card was decided, and clicked once more."""
    administrator = waiting(people)
    page = administrator.look()
    administrator.decide("deny", page)
    again = administrator.decide("approve", page)

    assert reply_sentence("alreadyDecided", "en") in seen(again.text)
    assert len(served.host.site.pages()) == 3
    assert again.headers["cache-control"] == "no-store"


# -- what is sent -------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["x" * 100_000, "ä" * 50_000, "*[" * 50_000])
def test_the_longest_message_is_taken_and_shown(people: People, text: str) -> None:
    """100,000 bytes, as one message, whole."""
    page = people("editor").say(text)

    assert page.status_code == 200
    assert text in page.text


@pytest.mark.parametrize(("text", "status"), [("x" * 100_001, 422), ("ä" * 50_001, 422), (" \n", 422), ("", 422)])
def test_a_message_that_is_too_long_or_blank_stays_in_its_field(people: People, text: str, status: int) -> None:
    """Nothing is stored, and a sentence says why; to a script as well."""
    editor = people("editor")
    page = editor.say(text)
    script = editor.post("/chat", text=text, open="yes")
    editor.conversation = ""
    editor.say(CLAIM)
    in_conversation = editor.say(text)

    assert page.status_code == script.status_code == in_conversation.status_code == status
    assert f">\n{text}</textarea>" in page.text
    assert script.json()["text"] in seen(page.text)
    assert in_conversation.text.count('class="message user"') == 1


def test_a_turn_that_is_too_long_is_refused_by_the_stream(people: People) -> None:
    """The stream of a message that is too long says so, and nothing was stored."""
    editor = people("editor")
    editor.say(CLAIM)
    events = list(editor.turn_of("x" * 100_001))

    assert [(event["type"], event.get("code")) for event in events] == [("RUN_ERROR", "messageRejected")]
    assert editor.look().count('class="message user"') == 1


@pytest.mark.parametrize("path", ["/chat", "/sign-in", "/chat/{conversation}/turn", "/chat/{conversation}/send"])
def test_a_huge_body_is_not_read(people: People, path: str) -> None:
    """Behind a megabyte nothing more is read."""
    editor = people("editor")
    editor.say(CLAIM)
    target = path.format(conversation=editor.conversation)
    response = editor.http.post(target, content=b"text=" + b"x" * 1_000_000, headers={"x-csrf-token": editor.token})

    assert response.status_code == 413


@pytest.mark.parametrize("body", [b"\xff\xfe", b"text=%FF&csrf=", b"&" * 200, b"a=1&" * 60, b"{}"])
def test_a_body_that_is_no_form_is_refused(people: People, body: bytes) -> None:
    """It is neither guessed nor a failure of ours."""
    editor = people("editor")
    assert editor.http.post("/chat", content=body).status_code in (400, 403)


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b"{", b'{"threadId": 1}', b"[" * 100_000, b"\xff"])
def test_a_turn_that_is_no_request_is_refused(people: People, body: bytes) -> None:
    """A body of any other form names no conversation."""
    editor = people("editor")
    editor.say(CLAIM)
    headers = {"x-csrf-token": editor.token}
    assert editor.http.post(f"/chat/{editor.conversation}/turn", content=body, headers=headers).status_code == 400


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/",
        "/static/none.js",
        "/static/%00",
        "/static/" + "a" * 5000,
        "/static/%2fetc%2fpasswd",
    ],
)
def test_only_its_own_files_are_served(people: People, path: str) -> None:
    """No file beside the static ones."""
    assert people().get(path).status_code == 404


@pytest.mark.parametrize(
    "record", ["pages/999", "pages/abc", "users/1", "pages/1%0A", "%3Cscript%3E/1", "pages/" + "9" * 400]
)
def test_a_record_that_is_not_there_is_not_there(people: People, record: str) -> None:
    """Whatever the path names."""
    response = people("editor").get(f"/site/{record}")

    assert response.status_code == 404
    assert "<script>" not in response.text.replace("<script type", "")


# -- what is shown ------------------------------------------------------------------------------


def attacking(*answers: str | ModelAnswer) -> Callable[[str], AnyModel]:
    """A model whose answers mean harm."""
    model = ScriptedModel(*answers, otherwise="Nothing more.")
    return lambda service: model


@pytest.mark.parametrize(
    "text",
    [
        ATTACK,
        f"**{ATTACK}**\n\n`{ATTACK}`",
        "[click](javascript:alert(1)) <a href='javascript:alert(1)'>x</a> <javascript:alert(1)>",
        "[x](data:text/html;base64,PHNjcmlwdD4=) ![x](https://elsewhere.example/pixel.png)",
        "[x](https://elsewhere.example 'a\" onmouseover=\"alert(1)')",
        "<style>body{display:none}</style><form action='https://elsewhere.example'><input name=csrf></form>",
        "| a |\n| --- |\n| <iframe src='https://elsewhere.example'> |",
        '" onload="alert(1)',
    ],
)
def test_an_answer_can_do_no_harm(tmp_path: Path, text: str) -> None:
    """Whatever HTML a model says is text, and no image of another site is loaded."""
    with Served(tmp_path, Gate(), model=attacking(text)) as served:
        people = People(served)
        page = people("editor").say("x").text
        people.close()

    said = page.split('<div class="said">')[-1].split("</li>\n</ol>")[0].lower()
    harmless(said)
    assert 'href="javascript' not in said
    assert "<img" not in said


def test_an_answer_that_takes_long_to_show_is_made_once() -> None:
    """A table of thousands of cells from twenty thousand characters: the next look at it costs nothing."""
    table = "|a" * 1000 + "\n" + "|-" * 1000 + "\n" + "|\n" * 50

    assert said(table) is said(table)


def harmless(html: str) -> None:
    """No element that runs, loads or posts, and no attribute that runs."""
    for tag in re.findall(r"<[a-z][^>]*>", html):
        assert not re.match(r"<(script|style|iframe|object|embed|form|input|base|meta|link|img)\b", tag), tag
        names = re.findall(r"\s([a-z-]+)(?:=|\s|>)", re.sub(r'"[^"]*"', '""', tag))
        assert not [name for name in names if name.startswith("on") or name == "style"], tag


def test_what_the_page_shows_of_records_tools_and_people_is_text(tmp_path: Path) -> None:
    """Titles, previews, messages, list entries and names of people are escaped wherever they stand."""
    everybody = [Person(id_, {"de": ATTACK, "en": ATTACK}) for id_ in ("editor", "approver", "administrator")]
    model = attacking(call("create_page_draft", parent=1, title=ATTACK), ATTACK)
    with Served(tmp_path, Gate(), people=everybody, model=model) as served:
        people = People(served)
        sign_in = people().get("/sign-in").text
        administrator = people("administrator")
        pages = [sign_in, administrator.say(ATTACK).text, administrator.get("/inbox").text]
        pages.append(administrator.decide("approve").text)
        run = pages[-1].split('href="/runs/')[1].split('"')[0]
        paths = ("/site", "/site/pages/4", "/records", "/settings", "/chat", f"/runs/{run}")
        pages.extend(administrator.get(path).text for path in paths)
        people.close()

    assert served.host.site.pages()[3].title == ATTACK
    for page in pages:
        assert "<script>alert" not in page
        assert "<img" not in page
    assert pages[1].count("&lt;script&gt;alert(1)") >= 3


@pytest.mark.parametrize(
    "path", ["/sign-in", "/chat", "/inbox", "/records", "/site", "/settings", "/nope", "/static/chat.js"]
)
def test_every_response_says_what_it_may_load(people: People, path: str) -> None:
    """No script and no style but our own files, no frame around us; and no page keeps either in its HTML."""
    response = people("administrator").get(path)
    policy = response.headers["content-security-policy"]

    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert response.headers["x-content-type-options"] == "nosniff"
    if not path.startswith("/static/"):
        assert response.headers["cache-control"] == "no-store"
        assert not re.search(r"<script(?![^>]*\bsrc=\"/static/)|<style|\sstyle=|\son[a-z]+=", response.text)
        assert not re.search(r"(?:src|href|action)=\"(?!/|#)", response.text)


def test_a_failure_of_ours_is_as_safe_a_page_as_any(served: Served, people: People) -> None:
    """It tells nothing of the failure, is kept by no browser, and may load no more than the others."""
    editor = people("editor")
    editor.say(CLAIM)

    async def view(*_: object, **__: object) -> None:
        raise RuntimeError("the password is hunter2")

    served.host.chat.view = view  # type: ignore[assignment]
    broken = editor.get(f"/chat/{editor.conversation}")
    safe = editor.get("/chat").headers

    assert broken.status_code == 500
    assert "hunter2" not in broken.text
    for name in ("content-security-policy", "x-content-type-options", "referrer-policy", "cache-control"):
        assert broken.headers[name] == safe[name]


@pytest.mark.parametrize("content", ["[1]", "5", '"text"', "null", "{", "[" * 100_000, '{"chat": ["off"]}'])
def test_settings_that_are_none_are_the_defaults(tmp_path: Path, content: str) -> None:
    """Whatever stands in the file."""
    path = tmp_path / "settings.json"
    path.write_text(content, encoding="utf-8")

    assert SettingsFile(path).now() == Settings()


@pytest.mark.parametrize("left", ["", "0" * 63])
def test_nobody_signs_with_half_a_secret(tmp_path: Path, left: str) -> None:
    """A file that was not written to its end is no secret: anybody could sign a cookie with it."""
    (tmp_path / "secret").write_text(left, encoding="ascii")
    with pytest.raises(ValueError, match="no whole secret"):
        host_over(tmp_path)

    (tmp_path / "secret").unlink()
    secrets = {host_over(tmp_path).secret for _ in range(2)}
    assert [len(secret) for secret in secrets] == [64]
    assert (tmp_path / "secret").stat().st_mode & 0o077 == 0
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("tmp")]


# -- connections, servers, many at once ---------------------------------------------------------


def test_a_dropped_connection_ends_nothing(served: Served, people: People) -> None:
    """Whoever watched is gone; the answer is stored, and the page of before shows it."""
    editor = people("editor")
    editor.say(CLAIM)
    served.gate.close()
    events = editor.turn_of(LONG)
    assert next(events)["type"] == "RUN_STARTED"
    served.gate.held.wait()
    events.close()
    during = editor.look()
    served.gate.open()

    assert 'class="state running"' in during
    until(lambda: 'class="state running"' not in editor.look())
    assert "word by word" in editor.look()


def test_fifty_readers_at_once(tmp_path: Path) -> None:
    """Each is answered in a conversation of their own, and sees no other."""
    everybody = [Person(f"reader-{number}", {"en": f"Reader {number}"}) for number in range(50)]
    gate = Gate()
    with Served(tmp_path, gate, people=everybody) as served:
        people = People(served)
        readers = [people(person.id) for person in everybody]
        start = threading.Barrier(len(readers))

        def turn(reader: Visitor) -> list[str]:
            start.wait()
            reader.say(CLAIM)
            return [event["type"] for event in reader.turn_of("Thank you for nothing.")]

        with ThreadPoolExecutor(len(readers)) as pool:
            turns = list(pool.map(turn, readers))
            pages = list(pool.map(Visitor.look, readers))
        foreign = [mine.get(f"/chat/{other.conversation}").status_code for mine, other in pairwise(readers)]
        people.close()

    assert all(turn[0] == "RUN_STARTED" and turn[-1] == "RUN_FINISHED" for turn in turns)
    assert all(codes(page)[0] == "nothingSaved" and page.count('class="message user"') == 2 for page in pages)
    assert len({reader.conversation for reader in readers}) == 50
    assert set(foreign) == {404}
