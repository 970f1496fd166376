"""Tools from contract files, and who gets to know of which: python examples/contract_files.py"""

import asyncio
from pathlib import Path

import gerbang as g

CONTRACTS = Path(__file__).resolve().parent / "contracts"
ANA = g.Principal("ana", "acme", roles={"support"}, scopes={"refunds"})
REFUND = {"order": "acme-77", "cents": 1250, "reason": "damaged"}


def asked(request: g.ApprovalRequest) -> bool:
    print("asked about", request.tool, request.arguments)
    return True


async def main() -> None:
    async with g.Gateway(g.load_contracts(CONTRACTS), approver=asked) as gate:
        anybody = {tool.name for tool in gate.tools()}
        print("anybody:", *sorted(anybody))
        hers = {tool.name for tool in gate.tools(principal=ANA, intent="refund")}
        print("ana, to refund:", *sorted(hers - anybody))
        guess = await gate.call("payments.refund.v1", REFUND, principal=ANA)
        old = await gate.call("weather.get_current.v1", {"city": "Jakarta"}, principal=ANA)
        for out in (guess, old):
            print(out.error.error_code, out.error.suggested_fix) if out.error else None
        for step in (1, 2):
            out = await gate.call(
                "payments.refund.v1", REFUND, principal=ANA, intent="refund", run_id="r1", step_id=step
            )
            print(out.status, out.value, "replayed" if out.replayed else "")


asyncio.run(main())
