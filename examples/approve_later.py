"""A call that waits for a person, who changes it. Run it: python examples/approve_later.py"""

import asyncio

import gerbang as g


@g.tool(name="mail.send.v1", risk="external_communication")
async def send(to: str, text: str) -> str:
    """Send a mail. Use to write to a person. Returns what was sent."""
    return f"sent to {to}: {text}"


async def main() -> None:
    boss = g.Principal(user="boss")
    mail = {"to": "ana@example.org", "text": "hi"}
    async with g.Gateway(tools=[send], store="memory:") as gate:
        waiting = await gate.call("mail.send.v1", mail, run_id="r1", step_id=1)
        print(waiting.status, "-", waiting.for_model)
        assert waiting.approval_id is not None
        await gate.approve(waiting.approval_id, by=boss, arguments={**mail, "text": "hello"})
        done = await gate.call("mail.send.v1", mail, run_id="r1", step_id=1)
        print(done.status, done.value)
        waiting = await gate.call("mail.send.v1", mail, run_id="r1", step_id=2)
        assert waiting.approval_id is not None
        await gate.refuse(waiting.approval_id, by=boss, reason="one is enough")
        refused = await gate.call("mail.send.v1", mail, run_id="r1", step_id=2)
        assert refused.error is not None
        print(refused.error.error_code, "-", refused.error.message)


asyncio.run(main())
