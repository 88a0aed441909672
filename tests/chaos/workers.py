"""
What the worker processes do, by kind: another kind comes into :data:`KINDS`.
"""

import ctypes
import hashlib
import json
import logging
import os
import random
import resource
import signal
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from nr_agent_core import Card, Chat, Reader, RoleAccess, SendOutcome, Sent
from nr_agent_core.domain.errors import AgentCoreError
from tests.chaos.life import Life
from tests.chaos.queueing import LOOK_EVERY, WatchedQueue, queue_of
from tests.chaos.tickets import HostAwayError, ticket
from tests.chaos.toolbox import Configurations, Toolbox

ANNA, BOSS = Reader("anna"), Reader("boss")
THREADS = 2
FOLLOWED = "followed"
"""The file to which the follower of the feed adds what it saw; the next life goes on behind its last line."""
SEEN = "seen"
"""The file of messages that were seen, as fingerprints."""
_DIES_WITH_PARENT = 1
LAST_WORDS = 20.0
"""Seconds that a life has in the end for outcomes that are not stored yet."""


def chat_of(life: Life, *, queued: bool = False) -> Chat:
    """A chat of one life; *queued*: one whose decisions, and messages if so wished, are carried out by workers."""
    store = life.store()
    return Chat(
        store=store,
        queue=WatchedQueue(queue_of(life.plan, store), life) if queued else None,
        configuration=Configurations(),
        tools=Toolbox(life).tools(),
        access=RoleAccess(owner_decides=True, administrators={BOSS.id}),
        bus=life,
        # In the time of the server a margin of a minute would outlast the chaos.
        lease_margin=60.0 if life.plan.leaps else 0.2,
    )


