"""Attempts, circuits and probes of real calls: what runs, how often, and what is on record."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

import gerbang as g
from gerbang.testing import ManualClock
from tests.runtime.street import ALLOW_ALL, code, history, run

FAST = {"base_ms": 1, "max_ms": 2}
SENT = ("call.dispatched", "call.retried")


def failing(times: int, seen: list[str], *, risk: str, fault: dict[str, Any], **more: Any) -> Any:
    """Return a tool that fails so many times, then works."""

    @g.tool(name="shop.order.v1", risk=risk, **more)
    async def order(item: str, context: g.CallContext) -> str:
        """Order something."""
        seen.append(context.idempotency_key)
        if len(seen) <= times:
            raise g.ToolError("The shop is away.", **fault)
        return f"ordered {item}"

    return order


DOWN: dict[str, Any] = {"error_type": "transient_network_error", "code": "CONNECT_FAILED", "effect": "none"}
BUSY: dict[str, Any] = {"error_type": "rate_limited", "code": "BUSY", "effect": "none", "retry_after_ms": 1}
LOST: dict[str, Any] = {"error_type": "upstream_error", "code": "HTTP_5XX"}
WRONG: dict[str, Any] = {"error_type": "upstream_error", "code": "HTTP_4XX", "effect": "none"}

CASES: list[tuple[str, dict[str, Any], dict[str, Any], int, str, str]] = [
    # class, fault, contract, attempts that fail, state, code
    ("read_external", DOWN, {}, 2, "SUCCEEDED", ""),
    ("read_external", DOWN, {}, 3, "FAILED", "CONNECT_FAILED"),
    ("write_external", DOWN, {}, 2, "SUCCEEDED", ""),
    ("write_external", BUSY, {}, 1, "SUCCEEDED", ""),
    ("write_external", LOST, {}, 1, "UNCERTAIN", "HTTP_5XX"),
    ("write_external", LOST, {"honours_key": True}, 1, "SUCCEEDED", ""),
    ("write_external", WRONG, {"honours_key": True}, 1, "FAILED", "HTTP_4XX"),
    ("external_communication", DOWN, {}, 1, "SUCCEEDED", ""),
    ("external_communication", DOWN, {}, 2, "FAILED", "CONNECT_FAILED"),
    ("external_communication", BUSY, {}, 1, "FAILED", "BUSY"),
]


@pytest.mark.parametrize(("risk", "fault", "more", "times", "state", "want"), CASES)
@pytest.mark.parametrize("store", ["memory:", "sqlite"])
def test_attempts(
    tmp_path: Path,
    store: str,
    risk: str,
    fault: dict[str, Any],
    more: dict[str, Any],
    times: int,
    state: str,
    want: str,
) -> None:
    seen: list[str] = []
    tool = failing(times, seen, risk=risk, fault=fault, retry=FAST, **more)

    async def work() -> None:
        address = f"sqlite:{tmp_path / 's.db'}" if store == "sqlite" else store
        async with g.Gateway(tools=[tool], policy=ALLOW_ALL, store=address) as gate:
            result = await gate.call("shop.order.v1", {"item": "tea"}, run_id="r")
            (row,) = await gate.store.calls("r")
            assert (row.state, code(result) if result.error else "") == (state, want)
            assert (row.attempt, len(set(seen))) == (len(seen), 1)  # the key is the same each time
            kinds = [event.kind for event in await gate.store.events("r")]
            retried = ["call.retried"] * (len(seen) - 1)
            assert kinds == ["call.dispatched", *retried, "call.finished"]
            await history(gate.store, "r")

    run(work())


@pytest.mark.parametrize("reopened", [False, True])
@pytest.mark.parametrize("risk", ["external_communication", "transactional", "destructive"])
def test_a_grave_call_that_was_turned_away_is_sent_again_by_a_person_only(
    tmp_path: Path, risk: str, reopened: bool
) -> None:
    seen: list[str] = []
    tool = failing(1, seen, risk=risk, fault=BUSY, retry=FAST)
    rule = {"id": "order", "match": {"tool": ["shop.order.v1"]}, "decision": "allow", "reason": "OK"}
    policy = g.Policy.from_rules([{**rule, "auto": True}])
    address = f"sqlite:{tmp_path / 's.db'}"

    async def go_on(gate: g.Gateway) -> None:
        again = await gate.call("shop.order.v1", {"item": "tea"}, run_id="r", step_id=2)
        assert again.status == "pending"
        assert again.decision is not None
        assert again.decision.reasons[0] == "FLOOR_RATE_LIMITED"
        assert again.approval_id is not None
        other = await gate.call("shop.order.v1", {"item": "milk"}, run_id="r", step_id=3)
        assert other.status == "ok"  # another call is no repetition
        await gate.approve(again.approval_id, by=g.Principal(user="eva", tenant="local"))
        sent = await gate.call("shop.order.v1", {"item": "tea"}, run_id="r", step_id=2)
        assert (sent.status, sent.value) == ("ok", "ordered tea")
        elsewhere = await gate.call("shop.order.v1", {"item": "tea"}, run_id="r2")
        assert elsewhere.status == "ok"

    async def work() -> None:
        async with g.Gateway(tools=[tool], policy=policy, store=address) as gate:
            first = await gate.call("shop.order.v1", {"item": "tea"}, run_id="r", step_id=1)
            assert (code(first), len(seen)) == ("BUSY", 1)
            if not reopened:
                await go_on(gate)
        if reopened:
            async with g.Gateway(tools=[tool], policy=policy, store=address) as gate:
                await go_on(gate)

    run(work())
    assert len(seen) == 4


def test_a_wait_that_is_longer_than_the_call_may_take_is_not_begun() -> None:
    seen: list[str] = []
    fault = {**BUSY, "retry_after_ms": 60_000}
    tool = failing(1, seen, risk="read_external", fault=fault, timeout_s=1.0)

    async def work() -> None:
        async with g.Gateway(tools=[tool]) as gate:
            result = await gate.call("shop.order.v1", {"item": "tea"})
            assert result.error is not None
            assert (code(result), result.error.retry_after_ms, len(seen)) == ("BUSY", 60_000, 1)

    run(work(), within_s=5)


def test_a_switch_turned_on_between_attempts_stops_the_next() -> None:
    seen: list[str] = []

    async def work() -> None:
        @g.tool(name="shop.order.v1", risk="write_external", retry=FAST)
        async def order(item: str) -> str:
            """Order."""
            seen.append(item)
            await gate.kill("tool:shop.order.v1")
            raise g.ToolError("away", **DOWN)

        gate = g.Gateway(tools=[order], policy=ALLOW_ALL)
        async with gate:
            assert code(await gate.call("shop.order.v1", {"item": "tea"})) == "CONNECT_FAILED"
            assert seen == ["tea"]

    run(work())


def test_the_circuit_of_an_upstream() -> None:
    seen: list[str] = []
    tool = failing(6, seen, risk="read_external", fault=DOWN, retry={"max_attempts": 1})

    async def work() -> None:
        clock = ManualClock(1_000.0)
        async with g.Gateway(tools=[tool], clock=clock) as gate:

            async def once(item: str) -> str:
                result = await gate.call("shop.order.v1", {"item": item})
                return code(result) if result.error else "ok"

            assert [await once(str(i)) for i in range(5)] == ["CONNECT_FAILED"] * 5
            assert [await once("x"), len(seen)] == ["CIRCUIT_OPEN", 5]
            clock.advance(31)
            both = await asyncio.gather(once("y"), once("z"))  # half open: one is let through
            assert sorted(both) == ["CIRCUIT_OPEN", "CONNECT_FAILED"]
            assert await once("w") == "CIRCUIT_OPEN"
            clock.advance(31)
            assert [await once("v"), await once("u"), len(seen)] == ["ok", "ok", 8]

    run(work())


ORDERS: list[tuple[str, str, int, str]] = [
    # what happened inside, what the probe says, orders made in the end, state
    ("made", "found", 1, "RESOLVED_SUCCEEDED"),
    ("not made", "missing", 1, "SUCCEEDED"),
    ("made", "silent", 1, "UNCERTAIN"),
    ("not made", "both", 0, "UNCERTAIN"),
]


@pytest.mark.parametrize(("inside", "probe", "orders", "state"), ORDERS)
@pytest.mark.parametrize("risk", ["write_external", "transactional"])
def test_a_probe_tells_what_became_of_a_call(
    risk: str, inside: str, probe: str, orders: int, state: str
) -> None:
    made: list[str] = []
    tries: list[int] = []

    @g.tool(
        name="shop.order.v1",
        risk=risk,
        timeout_s=0.2,
        retry=FAST,
        probe={
            "tool": "shop.find.v1",
            "arguments": {"key": "@key", "item": "item"},
            "happened": {"test": "exists", "path": "/order"},
            "not_happened": {"test": "equals", "path": "/known", "value": False},
        },
    )
    async def order(item: str, context: g.CallContext) -> str:
        """Order."""
        tries.append(1)
        if len(tries) > 1 or inside == "made":
            made.append(context.idempotency_key)
        if len(tries) == 1:
            raise g.ToolError("no answer", **LOST)
        return "ordered"

    @g.tool(name="shop.find.v1", risk="read_external")
    async def find(key: str, item: str) -> dict[str, Any]:
        """Find an order by its key."""
        assert item == "tea"
        if probe == "silent":
            raise g.ToolError("away", code="AWAY")
        if probe == "both":
            return {"order": 7, "known": False}
        return {"order": 7} if key in made else {"known": False}

    policy = g.Policy.from_rules(
        [
            {
                "id": "order",
                "match": {"tool": "shop.order.v1"},
                "decision": "allow",
                "auto": True,
                "reason": "TEST",
            }
        ]
    )

    async def work() -> None:
        async with g.Gateway(tools=[order, find], policy=policy) as gate:
            result = await gate.call("shop.order.v1", {"item": "tea"}, run_id="r")
            row = next(call for call in await gate.store.calls("r") if call.tool == "shop.order.v1")
            assert (row.state, len(made)) == (state, orders)
            assert result.status == ("error" if state == "UNCERTAIN" else "ok")
            again = await gate.call("shop.order.v1", {"item": "tea"}, run_id="r")
            assert (again.status, len(made)) == (result.status, orders)
            await history(gate.store, "r")

    run(work())


def test_a_dry_run_shows_what_would_happen_and_does_nothing() -> None:
    seen: list[str] = []

    @g.tool(name="shop.pay.v1", risk="transactional", sensitive=("card",))
    async def pay(amount: int, card: str) -> str:
        """Pay."""
        seen.append(card)
        return "paid"

    @pay.preview
    async def _(amount: int, card: str) -> str:
        return f"Pay {amount} euros from the account."

    async def work() -> None:
        async with g.Gateway(tools=[pay]) as gate:
            would = await gate.dry_run("shop.pay.v1", {"amount": 5, "card": "4111"})
            assert (would.decision.decision, would.error) == ("ask", None)
            assert "Pay 5 euros" in would.preview
            assert "4111" not in would.preview
            wrong = await gate.dry_run("shop.pay.v1", {"amount": "five", "card": "4111"})
            assert wrong.error is not None
            assert (wrong.decision.decision, wrong.error.error_code) == ("deny", "WRONG_TYPE")
            assert (seen, await gate.store.runs()) == ([], [])

    run(work())


def test_the_duty_to_only_look() -> None:
    seen: list[str] = []
    tool = failing(0, seen, risk="write_external", fault=DOWN)
    policy = g.Policy.from_rules(
        [
            {
                "id": "look",
                "match": {"tool": "shop.order.v1"},
                "decision": "allow",
                "reason": "LOOK",
                "obligations": ["dry_run"],
            }
        ]
    )

    async def work() -> None:
        async with g.Gateway(tools=[tool], policy=policy) as gate:
            result = await gate.call("shop.order.v1", {"item": "tea"}, run_id="r")
            assert (result.status, result.value["dry_run"], seen) == ("ok", True, [])
            assert "Nothing was done" in result.for_model
            (event,) = await gate.store.events("r")
            assert event.kind == "call.previewed"
            assert msgspec.json.decode(event.body)["policy_decision"] == "dry_run"

    run(work())


def test_a_last_attempt_that_was_not_sent_says_nothing_of_the_one_before() -> None:
    """The target honours the key and may have done it; that it then could not be reached is no proof."""
    faults = [LOST, DOWN, DOWN]

    @g.tool(name="shop.order.v1", risk="write_external", honours_key=True, retry=FAST)
    async def order(item: str) -> str:
        """Order something."""
        raise g.ToolError("The shop is away.", **faults.pop(0))

    async def work() -> None:
        async with g.Gateway(tools=[order], policy=ALLOW_ALL) as gate:
            result = await gate.call("shop.order.v1", {"item": "tea"}, run_id="r")
            (row,) = await gate.store.calls("r")
            assert (row.state, row.attempt, code(result), faults) == ("UNCERTAIN", 3, "EFFECT_UNKNOWN", [])

    run(work())


def test_the_record_of_a_repeated_call_says_that_a_person_approved_it(url: str) -> None:
    async def work() -> list[tuple[str, str]]:
        @g.tool(name="notes.save.v1", risk="write_internal", retry={"base_ms": 1, "max_ms": 1})
        async def save(text: str) -> str:
            """Save a note."""
            raise g.ToolError(
                "no", error_type="transient_network_error", code="CONNECT_FAILED", effect="none"
            )

        async with g.Gateway([save], store=url, approver=lambda _: True) as gate:
            await gate.call("notes.save.v1", {"text": "hi"}, run_id="r")
            events = await gate.store.events("r")
            bodies = [(event.kind, msgspec.json.decode(event.body)) for event in events]
            return [(kind, body.get("policy_decision", "")) for kind, body in bodies if kind in SENT]

    said = "approved_by_person"
    assert run(work()) == [("call.dispatched", said), ("call.retried", said), ("call.retried", said)]
