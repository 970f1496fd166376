"""What was decided, or approved, before a call had to wait, and holds no longer when it could be sent."""

import asyncio
from pathlib import Path

import pytest

import gerbang as g
from tests.runtime.street import code, run

BO = g.Principal("bo")
RULE = "version: 1\nrules: [{id: mail, match: {tool: mail.send.v1}, decision: %s, reason: NEW_RULE}]\n"


def yes(_: g.ApprovalRequest) -> g.ApprovalAnswer:
    return g.ApprovalAnswer("approve", BO)


TURNS = [
    # the policy's word before, and after the wait; the file after it; what comes of the call, what was sent
    ("allow", "allow", "good", "ok", ["first good", "second good"]),
    ("allow", "deny", "good", "NEW_RULE", ["first good"]),
    ("allow", "ask", "good", "ok", ["first good", "second good"]),
    ("ask", "ask", "good", "ok", ["first good", "second good"]),
    ("ask", "deny", "good", "NEW_RULE", ["first good"]),
    ("ask", "ask", "changed", "APPROVAL_STALE", ["first good"]),
]


@pytest.mark.parametrize(("before", "after", "text", "wanted", "log"), TURNS)
def test_a_call_that_waits_for_its_turn(
    before: str, after: str, text: str, wanted: str, log: list[str], tmp_path: Path
) -> None:
    file, rules, sent = tmp_path / "a.txt", tmp_path / "rules.yaml", []
    file.write_text("good")
    rules.write_text(RULE % before)
    policy = g.Policy.watch(rules)

    async def work() -> None:
        begun, free = asyncio.Event(), asyncio.Event()

        @g.tool(name="mail.send.v1", risk="external_communication", concurrency=1)
        async def send(name: str) -> str:
            """Send a file."""
            sent.append(f"{name} {file.read_text()}")
            begun.set()
            await free.wait()
            return "sent"

        send.files(lambda _: [file])
        async with g.Gateway(tools=[send], policy=policy, approver=yes) as gate:
            first = asyncio.create_task(gate.call("mail.send.v1", {"name": "first"}, run_id="a"))
            await begun.wait()
            second = asyncio.create_task(gate.call("mail.send.v1", {"name": "second"}, run_id="b"))
            (turns,) = gate.gate._dispatcher._slots.values()
            while not turns._waiters:
                await asyncio.sleep(0.01)
            file.write_text(text)
            if after != before:
                rules.write_text(RULE % after)
                assert policy.reload()
            free.set()
            assert (await first).status == "ok"
            result = await second
            assert (result.status if result.error is None else code(result)) == wanted

    run(work())
    assert sent == log


JOINS = [("same", "ok", 2), ("policy", "NEW_RULE", 1), ("switch", "KILL_SWITCH", 1)]


@pytest.mark.parametrize(("change", "wanted", "times"), JOINS)
def test_a_call_that_waits_for_another_of_its_key(
    change: str, wanted: str, times: int, tmp_path: Path
) -> None:
    rules, sent = tmp_path / "rules.yaml", []
    rules.write_text(RULE % "allow")
    policy = g.Policy.watch(rules)

    async def work() -> None:
        begun, free = asyncio.Event(), asyncio.Event()

        @g.tool(name="mail.send.v1", risk="external_communication")
        async def send(name: str) -> str:
            """Send something."""
            sent.append(name)
            begun.set()
            await free.wait()
            if len(sent) == 1:
                raise g.ToolError("taken", code="TAKEN", error_type="conflict", effect="none")
            return "sent"

        async with g.Gateway(tools=[send], policy=policy) as gate:
            first, second = (
                asyncio.create_task(gate.call("mail.send.v1", {"name": "a"}, run_id=run_id, key="k"))
                for run_id in ("a", "b")
            )
            await begun.wait()
            while not any(gate.gate.in_flight.busy.values()):
                await asyncio.sleep(0.01)
            if change == "policy":
                rules.write_text(RULE % "deny")
                assert policy.reload()
            elif change == "switch":
                await gate.kill("tool:mail.send.v1")
            free.set()
            assert code(await first) == "TAKEN"
            result = await second
            assert (result.status if result.error is None else code(result)) == wanted

    run(work())
    assert len(sent) == times


@pytest.mark.parametrize("changes", [False, True])
def test_a_file_that_changes_between_two_attempts(changes: bool, tmp_path: Path) -> None:
    file, sent = tmp_path / "a.txt", []
    file.write_text("good")

    @g.tool(name="files.publish.v1", risk="write_internal")
    async def publish(name: str) -> str:
        """Publish a file."""
        sent.append(file.read_text())
        if len(sent) == 1:
            file.write_text("changed" if changes else "good")
            raise g.ToolError(
                "nobody there", code="CONNECT_FAILED", error_type="transient_network_error", effect="none"
            )
        return "published"

    publish.files(lambda _: [file])

    async def work() -> g.Result:
        async with g.Gateway(tools=[publish], approver=yes) as gate:
            return await gate.call("files.publish.v1", {"name": "a"})

    result = run(work())
    if changes:
        assert (code(result), sent) == ("CONNECT_FAILED", ["good"])
    else:
        assert (result.status, sent) == ("ok", ["good", "good"])
