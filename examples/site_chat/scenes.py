"""
The story in six scenes. Each ends with one line that is checked against the files, not recited.
"""

import signal
from pathlib import Path

from examples.site_chat.host import ADMINISTRATOR, APPROVER, EDITOR, chat_of, configured, site_of
from examples.site_chat.labels import Labels
from examples.site_chat.other_process import approve_and_die, approve_in_inbox, keep_up, run_elsewhere
from examples.site_chat.script import CLAIM, DOUBT, DRAFT, FORCED, GO_ON, PRICES, TIDY, WITHHELD, story_model
from examples.site_chat.terminal import Terminal
from nr_agent_core import (
    AiRecordWritten,
    Chat,
    ConversationStatus,
    ConversationView,
    FailureClass,
    FailureCode,
    FixedConfiguration,
    NoticeCode,
    ProviderError,
    Reader,
    ReplyCode,
    RunStatus,
    SendOutcome,
    Sent,
)
from nr_agent_core.adapters.blinker_event_bus import BlinkerEventBus
from nr_agent_core.domain.run_events import ToolFinished
from nr_agent_core.testing.scripted_model import ScriptedModel


def false_claim(folder: Path, terminal: Terminal) -> None:
    """An answer claims a change that no run made."""
    terminal.scene("a", "The answer says 'done', the run did nothing")
    model, before = story_model(), site_of(folder).pages()
    with chat_of(folder, configuration=configured(model)) as chat:
        view, _ = _exchange(chat, terminal, CLAIM, EDITOR)
        codes = _codes(view)
        text = view.messages[-1].text
        later, _ = _exchange(chat, terminal, DOUBT, EDITOR, view.id)
    told = next(message.text for message in model.requests[-1].messages if message.role == "assistant")
    terminal.shown("model was told", told)
    terminal.holds(
        "the answer stands, a notice is beside it, the model is told on its next turn; no page changed",
        ("notice", NoticeCode.NOTHING_SAVED in codes),
        ("answer unchanged", text.startswith("Erledigt.") and told.startswith(text)),
        ("note to the model", "[run note: nothingSaved]" in told),
        ("note not stored", all("run note" not in message.text for message in later.messages)),
        ("honest answer unmarked", _codes(later) == []),
        ("site", site_of(folder).pages() == before),
    )


def not_configured(folder: Path, terminal: Terminal) -> None:
    """Two ways in which a chat is not set up, each as two readers see it."""
    terminal.scene("b", "Not set up: what an editor reads, what an administrator reads")
    raw = "API key identifier is required for provider 'openai'"
    keyless = configured(ScriptedModel(otherwise=ProviderError(raw, FailureClass.AUTHENTICATION)))
    facts = []
    for configuration, code, target in (
        (FixedConfiguration(None), FailureCode.CHAT_NOT_CONFIGURED, "tasks"),
        (keyless, FailureCode.PROVIDER_NOT_CONFIGURED, "providers"),
    ):
        with chat_of(folder, configuration=configuration) as chat:
            sent = chat.send("Hallo", EDITOR)
            conversation = _conversation(sent)
            seen = chat.view(conversation, EDITOR).error, chat.view(conversation, ADMINISTRATOR).error
        for_editor, for_administrator = seen
        if for_editor is None or for_administrator is None:
            facts.append((f"{code.value} is shown", False))
            continue
        terminal.shown("code", for_editor.code.value)
        terminal.says("editor", for_editor.text)
        terminal.says("administrator", f"{for_administrator.text}\n-> {for_administrator.link}")
        facts += [
            (code.value, for_editor.code is code and for_administrator.code is code),
            ("no raw text and no link for editors", raw not in for_editor.text and for_editor.link is None),
            ("a link for administrators", str(for_administrator.link).endswith(target)),
        ]
    facts.append(("stored text for administrators", for_administrator is not None and raw in for_administrator.text))
    terminal.holds("a code is stored, the sentence is made per reader; the provider's text reaches no editor", *facts)


