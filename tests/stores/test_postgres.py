"""What only PostgreSQL does: servers that are away, refuse, restart, or never answer."""

import asyncio
import itertools
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

from gerbang.adapters.stores.pg_schema import VERSION
from gerbang.adapters.stores.postgres import PostgresStore
from gerbang.audit.chain import verify
from gerbang.errors import StoreError, StoreTooNew, StoreUnavailable
from gerbang.values.record import Batch, Committed, Take

from .helpers import CHILD_S, a_run, all_events, call, child, event, opened, rest_of, run
from .proxy import Cut, Proxy
from .server import Server

WRITER = Path(__file__).parent / "child_writer.py"


def refused(url: str, kind: type[StoreError] = StoreUnavailable) -> str:
    async def work() -> str:
        store = PostgresStore(url, patience_s=0.2)
        with pytest.raises(kind) as caught:
            await store.open()
        assert type(caught.value) is kind
        with pytest.raises(StoreError, match="closed"):
            await store.commit(Batch())
        await store.close()
        return str(caught.value)

    return run(work())


def test_a_server_that_is_down(tmp_path: Path) -> None:
    text = refused(f"postgresql://ana:hunter2@/db?host={tmp_path}")
    assert "cannot be reached" in text
    assert "Start the server" in text
    assert "hunter2" not in text
    text = refused("postgresql://ana:hunter2@127.0.0.1:1/db")
    assert "postgresql://ana@127.0.0.1:1/db" in text
    assert "hunter2" not in text


def test_a_wrong_password_is_said_and_never_shown(server: Server) -> None:
    hba = server.folder / "pg_hba.conf"
    before = hba.read_text()
    server.ask("CREATE ROLE locked LOGIN PASSWORD 'right'")
    hba.write_text("local all locked scram-sha-256\n" + before)
    try:
        server.ask("SELECT pg_reload_conf()")
        for password in ("hunter2", "h'u\\n:ter 2@", ""):
            text = refused(server.address("postgres", "locked", quote(password, safe="")))
            assert "password" in text
            assert "PGPASSWORD" in text
            assert not password or (password not in text and quote(password) not in text)
    finally:
        hba.write_text(before)
        server.ask("SELECT pg_reload_conf()")
        server.ask("DROP ROLE locked")


def test_a_database_or_a_user_that_does_not_exist(server: Server) -> None:
    assert "`createdb`" in refused(server.address("nowhere"))
    assert "let this user in" in refused(server.address("postgres", "nobody"))


def test_a_user_without_rights(server: Server, bare_database: str) -> None:
    server.ask("CREATE ROLE weak LOGIN")
    try:
        text = refused(bare_database.replace("postgres@", "weak@"))
        assert "rights to create and use the schema `gerbang`" in text
    finally:
        server.ask("DROP ROLE weak")


