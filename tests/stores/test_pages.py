"""Lists for a server: page by page, narrowed, and events one by one."""

import pytest

from gerbang.errors import UsageError
from gerbang.values.record import Batch

from .helpers import a_run, approval, event, opened, run


def test_runs_page_by_page(url: str) -> None:
    async def work() -> None:
        async with opened(url) as store:
            rows = [
                a_run(f"r{n:02}", "completed" if n % 3 else "denied", started_at=n // 2, tenant="ab"[n % 2])
                for n in range(20)
            ]
            await store.commit(Batch(runs=rows))
            newest = list(reversed(rows))
            for tenant in (None, "a", "b", "none"):
                for state in (None, "completed", "denied", "running"):
                    wanted = [
                        r.run_id for r in newest if tenant in (None, r.tenant) and state in (None, r.state)
                    ]
                    for size in (1, 3, 7, 50):
                        found: list[str] = []
                        before = None
                        while page := await store.runs(limit=size, tenant=tenant, state=state, before=before):
                            assert len(page) <= size
                            found += [r.run_id for r in page]
                            before = found[-1]
                        assert found == wanted, (tenant, state, size)
            with pytest.raises(UsageError, match="'gone'"):
                await store.runs(before="gone")

    run(work())


def test_approvals_page_by_page(url: str) -> None:
    async def work() -> None:
        async with opened(url) as store:
            rows = [
                approval(
                    f"a{n:02}", "pending" if n % 3 else "used", run_id=f"r{n % 2}", created_at=float(n // 3)
                )
                for n in range(20)
            ]
            await store.commit(Batch(approvals=rows))
            newest = list(reversed(rows))
            for run_id in (None, "r0", "r1"):
                for state in (None, "pending", "used"):
                    for tenant in (None, "acme", "none"):
                        wanted = [
                            r.approval_id
                            for r in newest
                            if run_id in (None, r.run_id) and state in (None, r.state) and tenant != "none"
                        ]
                        for size in (1, 3, 50):
                            found: list[str] = []
                            before = None
                            while page := await store.approvals(
                                run_id=run_id, state=state, tenant=tenant, before=before, limit=size
                            ):
                                found += [r.approval_id for r in page]
                                before = found[-1]
                            assert found == wanted, (run_id, state, tenant, size)
            with pytest.raises(UsageError, match="'gone'"):
                await store.approvals(before="gone")

    run(work())


def test_events_one_by_one(url: str) -> None:
    async def work() -> None:
        async with opened(url) as store:
            await store.commit(Batch(events=[event(body=b"%d" % n) for n in range(1, 26)]))
            for page in (1, 7, 25, 1000):
                assert [e.seq async for e in store.stream("r1", page=page)] == list(range(1, 26))
            assert [e.seq async for e in store.stream("r1", after=20, page=2)] == [21, 22, 23, 24, 25]
            assert [e async for e in store.stream("none")] == []

    run(work())
