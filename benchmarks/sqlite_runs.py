"""Agents on the SQLite store, against a floor that only writes.

100 runs of 5 steps side by side, FULL sync: the wall time of whole agents with the whole gate. Every
statement that the store's writer runs is noted. The floor is a plain thread that runs the statements of the
round before, the same rows in the same commits, and spends the CPU that the runs took on the memory store in
this round: one after the other, or at best side by side, where a commit waits only for the work that led to
it. The memory store writes its rows only when somebody reads them (docs/decisions/0006), and the floor is
handed rows that are written; so their writing is measured by reading them and counts for the floor as well.
The last row of shares leaves it out. Medians of interleaved rounds, a new file each.
"""

import asyncio
import sqlite3
import statistics
import tempfile
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from harness import markdown, program, verdict
from side_by_side import agents

from gerbang.adapters.stores import sqlite
from gerbang.adapters.stores.sqlite_file import open_writer
from gerbang.adapters.stores.sqlite_group import GroupWriter

RUNS = 100
STEPS = 5
MIN_SHARE = 0.8
_TIMEOUT_S = 5.0

Statement = tuple[str, Any, bool]
"""SQL, its parameters, and whether they are many rows."""


class Noted:
    """A connection that notes what is written through it, commit by commit."""

    def __init__(self, connection: sqlite3.Connection, commits: list[list[Statement]]) -> None:
        self._connection = connection
        self._commits = commits

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def execute(self, sql: str, values: Any = ()) -> sqlite3.Cursor:
        """Run and note one statement."""
        if sql.startswith("BEGIN"):
            self._commits.append([])
        elif sql.startswith(("INSERT", "UPDATE", "DELETE")):
            self._commits[-1].append((sql, values, False))
        return self._connection.execute(sql, values)

    def executemany(self, sql: str, rows: Any) -> sqlite3.Cursor:
        """Run and note one statement with many rows."""
        kept = list(rows)
        self._commits[-1].append((sql, kept, True))
        return self._connection.executemany(sql, kept)


def ours(path: Path) -> tuple[float, list[list[Statement]]]:
    """Return the wall seconds on SQLite, and what was written in each commit."""
    commits: list[list[Statement]] = []

    def noting(connection: sqlite3.Connection, *more: Any) -> GroupWriter:
        noted: Any = Noted(connection, commits)
        return GroupWriter(noted, *more)

    setattr(sqlite, "GroupWriter", noting)  # noqa: B010 - a class is replaced by a function
    try:
        wall, *_ = asyncio.run(agents(f"sqlite:{path}", RUNS, STEPS, commits.clear))
    finally:
        setattr(sqlite, "GroupWriter", GroupWriter)  # noqa: B010
    return wall, commits


def floor(path: Path, commits: list[list[Statement]], cpu: float, *, overlap: bool) -> float:
    """Return the wall seconds that a plain thread needs for the commits, with the CPU spent beside it."""
    connection = open_writer(path, _TIMEOUT_S)
    total = sum(size(commit) for commit in commits)

    def write(commit: list[Statement]) -> None:
        connection.execute("BEGIN IMMEDIATE")
        for sql, values, many in commit:
            if many:
                connection.executemany(sql, values)
            else:
                connection.execute(sql, values).fetchall()
        connection.execute("COMMIT")

    with ThreadPoolExecutor(1) as thread:
        began = time.perf_counter()
        last: Future[None] | None = None
        for commit in commits:
            spend(cpu * size(commit) / total)
            if last is not None:
                last.result()
            last = thread.submit(write, commit)
            if not overlap:
                last.result()
        if last is not None:
            last.result()
        wall = time.perf_counter() - began
    connection.close()
    return wall


def size(commit: list[Statement]) -> int:
    """Return the number of rows of a commit."""
    return sum(len(values) if many else 1 for _, values, many in commit)


def spend(seconds: float) -> None:
    """Use this thread's CPU for so long."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        sum(range(200))


def table(quick: bool = False) -> str:
    """Measure and return the table."""
    found: list[tuple[float, float, float, float, float, float, int]] = []
    with tempfile.TemporaryDirectory() as name:
        _, commits = ours(Path(name, "first.db"))
    for number in range((6 if quick else 20) + 1):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            _, cpu, writing = asyncio.run(agents("memory:", RUNS, STEPS))
            wall, newer = 0.0, commits
            if number % 2:  # who goes first pays for what was left to the disk before
                wall, newer = ours(folder / "ours.db")
            after = floor(folder / "after.db", commits, cpu + writing, overlap=False)
            beside = floor(folder / "beside.db", commits, cpu + writing, overlap=True)
            unwritten = floor(folder / "unwritten.db", commits, cpu, overlap=True)
            if not wall:
                wall, newer = ours(folder / "ours.db")
            if number:
                found.append((wall, cpu, writing, after, beside, unwritten, len(newer)))
            commits = newer
    wall, cpu, writing, after, beside, unwritten, count = (
        statistics.median(column) for column in zip(*found, strict=True)
    )
    share, best, least = (statistics.median(one[at] / one[0] for one in found) for at in (3, 4, 5))

    def row(what: str, seconds: float, part: str) -> tuple[str, ...]:
        return what, f"{seconds * 1e3:.0f} ms", f"{RUNS * STEPS / seconds:,.0f}", part

    rows = [
        row(f"agents on SQLite, {count:.0f} commits", wall, ""),
        row("floor: commits, and the gate's CPU after one another", after, f"{share:.0%}"),
        row("floor: side by side at best", beside, f"{best:.0%}"),
        row("the same, but rows that nobody has to write", unwritten, f"{least:.0%}"),
        row("agents on the memory store (CPU)", cpu, ""),
        row("writing their rows (CPU)", writing, ""),
    ]
    head = (f"{RUNS} runs × {STEPS} steps", "time", "steps a second", "speed of ours ÷ floor")
    text = markdown(head, rows)
    worst = min(share, best)
    kept = verdict(worst >= MIN_SHARE)
    return f"{text}\n\nBound: at least {MIN_SHARE:.0%} of the faster floor: {worst:.0%}, {kept}."


if __name__ == "__main__":
    program(table)
