"""
Texts of a host in files: read once, refused as a whole, with file and key (V10).
"""

import subprocess
import sys

import pytest

from nr_agent_core.adapters.catalogues import CatalogueFiles
from nr_agent_core.domain.errors import CatalogueError
from nr_agent_core.domain.texts import render
from nr_agent_core.ports.translator import Translator


def write(folder, **files):
    """Files by the name of their language; their paths."""
    paths = []
    for name, content in files.items():
        path = folder / f"{name.replace('_', '-')}.toml"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        paths.append(path)
    return paths


def test_a_file_changes_a_text_and_another_adds_a_language(tmp_path):
    """Files are called like their language; of a folder, all are read."""
    write(tmp_path, en='[card]\napprove = "Go"', pt_PT='card.deny = "Não"', sv='card.deny = "Avslå"')
    for texts in (CatalogueFiles(tmp_path, partial=True), CatalogueFiles(*tmp_path.iterdir(), partial=True)):
        translator: Translator = texts

        assert [render("card.deny", {}, tag, translator) for tag in ("sv-FI", "pt-pt", "pt")] == [
            "Avslå",
            "Não",
            "Recusar",
        ]
        assert [render("card.approve", {}, tag, translator) for tag in ("en", "sv")] == ["Go", "Go"]
        assert "pt-pt" in texts.languages


def test_a_copy_of_a_shipped_file_is_a_whole_language(tmp_path):
    """Who adds a language starts from a copy."""
    from importlib.resources import files

    english = files("nr_agent_core.domain.texts").joinpath("en.toml").read_text(encoding="utf-8")
    (path,) = write(tmp_path, sv=english)

    assert CatalogueFiles(str(path)).translate("card.deny", {}, "sv") == "Deny"


@pytest.mark.parametrize(
    ("content", "key", "text"),
    [
        ("card.deny = ", "", "is damaged"),
        (b'card.deny = "\xff"', "", "is damaged"),
        ("a = " + "[" * 5000, "", "is damaged"),
        ('card.denied = "x"', "card.denied", "is not a key"),
        ('card.deny = "x {tool}"', "card.deny", "uses tool"),
        ('age.minutes = "{count.__class__}"', "age.minutes", "has a brace"),
        ('age.minutes = "{count.real} {count}"', "age.minutes", "has a brace"),
        ('age.minutes = "{count:>9}"', "age.minutes", "has a brace"),
        ('age.minutes = "{count!r}"', "age.minutes", "has a brace"),
        ('age.minutes = "{0}"', "age.minutes", "has a brace"),
        ('"card.deny" = "x"\n[card]\ndeny = "y"', "card.deny", "stands twice"),
        ('[card]\ndeny = "y"\n["reply"]\nx = "y"\n"z.a" = "x"\n[reply.z]\na = "x"', "reply.z.a", "stands twice"),
        ('card.deny = "x"', "notice.runEnded", "is missing"),
        ("", "notice.runEnded", "is missing"),
    ],
)
def test_a_wrong_file_is_refused_with_its_name_and_the_key(tmp_path, content, key, text):
    """Damaged or incomplete: an error at start-up that says where (V10)."""
    (path,) = write(tmp_path, sv=content)
    with pytest.raises(CatalogueError, match=text) as refused:
        CatalogueFiles(path)

    assert (refused.value.language, refused.value.key, refused.value.path) == ("sv", key, str(path))
    assert str(path) in str(refused.value)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    """A path that leads nowhere, an empty folder, a name that is no language, two files of one language."""
    write(tmp_path, fr='card.deny = "Non"')
    (tmp_path / "empty").mkdir()
    (strange,) = write(tmp_path / "empty", **{"my texts": ""})
    (tmp_path / "empty" / "none").mkdir()
    for paths, text in [
        ((tmp_path / "sv.toml",), "cannot be read"),
        ((tmp_path / "empty" / "none",), "without files"),
        ((strange,), "not called like a language"),
        ((tmp_path, tmp_path / "fr.toml"), "is of the same language"),
    ]:
        with pytest.raises(CatalogueError, match=text):
            CatalogueFiles(*paths)


def test_a_process_reads_the_languages_it_shows_and_no_other():
    """Importing reads no catalogue, and a reader's sentence reads that reader's."""
    program = (
        "import nr_agent_core.domain.texts as texts\n"
        "from nr_agent_core.domain import package_data\n"
        "assert package_data.read_toml.cache_info().currsize == 0\n"
        "texts.reply_sentence('runCancelled', 'pl')\n"
        "assert package_data.read_toml.cache_info().currsize == 1\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
