"""
What the model says when no real one is configured: a few requests in English and German, understood by
their form, so that the site needs no key and no network.

A real model stands behind the same port; it is asked the same questions and gets the same results.
"""

import re

from nr_agent_core import ModelAnswer, ModelRequest
from nr_agent_core.testing.scripted_model import ScriptedModel, call

CLAIM = "Done. I have saved a search description for the home page."
HELP = (
    "I understand: Create a page 'Team' / Lege eine Seite 'Team' an (under pages:3, unter pages:3). "
    "Set the title / slug / description of pages:4 to '...' / Setze Titel / Slug / Beschreibung von pages:4 auf '...'. "
    "Find 'team' / Suche 'team'."
)
_QUOTED = r"['\"‘’“”„](?P<value>.*)['\"‘’“”]"
_CREATE = re.compile(rf"(?:create|add|lege|leg)\b.*?{_QUOTED}", re.IGNORECASE | re.DOTALL)
_CHANGE = re.compile(
    rf"(?:set|setze|change|ändere)\b.*?(?P<field>title|titel|slug|description|beschreibung).*?pages:(?P<uid>\d+).*?{_QUOTED}",
    re.IGNORECASE | re.DOTALL,
)
_FIND = re.compile(rf"(?:find|search|suche?|finde)\b.*?{_QUOTED}", re.IGNORECASE | re.DOTALL)
_PAGE = re.compile(r"pages:(\d+)")
_FIELDS = {"titel": "title", "description": "search_description", "beschreibung": "search_description"}


def scripted_model() -> ScriptedModel:
    """The model without a key."""
    return ScriptedModel(otherwise=_answer)


def _answer(request: ModelRequest) -> str | ModelAnswer:
    last = request.messages[-1]
    if last.role == "tool":
        results = []
        for message in reversed(request.messages):
            if message.role != "tool":
                break
            results.insert(0, message.text)
        return "\n".join(results)
    if found := _CHANGE.search(last.text):
        field = found["field"].lower()
        return call("update_page_metadata", page=int(found["uid"]), **{_FIELDS.get(field, field): found["value"]})
    if found := _CREATE.search(last.text):
        named = _PAGE.search(last.text.replace(found["value"], "")) or _PAGE.search(request.system)
        return call("create_page_draft", parent=int(named[1]) if named else 1, title=found["value"])
    if found := _FIND.search(last.text):
        return call("search_pages", words=found["value"])
    # It calls no tool, and it is the answer that somebody would believe.
    return CLAIM if re.search(r"home|start", last.text, re.IGNORECASE) else HELP
