"""What may come between the steps of a call: cancellations, faults of the store, threads left behind."""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import Any

import pytest

import gerbang as g
from gerbang.adapters.stores import open_store
from gerbang.runtime.leases import Leases
from gerbang.testing import ManualClock, ScriptedModel
from gerbang.values.contract_parts import Condition, Probe
from gerbang.values.record import Batch, Committed
from tests.runtime.street import ALLOW_ALL, bodies, code, endings, run

SHORT_S = 2.0
"""Long enough for a busy machine: the time of a change is counted from before its intent is written."""


class Slow:
    """A real store; before or after some of its commits something else happens."""

    def __init__(self, url: str, before: Any = None, after: Any = None) -> None:
        self.inner = open_store(url)
        self.immediate = self.inner.immediate
        self._before = before
        self._after = after

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    async def commit(self, batch: Batch) -> Committed:
        kinds = [event.kind for event in batch.events]
        if self._before is not None:
            await self._before(kinds)
        committed = await self.inner.commit(batch)
        if self._after is not None:
            await self._after(kinds)
        return committed


LOOK = Probe("act.look.v1", Condition("equals", True, "/done"), Condition("equals", False, "/done"))


def acting(effects: list[str], function: Callable[..., Any] | None = None, **more: Any) -> list[Any]:
    """Return a tool that changes something, and the one that says whether it has."""

    async def act() -> str:
        effects.append("did")
        return "done"

    @g.tool(name="act.look.v1", risk="read_internal")
    async def look() -> dict[str, bool]:
        """Look whether it was done."""
        return {"done": "did" in effects}

    fields: dict[str, Any] = {"risk": "write_internal", "description": "Do it."} | more
    return [g.tool(name="act.do.v1", **fields)(function or act), look]


def test_a_no_says_nothing_while_a_thread_is_at_work(url: str) -> None:
    """The probe looks before the thread that outlived its time has done it: it must not be done twice."""
    effects: list[str] = []
    go_on = threading.Event()

    def act() -> str:
        assert go_on.wait(20)
        effects.append("did")
        return "late"

    async def work() -> None:
        tools = acting(effects, act, timeout_s=SHORT_S, probe=LOOK)
        async with g.Gateway(tools=tools, store=url, policy=ALLOW_ALL) as gate:
            assert code(await gate.call("act.do.v1", {}, run_id="r")) == "TOOL_TIMEOUT"
            assert code(await gate.call("act.do.v1", {}, run_id="r")) == "EFFECT_UNKNOWN"
            go_on.set()
            for _ in range(2_000):
                (row,) = [row for row in await gate.store.calls("r") if row.tool == "act.do.v1"]
                if row.state != "UNCERTAIN":
                    break
                await asyncio.sleep(0.005)
            assert row.state == "RESOLVED_SUCCEEDED"
            assert (await gate.call("act.do.v1", {}, run_id="r")).value == "late"

    try:
        run(work())
    finally:
        go_on.set()
    assert effects == ["did"]


