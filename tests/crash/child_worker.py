"""Runs agents without end; every tool notes its effect in a file, before and after. Killed by the test.

Arguments: the store's path, the file of effects, the number of runs side by side.
"""

import asyncio
import itertools
import os
import sys
from typing import Any

import gerbang as g
from gerbang.testing import ScriptedModel

POLICY = g.Policy.from_rules(
    [{"id": "all", "match": {"tool": "*"}, "everything": True, "decision": "allow", "reason": "TEST_ALLOWS"}]
)


async def main(path: str, effects: str, side_by_side: int) -> None:
    notes = os.open(effects, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    numbers = itertools.count()

    @g.tool(name="fx.do.v1", risk="write_internal")
    async def do(number: int, context: g.CallContext) -> str:
        """Have an effect."""
        os.write(notes, f"before {context.run_id} {context.call_id} {context.idempotency_key}\n".encode())
        await asyncio.sleep(0)
        os.write(notes, f"after {context.run_id} {context.call_id} {context.idempotency_key}\n".encode())
        return f"did {number}"

    @g.tool(name="fx.block.v1", risk="write_internal")
    def block(number: int, context: g.CallContext) -> str:
        """Have an effect, in a thread."""
        os.write(notes, f"before {context.run_id} {context.call_id} {context.idempotency_key}\n".encode())
        os.write(notes, f"after {context.run_id} {context.call_id} {context.idempotency_key}\n".encode())
        return f"blocked {number}"

    def script() -> list[Any]:
        return [
            [("fx.do.v1", {"number": next(numbers)})],
            [("fx.do.v1", {"number": next(numbers)}), ("fx.block.v1", {"number": next(numbers)})],
            "Done.",
        ]

    async with g.Gateway(tools=[do, block], store=f"sqlite:{path}", policy=POLICY) as gate:

        async def forever() -> None:
            while True:
                await g.Agent(ScriptedModel(script()), gate).run("Do it.")
                print("run", flush=True)

        print("ready", flush=True)
        await asyncio.gather(*(forever() for _ in range(side_by_side)))


asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
