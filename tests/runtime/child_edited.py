"""Uses an approved call and dies in it, or makes it again. Arguments: store, file, `die` or `go`."""

import asyncio
import os
import signal
import sys

import gerbang as g


async def main(store: str, effects: str, what: str) -> None:
    @g.tool(name="mail.send.v1", risk="external_communication", honours_key=True)
    async def send(to: str, context: g.CallContext) -> str:
        """Send mail."""
        with open(effects, "a") as file:
            file.write(f"{to} {context.idempotency_key}\n")
        if what == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        return f"sent to {to}"

    async with g.Gateway(tools=[send], store=store) as gate:
        result = await gate.call("mail.send.v1", {"to": "ana"}, run_id="r")
        if result.approval_id is not None and result.status == "pending":
            await gate.approve(result.approval_id, by=g.Principal("bo"), arguments={"to": "al"})
            result = await gate.call("mail.send.v1", {"to": "ana"}, run_id="r")
        print(result.status, result.value)


asyncio.run(main(*sys.argv[1:4]))
