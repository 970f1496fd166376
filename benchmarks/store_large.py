"""A SQLite store with millions of events: what lists, a resume and the check of a long run take.

Ten million events of 100,000 runs (`--quick`: a million of 10,000), and one run of 100,000 events whose chain
is checked page by page. Medians of 20; the memory is what the check adds to the process at its peak.
"""

import asyncio
import contextlib
import sqlite3
import statistics
import tempfile
import time
import tracemalloc
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from harness import markdown, program

from gerbang.adapters.stores.sqlite import SqliteStore
from gerbang.audit.chain import verify
from gerbang.values.event import NewEvent
from gerbang.values.record import AnswerRow, Batch, CallRow, EventRow, RunRow

EVENTS_A_RUN = 100
LONG = 100_000
PAGE = 1000
BODY = b'{"tool":"files.read.v1","input_hash":"sha256:0123456789abcdef"}'
TIMES = 20

_RUNS = """
INSERT INTO runs SELECT 'run-' || value, 't' || (value % 50), 'ana',
    CASE value % 1000 WHEN 0 THEN 'running' WHEN 1 THEN 'denied' ELSE 'completed' END,
    value, value, '', '', '', '', 3, 0, NULL FROM generate"""
_EVENTS = """
INSERT INTO events SELECT chains.run, s.value, 'call.finished', ?, randomblob(32), NULL
FROM chains, (SELECT value FROM generate LIMIT ?) s WHERE chains.run BETWEEN ? AND ?"""
_APPROVALS = """
INSERT INTO approvals SELECT 'a' || value, 'run-' || value, 'k', 't', 't' || (value % 50),
    CASE value % 100 WHEN 0 THEN 'pending' ELSE 'used' END, 'b', 'p', x'', '[]', value, value, NULL, NULL, '',
    NULL FROM generate WHERE value % 10 = 0"""


def fill(path: Path, runs: int) -> None:
    """Write the rows of many runs as SQL; their digests are random."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA synchronous = OFF")
        database.execute("CREATE TEMP TABLE generate (value INTEGER PRIMARY KEY)")
        database.executemany("INSERT INTO generate VALUES (?)", ((n,) for n in range(1, runs + 1)))
        for statement in (
            _RUNS,
            "INSERT INTO chains (run_id) SELECT 'run-' || value FROM generate",
            _APPROVALS,
        ):
            database.execute(statement)
        (first,) = database.execute("SELECT min(run) FROM chains WHERE run_id LIKE 'run-%'").fetchone()
        for begin in range(first, first + runs, 10_000):
            database.execute(_EVENTS, (BODY, EVENTS_A_RUN, begin, min(begin + 9_999, first + runs - 1)))
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


async def write_long(store: SqliteStore) -> None:
    """Write one long run through the store, so that its chain is sound."""
    calls = [CallRow(f"k{n}", "long", str(n), 0, "c", "a.b.v1", "SUCCEEDED", "f") for n in range(100)]
    answers = [AnswerRow("long", n, b"{}") for n in range(100)]
    await store.commit(Batch([RunRow("long", "t1", "ana", "running", 1e9, 1e9)], answers, calls))
    for _ in range(LONG // PAGE):
        await store.commit(Batch(events=[NewEvent("long", "call.finished", BODY)] * PAGE))


async def check(store: SqliteStore) -> int:
    """Check the long run's chain page by page, and return its length."""
    former: EventRow | None = None
    while page := await store.events("long", after=former.seq if former else 0, limit=PAGE):
        if verify(page, former) is not None:
            raise SystemExit("the chain is broken")
        former = page[-1]
    return former.seq if former else 0


async def timed(work: Callable[[], Awaitable[Any]], times: int = TIMES) -> float:
    """Return the median seconds."""
    took = []
    for _ in range(times):
        began = time.perf_counter()
        await work()
        took.append(time.perf_counter() - began)
    return statistics.median(took)


async def measure(path: Path, runs: int) -> list[tuple[str, str]]:
    """Return what was measured."""
    store = SqliteStore(path)
    await store.open()
    await write_long(store)
    await store.close()
    fill(path, runs)

    async def opening() -> None:
        other = SqliteStore(path)
        await other.open()
        await other.close()

    async def resume() -> None:
        await store.run("long")
        await store.answers("long")
        await store.open_calls("long")

    middle = f"run-{runs // 2}"
    rows = [
        ("size of the file", f"{path.stat().st_size / 1e6:,.0f} MB"),
        ("open", _ms(await timed(opening))),
    ]
    await store.open()
    works: list[tuple[str, Callable[[], Awaitable[Any]]]] = [
        ("newest 50 runs", store.runs),
        ("50 runs from the middle on", lambda: store.runs(before=middle)),
        ("50 runs of a tenant in a state", lambda: store.runs(tenant="t1", state="denied")),
        ("100 unfinished runs", store.unfinished),
        ("100 approvals of a tenant that wait", lambda: store.approvals(tenant="t0", state="pending")),
        ("events of a run", lambda: store.events(middle)),
        ("what a resume reads of a run of 100 calls", resume),
        ("a commit of one event", lambda: store.commit(Batch(events=[NewEvent(middle, "x", BODY)]))),
    ]
    for what, work in works:
        rows.append((what, _ms(await timed(work))))
    rows.append((f"check of {LONG:,} events", _ms(await timed(lambda: check(store), 3))))
    tracemalloc.start()
    await check(store)
    rows.append(("memory of that check at its peak", f"{tracemalloc.get_traced_memory()[1] / 1e6:.1f} MB"))
    tracemalloc.stop()
    await store.close()
    return rows


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:,.2f} ms"


def table(quick: bool = False) -> str:
    """Measure and return the table."""
    runs = 10_000 if quick else 100_000
    with tempfile.TemporaryDirectory() as name:
        rows = asyncio.run(measure(Path(name, "large.db"), runs))
    return markdown((f"{runs * EVENTS_A_RUN:,} events of {runs:,} runs", "SQLite"), rows)


if __name__ == "__main__":
    program(table)
