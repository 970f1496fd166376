"""The file: private, ours, migrated forward; every way in which it cannot be used says what to do."""

import asyncio
import contextlib
import hashlib
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from gerbang.adapters.stores.schema import APPLICATION_ID, VERSION
from gerbang.adapters.stores.sqlite import SqliteStore
from gerbang.errors import StoreBusy, StoreError, StoreTooNew, StoreUnavailable
from gerbang.values.record import Batch, Committed

from .helpers import a_run, call, event, opened, run

HERE = Path(__file__).parent


async def fill(path: Path) -> None:
    async with opened(f"sqlite:{path}") as store:
        await store.commit(Batch(runs=[a_run()], claims=[call("k")], events=[event()]))


def refused(path: Path, kind: type[StoreError]) -> str:
    async def work() -> str:
        store = SqliteStore(path, busy_timeout_s=0.1)
        with pytest.raises(kind) as caught:
            await store.open()
        assert type(caught.value) is kind
        with pytest.raises(StoreError, match="closed"):
            await store.commit(Batch())
        await store.close()
        return str(caught.value)

    return run(work())


def test_the_file_and_its_side_files_are_for_their_owner_only(path: Path) -> None:
    async def work() -> None:
        async with opened(f"sqlite:{path}") as store:
            await store.commit(Batch(runs=[a_run()]))
            modes = {entry.name: stat.S_IMODE(entry.stat().st_mode) for entry in path.parent.iterdir()}
            assert modes == {"store.db": 0o600, "store.db-wal": 0o600, "store.db-shm": 0o600}

    before = os.umask(0)
    try:
        run(work())
    finally:
        os.umask(before)
    assert [entry.name for entry in path.parent.iterdir()] == ["store.db"]  # the log is folded in at the end


def test_what_is_written_is_synced_at_each_commit(path: Path) -> None:
    run(fill(path))
    with contextlib.closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert database.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_newer_store_is_left_alone(path: Path) -> None:
    run(fill(path))
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE meta SET value = ? WHERE name = 'schema_version'", (VERSION + 1,))
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    text = refused(path, StoreTooNew)
    assert f"format {VERSION + 1}" in text
    assert "Update gerbang" in text
    assert hashlib.sha256(path.read_bytes()).hexdigest() == before