class Held:
    """Holds commits of one kind up, and counts them."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self.arrived = asyncio.Event()
        self.go_on = asyncio.Event()

    async def __call__(self, kinds: list[str]) -> None:
        if self._kind in kinds:
            self.arrived.set()
            await self.go_on.wait()


CANCELLED = [
    # which commit is held up, before or after it is on disk, and the state of the call in the end
    ("call.dispatched", "before", "FAILED"),
    ("call.dispatched", "after", "FAILED"),
    ("call.retried", "before", "UNCERTAIN"),
    ("call.retried", "after", "UNCERTAIN"),
    ("call.finished", "before", "SUCCEEDED"),
    ("call.finished", "after", "SUCCEEDED"),
]


@pytest.mark.parametrize(("kind", "when", "state"), CANCELLED)
@pytest.mark.parametrize("times", [1, 3])
def test_cancelled_while_a_record_is_written(
    durable: str, kind: str, when: str, state: str, times: int
) -> None:
    """Once or again and again: the call has its end, which tells the truth, and the run has its own."""
    effects: list[str] = []

    async def act() -> str:
        effects.append("did")
        if kind == "call.retried" and len(effects) == 1:
            raise g.ToolError("broken", error_type="upstream_error", recoverable=True, effect="unknown")
        return "done"

    async def work() -> None:
        held = Held(kind)
        store: Any = Slow(durable, **{when: held})
        retry = {"max_attempts": 2, "base_ms": 1, "max_ms": 1}
        tools = acting(effects, act, honours_key=True, retry=retry)
        async with g.Gateway(tools=tools, store=store, policy=ALLOW_ALL) as gate:
            agent = g.Agent(ScriptedModel([[("act.do.v1", {})], "Over."]), gate)
            task = asyncio.create_task(agent.run("Go.", run_id="r"))
            await held.arrived.wait()
            for _ in range(times):
                task.cancel()
                await asyncio.sleep(0)
                await asyncio.sleep(0)
            held.go_on.set()
            with pytest.raises(asyncio.CancelledError):
                await task
            row = await gate.store.run("r")
            assert row is not None
            assert row.state == "cancelled"
            (call,) = await gate.store.calls("r")
            assert call.state == state
            assert (await endings(gate.store, "r"))[call.call_id] == 1

    run(work())
    assert len(effects) == (0 if kind == "call.dispatched" else 1)


def test_cancelled_between_two_attempts(url: str) -> None:
    """Nothing is on its way then, and the attempts before were not sent: that is known."""
    began = asyncio.Event()

    async def act() -> str:
        began.set()
        raise g.ToolError(
            "nobody there", error_type="transient_network_error", recoverable=True, effect="none"
        )

    async def work() -> None:
        retry = {"max_attempts": 3, "base_ms": 20_000, "max_ms": 20_000}
        tools = acting([], act, retry=retry, timeout_s=60)
        async with g.Gateway(tools=tools, store=url, policy=ALLOW_ALL) as gate:
            for step in range(4):  # of five failures in a row the circuit would make something else
                began.clear()
                task = asyncio.create_task(gate.call("act.do.v1", {}, run_id="r", step_id=step))
                await began.wait()
                for _ in range(5):
                    await asyncio.sleep(0)
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
            assert {row.state for row in await gate.store.calls("r")} == {"FAILED"}

    run(work())


def test_a_run_that_its_store_failed_can_be_gone_on_with_at_once(durable: str) -> None:
    """Whatever ends a run, its process does not keep the lease."""
    effects: list[str] = []

    async def away(kinds: list[str]) -> None:
        if "call.finished" in kinds:
            raise g.StoreError("The disk is away.")

    async def work() -> None:
        store: Any = Slow(durable, before=away)
        async with (
            g.Gateway(tools=acting(effects), store=store, policy=ALLOW_ALL) as gate,
            g.Gateway(tools=acting(effects), store=durable, policy=ALLOW_ALL) as other,
        ):
            with pytest.raises(g.StoreError, match="away"):
                await g.Agent(ScriptedModel([[("act.do.v1", {})]]), gate).run("Go.", run_id="r")
            done = await g.Agent(ScriptedModel(["Over."]), other).resume("r")
            assert (done.status, code(done.calls[0])) == ("completed", "EFFECT_UNKNOWN")

    run(work())
    assert effects == ["did"]


@pytest.mark.parametrize("calls", [1, 2])
def test_cancelled_while_its_store_is_away(durable: str, calls: int) -> None:
    """What has no record is not said to have been cancelled: the run stays open, and is gone on with."""
    effects: list[str] = []
    inside = asyncio.Event()
    faults: list[int] = []

    async def act() -> str:
        effects.append("did")
        inside.set()
        await asyncio.Event().wait()
        return "never"

    async def away(kinds: list[str]) -> None:
        if "call.finished" in kinds and not faults:
            faults.append(1)
            raise g.StoreError("The disk is away.")

    async def work() -> None:
        store: Any = Slow(durable, before=away)
        asked: list[tuple[str, dict[str, Any]]] = [("act.do.v1", {}), ("act.look.v1", {})]
        del asked[calls:]
        async with (
            g.Gateway(tools=acting(effects, act), store=store, policy=ALLOW_ALL) as gate,
            g.Gateway(tools=acting(effects), store=durable, policy=ALLOW_ALL) as other,
        ):
            task = asyncio.create_task(g.Agent(ScriptedModel([asked]), gate).run("Go.", run_id="r"))
            await inside.wait()
            task.cancel()
            with pytest.raises(g.StoreError, match="away"):
                await task
            assert {row.state for row in await gate.store.calls("r")} == {"DISPATCHED"}
            done = await g.Agent(ScriptedModel(["Over."]), other).resume("r")
            assert (done.status, code(done.calls[0])) == ("completed", "EFFECT_UNKNOWN")

    run(work())
    assert effects == ["did"]


def test_one_process_does_not_drive_a_run_twice(url: str) -> None:
    inside, go_on = asyncio.Event(), asyncio.Event()

    async def act() -> str:
        inside.set()
        await go_on.wait()
        return "done"

    async def work() -> None:
        async with g.Gateway(tools=acting([], act), store=url, policy=ALLOW_ALL) as gate:
            agent = g.Agent(ScriptedModel([[("act.do.v1", {})], "Over."]), gate)
            driving = asyncio.create_task(agent.run("Go.", run_id="r"))
            await inside.wait()
            with pytest.raises(g.UsageError, match="driven"):
                await agent.resume("r")
            with pytest.raises(g.UsageError, match="new run_id"):
                await agent.run("Go.", run_id="r")
            go_on.set()
            assert (await driving).status == "completed"
            with pytest.raises(g.UsageError, match="new run_id"):
                await agent.run("Go.", run_id="r")
            kinds = [body["kind"] for body in await bodies(gate.store, "r")]
            assert (kinds.count("run.started"), kinds.count("run.finished")) == (1, 1)

    run(work())


def test_a_lease_that_is_taken_anew_while_others_are_renewed(durable: str) -> None:
    """A beat that still knows the former lease of a run leaves the new one alone."""

    async def work() -> None:
        store = open_store(durable)
        await store.open()
        async with g.Gateway(store=durable) as gate:
            waiting, go_on = asyncio.Event(), asyncio.Event()
            inner = store.renew

            async def renew(lease: Any, ttl_s: float) -> Any:
                waiting.set()
                await go_on.wait()
                return await inner(lease, ttl_s)

            setattr(store, "renew", renew)  # noqa: B010 - a store that takes its time
            leases = Leases(store, gate.clock, 60.0)
            one, two = gate.session("r1"), gate.session("r2")
            assert await leases.take(one)
            assert await leases.take(two)
            beat = asyncio.create_task(leases._renew())
            await waiting.wait()
            await leases.let_go(two)
            anew = gate.session("r2")
            assert await leases.take(anew)
            go_on.set()
            await beat
            assert leases.giving_back("r2") is not None
            assert anew.lease_until > gate.clock.monotonic()
            await leases.aclose()
        await store.close()

    run(work())


def test_a_request_is_not_made_for_a_run_that_is_anothers(durable: str) -> None:
    """What a process that slept still wants to ask a person is the other one's to ask."""
    asks = g.Policy.from_rules(
        [{"id": "q", "match": {"tool": "act.do.v1"}, "decision": "ask", "reason": "ASK_FIRST"}]
    )

    async def work() -> None:
        async with g.Gateway(tools=acting([]), store=durable, policy=asks) as gate:

            class Paused(ScriptedModel):
                async def answer(self, request: Any) -> Any:
                    async for event in super().answer(request):
                        yield event
                    (lease, _) = gate.leases._held["r"]
                    await gate.store.release(lease)
                    assert await gate.store.lease("r", "another", 60) is not None

            done = await g.Agent(Paused([[("act.do.v1", {})]]), gate).run("Go.", run_id="r")
            assert done.status == "cancelled"
            assert await gate.store.approvals(run_id="r") == []
            assert await gate.store.calls("r") == []
            kinds = [body["kind"] for body in await bodies(gate.store, "r")]
            assert kinds == ["run.started"]

    run(work())


