"""
The tools of the example site: what they write, refuse, preview, and do when they are called again.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from examples.site_chat.site import Site
from examples.site_chat.tools import site_tools
from nr_agent_core import (
    Chat,
    Configuration,
    NoticeCode,
    Outcome,
    Preview,
    Reader,
    RoleAccess,
    ToolContext,
    ToolEffect,
    ToolResult,
)
from nr_agent_core.adapters.memory import MemoryStore
from nr_agent_core.testing.scripted_model import ScriptedModel, call

CONTEXT = ToolContext(owner="anna", run_id="r1", call_id="0.0", key="a" * 64, deadline=1.0)
ANNA = Reader("anna")


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """A fresh site."""
    return Site(tmp_path / "site.db")


def run_tool(site: Site, name: str, context: ToolContext = CONTEXT, **arguments: Any) -> Any:
    """What the tool *name* brings, called as the driver calls it."""
    (found,) = [tool for tool in site_tools(site) if tool.name == name]
    return found.execute(arguments, context)


def preview_of(site: Site, name: str, **arguments: Any) -> Any:
    """The preview that the tool *name* makes."""
    (found,) = [tool for tool in site_tools(site) if tool.name == name]
    assert found.preview is not None
    return found.preview(arguments, CONTEXT)


def written(result: ToolResult) -> list[str]:
    """The records that a result names."""
    return [str(write) for write in result.writes]


def test_search_finds_pages_by_words_of_their_title(site: Site) -> None:
    """A reading tool names the uids, so that the model need not guess one."""
    assert run_tool(site, "search_pages", words="LEISTUNG").content == "pages:3 'Leistungen'"
    assert run_tool(site, "search_pages", words="nirgends").content == "Keine Seite gefunden."


def test_a_draft_is_hidden_and_named(site: Site) -> None:
    """A created page is a record of kind created, and no visitor sees it."""
    result = run_tool(site, "create_page_draft", parent=2, title="Team")

    (page,) = site.pages(title="Team")
    assert page.hidden
    assert page.parent == 2
    assert written(result) == [f"pages:{page.uid} (created)"]


def test_a_second_draft_is_a_second_page(site: Site) -> None:
    """The effect is declared truly: a repetition would do harm."""
    for _ in range(2):
        run_tool(site, "create_page_draft", parent=2, title="Team")

    assert len(site.pages(title="Team")) == 2
    assert {tool.name: tool.effect for tool in site_tools(site)}["create_page_draft"] is ToolEffect.NON_IDEMPOTENT_WRITE


def test_a_draft_under_no_page_writes_nothing(site: Site) -> None:
    """An error promises that nothing was written (T4)."""
    before = site.pages()

    result = run_tool(site, "create_page_draft", parent=99, title="Team")

    assert result.outcome is Outcome.ERROR
    assert site.pages() == before


def test_the_preview_of_a_draft_warns_of_a_twin(site: Site) -> None:
    """A page of the same title under the same parent is seen before it is doubled, and only such a page."""
    assert len(preview_of(site, "create_page_draft", parent=2, title="Team")) == 1
    run_tool(site, "create_page_draft", parent=2, title="Team")

    (uid,) = [page.uid for page in site.pages(title="Team")]
    assert f"pages:{uid}" in preview_of(site, "create_page_draft", parent=2, title="Team")[1]
    assert len(preview_of(site, "create_page_draft", parent=3, title="Team")) == 1


def approved(site: Site, uid: int, description: str) -> ToolContext:
    """The context of a call whose preview was approved just now."""
    preview = preview_of(site, "update_page_metadata", uid=uid, description=description)
    assert isinstance(preview, Preview)
    return attrs.evolve(CONTEXT, precondition=preview.precondition)


def test_a_description_is_changed_as_previewed(site: Site) -> None:
    """What was approved for this version of the page is stored, as an update of it."""
    context = approved(site, 2, "Wer wir sind")

    result = run_tool(site, "update_page_metadata", context, uid=2, description="Wer wir sind")

    assert written(result) == ["pages:2 (updated)"]
    assert site.pages(title="Über uns")[0].description == "Wer wir sind"


def test_a_page_that_was_changed_since_the_preview_is_left_alone(site: Site) -> None:
    """The precondition token ties an approval to what the approver saw (T11)."""
    stale = approved(site, 2, "Alt")
    run_tool(
        site, "update_page_metadata", attrs.evolve(approved(site, 2, "Neu"), key="b" * 64), uid=2, description="Neu"
    )

    result = run_tool(site, "update_page_metadata", stale, uid=2, description="Alt")

    assert result.outcome is Outcome.ERROR
    assert site.pages(title="Über uns")[0].description == "Neu"


def test_an_update_without_a_preview_writes_nothing(site: Site) -> None:
    """No token is no permission: a preview that failed approves no version."""
    result = run_tool(site, "update_page_metadata", uid=2, description="Neu")

    assert result.outcome is Outcome.ERROR
    assert site.pages(title="Über uns")[0].description == ""


@pytest.mark.parametrize("name", ["update_page_metadata", "delete_content_element"])
def test_a_repeated_call_has_the_result_of_the_first(site: Site, name: str) -> None:
    """Idempotent means: the same key brings the same result, although the precondition is used up (R7)."""
    arguments: dict[str, Any] = {"uid": 2, "description": "Neu"} if name == "update_page_metadata" else {"uid": 2}
    context = approved(site, 2, "Neu")

    first = run_tool(site, name, context, **arguments)
    state = site.pages(), site.content()
    second = run_tool(site, name, context, **arguments)

    assert written(first) != []
    assert second == first
    assert (site.pages(), site.content()) == state


def test_deleting_names_a_deletion(site: Site) -> None:
    """The first deleting writer: kind deleted, and exactly that element is gone."""
    result = run_tool(site, "delete_content_element", uid=1)

    assert written(result) == ["content:1 (deleted)"]
    assert [element.uid for element in site.content()] == [2]


def test_deleting_what_was_never_there_is_unchanged(site: Site) -> None:
    """Nothing is claimed for a call that found nothing to do."""
    result = run_tool(site, "delete_content_element", uid=99)

    assert result.outcome is Outcome.UNCHANGED
    assert written(result) == []


def test_clearing_the_cache_names_no_record(site: Site) -> None:
    """A write whose effect is no record has no target."""
    result = run_tool(site, "clear_page_cache")

    assert result.content == "3 Seiten aus dem Cache entfernt."
    assert written(result) == []


def test_publishing_unhides_a_draft(site: Site) -> None:
    """The switched-off tool works once a configuration switches it on."""
    run_tool(site, "create_page_draft", parent=2, title="Team")
    (draft,) = site.pages(title="Team")

    result = run_tool(site, "publish_page", uid=draft.uid)

    assert written(result) == [f"pages:{draft.uid} (updated)"]
    assert not site.pages(title="Team")[0].hidden


def test_what_raises_inside_a_transaction_leaves_nothing(site: Site) -> None:
    """All of a transaction is stored, or nothing of it."""

    def fails() -> None:
        with site.transaction() as connection:
            connection.execute("DELETE FROM content")
            raise KeyError

    with pytest.raises(KeyError):
        fails()

    assert len(site.content()) == 2


@pytest.fixture
def chat(site: Site) -> Iterator[Chat]:
    """A chat that updates, and owners who decide."""
    model = ScriptedModel(
        call("update_page_metadata", uid=2, description="Wer wir sind"), "Die Beschreibung ist gespeichert."
    )
    chat = Chat(
        store=MemoryStore(),
        configuration=Configuration(model=model, trust_zone="externalGlobal"),
        tools=site_tools(site),
        access=RoleAccess(owner_decides=True),
    )
    yield chat
    chat.close()


def approve(chat: Chat, conversation: str | None) -> list[NoticeCode]:
    """Approve what waits; the notices beside the answer."""
    assert conversation is not None
    chat.decide(conversation, "approve", card=chat.view(conversation, ANNA).card, by=ANNA)  # type: ignore[arg-type]
    return [notice.code for notice in chat.view(conversation, ANNA).messages[-1].notices]


def test_through_a_run_the_approved_update_is_stored(site: Site, chat: Chat) -> None:
    """The token of the preview reaches the tool, and the tools are offered in the furthest zone."""
    sent = chat.send("Beschreibe pages:2.", ANNA)

    notices = approve(chat, sent.conversation)

    assert site.pages(title="Über uns")[0].description == "Wer wir sind"
    assert notices == []


def test_through_a_run_a_late_edit_wins_over_the_approval(site: Site, chat: Chat) -> None:
    """A page edited under the card is not overwritten; the claim that follows is marked."""
    sent = chat.send("Beschreibe pages:2.", ANNA)
    with site.transaction() as connection:
        connection.execute("UPDATE pages SET description = 'Von Hand' WHERE uid = 2")

    notices = approve(chat, sent.conversation)

    assert site.pages(title="Über uns")[0].description == "Von Hand"
    assert NoticeCode.NOTHING_SAVED in notices


def test_schemas_of_the_tools_are_json(site: Site) -> None:
    """What a provider sends out can be serialised."""
    for tool in site_tools(site):
        assert json.loads(json.dumps(dict(tool.parameters)))["type"] == "object"
