"""
The plan of a chaos: who does what, when processes are killed or stopped, when the store is away and clocks jump.

A seed decides all of it. How the machine schedules the processes it does not decide, so the same seed does
not make the same interleaving again; it makes the same attempts.
"""

# ruff: noqa: S311 - dice, no secrets

import json
import random
import signal
from pathlib import Path

import attrs

DEADLINE = 0.3
"""Seconds of real time after which a tool is given up."""
PLAN = "plan.json"
OUTAGES = {
    "sqlite": {"full disk": 4.0, "file too large": 4.0, "locked file": 5.0},
    "postgres": {"cut connections": 3.0, "server down": 9.0, "lost jobs": 3.0},
}
"""How a store can be away, or its queue lose what it holds, and after how many seconds about that happens again."""
CREW = ("keeper", "worker", "worker")
"""Who works beside the web processes: names of :data:`tests.chaos.workers.KINDS`, one for each process."""
POINTS = (("commit", 40), ("effect", 8), ("effect", 8), ("announcement", 8), ("tool", 8), ("reconcile", 1))
"""What a life does outside, and within how many of them its fate lies."""
LEAPS = ((-900.0, -30.0), (30.0, 900.0), (900.0, 20_000.0))
"""How many seconds the clock jumps: back, on within a lease or a few, or far beyond every one."""
WINDOW = 8
"""How many conversations are in use at one time: so few that processes meet in them."""


@attrs.frozen
class Fault:
    """
    Something that the conductor does to a process, to the store or to the clock, *lasts* seconds long.
    """

    at: float
    kind: str
    place: int = 0
    lasts: float = 0.0
    amount: float = 0.0


@attrs.frozen
class Fate:
    """
    A process signals itself before or after the thing with this number that it does outside.
    """

    point: str
    number: int
    moment: str
    signal: int

    def meets(self, point: str, number: int, moment: str) -> bool:
        """Whether it is now."""
        return (self.point, self.number, self.moment) == (point, number, moment)


@attrs.frozen(kw_only=True)
class Plan:
    """
    What a seed decides. It travels to the processes as a file.

    ``place`` of the store: a path for SQLite; connection string and schema for PostgreSQL. ``began`` is the
    moment in the machine's time from which everything is counted.
    """

    seed: int
    store: str
    seconds: float
    workers: int
    began: float = 0.0
    dsn: str = ""
    schema: str = ""

    def write(self, folder: Path) -> None:
        """Leave it in *folder*."""
        (folder / PLAN).write_text(json.dumps(attrs.asdict(self)))

    @classmethod
    def read(cls, folder: Path) -> "Plan":
        """The plan in *folder*."""
        return cls(**json.loads((folder / PLAN).read_text()))

    @property
    def leaps(self) -> bool:
        """Whether the clock of :mod:`.clock` is the store's; every other seed leaves PostgreSQL the server's own."""
        return self.store == "sqlite" or self.seed % 2 == 1

    @property
    def kinds(self) -> tuple[str, ...]:
        """Of which kind each process is, by its place: web processes, one that keeps house, workers of the queue."""
        return ("web",) * self.workers + CREW

    @property
    def conversations(self) -> tuple[str, ...]:
        """Every conversation that is opened before anybody acts."""
        return tuple(f"c{number:04d}" for number in range(WINDOW + int(max(self.seconds, 1) * 4)))

    def dice(self, *names: object) -> random.Random:
        """Chance that belongs to *names* alone."""
        return random.Random("/".join(map(str, (self.seed, *names))))

    def conversation(self, dice: random.Random, elapsed: float) -> str:
        """One of those in use *elapsed* seconds after the beginning."""
        every = self.conversations
        first = int(min(max(elapsed / max(self.seconds, 0.001), 0.0), 1.0) * (len(every) - WINDOW))
        return every[first + dice.randrange(WINDOW)]

    def fate(self, place: int, life: int) -> Fate | None:
        """What the process in *place* does to itself in its *life*, if anything."""
        dice = self.dice("fate", place, life)
        if dice.random() < 0.15:
            return None
        point, most = dice.choice(POINTS)
        ends = signal.SIGKILL if dice.random() < 0.7 else signal.SIGSTOP
        return Fate(point, dice.randrange(most), dice.choice(("before", "after")), int(ends))

    def faults(self) -> list[Fault]:
        """All that is done from outside, in order."""
        outages = OUTAGES[self.store]
        return sorted(
            [
                *self._every(1.4, "kill"),
                *self._every(1.2, "stop", lasts=((0.05, 0.5), (1.0, 3.0))),
                *(self._every(2.5, "jump", amount=LEAPS) if self.leaps else ()),
                *(
                    fault
                    for kind, seconds in outages.items()
                    for fault in self._every(seconds, kind, lasts=((0.2, 1.2), (1.6, 2.6)))
                ),
            ],
            key=lambda fault: fault.at,
        )

    def _every(
        self,
        seconds: float,
        kind: str,
        *,
        lasts: tuple[tuple[float, float], ...] = ((0.0, 0.0),),
        amount: tuple[tuple[float, float], ...] = ((0.0, 0.0),),
    ) -> list[Fault]:
        dice, at, faults = self.dice("faults", kind), 0.0, list[Fault]()
        while True:
            at += dice.uniform(0.3, 1.7) * seconds
            if at >= self.seconds:
                return faults
            place = dice.randrange(len(self.kinds))
            span, leap = dice.choice(lasts), dice.choice(amount)
            faults.append(Fault(at, kind, place, dice.uniform(*span), dice.uniform(*leap)))


def shares_hands(plan: Plan) -> bool:
    """Whether several workers may be brought one run at a time: threads have nobody who would tell them."""
    return plan.store == "sqlite"
