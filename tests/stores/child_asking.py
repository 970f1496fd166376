"""Makes a call that needs approval and dies at once. Arguments: store, address of the webhook."""

import asyncio
import os
import sys

import gerbang as g
from tests.adapters.approvals.desk import Keys, hook
from tests.runtime.street import Effects, toolbox


async def main(store: str, url: str) -> None:
    async with g.Gateway(tools=toolbox(Effects()), store=store, approver=hook(url), secrets=Keys()) as gate:
        waiting = await gate.call("mail.send.v1", {"to": "ana"}, run_id="r")
        print(waiting.approval_id, flush=True)
        os._exit(1)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
