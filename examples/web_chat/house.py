"""
The house that runs the chat: its people, what its administrators have set, and who may do what.
"""

import json
import os
import tempfile
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import attrs

from examples.site_chat.host import ADMINISTRATOR, APPROVER, EDITOR, PROMPT
from nr_agent_core import Action, Configuration, RoleAccess, Subject
from nr_agent_core.ports.model_provider import AnyModel


@attrs.frozen
class Person:
    """
    Somebody who can sign in; ``names`` is how each language calls them.
    """

    id: str
    names: Mapping[str, str]

    def name(self, language: str) -> str:
        """How *language* calls them."""
        return self.names.get(language) or self.names["en"]


PEOPLE = (
    Person(EDITOR.id, {"de": "Redaktion", "en": "Editor"}),
    Person(APPROVER.id, {"de": "Zweite Redaktion", "en": "Second editor"}),
    Person(ADMINISTRATOR.id, {"de": "Administration", "en": "Administrator"}),
)

CHOICES: dict[str, tuple[str, ...]] = {
    "chat": ("on", "off"),
    "service": ("answers", "keyless", "unreachable", "refuses_more"),
    "four_eyes": ("off", "on"),
    "expiry": ("never", "seconds", "minutes"),
    "previews": ("deciders", "administrators"),
    "mishap": ("none", "lost", "killed"),
}
"""What can be set, and to what; the first is the default."""

EXPIRY = {"never": None, "seconds": 20.0, "minutes": 600.0}


@attrs.frozen
class Settings:
    """
    What administrators have set; each is one of its :data:`CHOICES`.
    """

    chat: str = "on"
    service: str = "answers"
    four_eyes: str = "off"
    expiry: str = "never"
    previews: str = "deciders"
    mishap: str = "none"


class SettingsFile:
    """
    The settings in the file *path*: asked at the moment, replaced as a whole.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, threading.Lock()

    def now(self) -> Settings:
        """What is set now; what the file does not say, or says strangely, is the default."""
        try:
            stored = json.loads(self._path.read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError, RecursionError):
            return Settings()
        if not isinstance(stored, dict):
            return Settings()
        known = {name: value for name, value in stored.items() if value in CHOICES.get(name, ())}
        return Settings(**known)

    def change(self, **changes: str) -> Settings:
        """Set *changes*, all or none; a value that is no choice is a ValueError."""
        for name, value in changes.items():
            if value not in CHOICES.get(name, ()):
                raise ValueError(name)
        with self._lock:
            settings = attrs.evolve(self.now(), **changes)
            with tempfile.NamedTemporaryFile("w", dir=self._path.parent, delete=False, encoding="utf-8") as file:
                json.dump(attrs.asdict(settings), file)
            os.replace(file.name, self._path)  # noqa: PTH105 - a string is what the file's name is
        return settings


class HouseAccess(RoleAccess):
    """
    The roles of the house, and one finer right: who reads previews can be narrowed.
    """

    __slots__ = ("_settings",)

    def __init__(self, settings: SettingsFile) -> None:
        super().__init__(administrators={ADMINISTRATOR.id}, deciders={APPROVER.id})
        self._settings = settings

    def may(self, actor: str, action: Action, subject: Subject) -> bool:
        """As the roles say; previews of others for administrators only, if that is set."""
        if action is Action.READ_PREVIEW and self._settings.now().previews == "administrators":
            return actor == subject.owner or self.is_administrator(actor)
        return super().may(actor, action, subject)


class HouseConfiguration:
    """
    What is in force, by what is set at this moment; *model* makes the model for the service that is set.
    """

    def __init__(self, settings: SettingsFile, model: Callable[[str], AnyModel]) -> None:
        self._settings, self._model = settings, model

    def resolve(self, conversation: str | None, owner: str) -> Configuration | None:
        """The configuration for everybody, or None while the chat is switched off."""
        settings = self._settings.now()
        if settings.chat == "off":
            return None
        return Configuration(
            model=self._model(settings.service),
            trust_zone="externalEu",
            prompt=PROMPT,
            four_eyes=settings.four_eyes == "on",
            approval_expiry=EXPIRY[settings.expiry],
        )
