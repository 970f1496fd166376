"""Processes on one run, or on one call, at once: one that was paused and wakes late, two that recover."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from gerbang.adapters.stores import open_store
from gerbang.audit.chain import verify
from tests.stores.server import Server

from .harness import ROOT, Campaign, ended
from .judge import lines_of
from .life import Order
from .points import Line
from .scenarios import ALL, Scenario
from .target import effects_in

PAUSES = [
    "first: after ledger PLANNED dispatch, call.dispatched, act",
    "first: in the tool, before its request",
    "first: in the tool, its request on the way",
    "first: in the tool, after its answer",
    "first: the model has answered",
    "first: before ledger DISPATCHED succeed, call.finished, act",
]
LATE = {("call.finished",), ("call.resolved",)}
"""What a process may still write of a run that is another's: what became of the call that it had sent."""


def is_paused(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


async def paused_and_taken_over(campaign: Campaign, folder: Path, name: str, label: str) -> list[Line]:
    """Pause a life at a point, have another one go on with its run, wake it, and judge the run."""
    scenario, run_id = ALL[name], "run_paused"
    trace = folder / "paused.trace"
    plain = campaign.order(scenario, run_id, trace, "first-0", label)
    holder = campaign.start(
        Order(**{**{f: getattr(plain, f) for f in plain.__struct_fields__}, "end": signal.SIGSTOP})
    )
    until = time.monotonic() + 30
    while not is_paused(holder.pid):
        assert time.monotonic() < until, "it never came to the point"
        await asyncio.sleep(0.01)
    other = campaign.start(campaign.order(scenario, run_id, trace, "resumed-1"))
    assert await ended(other) == 0
    os.kill(holder.pid, signal.SIGCONT)
    assert await ended(holder) == 0
    return await campaign.judge(scenario, run_id, trace)


@pytest.mark.parametrize("label", PAUSES)
@pytest.mark.parametrize("how", ["key", "probe", "none"])
def test_a_paused_holder_wakes_when_its_run_is_anothers(
    shared: str, tmp_path: Path, label: str, how: str
) -> None:
    async def work() -> list[Line]:
        async with Campaign(shared, tmp_path).open() as campaign:
            lines = await paused_and_taken_over(campaign, tmp_path, f"transactional/{how}", label)
            assert campaign.report.wrong == []
            return lines

    lines = asyncio.run(work())
    awake = [line for line in lines if line.life == "first-0"]
    place = next(i for i, line in enumerate(awake) if line.what == "stopped here")
    written = [line.kinds for line in awake[place:] if line.what == "done"]
    assert set(written) <= LATE
    assert len(written) <= 1
    if how == "none" and label != PAUSES[0]:  # what the other process had to leave open is known after all
        assert written == ([("call.resolved",)] if label in PAUSES[1:4] + PAUSES[5:] else [])


LOOKS = {
    # how the target helps: what the call is in the end, when it is paused right before its first byte
    "key": "SUCCEEDED",
    "probe": "SUCCEEDED",  # it has not happened, and is made again
    "none": "RESOLVED_FAILED",  # the other process cannot know; the one that wakes up has not sent it
}


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("how", list(LOOKS))
def test_a_holder_that_is_paused_before_its_last_look(
    shared: str, tmp_path: Path, how: str, count: int
) -> None:
    """Of an HTTP request the second look is made when its connection stands, and nothing is written to it."""

    async def work() -> None:
        async with Campaign(shared, tmp_path).open() as campaign:
            label = f"first: before look {count}"
            lines = await paused_and_taken_over(campaign, tmp_path, f"transactional/{how}", label)
            assert campaign.report.wrong == []
            assert campaign.report.states == {f"{how} {LOOKS[how]}": 1}
            sent = effects_in(tmp_path / "effects")
            assert len(sent) == (0 if how == "none" else 1)
            assert "first-0" in {line.life for line in lines if line.what == "ended"}

    asyncio.run(work())


@pytest.mark.parametrize("kind", ["coroutine", "function", "queued"])
def test_a_holder_that_is_paused_before_its_function(shared: str, tmp_path: Path, kind: str) -> None:
    effects = tmp_path / "effects"

    def start(life: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-m", "tests.crash.child_paused", shared, str(effects), kind, life],
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )

    with start("first") as first:
        until = time.monotonic() + 60
        while not is_paused(first.pid):
            assert time.monotonic() < until, "it never came to the point"
            time.sleep(0.01)
        with start("resumed") as other:
            assert other.communicate(timeout=60)[0] == "completed\n"
        os.kill(first.pid, signal.SIGCONT)
        assert first.communicate(timeout=60)[0] == "cancelled\n"
    assert not effects.exists()

    async def states() -> list[str]:
        store = open_store(shared)
        await store.open()
        try:
            events = [event async for event in store.stream("run_1")]
            assert verify(events) is None
            assert [event.kind for event in events][-3:] == [
                "model.answered",
                "run.finished",
                "call.resolved",
            ]
            return [call.state for call in await store.calls("run_1")]
        finally:
            await store.close()

    assert asyncio.run(states()) == ["RESOLVED_FAILED"]


@pytest.mark.parametrize("name", ["write_external/none", "transactional/probe", "a person agrees"])
def test_two_recover_a_run_at_once(shared: str, tmp_path: Path, name: str) -> None:
    async def work() -> None:
        async with Campaign(shared, tmp_path).open() as campaign:
            scenario, trace = ALL[name], tmp_path / "two.trace"
            first = campaign.start(
                campaign.order(
                    scenario, "run_two", trace, "first-0", "first: in the tool, before its request"
                )
            )
            assert await ended(first) == -signal.SIGKILL
            both = [
                campaign.start(campaign.order(scenario, "run_two", trace, f"resumed-{number}"))
                for number in (1, 2)
            ]
            assert [await ended(process) for process in both] == [0, 0]
            lines = await campaign.judge(scenario, "run_two", trace)
            assert campaign.report.wrong == []
            drove = [line.life for line in lines if line.what == "done" and "run.resumed" in line.kinds]
            assert len(drove) == 1

    asyncio.run(work())


@pytest.mark.parametrize(
    "name", ["a caller's own loop", "a caller's own loop, a key", "a caller's own loop, slow, a probe"]
)
def test_the_same_call_from_two_processes_at_once(shared: str, tmp_path: Path, name: str) -> None:
    async def work() -> None:
        async with Campaign(shared, tmp_path).open() as campaign:
            scenario, trace = ALL[name], tmp_path / "click.trace"
            both = [
                campaign.start(campaign.order(scenario, "run_click", trace, f"first-{number}"))
                for number in (0, 1)
            ]
            assert [await ended(process) for process in both] == [0, 0]
            lines = await campaign.judge(scenario, "run_click", trace)
            assert campaign.report.wrong == []
            sent = [line for line in lines if line.what == "done" and "call.dispatched" in line.kinds]
            assert len(sent) == 2  # one for each of the two calls that either makes

    asyncio.run(work())


def test_postgresql_restarts_in_the_middle_of_runs(server: Server, database: str, tmp_path: Path) -> None:
    """A run goes on when the server is back, or its process gives up and the next one goes on with it."""

    async def work() -> None:
        async with Campaign(database, tmp_path).open() as campaign:
            names = ["transactional/probe", "write_internal/none", "slow, a key", "two people agree"]
            lives: list[tuple[Scenario, Order, Any]] = []
            for name in names:
                order = campaign.order(
                    ALL[name], f"run_{len(lives)}", tmp_path / f"{len(lives)}.trace", "first-0"
                )
                lives.append((ALL[name], order, campaign.start(order)))
            while not any("done" in {line.what for line in lines_of(Path(o.trace))} for _, o, _ in lives):
                await asyncio.sleep(0.01)
            await asyncio.to_thread(server.restart)
            for scenario, order, process in lives:
                code = await ended(process)
                if code:
                    again = campaign.order(scenario, order.run_id, Path(order.trace), "resumed-1")
                    assert await ended(campaign.start(again)) == 0
                await campaign.judge(scenario, order.run_id, Path(order.trace))
            assert campaign.report.wrong == []

    asyncio.run(work())
