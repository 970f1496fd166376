"""A run that waits for a person and goes on at that call: python examples/resume_after_approval.py"""

import asyncio

import gerbang as g
from gerbang.testing import ScriptedModel

STORE = "sqlite:runs.db"
MAIL = ("mail.send.v1", {"to": "ana@example.org", "text": "The library is open."})


@g.tool(name="mail.send.v1", risk="external_communication")
async def send(to: str, text: str) -> str:
    """Send a mail. Use to write to a person. Returns what was sent."""
    return f"sent to {to}"


async def ask() -> str:
    """Begin the run. With nobody to ask, it waits in the store and the program may end."""
    model = ScriptedModel([[MAIL]])
    async with g.Gateway([send], store=STORE) as gate:
        result = await g.Agent(model, gate).run("Tell Ana that the library is open.")
        print(result.status, "-", result.answer)
        return result.run_id


async def decide(run_id: str) -> None:
    """Say yes, later and elsewhere, and go on with the run at the call that waited."""
    model = ScriptedModel(["Ana knows."])
    async with g.Gateway([send], store=STORE) as gate:
        for approval in await gate.store.approvals(state="pending"):
            print("asked:", approval.tool)
            await gate.approve(approval.approval_id, by=g.Principal("boss"))
        result = await g.Agent(model, gate).resume(run_id)
        print(result.status, "-", result.answer, "-", result.calls[0].value)


async def main() -> None:
    await decide(await ask())


asyncio.run(main())
