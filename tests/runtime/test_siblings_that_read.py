"""A call that waits while others of its answer read from outside: its approval holds for all that."""

import asyncio
from typing import Any

import pytest

import gerbang as g
from gerbang.testing import ScriptedModel

SENT: list[str] = []
MAIL = ("mail.send.v1", {"to": "ana"})
READ = ("web.read.v1", {"page": "x"})
BOSS = g.Principal("boss")


@g.tool(name="mail.send.v1", risk="external_communication")
async def send(to: str) -> str:
    """Send a mail."""
    SENT.append(to)
    return "sent"


@g.tool(name="web.read.v1", risk="read_external")
async def read(page: str) -> str:
    """Read a page."""
    return f"page {page}"


TOOLS = [send, read]


@pytest.fixture(autouse=True)
def _anew() -> None:
    SENT.clear()


async def _approve(gate: g.Gateway) -> None:
    (waiting,) = await gate.store.approvals(state="pending")
    await gate.approve(waiting.approval_id, by=BOSS)


@pytest.mark.parametrize("answer", [[MAIL, READ], [READ, MAIL], [READ, MAIL, READ], [MAIL]])
@pytest.mark.parametrize("restart", [False, True])
def test_an_answer_that_sends_and_reads(durable: str, answer: list[Any], restart: bool) -> None:
    async def work() -> None:
        model = ScriptedModel([answer, "done"])
        async with g.Gateway(TOOLS, store=durable) as gate:
            agent = g.Agent(model, gate)
            first = await agent.run("go")
            assert first.status == "pending_approval"
            await _approve(gate)
            if not restart:
                result = await agent.resume(first.run_id)
        if restart:
            async with g.Gateway(TOOLS, store=durable) as gate:
                result = await g.Agent(ScriptedModel(["done"]), gate).resume(first.run_id)
        assert result.status == "completed"
        assert [call.status for call in result.calls] == ["ok"] * len(answer)
        assert SENT == ["ana"]

    asyncio.run(work())


def test_the_same_for_a_batch_of_a_program(url: str) -> None:
    async def work() -> None:
        async with g.Gateway(TOOLS, store=url) as gate:
            for want in (["pending", "ok"], ["ok", "ok"]):
                results = await gate.call_many([MAIL, READ], run_id="r", step_id=1)
                assert [one.status for one in results] == want
                if want[0] == "pending":
                    await _approve(gate)
        assert SENT == ["ana"]

    asyncio.run(work())


OTHERS: list[tuple[str, dict[str, Any]]] = [
    ("a later step", {"step_id": 2}),
    ("the same step, of a program that makes one call after the other", {"key": "k"}),
]


@pytest.mark.parametrize("place", [place for _, place in OTHERS], ids=[name for name, _ in OTHERS])
def test_what_was_read_after_the_answer_counts(url: str, place: dict[str, Any]) -> None:
    async def work() -> None:
        async with g.Gateway(TOOLS, store=url) as gate:
            assert (await gate.call(*MAIL, run_id="r")).status == "pending"
            await _approve(gate)
            assert (await gate.call(*READ, run_id="r", **place)).status == "ok"
            stale = await gate.call(*MAIL, run_id="r")
            assert stale.error is not None
            assert (stale.error.error_code, SENT) == ("APPROVAL_STALE", [])

    asyncio.run(work())
