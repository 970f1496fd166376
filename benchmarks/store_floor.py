"""The SQLite store against a floor that writes the same rows in the same commits.

100 runs side by side, each of 5 steps, each step two durable commits (a claim and two events; its outcome
and one event), FULL sync. The floor is a plain thread that knows all rows beforehand: it runs the same
statements in the same groups, with digests already computed and nobody to wake. The second floor also
spends the CPU of the 100 tasks on a store in memory. Medians of interleaved rounds.
"""

import asyncio
import contextlib
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from threading import Thread
from typing import Any

from gerbang.adapters.stores import MemoryStore, statements
from gerbang.adapters.stores.prepared import Prepared
from gerbang.adapters.stores.sqlite import SqliteStore
from gerbang.adapters.stores.sqlite_file import open_writer
from gerbang.adapters.stores.sqlite_group import GroupWriter
from gerbang.ports import Store
from gerbang.values.event import NewEvent
from gerbang.values.record import Batch, CallRow, Committed

RUNS = 100
STEPS = 5
ROUNDS = 30
TIMEOUT_S = 5.0
BODY = b'{"tool":"files.read.v1","decision":"approved_by_policy","input_hash":"sha256:' + b"a" * 200 + b'"}'

Group = list[tuple[str, list[tuple[Any, ...]]]]
"""The statements of one commit with their rows."""


async def one_run(store: Store, name: str) -> None:
    for step in range(STEPS):
        key = f"{name}-{step}".rjust(64, "0")
        row = CallRow(
            key, name, str(step), 0, f"call_{step}", "files.read.v1", "DISPATCHED", "f" * 64, BODY, 1
        )
        planned, sent = NewEvent(name, "call.planned", BODY), NewEvent(name, "call.dispatched", BODY)
        await store.commit(Batch(claims=[row], events=[planned, sent]))
        done = CallRow(
            key,
            name,
            str(step),
            0,
            f"call_{step}",
            "files.read.v1",
            "SUCCEEDED",
            "f" * 64,
            BODY,
            1,
            BODY,
            "text" * 50,
        )
        await store.commit(Batch(calls=[done], events=[NewEvent(name, "call.finished", BODY)]))


async def all_runs(store: Store) -> float:
    """Return the seconds that the runs took."""
    began = time.perf_counter()
    await asyncio.gather(*(one_run(store, f"run-{number}") for number in range(RUNS)))
    return time.perf_counter() - began


def ours(folder: Path) -> tuple[float, list[Group]]:
    """Return the seconds with our store, and what it committed together."""
    groups: list[Sequence[Prepared]] = []
    write = GroupWriter.write

    def recorded(self: GroupWriter, group: Sequence[Prepared]) -> list[Committed]:
        groups.append(group)
        return write(self, group)

    async def work() -> float:
        store = SqliteStore(folder / "ours.db")
        await store.open()
        seconds = await all_runs(store)
        await store.close()
        return seconds

    GroupWriter.write = recorded  # type: ignore[method-assign]
    try:
        seconds = asyncio.run(work())
    finally:
        GroupWriter.write = write  # type: ignore[method-assign]
    return seconds, as_rows(groups)


def as_rows(groups: list[Sequence[Prepared]]) -> list[Group]:
    """Return the statements and rows that the groups come to."""
    numbers: dict[str, int] = {}
    seqs: dict[str, int] = {}
    plan: list[Group] = []
    for group in groups:
        claims = [row for batch in group for row in batch.claims]
        calls = [row for batch in group for row in batch.calls]
        events: list[tuple[Any, ...]] = []
        new: list[tuple[Any, ...]] = []
        for event in (event for batch in group for event in batch.events):
            if event.run_id not in numbers:
                numbers[event.run_id] = len(numbers) + 1
                new.append((event.run_id,))
            seqs[event.run_id] = seqs.get(event.run_id, 0) + 1
            events.append((numbers[event.run_id], seqs[event.run_id], event.kind, event.body, b"d" * 32))
        plan.append(
            [
                (statements.CLAIM, claims),
                (statements.NEW_CHAIN, new),
                (statements.CALL, calls),
                (statements.EVENT, events),
            ]
        )
    return plan


def floor(folder: Path, plan: list[Group]) -> float:
    """Return the seconds that a plain thread needs for the plan."""
    connection = open_writer(folder / "floor.db", TIMEOUT_S)

    def work() -> None:
        for group in plan:
            connection.execute("BEGIN IMMEDIATE")
            for statement, rows in group:
                if rows:
                    connection.executemany(statement, rows)
            connection.execute("COMMIT")

    thread = Thread(target=work)
    began = time.perf_counter()
    thread.start()
    thread.join()
    seconds = time.perf_counter() - began
    connection.close()
    return seconds


def in_memory() -> float:
    """Return the seconds with the store in memory: the tasks, the digests, and no disk."""
    return asyncio.run(all_runs(MemoryStore()))


def same(folder: Path) -> None:
    """Stop when the floor did not write what we wrote: a ratio would say nothing."""
    counts = []
    for name in ("ours.db", "floor.db"):
        with contextlib.closing(sqlite3.connect(folder / name)) as database:
            counts.append(
                [
                    database.execute("SELECT count(*), sum(length(result)) FROM calls").fetchone(),
                    database.execute("SELECT count(*), sum(seq), sum(length(body)) FROM events").fetchone(),
                    database.execute("SELECT count(*), sum(run) FROM chains").fetchone(),
                ]
            )
    if counts[0] != counts[1]:
        raise SystemExit(f"the floor wrote other rows: {counts}")


def table() -> str:
    """Measure and return the table."""
    took_ours, took_floor, took_memory, commits = [], [], [], []
    with tempfile.TemporaryDirectory() as name:
        _, plan = ours(Path(name))
    for number in range(ROUNDS):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            if number % 2:  # who goes first pays for what the round before left to the disk
                took_floor.append(floor(folder, plan))
            seconds, groups = ours(folder)
            took_ours.append(seconds)
            commits.append(len(groups))
            if not number % 2:
                took_floor.append(floor(folder, plan))
            took_memory.append(in_memory())
            same(folder)
    alike = [index for index, count in enumerate(commits) if count == len(plan)]
    took_ours, took_floor, took_memory = (
        [took[index] for index in alike] for took in (took_ours, took_floor, took_memory)
    )  # a round that grouped otherwise is no comparison
    batches = RUNS * STEPS * 2
    ratio = statistics.median(f / o for f, o in zip(took_floor, took_ours, strict=True))
    with_cpu = statistics.median(
        (f + m) / o for f, m, o in zip(took_floor, took_memory, took_ours, strict=True)
    )
    mine, bare, light = map(statistics.median, (took_ours, took_floor, took_memory))
    return "\n".join(
        [
            "| what | ms | batches/s | share of floor |",
            "|---|---:|---:|---:|",
            f"| SqliteStore, {statistics.median(commits):.0f} commits for {batches} batches "
            f"| {mine * 1e3:.1f} | {batches / mine:,.0f} | |",
            f"| floor: same rows, same commits | {bare * 1e3:.1f} | {batches / bare:,.0f} | {ratio:.0%} |",
            f"| floor and the CPU of the tasks in memory | {(bare + light) * 1e3:.1f} "
            f"| {batches / (bare + light):,.0f} | {with_cpu:.0%} |",
            f"| MemoryStore | {light * 1e3:.1f} | {batches / light:,.0f} | |",
        ]
    )


if __name__ == "__main__":
    print(table())