def withheld_tools(folder: Path, terminal: Terminal) -> None:
    """The model knows which tools exist and are not for it."""
    terminal.scene("c", "Tools that exist and are withheld")
    model, site = story_model(), site_of(folder)
    with chat_of(folder, configuration=configured(model)) as chat:
        view, _ = _exchange(chat, terminal, WITHHELD, EDITOR)
        request, answer = model.requests[0], view.messages[-1].text
        section = request.system[request.system.index("These tools exist") :].splitlines()
        terminal.shown("prompt says", "\n".join(section[:3]))
        offered = {tool.name for tool in request.tools}
        terminal.shown("offered", ", ".join(sorted(offered)))
        after, forced = _exchange(chat, terminal, FORCED, EDITOR, view.id)
        events = chat.runtime.events(_run(forced), EDITOR)
    calls = [event.event for event in events if isinstance(event.event, ToolFinished)]
    terminal.holds(
        "the model names both withheld tools and why; a call of one is refused, whatever it was told",
        ("prompt", all(f"- {name}: " in request.system for name in ("clear_page_cache", "publish_page"))),
        ("answer", "clear_page_cache" in answer and "publish_page" in answer and "Administration" in answer),
        ("honest answers have no notice", _codes(view) == [] and _codes(after) == []),
        ("not offered", not offered & {"clear_page_cache", "publish_page"} and "search_pages" in offered),
        ("refused", [(call.tool, call.executed) for call in calls] == [("clear_page_cache", False)]),
        ("the cache is as it was", site.cached_pages() == 3),
    )


def go_on(folder: Path, terminal: Terminal) -> None:
    """'Go on' is neither a decision nor a new request."""
    terminal.scene("d", "'weiter' while an approval waits, and after it was given elsewhere")
    site, model = site_of(folder), story_model()
    with chat_of(folder, configuration=configured(model)) as chat:
        asked, sent = _exchange(chat, terminal, DRAFT, EDITOR)
        run_id = _run(sent)
        _show_inbox(chat, terminal)
        held = _say(chat, terminal, GO_ON, EDITOR, asked.id)
        unchanged = chat.view(asked.id, EDITOR)
        drafts_before = site.pages(title="Team")
        terminal.shown("other process", "approves what the card shows")
        code = run_elsewhere(approve_in_inbox, folder, run_id)
        _show_last(chat.view(asked.id, EDITOR), terminal)
        delivered = _say(chat, terminal, GO_ON, EDITOR, asked.id)
        view = chat.view(asked.id, EDITOR)
        drafts = site.pages(title="Team")
        # Who asks for the same page once more sees its twin on the card.
        _, again = _exchange(chat, terminal, DRAFT, EDITOR, asked.id)
        warning = _show_inbox(chat, terminal)
        chat.cancel(asked.id, EDITOR)
    name = f"pages:{drafts[0].uid}" if drafts else "no page"
    told = [line for message in model.requests[-1].messages for line in message.text.splitlines() if name in line]
    terminal.shown("model was told", "\n".join(told))
    terminal.holds(
        f"held while it waited, nothing stored; then told of {name}, no new run; one page, no second",
        ("held", held.outcome is SendOutcome.HELD and held.code is ReplyCode.APPROVAL_PENDING_ELSEWHERE),
        ("nothing stored", unchanged.messages == asked.messages and drafts_before == []),
        ("decided elsewhere", code == 0),
        ("delivered", delivered.outcome is SendOutcome.DELIVERED and delivered.run_id == run_id),
        ("names the record", name in str(delivered.text) and view.status is ConversationStatus.IDLE),
        ("the model knows the record", bool(told)),
        ("one page", len(drafts) == 1 and site.pages(title="Team") == drafts),
        ("twin is shown", again.status is RunStatus.WAITING_FOR_APPROVAL and f"({name})" in warning),
    )


def killed(folder: Path, terminal: Terminal) -> None:
    """A process dies between a write and its record."""
    terminal.scene("e", "Killed between the write and its record")
    site = site_of(folder)
    with chat_of(folder) as chat:
        asked, sent = _exchange(chat, terminal, PRICES, EDITOR)
        run_id = _run(sent)
        code = run_elsewhere(approve_and_die, folder, run_id)
        left = chat.runtime.status(run_id, EDITOR).status
        terminal.shown("process 1", f"approved, wrote, was killed (exit code {code}); the run is left {left.value}")
        recovered = run_elsewhere(keep_up, folder, run_id)
        ended = chat.runtime.status(run_id, EDITOR)
        terminal.shown("process 2", f"recovers the run: {ended.status.value}, {ended.reason and ended.reason.value}")
        view = chat.view(asked.id, EDITOR)
        _show_last(view, terminal)
        terminal.says("error", view.error.text if view.error else "none")
    pages = site.pages(title="Preise")
    terminal.shown("site", f"{len(pages)} page(s) 'Preise'")
    terminal.holds(
        "exactly one page; nobody says that it was saved or that it was not: the outcome is unknown",
        ("killed", code == -signal.SIGKILL and left is RunStatus.RUNNING),
        ("recovered", recovered == 0 and ended.status is RunStatus.FAILED),
        ("code", view.error is not None and view.error.code is FailureCode.WRITE_OUTCOME_UNKNOWN),
        ("notice", NoticeCode.WRITE_OUTCOME_UNKNOWN in _codes(view) and NoticeCode.NOTHING_SAVED not in _codes(view)),
        ("one page", len(pages) == 1),
    )