class Web:
    """
    A web process: its threads send, decide, cancel, retry, and look after what they meet; what they begin they carry
    out themselves, or hand over to workers.
    """

    def __init__(self, life: Life) -> None:
        self._life, self._chats = life, (chat_of(life), chat_of(life, queued=True))
        self._cards = deque[tuple[str, Card]](maxlen=20)

    def work(self) -> None:
        """Until the life is over."""
        in_threads(self._loop, THREADS)
        self._life.tell("ended", left=sum(chat.close(wait=LAST_WORDS) for chat in self._chats))

    def _loop(self, thread: int) -> None:
        life = self._life
        dice = life.plan.dice("acts", life.name, thread)
        while not life.over:
            attempted(life, lambda: self._act(dice))
            time.sleep(dice.uniform(0, 0.02))

    def _act(self, dice: random.Random) -> None:
        """One thing that somebody does in a conversation."""
        conversation, chance = self._life.plan.conversation(dice, self._life.elapsed), dice.random()
        handed = dice.random() < 0.5
        chat = self._chats[handed]
        runtime, queued = chat.runtime, handed and dice.random() < 0.8
        if chance < 0.30:
            self._ask(chat, dice, conversation, queued=queued)
        elif chance < 0.36:
            said = dice.choice(("Weiter", "go on", "ok", "I approved it", "habe alles freigegeben"))
            self._told("send", chat.send(said, ANNA, conversation=conversation, queued=queued))
        elif chance < 0.76:
            self._decide(chat, dice, conversation)
        elif chance < 0.80:
            self._told("cancel", chat.cancel(conversation, ANNA))
            if dice.random() < 0.5:
                self._told("retry", chat.retry(conversation, ANNA, queued=queued))
        elif chance < 0.84:
            for item in runtime.inbox(BOSS, limit=dice.choice((1, 5))):
                if dice.random() < 0.3:
                    runtime.cancel(item.run_id, BOSS)
                else:
                    self._decide_outside(chat, item.card, dice.choice(("approve", "approve", "deny")))
        elif chance < 0.88:
            self._told("retry", chat.retry(conversation, ANNA, queued=queued))
        elif chance < 0.91:
            run = runtime.start(f"Task {dice.randrange(10**9)}.", ANNA)
            self._life.tell("send", outcome="accepted", run=run.run_id)
        elif chance < 0.94:
            chat.upkeep(limit=3)
        else:
            row = runtime.segments.store.conversation_row(conversation)
            if row is not None and row.last_run is not None:
                runtime.recover(row.last_run.id)

    def _ask(self, chat: Chat, dice: random.Random, conversation: str, *, queued: bool) -> None:
        """For something new: driven here, queued, or queued in a transaction of the host's."""
        text = f"Task {dice.randrange(10**9)}."
        if queued and self._life.plan.store == "postgres" and dice.random() < 0.4:
            self._send_in_own(chat, text, conversation, dice)
        else:
            self._told("send", chat.send(text, ANNA, conversation=conversation, queued=queued))

    def _send_in_own(self, chat: Chat, text: str, conversation: str, dice: random.Random) -> None:
        """A queued message in the host's own transaction, which is rolled back now and then."""
        life = self._life
        with suppress(HostAwayError), ticket(life.plan) as one:
            sent = chat.send(text, ANNA, conversation=conversation, queued=True, connection=one.connection)
            if sent.run_id is not None and sent.outcome is SendOutcome.ACCEPTED:
                one.names(sent.run_id)
                life.tell("ticket", run=sent.run_id)
            time.sleep(dice.choice((0.0, 0.02, 0.2)))
            stays = dice.random() < 0.6
            life.doing("commit", lambda: one.end(stays=stays))
            if stays:
                self._told("send", sent)

    def _decide(self, chat: Chat, dice: random.Random, conversation: str) -> None:
        """On the card that stands now, or on one that stood some time ago; in the chat or outside, or twice at once."""
        card = chat.view(conversation, ANNA).card
        if card is not None:
            self._cards.append((conversation, card))
        if self._cards and dice.random() < (0.1 if card is not None else 0.3):
            conversation, card = dice.choice(tuple(self._cards))
        if card is None:
            return
        choice, twice = dice.choice(("approve",) * 5 + ("deny",)), dice.random() < 0.3
        decisions: list[Callable[[], None]] = [
            lambda: self._decide_in_chat(chat, conversation, card, choice),
            lambda: self._decide_outside(chat, card, choice),
        ]
        dice.shuffle(decisions)
        if not twice:
            decisions[0]()
            return
        barrier = threading.Barrier(2)

        def at_once(number: int) -> None:
            barrier.wait()
            attempted(self._life, decisions[number])

        in_threads(at_once, 2)

    def _decide_in_chat(self, chat: Chat, conversation: str, card: Card, choice: str) -> None:
        sent = chat.decide(conversation, choice, card=card, by=ANNA)
        self._told("decide", sent, run=card.run_id, digest=card.digest, choice=choice, where="chat")

    def _decide_outside(self, chat: Chat, card: Card, choice: str) -> None:
        status = chat.runtime.decide(card.run_id, choice, digest=card.digest, by=BOSS).status.value
        decided = {"run": card.run_id, "digest": card.digest, "choice": choice, "where": "outside"}
        self._life.tell("decide", outcome="accepted", status=status, **decided)

    def _told(self, act: str, sent: Sent, **facts: object) -> None:
        code = None if sent.code is None else sent.code.value
        status = None if sent.status is None else sent.status.value
        told = {"conversation": sent.conversation, "outcome": sent.outcome.value, "run": sent.run_id, "code": code}
        told["status"] = status
        self._life.tell(act, **{**told, **facts})


