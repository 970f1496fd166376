"""What a run that waits for approval waits for: a person, to be gone on with, or whoever made its call."""

from typing import Any

import pytest

import gerbang as g
from gerbang.compose.waiting import Waits, waits_for
from gerbang.testing import ScriptedModel
from gerbang.values.record import RunState

from .helpers import run

BOSS = g.Principal("boss")


@g.tool(name="mail.send.v1", risk="external_communication")
async def send(to: str) -> str:
    """Send."""
    return f"sent to {to}"


async def waiting(gate: g.Gateway, run_id: str) -> Waits | None:
    row = await gate.store.run(run_id)
    assert row is not None
    return await waits_for(gate.store, row, await gate.store.time())


CALLS: list[tuple[str, dict[str, Any], str, str]] = [
    # how the one call is made, what is decided, and what its run waits for then
    ("a run of its own name", {"run_id": "r", "alone": True}, "approve", "resume"),
    ("a run of its own name", {"run_id": "r", "alone": True}, "refuse", "resume"),
    ("a run of its own name", {"run_id": "r", "alone": True}, "cancel", "resume"),
    ("another step", {"run_id": "r", "alone": True, "step_id": 7}, "refuse", "caller"),
    ("a key and no run", {"key": "k"}, "approve", "caller"),
    ("a key and no run", {"key": "k"}, "refuse", "caller"),
]


@pytest.mark.parametrize(("case", "how", "decision", "what"), CALLS)
def test_the_run_of_one_call(url: str, case: str, how: dict[str, Any], decision: str, what: str) -> None:
    async def main() -> None:
        async with g.Gateway([send], store=url) as gate:
            asked = await gate.call("mail.send.v1", {"to": "ana"}, **how)
            assert asked.approval_id is not None
            assert await waiting(gate, asked.run_id) == Waits("person", (asked.approval_id,))
            await getattr(gate, decision)(asked.approval_id, by=BOSS)
            assert await waiting(gate, asked.run_id) == Waits(what), case  # type: ignore[arg-type]
            row = await gate.store.run(asked.run_id)
            assert row is not None
            assert row.state == RunState.PENDING_APPROVAL  # nothing has ended it
            if decision == "refuse":
                await gate.call("mail.send.v1", {"to": "ana"}, **how)
                assert await waiting(gate, asked.run_id) is None

    run(main())


def test_the_run_of_an_agent_waits_until_all_is_decided(url: str) -> None:
    async def main() -> None:
        async with g.Gateway([send], store=url) as gate:
            both = [("mail.send.v1", {"to": "ana"}), ("mail.send.v1", {"to": "bo"})]
            agent = g.Agent(ScriptedModel([both, "Done."]), gate)
            result = await agent.run("Write to both.")
            decided = 0
            while (waits := await waiting(gate, result.run_id)) is not None:
                assert (waits.what, waits.approvals != ()) == ("person", True)
                for name in waits.approvals:
                    await gate.refuse(name, by=BOSS)
                    decided += 1
                assert await waiting(gate, result.run_id) == Waits("resume")
                result = await agent.resume(result.run_id)
            assert (decided, result.status) == (2, "completed")

    run(main())


def test_a_request_whose_time_is_over_waits_for_nobody(url: str) -> None:
    async def main() -> None:
        async with g.Gateway([send], store=url, approval_s=60) as gate:
            asked = await gate.call("mail.send.v1", {"to": "ana"}, run_id="r", alone=True)
            row = await gate.store.run("r")
            approval = await gate.store.approval(str(asked.approval_id))
            assert row is not None
            assert approval is not None
            ends = approval.expires_at
            assert await waits_for(gate.store, row, ends - 1) == Waits("person", (approval.approval_id,))
            assert await waits_for(gate.store, row, ends) == Waits("resume")

    run(main())
