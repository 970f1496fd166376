"""Begins runs of the same names as others at once, and prints what came of each.

Arguments: address, own name, how many. Says `ready` and waits for a line before it begins.
"""

import asyncio
import sys

import gerbang as g
from gerbang.testing import ScriptedModel


async def main(url: str, name: str, count: str) -> None:
    async with g.Gateway([], store=url) as gate:
        agent = g.Agent(ScriptedModel([f"said by {name}"]), gate)
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)

        async def one(n: int) -> str:
            try:
                done = await agent.run(f"asked by {name}", run_id=f"r{n}")
            except g.UsageError:
                return "there"
            return done.status

        for n in range(int(count)):
            print(n, await one(n), flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
