"""
The chaos suite: worker processes over one store are killed, stopped and cut off while they send, decide, cancel and
recover; then everything that is left is compared.

    python -m tests.chaos.chaos --store sqlite --seconds 60 --seed 1 --workers 4
"""

import argparse
import logging
import secrets
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import attrs

from tests.chaos.comparison import Comparison, Violation
from tests.chaos.conductor import Conductor, emptied
from tests.chaos.plan import Plan
from tests.chaos.streams import Tale
from tests.postgres_server import NoServerError, Server

_MOST_SHOWN = 5


@attrs.frozen
class Result:
    """
    What one chaos came to.
    """

    plan: Plan
    figures: Counter[str]
    violations: list[Violation]
    tales: dict[str, Tale]
    folder: Path

    @property
    def report(self) -> str:
        """For a person: the figures, and of each violation the stream that it is about and how to run again."""
        return "\n".join((*self._figures(), *self._failures()))

    def _figures(self) -> Iterator[str]:
        plan = self.plan
        yield f"chaos on {plan.store}, seed {plan.seed}, {plan.seconds:g} s, {plan.workers} workers and a keeper"
        yield from (f"  {count:>7} {name}" for name, count in sorted(self.figures.items()))
        yield f"  {len(self.violations):>7} violations"

    def _failures(self) -> Iterator[str]:
        shown = set[str]()
        for what, run_id in self.violations[:_MOST_SHOWN]:
            yield f"- {f'run {run_id}: ' if run_id else ''}{what}"
            if run_id in self.tales and run_id not in shown:
                shown.add(run_id)
                yield from self.tales[run_id].lines()
        if self.violations:
            plan = self.plan
            left = len(self.violations) - _MOST_SHOWN
            if left > 0:
                yield f"- and {left} more"
            yield f"what is left: {self.folder}"
            yield (
                f"run again: make chaos STORE={plan.store} SEED={plan.seed} SECONDS={plan.seconds:g}"
                f" WORKERS={plan.workers}"
            )


def played(folder: Path, plan: Plan, server: Server | None = None) -> Result:
    """Play *plan* in an empty *folder*, and compare."""
    if server is not None:
        plan = attrs.evolve(plan, dsn=server.dsn(), schema=server.schema())
    began = time.monotonic()
    conductor = Conductor(folder, plan, server)
    conductor.play()
    seconds = round(time.monotonic() - began)
    comparison = Comparison(folder, conductor.plan, conductor.dead)
    figures = conductor.figures + comparison.figures
    figures["seconds, the quiet phase included"] = seconds
    troubles = [Violation((trouble, "")) for trouble in conductor.troubles]
    return Result(conductor.plan, figures, [*troubles, *comparison.violations], comparison.tales, folder)


def main() -> int:
    """The command: one chaos for each store that is asked for."""
    parser = argparse.ArgumentParser(description="Chaos over one store.")
    parser.add_argument("--store", choices=["sqlite", "postgres", "both"], default="both")
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=None, help="by default another one each time")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--folder", type=Path, help="for its files; by default one that a success removes")
    given = parser.parse_args()
    seed = secrets.randbelow(10**6) if given.seed is None else given.seed
    stores = ("sqlite", "postgres") if given.store == "both" else (given.store,)
    failed = False
    for store in stores:
        plan = Plan(seed=seed, store=store, seconds=given.seconds, workers=given.workers)
        failed |= _play(plan, given.folder, needed=given.store != "both")
    return failed


def _play(plan: Plan, given: Path | None, *, needed: bool) -> bool:
    """Whether it failed."""
    server: Server | None = None
    folder = Path(tempfile.mkdtemp(prefix=f"chaos-{plan.store}-")) if given is None else emptied(given / plan.store)
    logging.basicConfig(filename=folder / "log-conductor", format="%(asctime)s %(message)s", force=True)
    violated = True
    try:
        if plan.store == "postgres":
            server = Server()
        result = played(folder, plan, server)
        violated = bool(result.violations)
        sys.stdout.write(f"{result.report}\n")
        sys.stdout.flush()
    except NoServerError as reason:
        sys.stdout.write(f"NOT TESTED: {reason}\n")
        violated = needed
    finally:
        if server is not None:
            server.end()
        if not violated and given is None:
            shutil.rmtree(folder, ignore_errors=True)
    return violated


if __name__ == "__main__":
    sys.exit(main())
