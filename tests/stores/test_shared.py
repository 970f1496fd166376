"""One store, several processes: what one sets holds for every commit of the others that follows."""

import asyncio
import contextlib
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import psycopg
import pytest

from gerbang.adapters.stores import checks
from gerbang.values.record import Batch, Spend, Take

from .helpers import CHILD_S, a_run, approval, child, event, opened, run

CONTENDER = Path(__file__).parent / "child_contender.py"
STOPPED = Path(__file__).parent / "child_stopped.py"
PROCESSES = 4


def test_a_switch_of_another_process_holds_at_once(shared: str) -> None:
    async def work() -> None:
        async with opened(shared) as one, opened(shared) as other:
            for _ in range(5):
                assert (await one.commit(Batch(events=[event()], stops=("all",)))).written
                await other.kill("all", "b", "", 1.0)
                assert (await one.commit(Batch(events=[event()], stops=("all",)))).stopped == "all"
                assert [kill.target for kill in await one.kills()] == ["all"]
                await other.revive("all")

    run(work())


def test_a_lease_that_another_process_took_fences_this_one(shared: str) -> None:
    async def work() -> None:
        async with opened(shared) as one, opened(shared) as other:
            fences = []
            for turn in range(5):
                mine, theirs = (one, other) if turn % 2 else (other, one)
                lease = await mine.lease("r1", f"h{turn}", 0.01)
                assert lease is not None
                fences.append(lease.fence)
                assert (await mine.commit(Batch(events=[event()], lease=("r1", lease.fence)))).written
                await asyncio.sleep(0.03)
                taken = await theirs.lease("r1", f"t{turn}", 1000)
                assert taken is not None
                fences.append(taken.fence)
                assert (await mine.commit(Batch(events=[event()], lease=("r1", lease.fence)))).fenced
                await theirs.release(taken)
            assert sorted(set(fences)) == fences

    run(work())


def test_limits_are_counted_together(shared: str) -> None:
    async def work() -> None:
        async with opened(shared) as one, opened(shared) as other:
            batch = Batch(takes=(Take("k", 1000, 7),), spends=(Spend("c", None, 100, 10),))
            written = 0
            for turn in range(12):
                written += (await (one, other)[turn % 2].commit(batch)).written
            assert written == 7
            assert await one.spent("c", None) == await other.spent("c", None) == 70

    run(work())


def test_limits_that_say_nothing_are_removed(shared: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "PRUNE_EVERY", 5)

    def rows() -> tuple[int, int]:
        with contextlib.closing(connected(shared)) as database:
            counts = [
                database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
                for table in ("rates", "spends")
            ]
        return counts[0], counts[1]

    async def work() -> None:
        async with opened(shared) as store:
            for n in range(20):
                short = Batch(takes=(Take(f"k{n}", 1e-3, 1),), spends=(Spend(f"k{n}", 1e-3, 1, 1),))
                assert (await store.commit(short)).written
                await asyncio.sleep(0.002)
            await store.commit(Batch(spends=(Spend("ever", None, 1, 1), Spend("long", 1e6, 1, 1))))
            assert max(rows()) <= 7
            assert await store.spent("ever", None) == await store.spent("long", 1e6) == 1

    run(work())


@pytest.mark.parametrize("by", ["switch", "lease"])
def test_after_the_return_nothing_of_the_stopped_is_written(shared: str, by: str) -> None:
    """Another process writes as fast as it can; what stops it holds from the very moment of the answer."""

    async def work() -> None:
        async with opened(shared) as store:
            writer = child(STOPPED, shared)
            assert writer.stdout is not None
            assert writer.stdout.readline() == "ready\n"
            while len(await store.events("r1")) < 20:
                await asyncio.sleep(0.005)
            if by == "switch":
                await store.kill("tool:a.v1", "budi", "", 1.0)
            else:
                while await store.lease("r1", "other", 1000) is None:
                    await asyncio.sleep(0.005)
            at_once = len(await store.events("r1"))
            out, trouble = await asyncio.to_thread(writer.communicate, timeout=CHILD_S)
            assert (out, trouble) == ("stopped\n" if by == "switch" else "fenced\n", "")
            assert len(await store.events("r1")) == at_once

    run(work())


def connected(url: str) -> Any:
    if url.startswith("sqlite:"):
        return sqlite3.connect(url.removeprefix("sqlite:"))
    return psycopg.connect(f"{url}&options=-csearch_path%3Dgerbang")


def test_processes_that_contend_for_everything(shared: str) -> None:
    """Each process tries every claim, approval, lease and limit; each may be had once, or so many times."""

    async def prepare() -> None:
        async with opened(shared) as store:
            await store.commit(Batch(runs=[a_run()], approvals=[approval(f"a{n}") for n in range(20)]))

    run(prepare())
    children = [child(CONTENDER, shared, f"p{n}") for n in range(PROCESSES)]
    won: Counter[str] = Counter()
    for process in children:
        out, trouble = process.communicate(timeout=CHILD_S)
        assert (process.returncode, trouble) == (0, ""), trouble
        won.update(line.split()[0] for line in out.splitlines())
    expected = {f"claim:k{n}": 1 for n in range(20)} | {f"approval:a{n}": 1 for n in range(20)}
    expected |= {f"lease:r{n}": 1 for n in range(20)} | {"rate": 25, "budget": 15}
    assert won == expected

    async def look() -> None:
        async with opened(shared) as store:
            assert len(await store.events("r1")) == 20 + 20 + 25 + 15
            assert len(await store.calls("r1")) == 20
            assert await store.spent("budget", None) == 15
            assert {row.state for row in await store.approvals()} == {"granted"}

    run(look())
