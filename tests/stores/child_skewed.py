"""A gateway on a machine whose clock is wrong. Arguments: the store, by how many seconds its clock is ahead.

It asks for an approval that stands for a minute, prints its id, waits for a line, makes the call again and
prints what came of it and what it takes the time to be.
"""

import asyncio
import sys
import time

real = time.time
time.time = lambda: real() + float(sys.argv[2])

import gerbang as g  # noqa: E402 - the clock is wrong from the beginning
from tests.runtime.street import Effects, toolbox  # noqa: E402


async def main(store: str) -> None:
    mail = {"to": "ana", "text": "hi"}
    async with g.Gateway(tools=toolbox(Effects()), store=store, approval_s=60) as gate:
        waiting = await gate.call("mail.send.v1", mail, run_id="r")
        print(waiting.approval_id, flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        done = await gate.call("mail.send.v1", mail, run_id="r")
        print(done.status, gate.clock.now(), flush=True)


asyncio.run(main(sys.argv[1]))
