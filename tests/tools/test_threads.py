"""Worker threads: jobs side by side, late ones counted and capped, queued ones dropped in time."""

import asyncio
import contextvars
import functools
import threading
from collections.abc import Coroutine
from typing import Any

import pytest

from gerbang.runtime.threads import SyncPool, TooManyLate

LABEL: contextvars.ContextVar[str] = contextvars.ContextVar("LABEL", default="none")


def throw(kind: type[BaseException]) -> None:
    raise kind


def run(work: Coroutine[Any, Any, None]) -> None:
    async def bounded() -> None:
        await asyncio.wait_for(work, 20)  # a guard against hanging, no measurement

    asyncio.run(bounded())


def test_results_errors_and_context() -> None:
    async def work() -> None:
        pool = SyncPool()
        LABEL.set("mine")
        assert await pool.submit(lambda: 42) == 42
        assert await pool.submit(LABEL.get) == "mine"
        with pytest.raises(ZeroDivisionError):
            await pool.submit(lambda: 1 // 0)
        for kind in (SystemExit, KeyboardInterrupt, StopIteration, asyncio.CancelledError):
            with pytest.raises(RuntimeError, match=f"the tool raised {kind.__name__}"):
                await pool.submit(functools.partial(throw, kind))
        pool.close()

    run(work())


def test_jobs_submitted_together_all_get_a_thread() -> None:
    async def work() -> None:
        pool = SyncPool(size=4)
        await pool.submit(lambda: None)  # leaves one idle thread behind
        await asyncio.sleep(0.05)
        meeting = threading.Barrier(3)
        assert len(await asyncio.gather(*[pool.submit(lambda: meeting.wait(15)) for _ in range(3)])) == 3
        pool.close()

    run(work())


def test_no_more_threads_than_allowed() -> None:
    async def work() -> None:
        pool = SyncPool(size=2)
        seen: set[int] = set()
        await asyncio.gather(*[pool.submit(lambda: seen.add(threading.get_ident())) for _ in range(50)])
        assert 1 <= len(seen) <= 2
        pool.close()

    run(work())


def test_late_jobs_are_counted_and_capped() -> None:
    async def work() -> None:
        pool, go = SyncPool(max_late=2), threading.Event()
        began = [threading.Event(), threading.Event()]
        late: list[Any] = []

        def hang(n: int) -> int:
            began[n].set()
            go.wait(15)
            return n

        futures = [pool.submit(functools.partial(hang, n)) for n in range(2)]
        for event in began:
            while not event.is_set():
                await asyncio.sleep(0.01)
        for future in futures:
            pool.abandon(future, late.append)
        assert pool.late == 2
        with pytest.raises(TooManyLate):
            pool.submit(lambda: None)
        go.set()
        while len(late) < 2:
            await asyncio.sleep(0.01)
        assert sorted(future.result() for future in late) == [0, 1]
        assert pool.late == 0
        assert await pool.submit(lambda: "again") == "again"
        pool.close()

    run(work())


def test_a_job_that_never_began_never_runs() -> None:
    async def work() -> None:
        pool, go, began = SyncPool(size=1), threading.Event(), threading.Event()
        ran: list[str] = []

        def first() -> None:
            began.set()
            go.wait(15)

        blocking = pool.submit(first)
        while not began.is_set():
            await asyncio.sleep(0.01)
        queued = pool.submit(lambda: ran.append("queued"))
        told: list[Any] = []
        pool.abandon(queued, told.append)
        assert (queued.cancelled(), told, pool.late) == (True, [queued], 0)
        go.set()
        await blocking
        assert await pool.submit(lambda: "next") == "next"
        assert ran == []
        pool.close()

    run(work())


def test_a_late_failure_is_nobodys_alarm() -> None:
    async def work() -> None:
        pool, began, go = SyncPool(), threading.Event(), threading.Event()

        def fail() -> None:
            began.set()
            go.wait(15)
            raise ValueError("late")

        future = pool.submit(fail)
        while not began.is_set():
            await asyncio.sleep(0.01)
        pool.abandon(future)
        go.set()
        while pool.late:
            await asyncio.sleep(0.01)
        pool.close()

    run(work())


def test_threads_do_not_outlive_a_closed_pool() -> None:
    async def work() -> None:
        pool = SyncPool(size=3)
        threads = await asyncio.gather(*[pool.submit(threading.current_thread) for _ in range(3)])
        assert all(thread.daemon and thread.name == "gerbang-tool" for thread in threads)
        pool.close()
        for thread in threads:
            thread.join(15)
            assert not thread.is_alive()

    run(work())
