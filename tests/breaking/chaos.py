"""
Chaos: worker processes over one store are killed and stopped at random moments while they send,
decide, cancel, supersede, retry, recover and look after runs, some of them living much later than others.

Afterwards a host log of real effects is compared with streams, feed, messages and announcements.

    python -m tests.breaking.chaos --seconds 60 --workers 4 --seed 1 [--postgres]
"""

# ruff: noqa: S311 - dice, no secrets

import argparse
import json
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from nr_agent_core import (
    Chat,
    NoticeCode,
    ToolEffect,
)
from nr_agent_core.domain.errors import AgentCoreError
from nr_agent_core.domain.run import Run
from nr_agent_core.domain.run_events import Claimed, ToolFinished, ToolStarted
from tests.breaking.chaos_world import ANNA, DEADLINE, PLACE, DriftingClock, World, chat_of, record_of
from tests.postgres_server import Server

CONVERSATIONS = 10
SPAWN = multiprocessing.get_context("spawn")

Entry = tuple[str, str, str]


def act(chat: Chat, clock: DriftingClock, conversations: list[str]) -> None:
    """One thing that somebody does."""
    conversation, chance = random.choice(conversations), random.random()
    if chance < 0.25:
        chat.send(random.choice(("Do it.", "Do it.", "Weiter")), ANNA, conversation=conversation)
    elif chance < 0.75:
        card = chat.view(conversation, ANNA).card
        if card is not None and random.random() < 0.5:
            chat.decide(conversation, random.choice(("approve",) * 5 + ("deny",)), card=card, by=ANNA)
        elif card is not None:
            chat.runtime.decide(card.run_id, "approve", digest=card.digest, by="boss")
    elif chance < 0.8:
        chat.cancel(conversation, ANNA)
    elif chance < 0.85:
        chat.retry(conversation, ANNA)
    elif chance < 0.9:
        clock.later(lambda: chat.send("Do it later.", ANNA, conversation=conversation))
    else:
        clock.later(lambda: chat.upkeep(limit=3))


