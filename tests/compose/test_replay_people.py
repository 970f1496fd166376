"""A replay has people say what they said then: what came out so comes out so again, and else it is told."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import gerbang as g
from gerbang.compose.replay import replay_run
from gerbang.testing import ManualClock, ScriptedModel

Way = Callable[[g.Gateway], Awaitable[str]]
ANA, BO, CY = (g.Principal(user, "acme", roles={"finance"}) for user in ("ana", "bo", "cy"))
PAYMENT = {"to": "eve", "amount": 5, "card": "4111"}
LESS, OTHER = PAYMENT | {"amount": 4}, PAYMENT | {"amount": 3}


@g.tool(name="bank.pay.v1", risk="transactional", sensitive=["card"])
async def pay(to: str, amount: int, card: str) -> str:
    """Pay. Returns what was paid."""
    return f"paid {amount}"


@g.tool(name="web.read.v1", risk="read_external")
async def read(page: str) -> str:
    """Read a page."""
    return page


def policy(*obligations: Any) -> g.Policy:
    rule = {"id": "p", "match": {"tool": "bank.pay.v1"}, "decision": "ask", "reason": "PAYMENT"}
    reads = {"id": "r", "match": {"tool": "web.read.v1"}, "decision": "allow", "reason": "READ"}
    return g.Policy.from_rules([rule | {"obligations": list(obligations)}, reads])


async def _call(gate: g.Gateway, **more: Any) -> g.Result:
    return await gate.call("bank.pay.v1", PAYMENT, principal=ANA, run_id="r", **more)


def _decided(*people: tuple[g.Principal, dict[str, Any] | None], again: bool = True, **more: Any) -> Way:
    """Return a way in which these agree to the payment, one after the other, with these arguments."""

    async def way(gate: g.Gateway) -> str:
        waiting = await _call(gate, **more)
        assert waiting.approval_id is not None
        for who, arguments in people:
            await gate.approve(waiting.approval_id, by=who, arguments=arguments)
        if again:
            assert (await _call(gate, **more)).status == "ok"
        return "r"

    return way


async def _refused(gate: g.Gateway) -> str:
    waiting = await _call(gate)
    assert waiting.approval_id is not None
    await gate.refuse(waiting.approval_id, by=BO, reason="no")
    assert (await _call(gate)).status == "error"
    return "r"


async def _once(gate: g.Gateway) -> str:
    await _call(gate)
    return "r"


async def _stale(gate: g.Gateway) -> str:
    """The run reads something from outside between the yes and the call."""
    waiting = await _call(gate)
    assert waiting.approval_id is not None
    await gate.approve(waiting.approval_id, by=BO)
    await gate.call("web.read.v1", {"page": "x"}, principal=ANA, run_id="r", step_id=2)
    stale = await _call(gate)
    assert stale.error is not None
    assert stale.error.error_code == "APPROVAL_STALE"
    return "r"


async def _agent(gate: g.Gateway) -> str:
    agent = g.Agent(ScriptedModel([[("bank.pay.v1", PAYMENT)], "done"]), gate)
    result = await agent.run("Pay.", principal=ANA)
    (waiting,) = await gate.store.approvals(state="pending")
    await gate.approve(waiting.approval_id, by=BO, arguments=LESS)
    assert (await agent.resume(result.run_id, principal=ANA)).status == "completed"
    return result.run_id


def _fails(request: Any) -> bool:
    raise RuntimeError("gone")


WAYS: list[tuple[str, tuple[Any, ...], Way, Any]] = [
    ("one", (), _decided((BO, None)), None),
    ("changed", (), _decided((BO, LESS)), None),
    ("changed twice", ("two_person",), _decided((BO, LESS), (CY, OTHER), (BO, None)), None),
    ("by role", ({"approvers": ["finance"]},), _decided((BO, None)), None),
    ("two", ("two_person",), _decided((BO, None), (CY, None)), None),
    ("two, changed", ("two_person",), _decided((BO, LESS), (CY, None)), None),
    ("one of two", ("two_person",), _decided((BO, None), again=False), None),
    ("another", ("other_approver",), _decided((BO, LESS), (CY, None)), None),
    ("under a key", (), _decided((BO, None), key="k"), None),
    ("refused", (), _refused, None),
    ("at once", (), _once, lambda _: True),
    ("refused at once", (), _once, lambda _: False),
    ("failing", (), _once, _fails),
    ("away", (), _once, lambda _: g.ApprovalAnswer("unavailable", BO)),
    ("of themselves", ("no_self_approval",), _once, lambda _: g.ApprovalAnswer("approve", ANA)),
    ("unnamed", ("two_person",), _once, lambda _: True),
    ("an agent's", (), _agent, None),
    ("stale", (), _stale, None),
]


@pytest.mark.parametrize(
    ("obligations", "way", "approver"), [one[1:] for one in WAYS], ids=[one[0] for one in WAYS]
)
def test_what_people_said_is_said_again(obligations: tuple[Any, ...], way: Way, approver: Any) -> None:
    tools, rules = [pay, read], policy(*obligations)

    async def body() -> None:
        async with g.Gateway(tools, policy=rules, approver=approver) as gate:
            run_id = await way(gate)
            found = await replay_run(gate.store, run_id, tools, rules)
            assert (found.lost, found.changed, found.difference) == (0, (), None)
            assert found.calls + found.stopped >= 1

    asyncio.run(body())


def test_what_came_too_late_comes_too_late_again() -> None:
    rules, clock = policy(), ManualClock(1_000.0)

    async def body() -> None:
        async with g.Gateway([pay], policy=rules, clock=clock, approval_s=60) as gate:
            await _call(gate)
            clock.advance(61)
            late = await _call(gate)
            assert late.error is not None
            assert late.error.error_code == "APPROVAL_TIMEOUT"
            found = await replay_run(gate.store, "r", [pay], rules)
            assert (found.calls, found.difference) == (1, None)

    asyncio.run(body())


def test_one_yes_is_not_enough_for_a_policy_that_now_wants_two() -> None:
    async def body() -> None:
        async with g.Gateway([pay], policy=policy()) as gate:
            await _decided((BO, None))(gate)
            found = await replay_run(gate.store, "r", [pay], policy("two_person"))
            assert found.changed == ("policy",)
            assert found.difference is not None
            assert (found.difference.then, found.difference.now) == ("approved_by_person", "needs_approval")

    asyncio.run(body())
