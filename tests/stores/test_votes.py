"""People who vote at once, from several gateways on one store: each vote counts once, none is lost."""

import asyncio
from typing import Any

import pytest

import gerbang as g
from gerbang.adapters.stores import open_store
from gerbang.approval.votes import read_votes

from .helpers import run

RULE = {
    "id": "two",
    "match": {"tool": "bank.pay.v1"},
    "decision": "ask",
    "reason": "TWO",
    "obligations": ["two_person"],
}
PEOPLE = [g.Principal(f"p{number}") for number in range(6)]


def gateways(url: str, paid: list[str]) -> list[g.Gateway]:
    @g.tool(name="bank.pay.v1", risk="transactional")
    async def pay(to: str) -> str:
        """Pay."""
        paid.append(to)
        return "paid"

    policy = g.Policy.from_rules([RULE])
    if url == "memory:":
        store = open_store(url)
        return [g.Gateway(tools=[pay], store=store, policy=policy)] * 2
    return [g.Gateway(tools=[pay], store=url, policy=policy) for _ in range(2)]


@pytest.mark.parametrize("round_", range(3))
def test_votes_at_once(round_: int, url: str) -> None:
    paid: list[str] = []

    async def work() -> None:
        one, two = gateways(url, paid)
        async with one:
            if two is not one:
                await two.__aenter__()
            waiting = (await one.call("bank.pay.v1", {"to": "ana"}, run_id="r")).approval_id
            assert waiting is not None

            async def vote(gate: g.Gateway, by: g.Principal) -> Any:
                while True:
                    try:
                        return (await gate.approve(waiting, by=by)).state
                    except g.UsageError as error:
                        if "just voted" not in str(error):
                            return "late"

            gates = [one, two] * 3
            said = await asyncio.gather(*map(vote, gates, PEOPLE))
            assert sorted(said) == ["granted", *["late"] * 4, "pending"]
            row = await one.store.approval(waiting)
            assert row is not None
            votes = read_votes(row.votes)
            assert votes is not None
            assert len({vote.user for vote in votes}) == len(votes) == 2
            results = await asyncio.gather(
                *(gate.call("bank.pay.v1", {"to": "ana"}, run_id="r") for gate in gates)
            )
            assert [result.status for result in results].count("ok") >= 1
            events = [event.kind for event in await one.store.events("r")]
            assert (events.count("approval.voted"), events.count("approval.granted")) == (1, 1)
            if two is not one:
                await two.aclose()

    run(work())
    assert paid == ["ana"]
