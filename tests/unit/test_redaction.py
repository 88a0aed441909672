"""
The redactor: content without secrets, otherwise as it was (E4).
"""

import json
import string
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nr_agent_core.domain.previews import CallPreview
from nr_agent_core.domain.privacy import Privacy, privacy_level
from nr_agent_core.domain.redaction import is_secret_name, redact, redacted_event
from nr_agent_core.domain.run_events import ApprovalRequested, ModelAnswered, RunEvent, Started
from nr_agent_core.domain.sanitiser import WITHHELD, sanitise
from tests.unit.secrets_in_texts import CARRIERS, PASSWORDS, leaks, marked

# A path may be anything; the sanitiser removes it as one, the redactor keeps addresses and paths.
SECRET_CARRIERS = [carrier for carrier in CARRIERS if carrier != "https%3A%2F%2Fllm.example%2F{}"]
SECRET_NAMES = ("password", "apiKey", "x-api-key", "access_token", "Authorization", "client_secret", "pin", "sessionId")
PLAIN_NAMES = ("title", "uid", "count", "path", "pages", "author", "max_tokens")

plain_words = st.sampled_from(
    ["The", "page", "was", "saved", "under", "a", "new", "title", "and", "pages:42", "in", "/site/team.html."]
)
plain_texts = st.lists(plain_words, min_size=1, max_size=12).map(" ".join)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(string.printable, max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(PLAIN_NAMES), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(SECRET_CARRIERS), PASSWORDS)
def test_what_the_sanitiser_knows_as_a_secret_the_redactor_knows(carrier: str, password: str) -> None:
    """The two share their rules: a secret that no log shows is in no stored content either (E4, F3)."""
    text = carrier.format(password, password)
    assume(not leaks(sanitise(text, limit=None)))

    assert not leaks(redact(text))
    assert not leaks(redact(f"Before it. {text}"))
    assert not leaks(redact(json.dumps({"note": text})))


@given(st.text() | plain_texts | st.sampled_from(SECRET_CARRIERS) | json_values.map(json.dumps))
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    """The result is a fixed point, whatever the text holds."""
    once = redact(text)

    assert redact(once) == once
    once.encode()


@given(plain_texts)
def test_a_text_without_a_secret_stays(text: str) -> None:
    """Paths, addresses without an account, records and SQL are what a chat is about."""
    assert redact(text) == text
    assert redact(f"{text} See https://site.example/team and SELECT 1.").startswith(text)
    assert redact(json.dumps({"title": text}, indent=1)) == json.dumps({"title": text}, indent=1)


@given(json_values, st.sampled_from(SECRET_NAMES), marked(4), st.sampled_from((str, list, dict)))
def test_what_stands_under_the_name_of_a_secret_goes(value: Any, name: str, secret: str, kind: type) -> None:
    """In arguments and in results that are JSON, however deep, whatever it looks like."""
    held: Any = {str: secret, list: [secret, secret], dict: {"a": {"b": secret}}}[kind]
    for whole in ({name: held}, {"x": [value, {name: held}]}, {"inner": json.dumps({name: held})}):
        redacted = redact(json.dumps(whole))
        assert not leaks(redacted)
        assert json.loads(redacted).keys() == whole.keys()


@pytest.mark.parametrize("naming", ["name", "field", "header"])
def test_a_value_beside_the_name_of_a_secret_goes(naming: str) -> None:
    """Forms and headers often come as pairs."""
    text = json.dumps([{naming: "X-Api-Key", "value": "blue"}, {naming: "title", "value": "Team"}])

    assert json.loads(redact(text)) == [{naming: "X-Api-Key", "value": "[secret]"}, {naming: "title", "value": "Team"}]


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_names_of_secrets_are_known(name: str) -> None:
    """Whatever their spelling."""
    assert is_secret_name(name)
    assert is_secret_name(name.upper())


@pytest.mark.parametrize("name", ["keyword", "keywords", "meta_keywords", "seoKeywords"])
def test_keywords_are_no_keys(name: str) -> None:
    """What a page is found by is not what opens it."""
    text = json.dumps({name: "bread, Whitby", "key_words": "x"})

    assert not is_secret_name(name)
    assert json.loads(redact(text))[name] == "bread, Whitby"


def test_flags_and_counts_stay() -> None:
    """Whether there is one, and how many tokens were used, is no secret."""
    text = '{"private": true, "token": null, "max_tokens": 500, "title": "A"}'

    assert redact(text) == text
    assert json.loads(redact('{"token": 12}')) == {"token": "[secret]"}


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 50_000 + '"x"' + "}" * 50_000])
def test_what_is_nested_beyond_reason_goes(text: str) -> None:
    """It is never raised on what a text holds; what cannot be looked through is not kept."""
    assert redact(text) in (WITHHELD, text)
    assert redact('{"a":' * 50_000 + '{"password":"Zq7"}' + "}" * 50_000) == WITHHELD


@pytest.mark.parametrize(
    "text", ['{"a":"\\ud800","password":"Zq7"}', '{"a":NaN,"password":"Zq7"}', '{"a":1e999, "pin":"Zq7"}']
)
def test_what_was_stored_can_be_stored_again(text: str) -> None:
    """Half a surrogate pair or a number that JSON does not know does not keep a run from settling."""
    redacted = redact(text)

    assert "Zq7" not in redacted
    assert redacted.encode().decode() == redacted


def test_an_event_loses_secrets_of_its_content_alone() -> None:
    """Facts, and how many entries there are, stay."""
    answered = ModelAnswered(
        0, "p", "m", 9, 1, 0, text="password: Zq7", arguments=('{"token":"Zq7"}', "no JSON"), provider_ids=(None, "a-1")
    )
    asked = ApprovalRequested(
        "d" * 64, previews=(CallPreview("0.0", ("token: Zq7", "title: A"), more=3),), preconditions=(None, "v1")
    )
    started = Started("anna", 5, text="Bearer Zq7Zq7", instructions=None)

    kept: list[RunEvent] = [redacted_event(event) for event in (answered, asked, started)]

    assert not leaks(repr(kept))
    assert kept[0] == ModelAnswered(
        0, "p", "m", 9, 1, 0, text="password: [secret]", arguments=('{"token":"[secret]"}', "no JSON"),
        provider_ids=(None, "a-1"),
    )  # fmt: skip
    assert kept[1] == ApprovalRequested(
        "d" * 64, previews=(CallPreview("0.0", ("token: [secret]", "title: A"), more=3),), preconditions=(None, "v1")
    )


def test_a_secret_over_several_lines_of_a_preview_goes() -> None:
    """Lines are looked at together."""
    lines = ("-----BEGIN PRIVATE KEY-----", "Zq7Zq7", "-----END PRIVATE KEY-----", "title: A")

    kept = redacted_event(ApprovalRequested("d", previews=(CallPreview("0.0", lines),)))

    assert kept.previews is not None
    assert kept.previews[0].lines == ("[secret]", "title: A")


@given(st.none() | st.text(max_size=12) | st.integers() | st.just("FULL") | st.just(b"full"))
def test_an_unknown_level_is_the_strictest(setting: object) -> None:
    """A typing error never keeps more (E4)."""
    assume(setting not in ("redacted", "full"))

    assert privacy_level(setting) is Privacy.METADATA


@pytest.mark.parametrize("level", Privacy)
def test_a_level_is_named_by_its_value_or_itself(level: Privacy) -> None:
    """Both are what a host may have at hand."""
    assert privacy_level(level.value) is privacy_level(level) is level
