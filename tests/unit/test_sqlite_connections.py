"""
The SQLite store at work: who waits for whom, which connections there are, and where its file may lie.
"""

import gc
import os
import sqlite3
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import pytest

from nr_agent_core.adapters.sqlite import NetworkFileSystemWarning, SqliteStore, connections, file_system
from nr_agent_core.adapters.sqlite.file_system import network_file_system
from nr_agent_core.domain.errors import (
    StoreUnavailableError,
)
from nr_agent_core.testing.contracts.store_contract import opened, said
from nr_agent_core.testing.manual_clock import ManualClock
from tests.unit.conftest import setting

# --------------------------------------------------------------------------------------- waiting


def test_a_locked_file_is_waited_for_and_then_told(store: SqliteStore, path: Path) -> None:
    """A bounded wait, then an error; the change counts as refused and can be tried again (R3)."""
    opened(store, "c1")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    began = time.monotonic()

    with pytest.raises(StoreUnavailableError, match="locked"):
        store.commit([said("c1", "Hello.")])

    assert time.monotonic() - began >= 0.1
    assert store.messages("c1") == ()
    other.execute("ROLLBACK")
    other.close()
    store.commit([said("c1", "Hello.")])
    assert len(store.messages("c1")) == 1


def test_threads_wait_for_each_other_and_are_told(store: SqliteStore) -> None:
    """The queue of a process is bounded like the wait for others."""
    opened(store, "c1")
    with store._connections.writer, pytest.raises(StoreUnavailableError, match="threads"):
        store.commit([said("c1", "Hello.")])

    store.commit([said("c1", "Hello.")])


def test_stamps_are_of_the_commit_and_not_of_the_wait_before_it(path: Path) -> None:
    """Who had to wait gets leases and stamps as of now (R8)."""
    clock = ManualClock()
    store = SqliteStore(path, clock=clock)
    opened(store, "c1")
    waiting = threading.Event()

    class Announcing:
        def acquire(self, timeout: float) -> bool:
            waiting.set()
            return real.acquire(timeout=timeout)

        def release(self) -> None:
            real.release()

    real = store._connections.writer
    key = (os.getpid(), store._connections.file)
    connections._writers[key] = Announcing()  # type: ignore[assignment]
    try:
        with real:
            thread = threading.Thread(target=lambda: (store.commit([said("c1", "Late.")]), store.close()))
            thread.start()
            assert waiting.wait(30)
            clock.advance(100)
        thread.join(30)
    finally:
        connections._writers[key] = real

    assert store.messages("c1")[0].at == clock.now()
    store.close()


def test_two_stores_of_a_process_queue_for_one_file(path: Path, tmp_path: Path) -> None:
    """One writer a file, however often and under whatever name it was opened; another file is not concerned."""
    (tmp_path / "link.db").symlink_to(path)
    one, same, other = SqliteStore(path), SqliteStore(tmp_path / "link.db"), SqliteStore(tmp_path / "other.db")

    assert one._connections.writer is same._connections.writer
    assert one._connections.writer is not other._connections.writer


def test_readers_do_not_wait_for_a_writer(store: SqliteStore, path: Path) -> None:
    """What was committed is read while somebody else writes."""
    opened(store, "c1")
    store.commit([said("c1", "Committed.")])
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    other.execute("INSERT INTO conversation VALUES ('c2', 'berta', 0.0)")

    assert [message.text for message in store.messages("c1")] == ["Committed."]
    assert store.conversation_row("c2") is None
    assert len(store.history("c1", budget=10).messages) == 1

    other.execute("COMMIT")
    other.close()
    assert store.conversation_row("c2") is not None


