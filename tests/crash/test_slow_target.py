"""A target that goes on working long after nobody listens any more: its effect is not caused twice."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import gerbang as g
from gerbang.audit import chain

from .harness import ROOT
from .slow import POLICY, tools
from .target import effects_in


@pytest.fixture
def target(tmp_path: Path) -> Iterator[str]:
    """The address of a target of its own."""
    command = [sys.executable, "-m", "tests.crash.target", str(tmp_path / "effects")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, cwd=ROOT, **pipes) as process:  # type: ignore[call-overload]
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        process.communicate()


def live(store: str, origin: str, what: str, of: str) -> None:
    command = [sys.executable, "-m", "tests.crash.child_slow", store, origin, what, of]
    code = subprocess.run(command, cwd=ROOT, timeout=120).returncode
    assert code in ((0,) if of == "-" else (0, -signal.SIGKILL))  # a slow start may find that all is known


def test_the_call_waits_until_a_no_counts(shared: str, target: str, tmp_path: Path) -> None:
    async def work() -> None:
        async with g.Gateway(tools=tools(target), policy=POLICY, store=shared) as gate:
            result = await gate.call("slow.act.v1", {"item": "a"}, run_id="r")
            assert result.status == "ok", result.error
            act = next(row for row in await gate.store.calls("r") if row.tool == "slow.act.v1")
            assert (act.state, act.attempt) == ("RESOLVED_SUCCEEDED", 1)

    asyncio.run(work())
    assert [effect.item for effect in effects_in(tmp_path / "effects")] == ["a"]


def test_nobody_comes_back(shared: str, target: str, tmp_path: Path) -> None:
    """The program that made the call never runs again; two of those that recover die while they find out."""
    live(shared, target, "call", "sent")
    for of in ("asked", "asked", "-"):
        live(shared, target, "recover", of)

    async def work() -> None:
        async with g.Gateway(store=shared) as gate:
            rows = await gate.store.calls("r")
            (act,) = [row for row in rows if row.tool == "slow.act.v1"]
            assert act.state in ("SUCCEEDED", "RESOLVED_SUCCEEDED")
            assert {row.state for row in rows if row is not act} <= {"SUCCEEDED", "FAILED"}
            run = await gate.store.run("r")
            assert run is not None
            assert run.state == "open"
            assert chain.verify(await gate.store.events("r")) is None

    asyncio.run(work())
    assert [effect.item for effect in effects_in(tmp_path / "effects")] == ["a"]


def test_whoever_comes_back_goes_on_waiting(shared: str, target: str, tmp_path: Path) -> None:
    """Three processes die: one that has sent it, two that wait for what became of it."""
    for of in ("sent", "asked", "asked", "-"):
        live(shared, target, "call", of)

    async def work() -> None:
        async with g.Gateway(store=shared) as gate:
            (act,) = [row for row in await gate.store.calls("r") if row.tool == "slow.act.v1"]
            assert act.state in ("SUCCEEDED", "RESOLVED_SUCCEEDED")
            assert chain.verify(await gate.store.events("r")) is None

    asyncio.run(work())
    assert [effect.item for effect in effects_in(tmp_path / "effects")] == ["a"]