def test_another_programs_database_is_left_alone(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE meta (name TEXT, value TEXT)")
    before = path.read_bytes()
    assert "another program" in refused(path, StoreUnavailable)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "content", [b"not a database, but a note of some length\n" * 30, b"x", b"SQLite format 3\x00"]
)
def test_a_file_that_is_no_database_is_left_alone(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    assert str(path) in refused(path, StoreUnavailable)
    assert path.read_bytes() == content


def test_an_empty_file_becomes_a_store(path: Path) -> None:
    path.touch()
    run(fill(path))


def test_a_missing_folder_is_named_and_not_made(tmp_path: Path) -> None:
    text = refused(tmp_path / "missing" / "store.db", StoreUnavailable)
    assert str(tmp_path / "missing") in text
    assert "Create it" in text
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_not_a_store(tmp_path: Path) -> None:
    assert "is a folder" in refused(tmp_path, StoreUnavailable)


def test_a_name_that_is_too_long_is_no_store(tmp_path: Path) -> None:
    assert "too long" in refused(tmp_path / ("a" * 300), StoreUnavailable)
    assert "too long" in refused(tmp_path / ("a" * 300) / "store.db", StoreUnavailable)


def test_a_pipe_is_not_a_store(path: Path) -> None:
    os.mkfifo(path)
    assert "not a file" in refused(path, StoreUnavailable)


def test_damage_is_reported_as_damage(path: Path) -> None:
    run(fill(path))
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(100)
        file.write(b"\xff" * (size - 100))
    assert "damaged" in refused(path, StoreUnavailable)


@pytest.mark.parametrize("what", ["file", "folder"])
def test_without_write_permission(what: str) -> None:
    """In a child, as another user when the tests run as root, for whom nothing is read-only."""
    folder = Path(tempfile.mkdtemp())
    try:
        path = folder / "store.db"
        if what == "file":
            run(fill(path))
            path.chmod(0o444)
        folder.chmod(0o555)
        child = subprocess.run(
            [sys.executable, str(HERE / "child_unprivileged.py"), str(path)],
            capture_output=True,
            text=True,
            check=True,
        )
        assert child.stdout.startswith("StoreUnavailable ")
        assert "writable" in child.stdout
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


def test_a_lock_held_by_another_process_for_too_long(path: Path) -> None:
    async def work() -> None:
        await fill(path)
        store = SqliteStore(path, busy_timeout_s=0.1)
        await store.open()
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            outcomes = await asyncio.gather(
                *(store.commit(Batch(events=[event()])) for _ in range(5)), return_exceptions=True
            )
            assert all(isinstance(outcome, StoreBusy) for outcome in outcomes)
            assert "Another process" in str(outcomes[0])
            assert len(await store.events("r1")) == 1  # reading goes on
            other.execute("ROLLBACK")
        assert await store.commit(Batch(events=[event()])) == Committed(2)
        await store.close()

    run(work())


def test_a_lock_held_for_a_moment_is_waited_for(path: Path) -> None:
    async def work() -> None:
        await fill(path)
        async with opened(f"sqlite:{path}") as store:
            with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
                waiting = asyncio.ensure_future(store.commit(Batch(events=[event()])))
                await asyncio.sleep(0.05)
                assert not waiting.done()
                other.execute("COMMIT")
                assert await waiting == Committed(2)

    run(work())


def test_one_bad_batch_does_not_fail_the_others(path: Path) -> None:
    async def work() -> None:
        async with opened(f"sqlite:{path}") as store:
            batches = [Batch(claims=[call(f"k{n}")], events=[event(), event()]) for n in range(20)]
            batches[7].claims = [
                call("k7", ordinal=2**80)
            ]  # no column holds it: found only when it is written
            outcomes = await asyncio.gather(*map(store.commit, batches), return_exceptions=True)
            bad = outcomes.pop(7)
            assert isinstance(bad, StoreError)
            assert "type or size" in str(bad)
            assert outcomes == [Committed(2 * n) for n in range(1, 20)]
            assert await store.call("k7") is None
            assert len(await store.events("r1")) == 38

    run(work())


def test_closing_writes_what_is_queued(path: Path) -> None:
    async def work() -> None:
        store = SqliteStore(path)
        await store.open()
        waiting = [asyncio.ensure_future(store.commit(Batch(events=[event()]))) for _ in range(200)]
        await asyncio.sleep(0)
        await store.close()
        assert [outcome.seq for outcome in await asyncio.gather(*waiting)] == list(range(1, 201))

    run(work())


def test_opening_twice_at_once_opens_once(path: Path) -> None:
    async def work() -> None:
        store = SqliteStore(path)
        await asyncio.gather(*(store.open() for _ in range(4)))
        assert [thread.name for thread in threading.enumerate()].count("gerbang-store") == 1
        await store.close()
        assert [thread.name for thread in threading.enumerate()].count("gerbang-store") == 0

    run(work())


def test_one_store_in_two_event_loops_of_one_process(path: Path) -> None:
    store = SqliteStore(path)
    run(store.open())

    async def work(name: str) -> list[int]:
        outcomes = await asyncio.gather(*(store.commit(Batch(events=[event(name)])) for _ in range(20)))
        return [outcome.seq for outcome in outcomes]

    async def both() -> list[list[int]]:
        return list(await asyncio.gather(*(asyncio.to_thread(run, work(name)) for name in ("a", "b"))))

    assert run(both()) == [list(range(1, 21))] * 2
    run(store.close())


def test_a_program_that_never_closes_ends_all_the_same(path: Path) -> None:
    program = (
        "import asyncio, sys\nfrom gerbang.adapters.stores import open_store\n"
        "from gerbang.values.event import NewEvent\n"
        "from gerbang.values.record import Batch\n"
        "async def work():\n"
        "    store = open_store(sys.argv[1]); await store.open()\n"
        "    await store.commit(Batch(events=[NewEvent('r1', 'a', b'')]))\n"
        "asyncio.run(work())"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", program, f"sqlite:{path}"], check=True, timeout=30)

    async def work() -> None:
        async with opened(f"sqlite:{path}") as store:
            assert len(await store.events("r1")) == 1

    run(work())
