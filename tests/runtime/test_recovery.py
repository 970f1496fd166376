"""Calls whose process was killed: found, and ended with what can be known of them."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import gerbang as g
from gerbang.audit import chain
from gerbang.values.contract_parts import Condition, Probe
from gerbang.values.record import RunState
from tests.runtime.street import run

HERE = Path(__file__).parent


def tools(log: Path) -> list[Any]:
    done = Condition("equals", True, "/done")
    open_ = Condition("equals", False, "/done")

    @g.tool(name="notes.read.v1", risk="read_internal")
    async def read(name: str) -> str:
        """Read."""
        return name

    @g.tool(name="mail.send.v1", risk="external_communication")
    async def send(name: str) -> str:
        """Send."""
        return name

    @g.tool(
        name="row.set.v1",
        risk="write_internal",
        timeout_s=1,
        probe=Probe("row.look.v1", done, open_, {"name": "name"}),
    )
    async def set_(name: str) -> str:
        """Set."""
        return name

    @g.tool(name="row.look.v1", risk="read_internal")
    async def look(name: str) -> dict[str, bool]:
        """Look whether it is set."""
        return {"done": f"set {name}" in log.read_text()}

    return [read, send, set_, look]


CASES = [
    ("notes.read.v1", "before", [("notes.read.v1", "FAILED")]),
    ("mail.send.v1", "before", [("mail.send.v1", "UNCERTAIN")]),
    ("mail.send.v1", "after", [("mail.send.v1", "UNCERTAIN")]),
    ("row.set.v1", "after", [("row.set.v1", "RESOLVED_SUCCEEDED")]),
    ("row.set.v1", "before", [("row.set.v1", "RESOLVED_FAILED")]),
]
"""The tool, whether its process is killed before or after the effect, and what becomes of the call."""


def kill(durable: str, log: Path, tool: str, when: str, run_id: str = "") -> None:
    child = [sys.executable, str(HERE / "child_cut_off.py"), durable, str(log), tool, when, run_id]
    assert subprocess.run(child, timeout=60).returncode == -signal.SIGKILL


@pytest.mark.parametrize(("tool", "when", "wanted"), CASES)
def test_a_call_that_was_cut_off(
    tool: str, when: str, wanted: list[tuple[str, str]], durable: str, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    log.touch()
    kill(durable, log, tool, when)
    before = log.read_text()

    async def work() -> None:
        policy = g.Policy.from_rules(
            [{"id": "all", "match": {"tool": ["*"]}, "everything": True, "decision": "allow", "reason": "T"}]
        )
        async with (
            g.Gateway(tools=tools(log), store=durable, policy=policy) as one,
            g.Gateway(tools=tools(log), store=durable, policy=policy) as two,
        ):
            both = await asyncio.gather(one.recover(), two.recover())
            found = [recovered for part in both for recovered in part]
            assert [(one.state, list(one.calls)) for one in found] == [("cancelled", wanted)]
            assert await one.recover() == []
            row = await one.store.run(found[0].run_id)
            assert row is not None
            assert row.state == RunState.CANCELLED
            assert chain.verify(await one.store.events(row.run_id)) is None

    run(work())
    assert log.read_text() == before  # nothing was sent again


def test_the_tool_is_not_there_any_more(durable: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.touch()
    kill(durable, log, "notes.read.v1", "before")

    async def work() -> None:
        async with g.Gateway(store=durable) as gate:
            (found,) = await gate.recover()
            assert found.calls == (("notes.read.v1", "UNCERTAIN"),)

    run(work())


def test_what_runs_is_left_alone(durable: str) -> None:
    inside, go_on = asyncio.Event(), asyncio.Event()

    @g.tool(name="slow.write.v1", risk="draft")
    async def slow() -> str:
        """Take long."""
        inside.set()
        await go_on.wait()
        return "done"

    async def work() -> None:
        async with g.Gateway(tools=[slow], store=durable) as gate, g.Gateway(store=durable) as other:
            call = asyncio.create_task(gate.call("slow.write.v1", {}))
            await inside.wait()
            assert await other.recover() == []
            assert await gate.recover() == []
            go_on.set()
            assert (await call).status == "ok"
            assert await other.recover() == []

    run(work())


def test_what_waits_for_a_person_goes_on_waiting(durable: str) -> None:
    sent: list[str] = []

    @g.tool(name="mail.send.v1", risk="external_communication")
    async def send(name: str) -> str:
        """Send."""
        sent.append(name)
        return name

    async def work() -> None:
        async with g.Gateway(tools=[send], store=durable) as gate:
            waiting = await gate.call("mail.send.v1", {"name": "ana"}, key="k")
            assert waiting.approval_id is not None
            row = await gate.store.run(waiting.run_id)
            assert row is not None
            assert row.state == RunState.PENDING_APPROVAL
            assert await gate.recover() == []
            await gate.approve(waiting.approval_id, by=g.Principal("boss"))
            assert (await gate.call("mail.send.v1", {"name": "ana"}, key="k")).status == "ok"

    run(work())
    assert sent == ["ana"]


def test_an_approver_that_was_killed_while_it_asked(durable: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.touch()
    kill(durable, log, "mail.send.v1", "asking")

    async def work() -> None:
        async with g.Gateway(tools=tools(log), store=durable) as gate:
            (found,) = await gate.recover()
            assert (found.state, found.calls) == ("pending_approval", (("mail.send.v1", "PLANNED"),))
            (row,) = await gate.store.approvals()
            assert row.state == "pending"

    run(work())
