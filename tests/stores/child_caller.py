"""Drives one run with others at once, and prints what came of its calls. Arguments: address, own name."""

import asyncio
import sys

import gerbang as g
from gerbang.compose.policy import Policy

RULES = Policy.from_rules(
    [
        {
            "id": "one-mail",
            "match": {"tool": "mail.send.v1", "history": {"after": {"tool": "mail.*", "status": "started"}}},
            "decision": "deny",
            "reason": "ONE_MAIL",
        },
        {
            "id": "five-notes",
            "match": {"tool": "note.write.v1", "history": {"count": {"tool": "note.write.v1", "ge": 5}}},
            "decision": "deny",
            "reason": "FIVE_NOTES",
        },
        {"id": "rest", "match": {"tool": ["mail.*", "note.*", "web.*"]}, "decision": "allow", "reason": "OK"},
    ]
)


@g.tool(name="mail.send.v1", risk="external_communication")
def send(text: str) -> str:
    """Send a mail. Use for tests only. Returns `sent`."""
    return "sent"


@g.tool(name="note.write.v1", risk="write_internal")
async def write(text: str) -> str:
    """Write a note. Use for tests only. Returns `written`."""
    await asyncio.sleep(0.001)
    return "written"


@g.tool(name="web.read.v1", risk="read_external")
async def read(text: str) -> str:
    """Read a page. Use for tests only. Returns a text."""
    await asyncio.sleep(0.001)
    return f"the page of {text}"


@g.tool(name="clock.now.v1", risk="compute")
def now(text: str) -> str:
    """Tell the time. Use for tests only. Returns `noon`."""
    return "noon"


TOOLS = [send, write, read, now]


async def main(url: str, name: str) -> None:
    async with g.Gateway(TOOLS, policy=RULES, store=url) as gate:

        async def call(tool: str, n: int) -> None:
            result = await gate.call(tool, {"text": name}, run_id="r", step_id=f"{name}-{tool}-{n}")
            code = "" if result.error is None else result.error.error_code
            print(tool, result.status, code, flush=True)

        tools = ["mail.send.v1", "note.write.v1", "web.read.v1"]
        for n in range(6):
            await asyncio.gather(*[call(tool, n) for tool in tools])


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