def work(folder: Path, conversations: list[str], began: float, seed: int) -> None:
    """A worker process: two threads that act until the file ``stop`` appears."""
    random.seed(seed)
    world, clock = World(folder), DriftingClock(began)
    chat = chat_of(world, clock)

    def loop() -> None:
        while not (folder / "stop").exists():
            try:
                act(chat, clock, conversations)
            except AgentCoreError as error:
                world.note("refused", error=type(error).__name__)
            except Exception as error:  # noqa: BLE001 - nothing else may rise
                world.note("raised", error=repr(error))
            time.sleep(random.uniform(0, 0.02))

    threads = [threading.Thread(target=loop) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # Whatever outlasts its deadline ends within this time.
    time.sleep(5 * DEADLINE)
    world.note("ended", left=chat.close(wait=5.0))
    os._exit(0)


class Chaos:
    """
    One run of chaos, and what it left: figures, and violations of the guarantee.
    """

    def __init__(self, folder: Path, *, seconds: float, workers: int, seed: int) -> None:
        self._folder, self._seconds, self._count = folder, seconds, workers
        self._dice, self._began = random.Random(seed), time.time()
        self._gone: set[int] = set()
        self.figures: Counter[str] = Counter()
        self.violations: list[str] = []
        self._world, self._clock = World(folder), DriftingClock(self._began)
        self._chat = chat_of(self._world, self._clock)
        self._conversations = [self._chat.open(ANNA) for _ in range(CONVERSATIONS)]

    def play(self) -> None:
        """Let the workers work and die, then bring all runs to an end, and compare."""
        workers = [self._worker() for _ in range(self._count)]
        stopped: dict[Any, float] = {}
        end = time.monotonic() + self._seconds
        try:
            while time.monotonic() < end:
                time.sleep(self._dice.uniform(0.1, 0.5))
                self._wake(stopped)
                place = self._dice.randrange(self._count)
                if self._dice.random() < 0.4:
                    workers[place] = self._kill(workers[place], stopped)
                elif workers[place] not in stopped:
                    os.kill(workers[place].pid, signal.SIGSTOP)
                    stopped[workers[place]] = time.monotonic() + self._dice.uniform(0.05, 1.5)
                    self.figures["stops"] += 1
        finally:
            (self._folder / "stop").touch()
            self._wake(stopped, everybody=True)
            for worker in workers:
                self._end(worker)
        self._bring_to_an_end()
        self._compare()

    def _worker(self) -> Any:
        seed = self._dice.randrange(2**32)
        worker = SPAWN.Process(target=work, args=(self._folder, self._conversations, self._began, seed), daemon=True)
        worker.start()
        return worker

    def _kill(self, worker: Any, stopped: dict[Any, float]) -> Any:
        self._gone.add(worker.pid)
        stopped.pop(worker, None)
        worker.kill()
        worker.join()
        self.figures["kills"] += 1
        return self._worker()

    def _wake(self, stopped: dict[Any, float], *, everybody: bool = False) -> None:
        for worker, until in list(stopped.items()):
            if everybody or until < time.monotonic():
                os.kill(worker.pid, signal.SIGCONT)
                del stopped[worker]

    def _end(self, worker: Any) -> None:
        worker.join(60)
        if worker.is_alive():
            self._gone.add(worker.pid)
            worker.kill()
            worker.join()
            self._require(False, "a worker never ended")

    def _bring_to_an_end(self) -> None:
        for _ in range(20):
            self._clock.later(lambda: self._chat.upkeep(limit=1000))
            time.sleep(0.05)
        time.sleep(5 * DEADLINE)
        self._world.note("ended", left=self._chat.close(wait=5.0))

    # -- the comparison -----------------------------------------------------------------------

    def _compare(self) -> None:
        store = self._chat.runtime.segments.store
        written = [entry.written for entry in store.writes(after=0, limit=10**6)]
        feed = Counter((write.correlation_id, str(write.reference), write.kind.value) for write in written)
        notices: dict[str, list[NoticeCode]] = {}
        for conversation in self._conversations:
            for message in store.messages(conversation, limit=10**6):
                if message.run_id is not None:
                    notices.setdefault(message.run_id, []).extend(notice.code for notice in message.notices)
        streams: Counter[Entry] = Counter()
        runs = {run_id: self._run(run_id, codes, streams) for run_id, codes in notices.items()}
        self._require(streams == feed, "the feed is not what the streams hold")
        effects = self._world.lines("effect")
        left = {line["pid"] for line in self._world.lines("ended") if line["left"]}
        self.figures["left"], self._gone = len(left), self._gone | left
        self._at_most_once(effects)
        self._announcements(set(feed))
        self._effects(effects, runs, notices)
        self.figures.update(f"refused: {line['error']}" for line in self._world.lines("refused"))
        self.violations.extend(f"raised: {line['error']}" for line in self._world.lines("raised"))

    def _run(self, run_id: str, codes: list[NoticeCode], streams: Counter[Entry]) -> Run:
        run, open_at_end = Run(run_id), False
        for stored in self._chat.runtime.segments.store.events(run_id):
            event, before = stored.event, run
            run = run.after(event)
            if run.settled and not before.settled:
                open_at_end = bool(run.evidence.open_calls)
            if isinstance(event, ToolFinished):
                streams.update((run_id, str(write.reference), write.kind.value) for write in event.writes)
                self.figures["late outcomes"] += event.late
            self.figures["recovered"] += isinstance(event, Claimed)
            self.figures["intents"] += isinstance(event, ToolStarted)
        assert run.status is not None
        self.figures.update(("runs", run.status.value))
        self.figures["unknown still"] += bool(run.evidence.open_calls)
        self.figures["unknown said"] += open_at_end
        said, ends = NoticeCode.WRITE_OUTCOME_UNKNOWN in codes, codes.count(NoticeCode.RUN_ENDED)
        self._require(run.settled or run.request is not None, f"run {run_id} was left at work")
        self._require(said == open_at_end, f"run {run_id}: unknown is {open_at_end}, said {said}")
        self._require(ends <= 1, f"run {run_id}: its end was told {ends} times")
        return run

    def _at_most_once(self, effects: list[dict[str, Any]]) -> None:
        self.figures["writes"] = len(effects)
        harmful = ToolEffect.NON_IDEMPOTENT_WRITE.value
        times = Counter(line["key"] for line in effects if line["effect"] == harmful)
        self.figures["repeats"] = len(effects) - len({line["key"] for line in effects})
        for key, count in times.items():
            self._require(count == 1, f"key {key} was executed {count} times")

    def _announcements(self, feed: set[Entry]) -> None:
        lines = self._world.lines("announced")
        heard = {(line["run"], line["record"], line["kind"]) for line in lines}
        self.figures["announced"] = len(lines)
        for entry in feed - heard:
            self._require(False, f"{entry} was stored and never announced")
        for line in lines:
            entry = (line["run"], line["record"], line["kind"])
            self._require(
                line["pid"] in self._gone or entry in feed,
                f"{entry} was announced and is not in the feed; its process lived",
            )

    def _effects(
        self, effects: list[dict[str, Any]], runs: dict[str, Run], notices: dict[str, list[NoticeCode]]
    ) -> None:
        happened: set[tuple[str, str]] = set()
        for line in effects:
            record = "pages:{1}".format(*record_of(line["key"]))
            happened.add((line["run"], record))
            run = runs.get(line["run"])
            if run is None:
                self._require(False, f"an effect of run {line['run']}, which no conversation knows")
                continue
            reading = line["effect"] == ToolEffect.READ_ONLY.value
            if reading and line["pid"] in self._gone:
                # No intent was stored: nobody can know of it once its process is gone.
                continue
            evidence = run.evidence
            known = evidence.is_open(line["call"]) or record in [str(write.reference) for write in evidence.records]
            self._require(known, f"lost: {line} in a run that is {run.status}: {evidence}")
            wrong = NoticeCode.NOTHING_SAVED in notices[run.id] and not reading
            self._require(not wrong, f"wrong nothingSaved beside {line}")
        for run in runs.values():
            for write in run.evidence.records:
                self._require((run.id, str(write.reference)) in happened, f"{write} of {run.id} never happened")

    def _require(self, holds: bool, otherwise: str) -> None:
        if not holds:
            self.violations.append(otherwise)


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="Chaos over one store.")
    parser.add_argument("--postgres", action="store_true", help="over a private PostgreSQL server, not a SQLite file")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with ExitStack() as cleanup:
        folder = cleanup.enter_context(tempfile.TemporaryDirectory())
        if given.postgres:
            server = Server()
            cleanup.callback(server.end)
            (Path(folder) / PLACE).write_text(json.dumps([server.dsn(), server.schema()]))
        chaos = Chaos(Path(folder), seconds=given.seconds, workers=given.workers, seed=given.seed)
        chaos.play()
    sys.stdout.write(f"{json.dumps(chaos.figures, indent=1)}\n{len(chaos.violations)} violations\n")
    sys.stdout.write("".join(f"- {violation}\n" for violation in chaos.violations[:40]))
    return bool(chaos.violations)


if __name__ == "__main__":
    sys.exit(main())
