"""A process that dies, at any moment and in any way, leaves records that tell the truth."""

import asyncio
import contextlib
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

import gerbang as g
from tests.runtime.street import TERMINAL, bodies, history, run

HERE = Path(__file__).parent
ROOT = HERE.parent.parent


def start(program: str, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-W", "error", str(HERE / program), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


async def examine(store: str, effects: dict[str, set[tuple[str, str, str]]]) -> Counter[str]:
    """Compare what happened with what is recorded; return the states of runs and calls."""
    states: Counter[str] = Counter()
    rows = {}
    async with g.Gateway(store=store) as gate:
        for row in await gate.store.runs(limit=100_000):
            states[f"run {row.state}"] += 1
            await history(gate.store, row.run_id)
            records = await bodies(gate.store, row.run_id)
            sent = [record["call_id"] for record in records if record["kind"] == "call.dispatched"]
            ended = [record["call_id"] for record in records if record["kind"] in TERMINAL]
            assert len(sent) == len(set(sent))
            assert set(ended) <= set(sent)
            assert row.state in ("running", "completed")
            assert (records[-1]["kind"] == "run.finished") == (row.state == "completed")
            for call in await gate.store.calls(row.run_id):
                states[call.state] += 1
                assert call.state in ("DISPATCHED", "SUCCEEDED")
                assert (call.call_id in ended) == (call.state == "SUCCEEDED")
                rows[row.run_id, call.call_id, call.key] = call.state
    for effect in effects["before"]:
        assert effect in rows, "an effect without its record"
    for effect, state in rows.items():
        if state == "SUCCEEDED":
            assert effect in effects["after"], "a success that did not happen"
    return states


def effects_of(path: Path) -> dict[str, set[tuple[str, str, str]]]:
    found: dict[str, set[tuple[str, str, str]]] = {"before": set(), "after": set()}
    lines = path.read_text().splitlines() if path.exists() else []
    seen: Counter[str] = Counter(lines)
    assert all(count == 1 for count in seen.values()), "an effect twice"
    for line in lines:
        when, run_id, call_id, key = line.split()
        found[when].add((run_id, call_id, key))
    return found


@pytest.mark.parametrize("seed", range(6))
def test_killed_at_a_random_point(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    store, notes = tmp_path / "store.db", tmp_path / "effects.txt"
    with start("child_worker.py", str(store), str(notes), str(chance.choice([1, 3, 20]))) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        for _ in range(chance.randrange(1, 12)):
            child.stdout.readline()
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(chance.random() / 100)
        child.kill()
        child.wait()
    states = run(examine(f"sqlite:{store}", effects_of(notes)))
    assert states["run completed"] >= 1


def test_two_processes_on_one_store_both_killed(tmp_path: Path) -> None:
    store, notes = tmp_path / "store.db", tmp_path / "effects.txt"
    children = [start("child_worker.py", str(store), str(notes), "5") for _ in range(2)]
    try:
        for child in children:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
        for child in children:
            assert child.stdout is not None
            for _ in range(6):
                child.stdout.readline()
    finally:
        for child in children:
            child.kill()
            child.communicate()
    states = run(examine(f"sqlite:{store}", effects_of(notes)))
    assert states["run completed"] >= 12


@pytest.mark.parametrize("where", ["tool", "thread", "model", "person"])
def test_ctrl_c_leaves_a_cancelled_run(where: str, tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    with start("child_waiter.py", str(store), where) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "waiting\n"
        # Without a wake-up descriptor, a signal that comes just before the loop goes to sleep is seen only
        # when it wakes: Python's own limit. So it is given the time to fall asleep.
        time.sleep(0.1)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=30)
    assert (out, child.returncode) == ("interrupted\n", 130), err
    assert err == ""

    async def work() -> None:
        async with g.Gateway(store=f"sqlite:{store}") as gate:
            (row,) = await gate.store.runs()
            assert row.state == "cancelled"
            records = await bodies(gate.store, row.run_id)
            assert (records[-1]["kind"], records[-1]["status"]) == ("run.finished", "cancelled")
            calls = await gate.store.calls(row.run_id)
            if where in ("tool", "thread"):
                assert [call.state for call in calls] == ["UNCERTAIN"]
            for approval in await gate.store.approvals():
                assert approval.state == "cancelled"

    run(work())


def test_a_killed_waiter_is_seen_as_running(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    with start("child_waiter.py", str(store), "tool") as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "waiting\n"
        child.kill()
        child.communicate()

    async def work() -> None:
        async with g.Gateway(store=f"sqlite:{store}") as gate:
            (row,) = await gate.store.runs()
            assert row.state == "running"
            (call,) = await gate.store.calls(row.run_id)
            assert call.state == "DISPATCHED"
            kinds = [record["kind"] for record in await bodies(gate.store, row.run_id)]
            assert kinds == ["run.started", "model.answered", "call.dispatched"]

    run(work())


def test_an_unknown_fate_is_not_repeated_by_the_next_process(tmp_path: Path) -> None:
    """The same place of the same run, called again after the crash."""
    store = f"sqlite:{tmp_path / 'store.db'}"
    calls: list[int] = []

    @g.tool(name="pay.v1", risk="write_external", timeout_s=0.5)
    async def pay() -> str:
        """Pay."""
        calls.append(1)
        await asyncio.Event().wait()
        return ""

    policy = g.Policy.from_rules(
        [{"id": "a", "match": {"tool": "pay.v1"}, "decision": "allow", "reason": "A"}]
    )

    async def crash() -> None:
        gate = g.Gateway(tools=[pay], store=store, policy=policy)
        await gate.__aenter__()
        task = asyncio.create_task(gate.call("pay.v1", {}, run_id="r"))
        while not calls:
            await asyncio.sleep(0)
        await gate.store.close()  # what it still writes is lost, as in a crash
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError, g.StoreError):
            await task

    async def again() -> None:
        async with g.Gateway(tools=[pay], store=store, policy=policy) as gate:
            (row,) = await gate.store.calls("r")
            assert row.state == "DISPATCHED"
            result = await gate.call("pay.v1", {}, run_id="r")
            assert result.error is not None
            assert (result.error.error_code, result.error.effect) == ("EFFECT_UNKNOWN", "unknown")

    run(crash())
    run(again())
    assert calls == [1]
