"""A replay goes by how a call ended, not by what was asked of its place afterwards."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import gerbang as g
from gerbang.compose.replay import replay_run

GO = threading.Event()
RULES = [{"id": "q", "match": {"tool": "note.queue.v1"}, "decision": "allow", "reason": "QUEUED"}]
PROBE = {
    "tool": "note.find.v1",
    "arguments": {"key": "@key"},
    "happened": {"test": "exists", "path": "/note"},
    "not_happened": {"test": "absent", "path": "/note"},
}


@g.tool(name="note.save.v1", risk="write_internal")
async def save(text: str) -> str:
    """Save a note."""
    return f"saved {text}"


@g.tool(name="note.find.v1", risk="read_internal")
async def find(key: str) -> dict[str, Any]:
    """Find a note."""
    return {"note": key}


@g.tool(name="note.queue.v1", risk="write_internal", probe=PROBE)
async def queue(text: str) -> str:
    """Queue a note."""
    raise g.ToolError("gone", error_type="transient_network_error", code="CONNECTION_RESET")


@g.tool(name="note.print.v1", risk="write_internal", timeout_s=0.05)
def late(text: str) -> str:
    """Print a note."""
    GO.wait(30)
    return f"printed {text}"


TOOLS = [save, find, queue, late]
POLICY = g.Policy.from_rules(RULES)


async def _again(gate: g.Gateway) -> None:
    for _ in range(2):
        assert (await gate.call("note.save.v1", {"text": "a"}, run_id="r")).status == "ok"


async def _reused(gate: g.Gateway) -> None:
    await gate.call("note.save.v1", {"text": "a"}, run_id="r")
    other = await gate.call("note.save.v1", {"text": "b"}, run_id="r")
    assert other.error is not None
    assert other.error.error_code == "KEY_REUSED"


async def _mended(gate: g.Gateway) -> None:
    assert (await gate.call("note.save.v1", {"txt": "a"}, run_id="r")).status == "error"
    assert (await gate.call("note.save.v1", {"text": "a"}, run_id="r")).status == "ok"


async def _probed(gate: g.Gateway) -> None:
    assert (await gate.call("note.queue.v1", {"text": "a"}, run_id="r")).status == "ok"


async def _late(gate: g.Gateway) -> None:
    GO.clear()
    assert (await gate.call("note.print.v1", {"text": "a"}, run_id="r")).status == "error"
    GO.set()
    while [row.state for row in await gate.store.calls("r")] != ["RESOLVED_SUCCEEDED"]:
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("way", [_again, _reused, _mended, _probed, _late])
def test_an_unchanged_run_shows_no_difference(way: Callable[[g.Gateway], Awaitable[None]]) -> None:
    async def body() -> None:
        async with g.Gateway(TOOLS, policy=POLICY, approver=lambda _: True) as gate:
            await way(gate)
            found = await replay_run(gate.store, "r", TOOLS, POLICY)
            assert (found.lost, found.difference) == (0, None)
            changed = await replay_run(gate.store, "r", TOOLS, None)
            assert changed.difference is not None
            assert changed.difference.what == "policy_decision"

    asyncio.run(body())


DENY = g.Policy.from_rules(
    [{"id": "no", "match": {"tool": "note.save.v1"}, "decision": "deny", "reason": "NO_NOTES"}]
)
ALLOW = g.Policy.from_rules(
    [{"id": "yes", "match": {"tool": "note.save.v1"}, "decision": "allow", "reason": "NOTES"}]
)
ASK = g.Policy.from_rules([])


@pytest.mark.parametrize(
    ("then", "now", "said"),
    [
        (ASK, ASK, None),
        (ASK, DENY, ("needs_approval", "denied_by_policy")),
        (ASK, ALLOW, ("needs_approval", "approved_by_policy")),
        (ALLOW, ASK, ("approved_by_policy", "needs_approval")),
        (DENY, ASK, ("denied_by_policy", "needs_approval")),
    ],
)
def test_a_call_that_waits_is_told_by_a_word_too(
    then: g.Policy, now: g.Policy, said: tuple[str, str] | None
) -> None:
    async def body() -> None:
        async with g.Gateway(TOOLS, policy=then) as gate:  # nobody is asked: what needs a person waits
            await gate.call("note.save.v1", {"text": "a"}, run_id="r")
            one = (await replay_run(gate.store, "r", TOOLS, now)).difference
            assert (None if one is None else (one.then, one.now)) == said

    asyncio.run(body())
