"""A commit that says what its writer knows of the run is refused when others have gone on with it."""

import asyncio

import pytest

from gerbang.values.record import Batch, Spend

from .helpers import call, event, opened, run


def test_own_events_are_known_and_those_of_others_are_not(url: str) -> None:
    async def work() -> None:
        async with opened(url) as store:

            async def says(writer: int, knows: int, events: int = 1, key: str = "") -> bool:
                claims = [call(key)] if key else []
                done = await store.commit(
                    Batch(events=[event()] * events, writer=writer, knows=knows, claims=claims)
                )
                assert done.behind is not done.written
                return done.written

            assert await says(1, 0)
            assert await says(1, 0, events=3)  # its own: 1 to 4
            assert await says(1, 0, key="a")
            assert not await says(2, 0)
            assert not await says(2, 4, key="b")
            assert await says(2, 5, key="b")
            assert not await says(1, 0)
            assert not await says(1, 5)
            assert await says(1, 6)
            assert not await says(2, 6)
            assert await says(2, 7)
            assert await says(2, 7)
            assert await says(0, -1)  # whoever does not say is not asked
            assert not await says(2, 9)
            assert await says(2, 10)
            assert not await says(0, 10)  # nobody: nothing is its own
            assert [row.key for row in await store.calls("r1")] == ["a", "b"]
            assert len(await store.events("r1")) == 11

    run(work())


def test_nothing_of_a_batch_that_is_behind_is_written(url: str) -> None:
    async def work() -> None:
        async with opened(url) as store:
            assert (await store.commit(Batch(events=[event()], writer=1))).seq == 1
            spends = (Spend("k", None, 5, 5),)
            late = Batch(claims=[call("a")], events=[event()], spends=spends, writer=2, knows=0)
            assert (await store.commit(late)).behind
            assert await store.call("a") is None
            assert await store.spent("k", None) == 0
            await store.kill("all", "ana", "", 1.0)
            late.stops = ("all",)
            assert (await store.commit(late)).stopped == "all"

    run(work())


def test_many_at_once_of_one_writer_are_not_in_each_others_way(url: str) -> None:
    async def work() -> None:
        async with opened(url) as store:
            batches = [
                Batch(claims=[call(f"k{n}")], events=[event(), event()], writer=7, knows=0) for n in range(60)
            ]
            done = await asyncio.gather(*map(store.commit, batches))
            assert all(one.written for one in done)
            mixed = [
                Batch(claims=[call(f"m{n}")], events=[event()], writer=8 + n % 2, knows=120)
                for n in range(20)
            ]
            done = await asyncio.gather(*map(store.commit, mixed))
            assert [one.written for one in done] == [n % 2 == 0 for n in range(20)]

    run(work())


def test_another_process_is_noticed_and_other_runs_are_not_its_business(shared: str) -> None:
    async def work() -> None:
        async with opened(shared) as one, opened(shared) as other:
            for turn in range(20):
                mine = Batch(events=[event()], writer=1, knows=0)
                assert (await one.commit(mine)).seq == turn + 1
                assert (await other.commit(Batch(events=[event("r2")], writer=1, knows=0))).written
            assert (await other.commit(Batch(events=[event()], writer=1, knows=0))).behind
            assert (await other.commit(Batch(events=[event()], writer=1, knows=20))).seq == 21
            assert (await one.commit(Batch(events=[event()], writer=1, knows=20))).behind
            assert (await one.commit(Batch(events=[event()], writer=1, knows=21))).seq == 22
            assert (await one.commit(Batch(events=[event("r2")], writer=1, knows=19))).behind

    run(work())


@pytest.mark.parametrize(
    ("newest", "wanted"), [(None, "abcde"), (2, "de"), (5, "abcde"), (9, "abcde"), (0, "")]
)
def test_the_newest_calls_of_a_run(url: str, newest: int | None, wanted: str) -> None:
    async def work() -> None:
        async with opened(url) as store:
            for key in "abcde":
                await store.commit(Batch(claims=[call(key), call(f"{key}2", run_id="r2")]))
            assert [row.key for row in await store.calls("r1", newest=newest)] == list(wanted)

    run(work())
