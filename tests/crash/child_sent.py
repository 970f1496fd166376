"""One call with a real effect, made under strace. Arguments: the store's path, the target's address."""

import asyncio
import sys

import gerbang as g

from .life import tools
from .points import Points
from .scenarios import ALL


async def main(path: str, origin: str) -> None:
    scenario = ALL["write_external/none"]
    made = tools(scenario, origin, Points("/dev/null", "first-0", -1, ""))
    async with g.Gateway(tools=made, policy=scenario.rules(), store=f"sqlite:{path}") as gate:
        result = await gate.call("cell.act.v1", {"item": "traced"}, run_id="r")
        print(result.status)


asyncio.run(main(*sys.argv[1:3]))
