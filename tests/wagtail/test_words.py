"""
Django's catalogues as the translator, and the marks that the feed brings.
"""

import gettext
import re
from pathlib import Path

import pytest
from django.core.management import call_command
from django.urls import reverse
from django.utils import translation

from examples.wagtail_site.django_chat.translator import CONTEXT, DjangoTranslator
from examples.wagtail_site.website import assistant
from examples.wagtail_site.website.labels import catch_up, heard
from examples.wagtail_site.website.models import AiMark, FeedPosition
from nr_agent_core import AiRecordWritten, Reader, RecordReference, WriteKind
from nr_agent_core.domain.texts.catalogues import shipped
from nr_agent_core.domain.texts.rendering import render
from tests.wagtail.site import Person, Site, page, shown, text_of

ROOT = Path(__file__).parents[2] / "examples" / "wagtail_site"
CATALOGUES = sorted(ROOT.rglob("*.po"))
ENTRY = re.compile(
    r'(?:msgctxt "(?P<context>.*)"\n)?msgid "(?P<id>.+)"\n(?:msgid_plural .*\n)?msgstr(?:\[0\])? "(?P<text>.*)"'
)


@pytest.mark.parametrize("catalogue", CATALOGUES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_compiled_catalogue_is_the_written_one(catalogue: Path) -> None:
    """What Django reads is what translators wrote; every sentence has a translation."""
    with catalogue.with_suffix(".mo").open("rb") as file:
        compiled = gettext.GNUTranslations(file)
    entries = list(ENTRY.finditer(catalogue.read_text(encoding="utf-8")))
    assert entries

    for entry in entries:
        if entry["context"]:
            known = {
                compiled.pgettext(entry["context"], entry["id"]),
                compiled.npgettext(entry["context"], entry["id"], "", 1),
            }
        else:
            known = {compiled.gettext(entry["id"])}
        assert entry["text"].replace('\\"', '"') in known


def test_the_keys_of_the_library_are_its_own() -> None:
    """A key that the library does not ask for would be a translation that nobody ever sees."""
    keys = {
        entry["id"]
        for catalogue in CATALOGUES
        for entry in ENTRY.finditer(catalogue.read_text(encoding="utf-8"))
        if entry["context"] == CONTEXT
    }

    assert keys
    assert keys <= set(shipped("en"))


@pytest.mark.parametrize(
    ("key", "arguments", "language", "text"),
    [
        ("notice.nothingSaved", {}, "fr", "Rien n'a été enregistré à cette étape"),
        ("notice.nothingSaved", {}, "fr-ca", "Rien n'a été enregistré à cette étape"),
        ("age.minutes", {"count": 1}, "fr", "1 minute"),
        ("age.minutes", {"count": 5}, "fr", "5 minutes"),
        ("age.hours", {"count": 5}, "fr", "5 heures"),  # not translated here: the library speaks
        ("notice.nothingSaved", {}, "de", "In diesem Schritt wurde nichts gespeichert"),
        ("record.created", {"reference": "pages:7"}, "fr", "pages:7 (créé)"),
    ],
)
def test_django_is_asked_first(key: str, arguments: dict[str, object], language: str, text: str) -> None:
    """A sentence of a catalogue is shown; of what the catalogues lack, the library's own (V10)."""
    assert render(key, arguments, language, DjangoTranslator()) == text


@pytest.mark.parametrize(
    "hostile",
    ["{count.__class__}", "{count.real}", "{count:>9}", "{count!r}", "{reference[0]}", "{count.__init__}"],
)
def test_a_text_of_a_catalogue_is_no_format(monkeypatch: pytest.MonkeyPatch, hostile: str) -> None:
    """It names its arguments. Attributes, indexes and conversions are text like any other."""
    monkeypatch.setattr(translation, "pgettext", lambda context, key: f"{{reference}}: {hostile}")
    monkeypatch.setattr(translation, "npgettext", lambda context, key, keys, count: f"{{count}}: {hostile}")

    assert DjangoTranslator().translate("record.created", {"reference": "pages:7"}, "en") == f"pages:7: {hostile}"
    assert DjangoTranslator().translate("age.minutes", {"count": 5}, "en") == f"5: {hostile}"


def test_a_reader_in_a_language_that_only_the_site_has(editor: Person) -> None:
    """The language of the reader is that of Wagtail's profile."""
    conversation = editor.ask("Décris la page home.")
    profile = editor.user.wagtail_userprofile
    profile.preferred_language = "fr"
    profile.save()

    assert "Rien n'a été enregistré à cette étape" in shown(editor.sees(conversation))


def test_the_set_up_is_told_in_the_language_of_whoever_looks(editor: Person, administrator: Person) -> None:
    """One language does not stay for the next reader."""
    editor.user.is_superuser = True
    editor.user.save()

    assert "Arbeitsprozesse" in text_of(editor.client.get(reverse("chat:setup")))
    assert "Workers" in text_of(administrator.client.get(reverse("chat:setup")))


def test_a_write_whose_listener_died_is_marked_from_the_feed(editor: Person, site: Site) -> None:
    """The feed tells what the bus could not, once (W4)."""
    conversation = editor.ask(f"Lege unter pages:{page('News').pk} eine Seite 'Team' an.")
    editor.decide(conversation, "approve")
    AiMark.objects.all().delete()  # as if the process had died before

    assert (catch_up(site.chat.runtime), catch_up(site.chat.runtime)) == (1, 0)
    assert AiMark.objects.get().page == page("Team").pk
    assert FeedPosition.objects.get().position > 0


def test_a_repeated_event_makes_one_mark(site: Site) -> None:
    """All three values are the key; records of other kinds are no pages (W3)."""
    for kind in (WriteKind.CREATED, WriteKind.CREATED, WriteKind.UPDATED):
        heard(AiRecordWritten("r1", RecordReference("pages", 7), kind))
    heard(AiRecordWritten("r1", RecordReference("images", 7), WriteKind.CREATED))

    assert sorted(AiMark.objects.values_list("page", "kind")) == [(7, "created"), (7, "updated")]


def test_upkeep_forgets_what_the_chat_forgot(editor: Person, site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    """A conversation past its window goes from the list too; a young one stays."""
    conversation = editor.ask("Hallo")
    call_command("chat_upkeep")
    assert site.chat.view(conversation, Reader(editor.id))
    assert conversation in text_of(editor.client.get(reverse("chat:index")))

    call_command("chat_upkeep", "--conversation-days", "0.0000001")

    assert conversation not in text_of(editor.client.get(reverse("chat:index")))
    assert "UpkeepReport" in capsys.readouterr().out


def test_a_script_does_not_grow_with_what_it_was_asked(site: Site) -> None:
    """A scripted model keeps every request; a process that lives for weeks must not."""
    assert assistant.model() is not assistant.model()