def labels(folder: Path, terminal: Terminal) -> None:
    """The host labels what an AI wrote; the library only says so."""
    terminal.scene("f", "Who wrote this? A listener of the host, and the feed for what it could not hear")
    labelled, heard = Labels(site_of(folder)), list[AiRecordWritten]()
    bus = BlinkerEventBus()
    bus.subscribe(heard.append)
    bus.subscribe(labelled.heard)
    with chat_of(folder, bus=bus) as chat:
        asked, _ = _exchange(chat, terminal, TIDY, ADMINISTRATOR)
        card = chat.view(asked.id, ADMINISTRATOR).card
        if card is not None:
            terminal.shown("card", "\n".join(line for call in card.calls for line in call.lines))
            chat.decide(asked.id, "approve", card=card, by=ADMINISTRATOR)
        _show_last(chat.view(asked.id, ADMINISTRATOR), terminal)
        for event in heard:
            terminal.shown("bus", f"{event.reference} {event.kind.value}, run ...{event.correlation_id[-6:]}")
        by_bus = labelled.labelled()
        feed = [stored.written for stored in chat.runtime.writes(after=0)]
        for written in feed:
            terminal.shown("feed", f"{written.reference} {written.kind.value}, run ...{written.correlation_id[-6:]}")
        new, again = labelled.catch_up(chat.runtime), labelled.catch_up(chat.runtime)
    terminal.shown("labelled", ", ".join(labelled.labelled()))
    told = [f"{event.reference} {event.kind.value}" for event in heard]
    terminal.holds(
        "each recorded write is labelled once; another process's write comes by the feed",
        ("bus", told == ["pages:2 updated", "content:2 deleted"] and by_bus == ["pages:2"]),
        ("feed", [str(written.reference) for written in feed] == ["pages:4", "pages:2", "content:2"]),
        ("agreement", feed[1:] == heard),
        ("only the other process's write was new", (new, again) == (1, 0)),
        ("labels", labelled.labelled() == ["pages:2", "pages:4"]),
    )


SCENES = (false_claim, not_configured, withheld_tools, go_on, killed, labels)


def _exchange(
    chat: Chat, terminal: Terminal, text: str, reader: Reader, conversation: str | None = None
) -> tuple[ConversationView, Sent]:
    """*reader* says *text*; what stands in the conversation then is shown."""
    sent = _say(chat, terminal, text, reader, conversation)
    view = chat.view(_conversation(sent), reader)
    if sent.status is RunStatus.WAITING_FOR_APPROVAL:
        terminal.shown("chat", "waits for an approval")
    else:
        _show_last(view, terminal)
    return view, sent


def _say(chat: Chat, terminal: Terminal, text: str, reader: Reader, conversation: str | None) -> Sent:
    terminal.says(reader.id, text)
    sent = chat.send(text, reader, conversation=conversation)
    if sent.text is not None:
        terminal.shown(sent.outcome.value, sent.text)
    return sent


def _show_last(view: ConversationView, terminal: Terminal) -> None:
    last = view.messages[-1]
    terminal.says("chat", last.text or "(no answer)")
    for notice in last.notices:
        terminal.label(notice.label)


def _show_inbox(chat: Chat, terminal: Terminal) -> str:
    lines = [line for item in chat.runtime.inbox(APPROVER) for call in item.card.calls for line in call.lines]
    terminal.shown("inbox", "\n".join(lines))
    return "\n".join(lines)


def _codes(view: ConversationView) -> list[NoticeCode]:
    return [notice.code for notice in view.messages[-1].notices]


def _conversation(sent: Sent) -> str:
    if sent.conversation is None:
        raise RuntimeError(f"the message was not taken: {sent}")
    return sent.conversation


def _run(sent: Sent) -> str:
    if sent.run_id is None:
        raise RuntimeError(f"no run was started: {sent}")
    return sent.run_id