def test_a_second_click_while_a_person_thinks(url: str) -> None:
    """It gets the same request, at once: nobody waits for a person who may take a day."""
    effects: list[str] = []
    asked, answer = asyncio.Event(), asyncio.Event()

    async def approver(request: g.ApprovalRequest) -> bool:
        asked.set()
        await answer.wait()
        return True

    async def work() -> None:
        asks = g.Policy.from_rules(
            [{"id": "q", "match": {"tool": "act.do.v1"}, "decision": "ask", "reason": "ASK_FIRST"}]
        )
        async with g.Gateway(tools=acting(effects), store=url, policy=asks, approver=approver) as gate:
            first = asyncio.create_task(gate.call("act.do.v1", {}, run_id="r"))
            early = asyncio.create_task(gate.call("act.do.v1", {}, run_id="r"))
            await asked.wait()
            late = await gate.call("act.do.v1", {}, run_id="r")
            assert (late.status, (await early).status) == ("pending", "pending")
            (request,) = await gate.store.approvals(run_id="r")
            assert request.approval_id == late.approval_id
            answer.set()
            assert (await first).status == "ok"
            again = await gate.call("act.do.v1", {}, run_id="r")
            assert (again.status, again.replayed) == ("ok", True)

    run(work())
    assert effects == ["did"]