class Keeper:
    """
    The process that keeps house: upkeep, and whoever follows the feed and reads messages elsewhere.
    """

    def __init__(self, life: Life) -> None:
        # Whoever keeps house may have the queue at hand, or not.
        self._life, self._chat = life, chat_of(life, queued=life.number % 2 == 1)
        self._store = self._chat.runtime.segments.store
        self._position = self._followed_before()
        self._feed, self._seen = (_opened(life.folder / name) for name in (FOLLOWED, SEEN))

    def work(self) -> None:
        """Until the life is over."""
        life, dice = self._life, self._life.plan.dice("keeper", self._life.number)
        while not life.over:
            attempted(life, self._follow)
            attempted(life, lambda: self._look(life.plan.conversation(dice, life.elapsed)))
            attempted(life, lambda: self._chat.upkeep(limit=10))
            time.sleep(dice.uniform(0.01, 0.1))
        life.tell("ended", left=self._chat.close(wait=LAST_WORDS))

    def _followed_before(self) -> int:
        path = self._life.folder / FOLLOWED
        known = path.read_text().splitlines() if path.exists() else []
        return int(json.loads(known[-1])[0]) if known else 0

    def _follow(self) -> None:
        for entry in self._store.writes(after=self._position, limit=100):
            written = entry.written
            line = [entry.position, written.correlation_id, str(written.reference), written.kind.value]
            os.write(self._feed, f"{json.dumps(line)}\n".encode())
            self._position = entry.position

    def _look(self, conversation: str) -> None:
        for message in self._store.messages(conversation, limit=5):
            line = [conversation, message.position, fingerprint(message)]
            os.write(self._seen, f"{json.dumps(line)}\n".encode())


class Worker:
    """
    A worker of the queue: a shift after the other, each of which ends in order if nothing kills it.
    """

    def __init__(self, life: Life) -> None:
        self._life, self._chat = life, chat_of(life, queued=True)

    def work(self) -> None:
        """Until the life is over."""
        life, dice = self._life, self._life.plan.dice("shifts", self._life.name)
        while not life.over:
            attempted(life, lambda: self._shift(dice.uniform(1.0, 8.0)))
        life.tell("ended", left=self._chat.close(wait=LAST_WORDS))

    def _shift(self, seconds: float) -> None:
        stop, until = threading.Event(), time.monotonic() + seconds

        def watch() -> None:
            while not (self._life.over or time.monotonic() > until or stop.is_set()):
                time.sleep(0.02)
            stop.set()

        threading.Thread(target=watch).start()
        try:
            self._chat.work(threads=THREADS, name=f"worker-{self._life.name}", stop=stop, look_every=LOOK_EVERY)
        finally:
            stop.set()


KINDS: dict[str, Callable[[Life], Any]] = {"web": Web, "keeper": Keeper, "worker": Worker}
"""
By its name, what a process of that kind is: made from its life, it works until that is over. A further kind comes
in here, and its processes in :data:`tests.chaos.plan.CREW`.
"""


def live(folder: Path, place: int, number: int) -> None:
    """The body of a worker process."""
    # Nobody outlives the conductor, whoever is stopped included; its death ends the server that forks.
    ctypes.CDLL(None).prctl(_DIES_WITH_PARENT, signal.SIGKILL)
    # Where a core would be written there is no room to spare; a file that is too large is an error, no signal.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    logging.basicConfig(filename=folder / f"log-{place}.{number}", format="%(asctime)s %(message)s", force=True)
    life = Life(folder, place, number)
    KINDS[life.plan.kinds[place]](life).work()
    os._exit(0)


def attempted(life: Life, act: Callable[[], object]) -> None:
    """Do *act*; what a host may be told is counted, anything else is told as an error."""
    try:
        act()
    except AgentCoreError as error:
        life.tell("refused", error=type(error).__name__, text=str(error))
    except Exception as error:  # noqa: BLE001 - nothing else may rise
        life.tell("raised", error=repr(error))


def in_threads(act: Callable[[int], None], count: int) -> None:
    """Do *act* in *count* threads, and wait for them."""
    threads = [threading.Thread(target=act, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def fingerprint(message: Any) -> str:
    """What a message says, as a short text."""
    notices = [[notice.code.value, dict(notice.arguments)] for notice in message.notices]
    said = [message.role.value, message.text, message.run_id, message.at, message.tokens, notices]
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:16]


def _opened(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
