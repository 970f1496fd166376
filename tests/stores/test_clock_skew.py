"""Machines whose clocks differ share a PostgreSQL: what one writes down of times the others can compare."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

import gerbang as g
from gerbang.runtime.settling import sending_of
from gerbang.runtime.store_time import StoreTime, following
from gerbang.testing import ManualClock

from .helpers import CHILD_S, opened, run

ROOT = Path(__file__).parents[2]
NEAR_S = 30.0
"""What a test on a busy machine allows between two readings of one clock; the clocks differ by an hour."""


@pytest.mark.parametrize("ahead_s", [3600.0, -3600.0])
def test_a_machine_whose_clock_is_wrong(database: str, ahead_s: float) -> None:
    command = [sys.executable, "-m", "tests.stores.child_skewed", database, str(ahead_s)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        name = child.stdout.readline().strip()

        async def work() -> None:
            async with g.Gateway(store=database) as gate:
                now = await gate.store.time()
                row = await gate.store.approval(name)
                assert row is not None
                assert row.created_at == pytest.approx(now, abs=NEAR_S)
                assert row.expires_at - row.created_at == pytest.approx(60)
                granted = await gate.approve(name, by=g.Principal("boss"))
                assert granted.state == "granted"

        run(work())
        said, _ = child.communicate("go\n", timeout=CHILD_S)
    status, told = said.split()
    assert status == "ok"
    assert float(told) == pytest.approx(time.time(), abs=NEAR_S)

    async def look() -> None:
        async with opened(database) as store:
            now = await store.time()
            (row,) = await store.calls("r")
            sending = await sending_of(store, row)
            for moment in (row.updated_at, sending.began, sending.over):
                assert moment == pytest.approx(now, abs=NEAR_S)

    run(look())


def is_old(clock: StoreTime) -> bool:
    return clock.is_old


def test_a_clock_follows_what_the_store_tells() -> None:
    machine = ManualClock(1_000.0)
    clock = StoreTime(machine)
    clock.told(5_000.0, asked=machine.monotonic())
    assert clock.now() == 5_000.0
    machine.advance(10)
    assert clock.now() == 5_010.0
    machine.set_back(500)  # the monotonic clock goes on
    machine.advance(1)
    assert clock.now() == 5_011.0
    assert not is_old(clock)
    asked = machine.monotonic()
    machine.advance(0.5)  # what the answer took: it was told in the middle of that
    clock.told(6_000.0, asked)
    assert clock.now() == 6_000.25
    asked = machine.monotonic()
    machine.advance(5)  # too long to say much, and there is a better one
    clock.told(9_000.0, asked)
    assert clock.now() == 6_005.25
    machine.advance(700)
    assert is_old(clock)
    asked = machine.monotonic()
    machine.advance(5)  # better than one that is so old
    clock.told(9_000.0, asked)
    assert clock.now() == 9_002.5
    assert not is_old(clock)


def test_only_a_store_elsewhere_is_followed(url: str) -> None:
    async def work() -> None:
        async with opened(url) as store:
            clock = await following(ManualClock(1_000.0), store)
            assert isinstance(clock, StoreTime) == url.startswith("postgresql")
            if isinstance(clock, StoreTime):
                assert clock.now() == pytest.approx(await store.time(), abs=NEAR_S)
                assert await following(clock, store) is clock

    run(work())


def test_stores_tell_the_time_that_leases_go_by(url: str) -> None:
    async def work() -> None:
        async with opened(url) as store:
            before = await store.time()
            lease = await store.lease("r", "one", 60)
            assert lease is not None
            assert before <= lease.expires_at - 60 <= await store.time()

    run(work())
