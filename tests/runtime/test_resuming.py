"""Runs that are gone on with: after an approval, after a process died at any point, by two at once."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import gerbang as g
from gerbang.testing import ScriptedModel
from tests.runtime.street import ALLOW_ALL, run

HERE = Path(__file__).parent


def tools(effects: list[str]) -> list[Any]:
    @g.tool(name="notes.read.v1", risk="read_internal")
    async def read(name: str) -> str:
        """Read a note."""
        effects.append(f"read {name}")
        return f"the note {name}"

    @g.tool(name="mail.send.v1", risk="external_communication")
    async def send(to: str) -> str:
        """Send mail."""
        effects.append(f"send {to}")
        return f"sent to {to}"

    return [read, send]


SCRIPT: list[Any] = [
    [("notes.read.v1", {"name": "a"})],
    [("notes.read.v1", {"name": "b"}), ("mail.send.v1", {"to": "ana"}), ("notes.read.v1", {"name": "c"})],
    "All done.",
]


@pytest.mark.parametrize("store", ["memory:", "sqlite"])
@pytest.mark.parametrize("dialect", [None, "hermes"])
def test_a_run_goes_on_at_the_call_after_its_approval(
    tmp_path: Path, store: str, dialect: str | None
) -> None:
    address = f"sqlite:{tmp_path / 's.db'}" if store == "sqlite" else store
    effects: list[str] = []

    def text(calls: Any) -> Any:
        return g.parse.render([{"name": n, "arguments": a} for n, a in calls], dialect) if dialect else calls

    said: list[str] = []

    def last(messages: Any) -> str:
        said.append("\n".join(message.content for message in messages))
        return "All done."

    script = [*(text(item) for item in SCRIPT[:2]), last]

    async def work() -> None:
        async with g.Gateway(tools=tools(effects), store=address) as gate:
            model = ScriptedModel(script)
            agent = g.Agent(model, gate, dialect=dialect)
            first = await agent.run("Send it.")
            assert first.status == "pending_approval"
            assert effects == ["read a", "read b", "read c"]
            (approval,) = await gate.store.approvals(state="pending")
            again = await agent.resume(first.run_id)
            assert (again.status, len(effects)) == ("pending_approval", 3)
            await gate.approve(approval.approval_id, by=g.Principal("boss"))
            done = await agent.resume(first.run_id)
            assert (done.status, done.answer) == ("completed", "All done.")
            assert effects == ["read a", "read b", "read c", "send ana"]
            assert [result.status for result in done.calls] == ["ok", "ok", "ok"]
            assert model.requests == 3  # nothing was asked twice
            assert "the note a" in said[-1]
            assert "sent to ana" in said[-1]
            with pytest.raises(g.UsageError, match="completed"):
                await agent.resume(first.run_id)

    run(work())


def test_another_person_cannot_go_on_with_a_run() -> None:
    effects: list[str] = []

    async def work() -> None:
        async with g.Gateway(tools=tools(effects)) as gate:
            agent = g.Agent(ScriptedModel(SCRIPT), gate)
            first = await agent.run("Send it.", principal=g.Principal("ana", "acme"))
            for other in (g.Principal("ana", "other"), g.Principal("eve", "acme"), None):
                with pytest.raises(g.UsageError, match="There is no run"):
                    await agent.resume(first.run_id, principal=other)

    run(work())


def test_scopes_are_asked_afresh() -> None:
    effects: list[str] = []

    @g.tool(name="mail.send.v1", risk="external_communication", scopes=("mail",))
    async def send(to: str) -> str:
        """Send mail."""
        effects.append(to)
        return "sent"

    async def work() -> None:
        async with g.Gateway(tools=[send]) as gate:
            agent = g.Agent(ScriptedModel([[("mail.send.v1", {"to": "ana"})], "Over."]), gate)
            first = await agent.run("Send it.", principal=g.Principal("ana", scopes={"mail"}))
            (approval,) = await gate.store.approvals(state="pending")
            await gate.approve(approval.approval_id, by=g.Principal("boss"))
            done = await agent.resume(first.run_id, principal=g.Principal("ana"))
            (call,) = done.calls
            assert call.error is not None
            assert (call.error.error_code, effects) == ("SCOPE_MISSING", [])

    run(work())


KILL_POINTS = ["asking", "before", "inside", "after", "between"]


@pytest.mark.parametrize("point", KILL_POINTS)
def test_a_killed_run_is_gone_on_with(tmp_path: Path, point: str) -> None:
    """The child kills itself with SIGKILL at the named point of its second answer."""
    store, notes = tmp_path / "s.db", tmp_path / "effects"
    child = subprocess.run(
        [sys.executable, str(HERE / "child_resumed.py"), str(store), str(notes), point],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert child.returncode == -signal.SIGKILL, child.stderr
    second = subprocess.run(
        [sys.executable, str(HERE / "child_resumed.py"), str(store), str(notes), "resume"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert second.returncode == 0, second.stderr
    effects = notes.read_text().split("\n")
    lost = point in ("inside", "after")
    assert second.stdout.split() == ["completed", "uncertain" if lost else "ok", "verified"]
    assert effects.count("send ana") == (0 if point == "inside" else 1)
    assert effects.count("read a") == 1


def test_two_cannot_drive_a_run_at_once(tmp_path: Path) -> None:
    effects: list[str] = []
    waiting = asyncio.Event()

    @g.tool(name="slow.v1", risk="write_internal")
    async def slow() -> str:
        """Take its time."""
        effects.append("slow")
        await waiting.wait()
        return "done"

    async def work() -> None:
        address = f"sqlite:{tmp_path / 's.db'}"
        async with (
            g.Gateway(tools=[slow], store=address, policy=ALLOW_ALL) as one,
            g.Gateway(tools=[slow], store=address, policy=ALLOW_ALL) as two,
        ):
            first = g.Agent(ScriptedModel([[("slow.v1", {})], "Over."]), one)
            other = g.Agent(ScriptedModel(["Never asked."]), two)
            driving = asyncio.create_task(first.run("Go.", run_id="run_1"))
            while not effects:
                await asyncio.sleep(0.01)
            with pytest.raises(g.UsageError, match="driven by another"):
                await other.resume("run_1")
            waiting.set()
            assert (await driving).status == "completed"
            assert effects == ["slow"]

    run(work())


def test_a_driver_that_lost_its_lease_sends_nothing_more(tmp_path: Path) -> None:
    """As after a long pause: another process has taken the run over meanwhile."""
    effects: list[str] = []

    async def work() -> None:
        address = f"sqlite:{tmp_path / 's.db'}"
        async with g.Gateway(tools=tools(effects), store=address, policy=ALLOW_ALL) as gate:

            class Paused(ScriptedModel):
                async def answer(self, request: Any) -> Any:
                    async for event in super().answer(request):
                        yield event
                    (lease, session) = gate.leases._held["run_1"]
                    await gate.store.release(lease)
                    assert await gate.store.lease("run_1", "another", 60) is not None
                    assert session.lease is not None

            done = await g.Agent(Paused([[("mail.send.v1", {"to": "ana"})]]), gate).run("Go.", run_id="run_1")
            assert (done.status, effects) == ("cancelled", [])
            row = await gate.store.run("run_1")
            assert row is not None
            assert row.state == "running"  # it is the other one's to end

    run(work())
