"""
The page's own words, in German and English.
"""

import functools
import tomllib
from collections.abc import Mapping
from pathlib import Path

LANGUAGES = {"de": "Deutsch", "en": "English"}


@functools.cache
def _catalogues() -> Mapping[str, Mapping[str, str]]:
    with (Path(__file__).parent / "words.toml").open("rb") as file:
        return tomllib.load(file)


class Words:
    """
    The words of one language: ``words("sign_in_as", name="…")``.
    """

    def __init__(self, language: str) -> None:
        self.language = language if language in LANGUAGES else "en"

    def __call__(self, name: str, /, **arguments: object) -> str:
        """The word *name*; one that is not there is a KeyError, since these are ours."""
        return _catalogues()[self.language][name].format(**arguments)


def preferred(accepted: str) -> str:
    """The first of our languages in an Accept-Language header, else English."""
    for entry in accepted.split(",")[:20]:
        language = entry.split(";")[0].strip()[:2].lower()
        if language in LANGUAGES:
            return language
    return "en"