def test_a_database_that_cannot_hold_all_text(server: Server) -> None:
    server.ask("CREATE DATABASE narrow ENCODING 'SQL_ASCII' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
    try:
        assert "createdb -E UTF8" in refused(server.address("narrow"))
    finally:
        server.drop_database("narrow")


def test_a_newer_store_is_left_alone(bare_database: str) -> None:
    async def fill() -> None:
        async with opened(bare_database) as store:
            await store.commit(Batch(runs=[a_run()]))

    run(fill())
    with psycopg.connect(bare_database, autocommit=True) as connection:
        newer = str(VERSION + 1).encode()
        connection.execute("UPDATE gerbang.meta SET value = %s WHERE name = 'schema_version'", (newer,))
    assert "Update gerbang" in refused(bare_database, StoreTooNew)


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("CREATE TABLE gerbang.meta (a int)", "belongs to another program"),
        ("CREATE TABLE gerbang.runs (a int)", "belongs to another program"),
        ("CREATE TABLE gerbang.meta (name text, value bytea)", "missing or wrong"),
    ],
)
def test_a_schema_of_another_program(bare_database: str, statement: str, says: str) -> None:
    with psycopg.connect(bare_database, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA gerbang")
        connection.execute(statement.encode())
    assert says in refused(bare_database)


def test_a_server_that_only_reads_can_be_read(server: Server, bare_database: str) -> None:
    name = bare_database.partition("?")[0].rpartition("/")[2]

    async def fill() -> None:
        async with opened(bare_database) as store:
            await store.commit(Batch(runs=[a_run()]))

    run(fill())
    server.ask(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    server.ask(f"ALTER DATABASE {name} SET synchronous_commit = off")

    async def look() -> None:
        async with opened(bare_database) as store:
            assert await store.run("r1") == a_run()

    run(look())


def test_what_is_acknowledged_is_on_disk_and_who_hangs_is_sent_away(bare_database: str) -> None:
    from gerbang.adapters.stores.pg_connection import Address

    with Address(f"{bare_database}&options=-csynchronous_commit%3Doff").connect() as connection:
        settings = {
            name: connection.execute(f"SHOW {name}".encode()).fetchone()
            for name in (
                "synchronous_commit",
                "idle_in_transaction_session_timeout",
                "transaction_timeout",
                "lock_timeout",
            )
        }
    assert settings == {
        "synchronous_commit": ("on",),
        "idle_in_transaction_session_timeout": ("5s",),
        "lock_timeout": ("10s",),
        "transaction_timeout": ("6s",),
    }


def test_eight_processes_create_the_store_at_once(bare_database: str) -> None:
    writers = [child(WRITER, bare_database, prefix, "r1", "2", "1") for prefix in "abcdefgh"]
    for writer in writers:
        _, trouble = writer.communicate(timeout=CHILD_S)
        assert (writer.returncode, trouble) == (0, "")
    assert len(sound(bare_database)) == 16


def sound(url: str, run_id: str = "r1") -> set[str]:
    """Return the keys in the store after checking that each batch is there as a whole."""

    async def work() -> set[str]:
        async with opened(url) as store:
            calls = await store.calls(run_id)
            events = await all_events(store, run_id)
            assert verify(events) is None
            assert [e.kind for e in events] == ["call.planned", "call.sent"] * len(calls)
            assert sorted(e.body.decode() for e in events[::2]) == sorted(c.key for c in calls)
            assert [e.body for e in events[::2]] == [e.body for e in events[1::2]]
            return {found.key for found in calls}

    return run(work())


def test_processes_append_to_one_run(database: str) -> None:
    writers = [child(WRITER, database, prefix, "r1", "40", "4") for prefix in "abc"]
    for writer in writers:
        _, trouble = writer.communicate(timeout=CHILD_S)
        assert (writer.returncode, trouble) == (0, "")
    assert sound(database) == {f"{prefix}{number}" for prefix in "abc" for number in range(40)}


@pytest.mark.parametrize("acknowledged", [1, 60])
def test_a_killed_writer_has_lost_nothing_that_was_acknowledged(database: str, acknowledged: int) -> None:
    writer = child(WRITER, database, "k", "r1", "0", "16")
    assert writer.stdout is not None
    assert writer.stdout.readline() == "ready\n"
    keys = [writer.stdout.readline().strip() for _ in range(acknowledged)]
    writer.kill()
    rest = rest_of(writer)
    keys += [line.strip() for line in rest.splitlines(keepends=True) if line.endswith("\n")]
    assert set(keys) <= sound(database)


def test_a_restart_of_the_server_in_the_middle(server: Server, database: str) -> None:
    """What waits is written when the server is back; what was acknowledged before is there; once each."""

    async def work() -> None:
        async with opened(database) as store:
            done: list[str] = []
            enough = False  # they go on until the server has been away twice, however fast they are

            async def producer(number: int) -> None:
                for turn in itertools.count():
                    if enough:
                        return
                    key = f"{number}-{turn}"
                    outcome = await store.commit(Batch(claims=[call(key)], events=[event(body=key.encode())]))
                    assert outcome.taken is None
                    assert await store.call(key) is not None
                    done.append(key)

            producers = [asyncio.create_task(producer(number)) for number in range(8)]
            for _ in range(2):
                target = len(done) + 40
                while len(done) < target:
                    await asyncio.sleep(0.001)
                await asyncio.to_thread(server.restart)
            enough = True
            await asyncio.gather(*producers)
            events = await all_events(store, "r1")
            assert verify(events) is None
            assert sorted(e.body.decode() for e in events) == sorted(done)
            assert len(await store.calls("r1")) == len(done)

    run(work())


def test_a_server_that_stays_away(server: Server, database: str) -> None:
    async def work() -> None:
        store = PostgresStore(database, patience_s=0.3)
        await store.open()
        await store.commit(Batch(events=[event()]))
        await asyncio.to_thread(server.stop)
        try:
            with pytest.raises(StoreUnavailable, match="cannot be reached"):
                await store.commit(Batch(events=[event()]))
            with pytest.raises(StoreUnavailable, match="cannot be reached"):
                await store.run("r1")
        finally:
            await asyncio.to_thread(server.start)
        assert await store.commit(Batch(events=[event()])) == Committed(2)
        assert verify(await store.events("r1")) is None
        await store.close()

    run(work())


@pytest.fixture
def proxy(server: Server) -> Iterator[Proxy]:
    with tempfile.TemporaryDirectory(prefix="gpx") as folder:
        between = Proxy(Path(folder), server.folder)
        yield between
        between.close()


@pytest.mark.parametrize("cut", ["before COMMIT arrives", "before its answer arrives"])
def test_a_commit_whose_answer_is_lost_is_read_back_and_never_done_twice(
    server: Server, database: str, proxy: Proxy, cut: Cut
) -> None:
    async def work() -> None:
        name = database.partition("?")[0]
        store = PostgresStore(f"{name}?host={proxy.folder}")
        await store.open()
        limit = Take("k", 1e6, 4)
        for turn in range(1, 5):
            proxy.cut = cut
            batch = Batch(claims=[call(f"k{turn}")], events=[event()], takes=(limit,))
            assert await store.commit(batch) == Committed(turn)
            assert proxy.cuts == turn
        assert len(await store.calls("r1")) == 4
        assert len(await store.events("r1")) == 4
        assert (await store.commit(Batch(takes=(limit,)))).limited is not None
        proxy.cut = cut
        taken = await store.commit(Batch(claims=[call("k1", ordinal=9)], events=[event()]))
        assert taken.taken == call("k1")
        await store.close()

    run(work())


@pytest.mark.parametrize("cut", ["before COMMIT arrives", "before its answer arrives"])
def test_a_fate_that_cannot_be_found_out_is_said(
    server: Server, database: str, proxy: Proxy, cut: Cut
) -> None:
    async def work() -> None:
        name = database.partition("?")[0]
        store = PostgresStore(f"{name}?host={proxy.folder}", patience_s=0.3)
        await store.open()
        await store.commit(Batch(events=[event()]))
        proxy.cut, proxy.last = cut, True
        with pytest.raises(StoreUnavailable, match="not known"):
            await store.commit(Batch(claims=[call("k")], events=[event()]))
        assert proxy.cuts == 1
        await store.close()
        async with opened(database) as other:
            written = await other.call("k") is not None
            assert written == (cut == "before its answer arrives")
            assert len(await other.events("r1")) == 1 + written

    run(work())


def test_a_holder_that_sleeps_through_the_loss_of_its_lease_writes_nothing_more(database: str) -> None:
    """Stopped at any moment, in the middle of a transaction as well; the server sends its session away."""

    async def work() -> None:
        async with opened(database) as store:
            writer = child(WRITER.with_name("child_stopped.py"), database)
            assert writer.stdout is not None
            assert writer.stdout.readline() == "ready\n"
            while len(await store.events("r1")) < 20:
                await asyncio.sleep(0.005)
            writer.send_signal(signal.SIGSTOP)
            try:
                await asyncio.sleep(0.6)
                taken = await store.lease("r1", "other", 1000)
                assert taken is not None
                written = len(await store.events("r1"))
            finally:
                writer.send_signal(signal.SIGCONT)
            out, trouble = await asyncio.to_thread(writer.communicate, timeout=CHILD_S)
            assert (out, trouble) == ("fenced\n", "")
            assert len(await store.events("r1")) == written
            assert (await store.commit(Batch(events=[event()], lease=("r1", taken.fence)))).written
            assert verify(await store.events("r1")) is None

    run(work())
