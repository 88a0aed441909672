"""
Bugs planted on purpose into a copy of the package: each must make a test fail.

A suite that stays green with one of these in place would prove nothing about the guarantee.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import attrs
import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "nr_agent_core"

CRASHES = ("tests/simulation", "-k", "memory")
PROCESSES = ("tests/processes",)
POSTGRES = "tests/postgres"


@attrs.frozen(kw_only=True)
class Bug:
    """
    What is changed (file, text, replacement) and which tests must notice.
    """

    name: str
    edits: tuple[tuple[str, str, str], ...]
    tests: tuple[str, ...]
    needs_server: bool = False


SEGMENT = "steps/segment.py"

BUGS = [
    Bug(
        name="expected sequence not checked",
        edits=(
            ("adapters/sqlite/appending.py", "WHERE id = ? AND sequence = ?", "WHERE id = ? AND ? >= 0"),
            ("adapters/sqlite/appending.py", '"INSERT INTO event(', '"INSERT OR REPLACE INTO event('),
        ),
        tests=(*PROCESSES, "-k", "six_processes_decide or overtaken"),
    ),
    Bug(
        name="takeover without an append",
        edits=(("domain/run.py", "own = self.intent_is_own", "own = True"),),
        tests=CRASHES,
    ),
    Bug(
        name="intent not durable before execution",
        edits=(
            (
                SEGMENT,
                "context.key))\n        yield self._commit(tool.deadline)",
                "context.key))\n        yield from ()",
            ),
        ),
        tests=CRASHES,
    ),
    Bug(
        name="opening not durable before execution",
        edits=(
            (
                SEGMENT,
                "context.key))\n        yield self._commit(tool.deadline)",
                "context.key))\n        yield from ()",
            ),
            (
                SEGMENT,
                "if self._buffer and (self._urgent or self.setting.now() + deadline > self._lease_until):",
                "if False:",
            ),
        ),
        tests=CRASHES,
    ),
    Bug(
        name="harmful write repeated",
        edits=((SEGMENT, "call.effect is ToolEffect.IDEMPOTENT_WRITE and", "call.effect.writes and"),),
        tests=CRASHES,
    ),
    Bug(
        name="announcement after the outcome",
        edits=(
            (
                SEGMENT,
                (
                    "        if result.writes and self.setting.stored:\n"
                    "            yield Announce(self.run.id, result.writes)\n"
                    "        self._add(finished(number, call, result))\n"
                ),
                (
                    "        self._add(finished(number, call, result))\n"
                    "        if result.writes and self.setting.stored:\n"
                    "            yield self._commit(120.0)\n"
                    "            yield Announce(self.run.id, result.writes)\n"
                ),
            ),
        ),
        tests=CRASHES,
    ),
    Bug(
        name="late outcome dropped",
        edits=(("runtime/segments.py", "wiring.late.keep_unstored(run.id, segment.unstored)", "pass"),),
        tests=(*PROCESSES, "-k", "overtaken or cancelled"),
    ),
    Bug(
        name="lease not read at the claim",
        edits=(
            (
                "adapters/sqlite/appending.py",
                "status = 'running' AND lease_until <= ?",
                "status = 'running' AND ? > 0",
            ),
        ),
        tests=(*PROCESSES, "-k", "overtaken"),
    ),
    Bug(
        name="outcome batched with the final answer",
        edits=((SEGMENT, "self._urgent = self._urgent or call.effect.writes or bool(result.writes)", "pass"),),
        tests=CRASHES,
    ),
    Bug(
        name="error of a repeat taken for the first try's",
        edits=((SEGMENT, "if result.outcome is not Outcome.TEXT:", "if False:"),),
        tests=CRASHES,
    ),
    Bug(
        name="late success after a deadline dropped",
        edits=(("driver/performer.py", "self._late.keep(run_id,", "(lambda *_: None)(run_id,"),),
        tests=(*PROCESSES, "-k", "outlasts"),
    ),
    Bug(
        name="driver cancelled between intent and outcome",
        edits=(
            (
                "driver/workers.py",
                'It goes on."""\n        return False',
                'It ends."""\n        return super().cancel(msg)',
            ),
        ),
        tests=("tests/asynchronous/test_cancelled.py",),
    ),
    Bug(
        name="run ended by a caller who is cancelled",
        edits=(("runtime/async_facade.py", "return await asyncio.shield(task)", "return await task"),),
        tests=("tests/asynchronous/test_cancelled.py",),
    ),
    Bug(
        name="cut stream taken for an answer",
        edits=(
            (
                "driver/model_reading.py",
                "self._answer is None or not self._answer.finish_reason",
                "self._answer is None",
            ),
        ),
        tests=("tests/asynchronous/test_readers.py",),
    ),
    Bug(
        name="runs whose worker is gone not looked for",
        edits=(
            (
                "runtime/worker.py",
                "for row in self._segments.store.due_runs(queued_grace=QUEUED_GRACE, limit=_AT_ONCE):",
                "for row in ():",
            ),
        ),
        tests=("tests/processes/test_workers.py", "-k", "killed_around and sqlite"),
    ),
    Bug(
        name="PostgreSQL, a message outside the host's transaction",
        edits=(
            (
                "adapters/procrastinate/queue.py",
                "beside=put if runs else None, connection=connection)",
                "beside=put if runs else None)",
            ),
        ),
        tests=(POSTGRES, "-k", "rolls_back"),
        needs_server=True,
    ),
    Bug(
        name="PostgreSQL, jobs without the lock of their conversation",
        edits=(
            (
                "adapters/procrastinate/queue.py",
                'f"run {run_id}" if conversation is None else',
                'f"run {run_id}" if True else',
            ),
        ),
        tests=("tests/contracts/test_run_queues.py",),
        needs_server=True,
    ),
    Bug(
        name="PostgreSQL, feed numbered by a sequence",
        edits=(
            (
                "adapters/postgres/appending.py",
                "UPDATE feed SET position = position + %s RETURNING position - %s AS before",
                "SELECT 100 + nextval('run_number_seq') + 0 * (%s + %s) AS before",
            ),
        ),
        tests=(POSTGRES, "-k", "slow_transaction"),
        needs_server=True,
    ),
    Bug(
        name="PostgreSQL, nothing held during a commit",
        edits=(
            (
                "adapters/postgres/appending.py",
                "return Step(_HOLD, (list(conversations), list(runs)))",
                "return Step(_HOLD, ([], []))",
            ),
        ),
        tests=(POSTGRES, "-k", "cross"),
        needs_server=True,
    ),
    Bug(
        name="PostgreSQL, a commit of unknown end begun again",
        edits=(("adapters/postgres/connections.py", "or not tries or spoilt() or", "or not tries or"),),
        tests=(POSTGRES, "-k", "unknown"),
        needs_server=True,
    ),
    Bug(
        name="PostgreSQL, expected sequence not checked",
        edits=(("adapters/postgres/appending.py", "WHERE id = %s AND sequence = %s", "WHERE id = %s AND %s >= 0"),),
        tests=("tests/contracts/test_postgres_store.py", "-k", "stale"),
        needs_server=True,
    ),
    Bug(
        name="PostgreSQL, sockets inherited by a fork",
        edits=(("adapters/postgres/inheritance.py", "os.dup2(nowhere", "(lambda *_, **__: None)(nowhere"),),
        tests=(POSTGRES, "-k", "dead_parent"),
        needs_server=True,
    ),
    Bug(
        name="PostgreSQL, connections that were cut not replaced",
        edits=(
            (
                "adapters/postgres/connections.py",
                "again = lost or is_stale(error) or is_repeatable(error)",
                "again = False",
            ),
        ),
        tests=(POSTGRES, "-k", "cut"),
        needs_server=True,
    ),
]


