"""A payment that two people have to agree to. Run it: python examples/approvals_two_person.py"""

import asyncio

import gerbang as g

POLICY = g.Policy.from_rules(
    [
        {
            "id": "two",
            "match": {"tool": "bank.pay.v1"},
            "decision": "ask",
            "reason": "PAYMENT",
            "obligations": ["two_person", "no_self_approval", {"approvers": ["finance"]}],
        }
    ]
)


@g.tool(name="bank.pay.v1", risk="transactional")
async def pay(to: str, amount: int) -> str:
    """Pay somebody. Use for invoices that are due. Returns what was paid."""
    return f"paid {amount} to {to}"


async def main() -> None:
    ana, bo, cy = (g.Principal(user=name, roles={"finance"}) for name in ("ana", "bo", "cy"))
    async with g.Gateway(tools=[pay], policy=POLICY) as gate:

        async def call() -> g.Result:
            return await gate.call("bank.pay.v1", {"to": "eve", "amount": 500}, principal=ana, run_id="r1")

        waiting = await call()
        assert waiting.approval_id is not None
        for who, arguments in ((ana, None), (bo, {"to": "eve", "amount": 50}), (bo, None), (cy, None)):
            try:
                row = await gate.approve(waiting.approval_id, by=who, arguments=arguments)
                print(f"{who.user} agreed: {row.state}")
            except g.UsageError as error:
                print(f"{who.user} did not count: {error}")
        done = await call()
        print(done.for_model.splitlines()[0])
        print(done.value)


asyncio.run(main())
