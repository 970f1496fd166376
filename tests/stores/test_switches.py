"""Kill switches, pins, leases, rate limits and budgets, on each store."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec.structs import replace

from gerbang.adapters.stores import open_store
from gerbang.errors import StoreError
from gerbang.ports import Store
from gerbang.values.record import Batch, Committed, Hold, Kill, Lease, Limited, Pin, Spend, Take

from .helpers import a_run, approval, call, event, opened, run
from .helpers_time import Passing

BIG = 1e6


@contextlib.asynccontextmanager
async def timed(url: str) -> AsyncIterator[tuple[Store, Passing]]:
    passing = Passing(url)
    store = open_store(url, passing.clock)
    await store.open()
    try:
        yield store, passing
    finally:
        await store.close()


def full(**more: Any) -> Batch:
    """Return a batch with a row of each kind."""
    return Batch([a_run()], [], [call("k")], [], [approval("a")], [event()], **more)


async def nothing_was_written(store: Store) -> bool:
    found = await store.run("r1"), await store.call("k"), await store.approval("a"), await store.events("r1")
    return found == (None, None, None, [])


@pytest.mark.parametrize(
    ("killed", "stops", "stopped"),
    [
        ((), ("all", "tool:a.v1"), None),
        (("all",), (), None),
        (("all",), ("all", "tool:a.v1"), "all"),
        (("tool:a.v1",), ("all", "tool:a.v1", "tenant:acme"), "tool:a.v1"),
        (("tool:b.v1", "tenant:other"), ("all", "tool:a.v1", "tenant:acme"), None),
        (("tenant:acme", "tool:a.v1"), ("all", "tool:a.v1", "tenant:acme"), "tool:a.v1"),
    ],
)
def test_a_switch_stops_the_batches_that_name_it(
    url: str, killed: tuple[str, ...], stops: tuple[str, ...], stopped: str | None
) -> None:
    async def work() -> None:
        async with opened(url) as store:
            for target in killed:
                await store.kill(target, "budi", "why «not»", 5.0)
            outcome = await store.commit(full(stops=stops))
            assert outcome == Committed(0 if stopped else 1, stopped=stopped)
            assert outcome.written == (stopped is None)
            assert await nothing_was_written(store) == bool(stopped)
            assert await store.kills() == [Kill(t, "budi", "why «not»", 5.0) for t in sorted(killed)]

    run(work())


def test_a_switch_can_be_turned_off_and_on_again(url: str) -> None:
    async def work() -> None:
        async with opened(url) as store:
            assert not await store.revive("all")
            for _ in range(2):
                await store.kill("all", "budi", "fire", 5.0)
                await store.kill("all", "ana", "still", 6.0)
                assert await store.kills() == [Kill("all", "ana", "still", 6.0)]
                assert (await store.commit(Batch(events=[event()], stops=("all",)))).stopped == "all"
                assert await store.revive("all")
                assert (await store.commit(Batch(events=[event()], stops=("all",)))).stopped is None
            assert await store.kills() == []
            await store.kill("all", "budi", "for good", 5.0)
            await store.close()
            await store.open()
            assert (await store.commit(Batch(stops=("all",)))).stopped == "all"

    run(work())


def test_a_switch_holds_from_its_place_in_the_line(url: str) -> None:
    async def work() -> None:
        async with opened(url) as store:
            outcomes = await asyncio.gather(
                store.commit(Batch(events=[event()], stops=("all",))),
                store.commit(Batch(events=[event()], kills=(Kill("all", "b", "", 1.0),))),
                store.commit(Batch(events=[event()], stops=("all",))),
                store.commit(Batch(events=[event()], stops=("tool:x",))),
                store.commit(Batch(events=[event()], revives=("all",))),
                store.commit(Batch(events=[event()], stops=("all",))),
            )
            assert [o.stopped for o in outcomes] == [None, None, "all", None, None, None]
            assert len(await store.events("r1")) == 5

    run(work())


def test_pins(url: str) -> None:
    async def work() -> None:
        async with opened(url) as store:
            assert await store.pins() == []
            await store.pin("b.v1", "sha256:1", "ana", 1.0)
            await store.pin("a.v1", "sha256:2", "ana", 2.0)
            await store.pin("b.v1", "sha256:3", "budi", 3.0)
            expected = [Pin("a.v1", "sha256:2", "ana", 2.0), Pin("b.v1", "sha256:3", "budi", 3.0)]
            assert await store.pins() == expected

    run(work())


def test_one_holder_at_a_time(url: str) -> None:
    async def work() -> None:
        async with timed(url) as (store, passing):
            first = await store.lease("r1", "one", 0.2)
            assert first is not None
            assert (first.run_id, first.holder) == ("r1", "one")
            assert await store.lease("r1", "two", 0.2) is None
            again = await store.lease("r1", "one", 0.3)
            assert again is not None
            assert again.fence == first.fence
            assert again.expires_at >= first.expires_at
            other = await store.lease("r2", "two", 0.2)
            assert other is not None
            await passing.wait(0.5)
            second = await store.lease("r1", "two", BIG)
            assert second is not None
            assert second.fence > first.fence
            assert await store.lease("r1", "one", 0.2) is None
            assert await store.renew(first, 0.2) is None
            await store.release(first)
            assert await store.renew(second, BIG) is not None

    run(work())


def test_a_lease_past_its_end_is_good_until_another_takes_it(url: str) -> None:
    async def work() -> None:
        async with timed(url) as (store, passing):
            lease = await store.lease("r1", "one", 0.1)
            assert lease is not None
            await passing.wait(0.2)
            assert (await store.commit(Batch(events=[event()], lease=("r1", lease.fence)))).written
            renewed = await store.renew(lease, BIG)
            assert renewed is not None
            assert renewed.fence == lease.fence
            assert await store.lease("r1", "two", 1) is None

    run(work())


def test_who_lost_the_lease_writes_nothing(url: str) -> None:
    async def work() -> None:
        async with timed(url) as (store, passing):
            assert (await store.commit(full(lease=("r1", 1)))).fenced
            lease = await store.lease("r1", "one", 0.1)
            assert lease is not None
            await passing.wait(0.2)
            taken = await store.lease("r1", "two", BIG)
            assert taken is not None
            assert await store.commit(full(lease=("r1", lease.fence))) == Committed(fenced=True)
            assert await nothing_was_written(store)
            assert (await store.commit(full(lease=("r1", taken.fence)))).written

    run(work())


def test_a_lease_that_was_given_back_is_nobody_s_and_numbers_never_come_again(url: str) -> None:
    async def work() -> None:
        async with opened(url) as store:
            fences = []
            for _ in range(3):
                lease = await store.lease("r1", "one", BIG)
                assert lease is not None
                fences.append(lease.fence)
                await store.release(lease)
                assert (await store.commit(Batch(events=[event()], lease=("r1", lease.fence)))).fenced
                assert await store.renew(lease, BIG) is None
            assert sorted(set(fences)) == fences
            await store.close()
            await store.open()
            after = await store.lease("r1", "one", BIG)
            assert after is not None
            assert after.fence > fences[-1]

    run(work())


def test_a_lease_taken_and_given_back_with_what_is_written_under_it(url: str) -> None:
    async def work() -> None:
        async with opened(url) as store:
            outcome = await store.commit(full(hold=Hold("r1", "one", BIG)))
            held = outcome.held
            assert isinstance(held, Lease)
            assert outcome == Committed(1, held=held)
            again = await store.commit(Batch(events=[event()], hold=Hold("r1", "two", BIG)))
            assert again == Committed(fenced=True)
            assert len(await store.events("r1")) == 1
            last = Batch(events=[event()], lease=("r1", held.fence), hold=Hold("r1", "one", 0))
            assert (await store.commit(last)).written
            assert (await store.lease("r1", "two", BIG)) is not None

    run(work())


def test_one_of_many_takes_the_lease(url: str) -> None:
    async def work() -> None:
        async with opened(url) as store:
            leases = await asyncio.gather(*(store.lease("r1", f"h{n}", BIG) for n in range(20)))
            (winner,) = [lease for lease in leases if lease is not None]
            assert (await store.commit(Batch(lease=("r1", winner.fence)))).written

    run(work())


def test_unfinished_runs_are_those_that_nobody_drives(url: str) -> None:
    async def work() -> None:
        async with timed(url) as (store, passing):
            rows = [
                a_run("done", "completed"),
                a_run("waits", "pending_approval"),
                a_run("late", started_at=5.0),
                a_run("early", started_at=2.0),
                a_run("held", started_at=1.0),
                a_run("left", started_at=3.0),
                a_run("past", started_at=4.0),
            ]
            await store.commit(Batch(runs=rows, events=[event("early")]))
            await store.lease("held", "one", BIG)
            left = await store.lease("left", "one", BIG)
            assert left is not None
            await store.release(left)
            await store.lease("past", "one", 0.1)
            await passing.wait(0.2)
            assert [row.run_id for row in await store.unfinished()] == ["early", "left", "past", "late"]
            assert await store.unfinished(1) == [replace(rows[3], events=1)]
            assert await store.unfinished(0) == []

    run(work())


def test_open_calls_and_uncertain_ones(url: str) -> None:
    async def work() -> None:
        async with opened(url) as store:
            states = ["PLANNED", "SUCCEEDED", "UNCERTAIN", "DISPATCHED", "FAILED", "REFUSED", "CANCELLED"]
            rows = [call(state, state, ordinal=n) for n, state in enumerate(states)]
            old = replace(call("old", "UNCERTAIN", run_id="r2"), updated_at=-1.0)
            await store.commit(Batch(claims=[*rows, old]))
            assert await store.open_calls("r1") == [rows[0], rows[2], rows[3]]
            assert await store.open_calls("r3") == []
            assert await store.uncertain() == [old, rows[2]]
            assert await store.uncertain(1) == [old]

    run(work())


def test_calls_that_were_sent_in_runs_that_nobody_drives(url: str) -> None:
    async def work() -> None:
        async with timed(url) as (store, passing):
            runs = [a_run("going"), a_run("own", "open"), a_run("over", "cancelled"), a_run("held", "open")]
            rows = [
                replace(call(f"{run_id} {state}", state, run_id=run_id), updated_at=float(n))
                for n, run_id in enumerate(["over", "held", "own", "going", "unknown"])
                for state in ("DISPATCHED", "SUCCEEDED", "PLANNED", "UNCERTAIN")
            ]
            await store.commit(Batch(runs=runs, claims=rows))
            await store.lease("held", "one", 0.1)
            sent = {row.run_id: row for row in rows if row.state == "DISPATCHED"}
            assert await store.sent() == [sent["over"], sent["own"], sent["unknown"]]
            assert await store.sent(1) == [sent["over"]]
            assert await store.sent(0) == []
            await passing.wait(0.2)
            assert await store.sent() == [sent[name] for name in ("over", "held", "own", "unknown")]
            for state, name in (("SUCCEEDED", "over"), ("FAILED", "held"), ("UNCERTAIN", "own")):
                await store.commit(Batch(calls=[replace(sent[name], state=state)]))
            assert await store.sent() == [sent["unknown"]]
            again = replace(sent["held"], attempt=2)
            assert (await store.commit(Batch(claims=[again]))).written  # a key that is free again
            assert await store.sent() == [again, sent["unknown"]]

    run(work())


async def admitted(store: Store, count: int, *takes: Take, **more: Any) -> int:
    outcomes = await asyncio.gather(*(store.commit(Batch(takes=takes, **more)) for _ in range(count)))
    return sum(outcome.written for outcome in outcomes)


def test_a_rate_limit_admits_its_burst_and_then_one_each_period(url: str) -> None:
    async def work() -> None:
        async with timed(url) as (store, passing):
            slow = Take("tool:a", 1000, 5)
            assert await admitted(store, 20, slow) == 5
            refused = await store.commit(full(takes=(slow,)))
            assert isinstance(refused.limited, Limited)
            assert refused.limited.key == "tool:a"
            assert 900_000 < (refused.limited.retry_after_ms or 0) <= 1_000_000
            assert await nothing_was_written(store)
            assert await admitted(store, 3, Take("tool:b", 1000, 2)) == 2
            quick = Take("tool:c", 0.2, 1)
            assert await admitted(store, 1, quick) == 1
            late = (await store.commit(Batch(takes=(quick,)))).limited
            if late is not None:  # a machine that is slow enough has let the period pass
                await passing.wait((late.retry_after_ms or 0) / 1000)
            assert await admitted(store, 1, quick) == 1

    run(work())


def test_limits_are_drawn_on_all_or_none(url: str) -> None:
    async def work() -> None:
        async with opened(url) as store:
            wide, narrow = Take("wide", 1000, 9), Take("narrow", 500, 1)
            assert await admitted(store, 4, wide, narrow) == 1
            assert await admitted(store, 20, wide) == 8
            both = await store.commit(Batch(takes=(narrow, wide)))
            assert both.limited is not None
            assert both.limited.key == "wide"  # the one that makes wait longer
            budget = Spend("cost", None, 10, 4)
            assert (await store.commit(Batch(takes=(Take("x", 1000, 1),), spends=(budget,)))).written
            refused = await store.commit(
                Batch(takes=(Take("y", 1000, 1),), spends=(replace(budget, amount=7),))
            )
            assert refused.limited == Limited("cost", None)
            assert await store.spent("cost", None) == 4
            assert await admitted(store, 2, Take("y", 1000, 1)) == 1
            assert not (await store.commit(Batch(takes=(Take("x", 1000, 1),), spends=(budget,)))).written
            assert await store.spent("cost", None) == 4

    run(work())


def test_a_cost_above_the_burst_is_never_admitted(url: str) -> None:
    async def work() -> None:
        async with opened(url) as store:
            outcome = await store.commit(Batch(takes=(Take("k", 1, 3, 4),)))
            assert outcome.limited == Limited("k", None)
            assert (await store.commit(Batch(takes=(Take("k", 1000, 3, 2), Take("k", 1000, 3, 1))))).written
            assert await admitted(store, 1, Take("k", 1000, 3)) == 0

    run(work())


def test_a_refused_batch_draws_on_nothing(url: str) -> None:
    async def work() -> None:
        async with opened(url) as store:
            await store.commit(Batch(claims=[call("mine")], approvals=[approval("p", "granted")]))
            await store.kill("tool:dead", "b", "", 1.0)
            limits: dict[str, Any] = {"takes": (Take("k", 1000, 1),), "spends": (Spend("c", None, 1, 1),)}
            refused = await asyncio.gather(
                store.commit(Batch(claims=[call("mine")], **limits)),
                store.commit(Batch(expects={"p": "pending"}, **limits)),
                store.commit(Batch(stops=("tool:dead",), **limits)),
                store.commit(Batch(lease=("r1", 7), **limits)),
            )
            assert [outcome.written for outcome in refused] == [False] * 4
            assert [bool(o.taken) for o in refused] == [True, False, False, False]
            assert [bool(o.stale) for o in refused] == [False, True, False, False]
            assert await store.spent("c", None) == 0
            assert await admitted(store, 2, Take("k", 1000, 1)) == 1

    run(work())


def test_budgets_count_by_window_and_for_ever(url: str) -> None:
    async def work() -> None:
        async with timed(url) as (store, passing):
            ever = Spend("k", None, 10, 3)
            outcomes = await asyncio.gather(*(store.commit(Batch(spends=(ever,))) for _ in range(6)))
            assert sum(outcome.written for outcome in outcomes) == 3
            assert await store.spent("k", None) == 9
            assert await store.spent("k", 60) == 0
            assert (await store.commit(Batch(spends=(replace(ever, amount=-4),)))).written
            assert await store.spent("k", None) == 5
            assert (await store.commit(Batch(spends=(replace(ever, amount=-99),)))).written
            assert await store.spent("k", None) == 0
            boundless = Spend("k", None, float("inf"), 1e9)
            assert (await store.commit(Batch(spends=(boundless,)))).written
            short = Spend("w", 0.3, 1, 1)
            assert (await store.commit(Batch(spends=(short,)))).written
            refused = (await store.commit(Batch(spends=(short,)))).limited
            if refused is not None:
                assert 0 < (refused.retry_after_ms or 0) <= 300
                await passing.wait((refused.retry_after_ms or 0) / 1000)
                assert (await store.commit(Batch(spends=(short,)))).written
            never = await store.commit(Batch(spends=(Spend("w", 0.3, 1, 2),)))
            assert never.limited == Limited("w", None)

    run(work())


def test_limits_outlive_the_program(url: str) -> None:
    async def work() -> None:
        async with opened(url) as store:
            take, spend = Take("k", 1000, 2), Spend("c", 1e8, 5, 2)
            assert await admitted(store, 3, take, spends=(spend,)) == 2
            await store.close()
            await store.open()
            assert await admitted(store, 3, take) == 0
            assert await store.spent("c", 1e8) == 4

    run(work())


@pytest.mark.parametrize(
    "batch",
    [
        Batch(takes=(Take("k", 0, 1),)),
        Batch(takes=(Take("k", float("nan"), 1),)),
        Batch(takes=(Take("k", 1, 0),)),
        Batch(takes=(Take("k", 1, 1, -1),)),
        Batch(takes=(Take("k", 1, 1, float("inf")),)),
        Batch(takes=(Take("k", 1e9, 2),)),
        Batch(takes=(Take("\ud83d", 1, 1),)),
        Batch(spends=(Spend("k", 0, 1, 1),)),
        Batch(spends=(Spend("k", None, float("nan"), 1),)),
        Batch(spends=(Spend("k", None, 1, float("inf")),)),
        Batch(hold=Hold("r", "h", float("nan"))),
        Batch(hold=Hold("r", "\ud83d", 1)),
        Batch(kills=(Kill("all", "\ud83d", "", 1.0),)),
        Batch(revives=("\ud83d",)),
        Batch(pins=(Pin("a", "\ud83d", "", 1.0),)),
        Batch(stops=("\ud83d",)),
    ],
)
def test_limits_that_make_no_sense_are_refused(url: str, batch: Batch) -> None:
    async def work() -> None:
        async with opened(url) as store:
            batch.events.append(event())
            with pytest.raises(StoreError, match="Nothing was written"):
                await store.commit(batch)
            assert await store.events("r1") == []
            batch.events.clear()

    run(work())
