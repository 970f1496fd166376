"""A process that asks for an approval, or uses one. Arguments: store, file, run, `ask` or `use`."""

import asyncio
import sys

import gerbang as g


async def main(store: str, effects: str, run_id: str, what: str) -> None:
    @g.tool(name="bank.pay.v1", risk="write_internal")
    async def pay(to: str) -> str:
        """Pay somebody."""
        with open(effects, "a") as file:
            file.write(run_id + "\n")
        await asyncio.sleep(0.05)
        return "paid"

    async with g.Gateway(tools=[pay], store=store) as gate:
        result = await gate.call("bank.pay.v1", {"to": "ana"}, run_id=run_id)
    if what == "use":
        print(result.status if result.error is None else result.error.error_code)


asyncio.run(main(*sys.argv[1:5]))