def run_tests(package_root: Path, tests: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    """The project's own tests against the package below *package_root*."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(package_root), str(ROOT))), "NR_PATIENCE": "10"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-o", "pythonpath=", *tests]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600, check=False)


def planted(folder: Path, bug: Bug) -> Path:
    """A copy of the package with *bug* in it."""
    shutil.copytree(PACKAGE, folder / "nr_agent_core", ignore=shutil.ignore_patterns("__pycache__"))
    for name, text, replacement in bug.edits:
        path = folder / "nr_agent_core" / name
        source = path.read_text()
        assert source.count(text) == 1, f"{name} no longer holds {text!r} once: plant the bug anew"
        path.write_text(source.replace(text, replacement))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name.replace(" ", "-"))
def test_a_planted_bug_is_noticed(tmp_path: Path, bug: Bug, request: pytest.FixtureRequest) -> None:
    """(P5, R6, R7, R8, W1) The tests see what each part of the order of commits is there for."""
    if bug.needs_server:
        request.getfixturevalue("postgres")
    done = run_tests(planted(tmp_path, bug), bug.tests)

    assert done.returncode == 1, f"nobody noticed: {bug.name}\n{done.stdout[-2000:]}"
    assert " failed" in done.stdout


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name.replace(" ", "-"))
def test_a_bug_can_still_be_planted(tmp_path: Path, bug: Bug) -> None:
    """The places are found; a bug that changes nothing would be noticed by nobody."""
    copy = planted(tmp_path, bug)

    changed = [name for name, _, _ in bug.edits]
    assert all((copy / "nr_agent_core" / name).read_text() != (PACKAGE / name).read_text() for name in changed)
    for name in changed:
        compile((copy / "nr_agent_core" / name).read_text(), name, "exec")


@pytest.mark.slow
def test_the_same_tests_pass_without_a_bug(tmp_path: Path) -> None:
    """What fails above fails because of the bug."""
    shutil.copytree(PACKAGE, tmp_path / "nr_agent_core", ignore=shutil.ignore_patterns("__pycache__"))

    done = run_tests(tmp_path, PROCESSES)

    assert done.returncode == 0, done.stdout[-3000:]
