"""One run that waits for ever: in a tool, a thread, the model, or for a person. Interrupted by the test.

Arguments: the store's path, and `tool`, `thread`, `model` or `person`.
"""

import asyncio
import sys
import threading
from typing import Any

import gerbang as g
from gerbang.testing import ScriptedModel

ASK = g.Policy.from_rules(
    [
        {"id": "ask", "match": {"tool": "wait.person.v1"}, "decision": "ask", "reason": "A_PERSON"},
        {"id": "all", "match": {"tool": "wait.*"}, "decision": "allow", "reason": "TEST_ALLOWS"},
    ]
)


@g.tool(name="wait.tool.v1", risk="write_internal")
async def wait_in_tool() -> str:
    """Wait for ever."""
    print("waiting", flush=True)
    await asyncio.Event().wait()
    return ""


@g.tool(name="wait.thread.v1", risk="write_internal")
def wait_in_thread() -> str:
    """Block for ever."""
    print("waiting", flush=True)
    threading.Event().wait()
    return ""


@g.tool(name="wait.person.v1", risk="write_internal")
async def wait_for_person() -> str:
    """Need a person."""
    return ""


async def person(request: g.ApprovalRequest) -> bool:
    print("waiting", flush=True)
    await asyncio.Event().wait()
    return True


class Silent(ScriptedModel):
    """A model that never answers."""

    async def answer(self, request: Any) -> Any:
        print("waiting", flush=True)
        await asyncio.Event().wait()
        yield None


async def main(path: str, where: str) -> None:
    model: Any = Silent(["x"]) if where == "model" else ScriptedModel([[(f"wait.{where}.v1", {})], "x"])
    tools = [wait_in_tool, wait_in_thread, wait_for_person]
    async with g.Gateway(tools=tools, store=f"sqlite:{path}", policy=ASK, approver=person) as gate:
        await g.Agent(model, gate).run("Wait.")


try:
    asyncio.run(main(sys.argv[1], sys.argv[2]))
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.exit(130)
