"""
Who is told what of a failure: readers, administrators, the model (P9, F2).
"""

from typing import Any

import pytest

from nr_agent_core import (
    FailureClass,
    ProviderError,
    Reader,
    RoleAccess,
    ToolResult,
)
from tests.cases.desk import ANNA, BOSS, Desk, tool_of
from tests.cases.leaking_texts import READ, TOLD


def view_error(desk: Desk, conversation: str, reader: Reader) -> Any:
    """The failure as this reader sees it."""
    return desk.chat.view(conversation, reader).error


@pytest.mark.parametrize("language", ["de", "en", "sv"])
@pytest.mark.parametrize(
    ("failure_class", "code", "word"),
    [
        (FailureClass.CONFIGURATION, "providerNotConfigured", {"de": "Administration", "en": "administration"}),
        (FailureClass.QUOTA, "rateLimited", {"de": "noch einmal", "en": "again"}),
        (FailureClass.CONNECTION, "providerUnavailable", {"de": "später", "en": "later"}),
    ],
)
def test_each_reader_gets_what_they_can_use(
    failure_class: FailureClass, code: str, word: dict[str, str], language: str
) -> None:
    """(F2) Editors: a sentence in their language and a next step. Administrators: what it was, and where to mend it."""
    told = "iteration 0 retry 2/5 in 1186ms: 429, the model small-1 is over its quota"
    desk = Desk(ProviderError(told, failure_class), links={"providers": "/admin/providers"})
    sent = desk.chat.send("Hello there", ANNA)

    editor = view_error(desk, sent.conversation, Reader("anna", language=language))
    administrator = view_error(desk, sent.conversation, Reader("boss", language=language))

    assert (editor.code.value, administrator.code.value) == (code, code)
    assert editor.link is None
    assert word.get(language, word["en"]) in editor.text
    assert not any(part in editor.text for part in ("429", "retry 2", "1186", "small-1", "ProviderError"))
    assert told in administrator.text
    assert administrator.link == ("/admin/providers" if code == "providerNotConfigured" else None)


def test_an_address_is_kept_from_administrators_too() -> None:
    """(F3) They read that a machine could not be reached; which one stands in the provider's settings."""
    desk = Desk(ProviderError("Cannot connect to host 10.9.8.7:7860 (/srv/app/up/a.wav)", FailureClass.CONNECTION))
    sent = desk.chat.send("Hello there", ANNA)

    text = view_error(desk, sent.conversation, BOSS).text

    assert "Cannot connect to host" in text
    assert not any(part in text for part in ("10.9", "7860", "srv", "wav"))


def test_a_role_is_asked_when_somebody_looks() -> None:
    """(O4, F2) Who is no administrator any more reads the sentence, not the stored text."""
    administrators = {"boss", "anna"}
    access = RoleAccess(administrators=administrators)
    desk = Desk(ProviderError("the model small-1 does not exist", FailureClass.CLIENT_ERROR), access=access)
    sent = desk.chat.send("Hello there", ANNA)
    before = view_error(desk, sent.conversation, ANNA).text

    administrators.remove("anna")

    assert "small-1" in before
    assert "small-1" not in view_error(desk, sent.conversation, ANNA).text


def test_the_true_reason_of_a_tool_reaches_the_model() -> None:
    """(T4) What a tool says in its own result is its word: a duplicate that was stopped is told as one."""
    reason = "未创建: 与 K-30 重复"
    desk = Desk(tools=[tool_of("publish", lambda arguments, context: ToolResult.error(reason))])
    sent = desk.waiting()

    desk.decide(sent.conversation)

    assert reason in desk.texts(sent.conversation)[-1]
    assert "nothingSaved" not in desk.codes(sent.conversation)


def test_a_failed_tool_is_told_to_the_model_by_its_kind_alone() -> None:
    """(T10) Two failures of different texts are one text for the model."""
    seen = []
    for text in (TOLD, "quite another one"):
        desk = Desk(tools=[tool_of("publish", _saying(text), READ)])
        desk.chat.send("Publish the note, please.", ANNA)
        seen.append(desk.model.requests[-1].messages[-1].text)

    assert seen[0] == seen[1]


def _saying(text: str) -> Any:
    def fail(*_: object) -> Any:
        raise RuntimeError(text)

    return fail
