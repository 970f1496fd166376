"""Check a run's chain, pass its events on as CloudEvents, and erase its payloads: the chain stays whole.

Run it with: python examples/audit_export.py
"""

import asyncio
import json

import gerbang as g
from gerbang.audit.checkpoint import store_name
from gerbang.audit.export import cloud_event
from gerbang.compose.auditing import check_run, every_event


@g.tool(name="orders.status.v1", risk="read_internal")
def status(order: str) -> dict[str, str]:
    """Status of an order. Use for questions about deliveries. Returns where it is."""
    return {"order": order, "where": "in the warehouse of Bandung"}


async def main() -> None:
    ana = g.Principal("ana", tenant="acme", team="support")
    async with g.Gateway([status], store="memory:") as gate:
        await gate.call("orders.status.v1", {"order": "A-17"}, run_id="r1", principal=ana)

        name = store_name(await gate.store.secret_key())
        async for event in every_event(gate.store, "r1"):
            shown = cloud_event(event, name)
            print(shown["id"], shown["type"], json.dumps(shown["data"].get("input_redacted", "")))

        checked = await check_run(gate.store, "r1")
        print("whole:", checked.whole, "events:", checked.events)

        await gate.erase("r1", by=g.Principal("dpo", tenant="acme"), reason="retention")
        (call,) = await gate.store.calls("r1")
        checked = await check_run(gate.store, "r1")
        print("after erasing:", call.arguments.decode(), "whole:", checked.whole, "events:", checked.events)


if __name__ == "__main__":
    asyncio.run(main())