def test_a_clock_that_was_set_back_keeps_nobody_waiting(durable: str) -> None:
    """A lost call is waited for as long as it may take, whatever the clock says by then."""
    effects: list[str] = []
    inside = asyncio.Event()

    async def act() -> str:
        inside.set()
        if not effects:
            await asyncio.Event().wait()
        return "done"

    async def work() -> None:
        clock = ManualClock()
        tools = acting(effects, act, timeout_s=0.5, probe=LOOK)
        gate = g.Gateway(tools=tools, store=durable, policy=ALLOW_ALL, clock=clock)
        await gate.__aenter__()
        task = asyncio.create_task(gate.call("act.do.v1", {}, run_id="r"))
        await inside.wait()
        await gate.store.close()
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError, g.StoreError):
            await task
        clock.set_back(3_600)
        effects.append("lives")
        async with g.Gateway(tools=tools, store=durable, policy=ALLOW_ALL, clock=clock) as other:
            calling = asyncio.create_task(other.call("act.do.v1", {}, run_id="r"))
            while not calling.done():  # the clock that is asked goes on, the machine's does not count
                await asyncio.sleep(0.01)
                clock.advance(0.01)
            assert (await calling).value == "done"
        await gate.aclose()

    run(work())


SAID = [
    # what the probe gives, the code that the contract takes for a no, and the state of the call then
    (g.ToolError("no", code="NOT_FOUND", error_type="semantic_error"), "NOT_FOUND", "RESOLVED_FAILED"),
    (g.ToolError("HTTP 404 — no", code="HTTP_4XX"), "HTTP_4XX", "RESOLVED_FAILED"),
    (g.ToolError("HTTP 410 — no", code="HTTP_4XX"), "HTTP_4XX", "RESOLVED_FAILED"),
    (g.ToolError("HTTP 404 — no", code="HTTP_4XX"), "HTTP_404", "RESOLVED_FAILED"),
    (g.ToolError("HTTP 401 — no", code="HTTP_4XX"), "HTTP_4XX", "UNCERTAIN"),
    (g.ToolError("HTTP 401 — no", code="HTTP_4XX"), "HTTP_404", "UNCERTAIN"),
    (g.ToolError("no", code="NOT_FOUND", error_type="rate_limited"), "NOT_FOUND", "UNCERTAIN"),
    (g.ToolError("no", code="NOT_FOUND", error_type="permission_denied"), "NOT_FOUND", "UNCERTAIN"),
    (RuntimeError("broken"), "INTERNAL", "UNCERTAIN"),
    ("refused", "PROBE_DENIED", "UNCERTAIN"),
    ("hangs", "TOOL_TIMEOUT", "UNCERTAIN"),
    ("lies", "NOT_FOUND", "UNCERTAIN"),
]


@pytest.mark.parametrize(("given", "taken", "state"), SAID)
def test_what_counts_as_a_no(given: Any, taken: str, state: str, url: str) -> None:
    """Only what the probe itself says of the thing it was asked about. All else leaves the call in doubt."""

    async def act() -> str:
        raise g.ToolError("lost", error_type="upstream_error", effect="unknown")

    @g.tool(name="act.look.v1", risk="read_internal", timeout_s=0.2)
    async def look() -> Any:
        """Look."""
        if isinstance(given, Exception):
            raise given
        if given == "hangs":
            await asyncio.Event().wait()
        return {"done": "perhaps"}

    async def work() -> None:
        probe = Probe("act.look.v1", Condition("equals", True, "/done"), Condition("error", taken))
        rules: list[dict[str, Any]] = [
            {"id": "a", "match": {"tool": "*"}, "everything": True, "decision": "allow", "reason": "A"}
        ]
        if given == "refused":
            rules.append(
                {"id": "d", "match": {"tool": "act.look.v1"}, "decision": "deny", "reason": "PROBE_DENIED"}
            )
        tools = [acting([], act, probe=probe, retry={"max_attempts": 1}, timeout_s=SHORT_S)[0], look]
        async with g.Gateway(tools=tools, store=url, policy=g.Policy.from_rules(rules)) as gate:
            await gate.call("act.do.v1", {}, run_id="r")
            (row,) = [row for row in await gate.store.calls("r") if row.tool == "act.do.v1"]
            assert row.state == state

    run(work())
