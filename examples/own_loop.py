"""Your own loop, our gate: each call is checked, decided, recorded and answered by `Gateway.call`."""

import asyncio

import gerbang as g

ANA, BO = ({"to": f"{name}@example.org", "text": "hi"} for name in ("ana", "bo"))


@g.tool(name="mail.send.v1", risk="external_communication")
async def send(to: str, text: str) -> str:
    """Send a mail. Use when the user asked for this mail. Not for drafts. Returns `sent`."""
    return f"sent to {to}"


def ask(request: g.ApprovalRequest) -> bool:
    """Ask a person. Here: somebody who lets mail go to one address only."""
    print(f"asked about {request.tool} because of {', '.join(request.reasons)}")
    return bool(request.arguments["to"] == "ana@example.org")


async def main() -> None:
    async with g.Gateway(tools=[send], store="memory:", approver=ask) as gate:
        for step, arguments in enumerate([ANA, BO, {"to": "ana"}]):
            result = await gate.call("mail.send.v1", arguments, run_id="example", step_id=step)
            print(result.status, result.value if result.error is None else result.error.error_code)
        again = await gate.call("mail.send.v1", ANA, run_id="example", step_id=0)
        print(again.status, "replayed" if again.replayed else "sent again")


asyncio.run(main())
