"""Runs agents until the store is full, lifts the limit, and runs one more. Prints what happened.

Arguments: the store's path, the file of effects, and how many runs go side by side.
"""

import asyncio
import os
import resource
import sys

import gerbang as g
from gerbang.errors import StoreUnavailable
from gerbang.testing import ScriptedModel

POLICY = g.Policy.from_rules(
    [{"id": "a", "match": {"tool": "*"}, "everything": True, "decision": "allow", "reason": "A"}]
)


async def main(path: str, effects: str, side_by_side: int) -> None:
    notes = os.open(effects, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    @g.tool(name="fx.do.v1", risk="write_internal")
    async def do(context: g.CallContext) -> str:
        """Have an effect, with a large result."""
        place = f"{context.run_id} {context.call_id} {context.idempotency_key}"
        os.write(notes, f"before {place}\nafter {place}\n".encode())
        return "x" * 5_000

    async with g.Gateway(tools=[do], store=f"sqlite:{path}", policy=POLICY) as gate:

        async def one() -> str:
            call: list[tuple[str, dict[str, object]]] = [("fx.do.v1", {})]
            return (await g.Agent(ScriptedModel([call, call, "Done."]), gate).run("x")).status

        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))
        outcomes: list[str | BaseException] = []
        while not any(isinstance(outcome, BaseException) for outcome in outcomes):
            outcomes = await asyncio.gather(*(one() for _ in range(side_by_side)), return_exceptions=True)
        for outcome in outcomes:
            assert outcome == "completed" or isinstance(outcome, StoreUnavailable), outcome
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        print(await one())


asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