def test_a_burst_of_writers_is_served(path: Path) -> None:
    """Late is fine, lost is not: many threads at once, each message is there."""
    store = SqliteStore(path, synchronous="NORMAL")
    opened(store, "c1")
    failed: list[BaseException] = []

    def burst(number: int) -> None:
        try:
            for each in range(10):
                store.commit([said("c1", f"{number}.{each}")])
        except BaseException as error:  # noqa: BLE001 - shown by the assertion
            failed.append(error)
        finally:
            store.close()

    threads = [threading.Thread(target=burst, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)

    assert failed == []
    texts = [message.text for message in store.messages("c1", limit=1000)]
    assert sorted(texts) == sorted(f"{number}.{each}" for number in range(20) for each in range(10))
    store.close()


# ----------------------------------------------------------------------------------- connections


def test_each_thread_has_its_connection_and_leaves_none_behind(store: SqliteStore) -> None:
    """A thread that ends without closing takes its connection with it."""
    opened(store, "c1")
    seen: list[Any] = []

    def look() -> None:
        store.conversation_row("c1")
        seen.append(store._connections.of_this_thread()._db)

    thread = threading.Thread(target=look)
    thread.start()
    thread.join(30)

    assert seen[0] is not store._connections.of_this_thread()._db
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        seen[0].execute("SELECT 1")


def test_closing_concerns_the_calling_thread_alone(store: SqliteStore) -> None:
    """Others go on."""
    opened(store, "c1")
    mine = store._connections.of_this_thread()._db
    thread = threading.Thread(target=store.close)
    thread.start()
    thread.join(30)
    assert store._connections.of_this_thread()._db is mine

    store.close()

    assert store._connections.of_this_thread()._db is None
    assert store.conversation_row("c1") is not None


@pytest.mark.skipif(sys.version_info < (3, 13), reason="older interpreters say nothing of open connections")
def test_a_store_in_a_cycle_is_closed_before_its_connection_is_collected(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A traceback, for instance, holds a store and its connection in a cycle; the collector finds nothing open."""
    reports: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", reports.append)
    store = SqliteStore(path)
    with store._connections.of_this_thread() as db:
        cycle = [db, store]
    cycle.append(cycle)  # type: ignore[arg-type]

    del db, store, cycle
    gc.collect()

    assert [str(report.exc_value) for report in reports] == []


def test_memory_is_one_database_for_all_threads() -> None:
    """What one thread stores another reads, also while both write."""
    store = SqliteStore(":memory:")
    opened(store, "c1")

    def write() -> None:
        for _ in range(20):
            store.commit([said("c1", "Hello.")])
        store.close()

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert [message.position for message in store.messages("c1", limit=1000)] == list(range(80))


def test_two_stores_in_memory_are_two_databases() -> None:
    """An object is a database."""
    one, other = SqliteStore(":memory:"), SqliteStore(":memory:")
    opened(one, "c1")

    assert other.conversation_row("c1") is None


# ------------------------------------------------------------------------------ network file systems


def mountinfo(tmp_path: Path, *mounts: tuple[str, str]) -> Path:
    """A list of mounts as the kernel writes it."""
    lines = [
        f"{number} 1 0:{number} / {place} rw,relatime shared:1 master:2 - {kind} source rw"
        for number, (place, kind) in enumerate(mounts, 20)
    ]
    file = tmp_path / "mountinfo"
    file.write_text("\n".join(["", "nonsense", *lines]) + "\n", encoding="utf-8")
    return file


@pytest.mark.parametrize(
    "kind",
    [
        *("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "virtiofs", "vboxsf", "vmhgfs", "fuse.vmhgfs-fuse", "prl_fs"),
        *("fuse.sshfs", "fuse.rclone", "fuse.s3fs", "ceph", "fuse.glusterfs", "lustre", "afs", "fuse.grpcfuse"),
    ],
)
def test_file_systems_that_reach_other_machines_are_known(kind: str, tmp_path: Path) -> None:
    """Shares of the network and bridges out of a virtual machine alike."""
    mounts = mountinfo(tmp_path, ("/", "ext4"), ("/srv", kind))

    assert network_file_system("/srv/a/chat.db", mounts) == kind
    assert network_file_system("/srv", mounts) == kind
    assert network_file_system("/srvx/chat.db", mounts) is None


@pytest.mark.parametrize(
    "kind", ["ext4", "xfs", "btrfs", "zfs", "tmpfs", "overlay", "fuseblk", "fuse.mergerfs", "apfs", "ntfs3", "f2fs"]
)
def test_local_file_systems_are_no_reason_to_warn(kind: str, tmp_path: Path) -> None:
    """A warning that is always there is none."""
    assert network_file_system("/srv/chat.db", mountinfo(tmp_path, ("/", "ext4"), ("/srv", kind))) is None


def test_the_nearest_mount_counts(tmp_path: Path) -> None:
    """The longest place wins, among equal ones the last; blanks in a place are written as octals."""
    mounts = mountinfo(
        tmp_path,
        ("/", "nfs4"),
        ("/srv", "ext4"),
        ("/srv/share\\040one", "cifs"),
        ("/srv/twice", "nfs"),
        ("/srv/twice", "ext4"),
    )

    assert network_file_system("/home/chat.db", mounts) == "nfs4"
    assert network_file_system("/srv/chat.db", mounts) is None
    assert network_file_system("/srv/share one/chat.db", mounts) == "cifs"
    assert network_file_system("/srv/twice/chat.db", mounts) is None
    assert network_file_system("/srv/chat.db", tmp_path / "none") is None


def test_a_warning_comes_before_the_first_write(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once per store, before there is a file; and the log that needs shared memory is not used there."""
    monkeypatch.setattr(file_system, "MOUNTS", mountinfo(tmp_path, ("/", "virtiofs")))
    store = SqliteStore(path)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(NetworkFileSystemWarning, match="virtiofs"):
            opened(store, "c1")
    assert not path.exists()

    with pytest.warns(NetworkFileSystemWarning):
        opened(store, "c1")
    store.close()
    opened(store, "c2")
    assert setting(store, "journal_mode") == "delete"
    store.close()
