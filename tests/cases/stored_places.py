"""
Places where stores keep things, read as what they hold; and runs that leave markers in them.
"""

from collections.abc import Callable
from typing import Any

from nr_agent_core import Chat, Decision, Sent
from nr_agent_core.ports.content_cipher import ContentCipher
from nr_agent_core.testing.manual_clock import ManualClock
from nr_agent_core.testing.scripted_model import call, round_of
from tests.chat.world import ANNA, World, digest_of

ARGUMENT, RESULT = "Quendelwurz", "Zimbelkraut"
"""Only in the arguments of calls, only in their results."""
PROMPT, ANSWER = "Please make the page Lerchensporn.", "I made it: Hainsimse."


class Place:
    """
    Where a store keeps things: a file or a schema. Every :meth:`store` on it is another process.
    """

    def __init__(self, make: Callable[..., Any], dump: Callable[[], bytes], run: Callable[..., None]) -> None:
        self._make, self.dump, self.behind = make, dump, run
        self.clock = ManualClock()
        self._stores: list[Any] = []

    def store(self, cipher: ContentCipher | None = None) -> Any:
        """A store on it."""
        store = self._make(clock=self.clock, cipher=cipher)
        self._stores.append(store)
        return store

    def world(self, cipher: ContentCipher | None = None) -> World:
        """A host over a store on it."""
        return World(self.store(cipher), self.clock)

    def close(self) -> None:
        """Nothing stays open."""
        for store in self._stores:
            store.close()


def run_of(place: Place, world: World, times: int, level: str = "metadata", size: int = 1) -> None:
    """Conversations whose runs read, write, wait and end, with markers in arguments and results."""
    search = world.host.search
    world.host.search = lambda arguments, context: f"{search(arguments, context)} {RESULT * size}"  # type: ignore[method-assign]
    for number in range(times):
        chat = world.chat(
            round_of(call("search_pages"), call("rename_page", title=f"{ARGUMENT * size} {number}")),
            call("create_page", title=ARGUMENT * size),
            ANSWER,
            rules={"privacy": level, "unattended": ("rename_page",)},
        )
        decide(world, chat, chat.send(PROMPT, ANNA))


def decide(world: World, chat: Chat, sent: Sent) -> Any:
    """What waits is approved."""
    assert sent.conversation is not None
    return chat.decide(sent.conversation, Decision.APPROVE, card=digest_of(world, sent.run_id), by=ANNA)


def waiting(world: World, **parts: Any) -> tuple[Chat, Sent]:
    """A run that waits for the approval of one call."""
    chat = world.chat(call("create_page", title=ARGUMENT), ANSWER, **parts)
    return chat, chat.send(PROMPT, ANNA)
