"""A policy in Rego decides about refunds. Needs the extra `rego`. Run it: python examples/rego_policy.py"""

import asyncio
from pathlib import Path

import gerbang as g

POLICY = Path(__file__).parent / "policies" / "refunds.rego"


@g.tool(name="shop.refund.v1", risk="transactional")
async def refund(order: str, amount: float) -> str:
    """Pay a customer back. Use when an order was wrong. Returns what was paid."""
    return f"paid {amount:g} for {order}"


async def person(request: g.ApprovalRequest) -> bool:
    print(f"asked about {request.arguments['amount']:g} because of {', '.join(request.reasons)}")
    return False


async def main() -> None:
    ana = g.Principal(user="ana", roles={"support"})
    guest = g.Principal(user="gus")
    async with (
        g.Policy.open(f"rego:{POLICY}") as policy,
        g.Gateway(tools=[refund], policy=policy, store="memory:", approver=person) as gate,
    ):
        for who, order, amount in ((ana, "A1", 20), (ana, "A2", 900), (guest, "A3", 20)):
            arguments = {"order": order, "amount": amount}
            out = await gate.call("shop.refund.v1", arguments, principal=who)
            print(out.status, out.error.error_code if out.error else out.value)


asyncio.run(main())
