"""A user who may not write tries to use the store. Prints what happened and whether the tool ran.

Argument: the store's path.
"""

import asyncio
import os
import sys
from typing import Any

import gerbang as g
from gerbang.testing import ScriptedModel

ran: list[int] = []


@g.tool(name="fx.do.v1", risk="compute")
async def do() -> str:
    """Have an effect."""
    ran.append(1)
    return "done"


async def attempt(store: str) -> None:
    script: list[Any] = [[("fx.do.v1", {})], "Done."]
    async with g.Gateway(tools=[do], store=store) as gate:
        await g.Agent(ScriptedModel(script), gate).run("x")


async def main(path: str) -> None:
    await attempt(f"sqlite:{path}.warm")  # everything is imported before the rights are given up
    ran.clear()
    if os.geteuid() == 0:
        os.setgid(65534)
        os.setuid(65534)
    try:
        await attempt(f"sqlite:{path}")
        print("ran")
    except g.StoreError as fault:
        print(type(fault).__name__, len(ran), fault)


asyncio.run(main(sys.argv[1]))
