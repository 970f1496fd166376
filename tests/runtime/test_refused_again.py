"""Calls that were sent, or asked for, before their process died, and that may not be made any more.

Their rows do not stay open: what was sent is UNCERTAIN, or what its probe says, and the model is told so.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

import gerbang as g
from gerbang.testing import ScriptedModel
from gerbang.values.contract_parts import Condition, Probe
from tests.runtime.street import ALLOW_ALL, bodies, code, run

LEASE_S = 0.5
PROBE = Probe("act.look.v1", Condition("equals", True, "/done"), Condition("equals", False, "/done"))


def tools(effects: list[str], how: str, risk: str = "write_internal", **more: Any) -> list[Any]:
    """Return a tool that counts its effects, and the one that says whether there was one."""
    helps: dict[str, dict[str, Any]] = {"key": {"honours_key": True}, "probe": {"probe": PROBE}}
    given = helps.get(how, {})

    @g.tool(name="act.do.v1", risk=risk, timeout_s=2, **given, **more)
    async def act(name: str, context: g.CallContext) -> str:
        """Do it."""
        if "dies before" not in effects:
            effects.append(f"did {name}")
        if "lives" not in effects:
            effects.append("in it")
            await asyncio.Event().wait()
        return "done"

    @g.tool(name="act.look.v1", risk="read_internal")
    async def look() -> dict[str, bool]:
        """Look whether it was done."""
        return {"done": any(entry.startswith("did") for entry in effects)}

    return [act, look]


async def cut_off(gate: g.Gateway, work: Coroutine[Any, Any, Any], effects: list[str]) -> None:
    """Have the work end in its tool as if its process had died: nothing more of it goes on record."""
    task = asyncio.create_task(work)
    while "in it" not in effects:
        await asyncio.sleep(0)
    await gate.store.close()
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError, g.StoreError):
        await task
    effects.append("lives")


def denies(tool: str) -> g.Policy:
    """Return a policy that denies one tool."""
    everything = {"match": {"tool": "*"}, "everything": True, "decision": "allow", "reason": "A", "id": "a"}
    return g.Policy.from_rules(
        [everything, {"id": "d", "match": {"tool": tool}, "decision": "deny", "reason": "NOT_ANY_MORE"}]
    )


def asks(tool: str) -> g.Policy:
    """Return a policy that asks about one tool."""
    everything = {"match": {"tool": "*"}, "everything": True, "decision": "allow", "reason": "A", "id": "a"}
    return g.Policy.from_rules(
        [everything, {"id": "q", "match": {"tool": tool}, "decision": "ask", "reason": "ASK_FIRST"}]
    )


async def killed(gate: g.Gateway) -> None:
    await gate.kill("tool:act.do.v1", by=g.Principal("boss"), reason="test")


async def nothing(gate: g.Gateway) -> None:
    """Leave it as it is."""


SCOPED: dict[str, Any] = {"scopes": ("act",)}
Change = tuple[str, dict[str, Any], Callable[[g.Gateway], Coroutine[Any, Any, None]]]
CHANGES: list[tuple[str, str, Change]] = [
    ("policy denies", "NOT_ANY_MORE", ("denies", {}, nothing)),
    ("a kill switch", "KILL_SWITCH", ("same", {}, killed)),
    ("a scope is gone", "SCOPE_MISSING", ("same", SCOPED, nothing)),
    ("the tool is gone", "TOOL_UNKNOWN", ("same", {"gone": True}, nothing)),
]
WANTED = {
    # how the target helps, whether the effect happened: the state in the end, the code that the model is told
    ("none", True): ("UNCERTAIN", "EFFECT_UNKNOWN"),
    ("key", True): ("UNCERTAIN", "EFFECT_UNKNOWN"),
    ("key", False): ("UNCERTAIN", "EFFECT_UNKNOWN"),
    ("probe", True): ("RESOLVED_SUCCEEDED", "ok"),
    ("probe", False): ("RESOLVED_FAILED", "NOT_HAPPENED"),
}


def policy_of(kind: str) -> g.Policy:
    return {"denies": denies("act.do.v1"), "asks": asks("act.do.v1")}.get(kind, ALLOW_ALL)


def who(more: dict[str, Any], before: bool) -> g.Principal:
    return g.Principal("ana", scopes={"act"} if more == SCOPED and before else set())


@pytest.mark.parametrize(("how", "happened"), list(WANTED))
@pytest.mark.parametrize(("why", "reason", "change"), CHANGES, ids=[entry[0] for entry in CHANGES])
def test_a_resumed_run(why: str, reason: str, change: Change, how: str, happened: bool, durable: str) -> None:
    kind, more, turn = change
    effects = [] if happened else ["dies before"]
    fields = {} if "gone" in more else more

    async def work() -> None:
        made = tools(effects, how, **fields)
        gate = g.Gateway(tools=made, store=durable, policy=ALLOW_ALL, lease_s=LEASE_S)
        await gate.__aenter__()
        model = ScriptedModel([[("act.do.v1", {"name": "x"})]])
        first = g.Agent(model, gate).run("Go.", run_id="r", principal=who(more, True))
        await cut_off(gate, first, effects)
        async with g.Gateway(
            tools=made[1:] if "gone" in more else made, store=durable, policy=policy_of(kind), lease_s=5
        ) as other:
            await turn(other)
            said: list[str] = []

            def last(seen: Any) -> str:
                said.append(seen[-1].content)
                return "Over."

            agent = g.Agent(ScriptedModel([last]), other)
            done = await resumed(agent, who(more, False))
            (row,) = [row for row in await other.store.calls("r") if row.tool == "act.do.v1"]
            state, told = WANTED[how, happened]
            if "gone" in more:  # and its contract with it, which names the probe
                state, told = "UNCERTAIN", "EFFECT_UNKNOWN"
            assert (row.state, code(done.calls[0]), done.status) == (state, told, "completed")
            lost = [body for body in await bodies(other.store, "r") if body["kind"] == "call.lost"]
            assert len(lost) == 1
            assert done.calls[0].for_model in said[0]
            if state == "UNCERTAIN":
                assert row in await other.store.uncertain()
                assert {"NEEDS_A_PERSON", reason} <= set(lost[0]["reasons"])
                assert done.calls[0].error is not None
                assert reason in done.calls[0].error.message
            ends = Counter(
                body["call_id"]
                for body in await bodies(other.store, "r")
                if body["kind"] in ("call.finished", "call.refused", "call.lost")
            )
            assert ends[row.call_id] == 1
        await gate.aclose()

    run(work(), within_s=60)
    assert effects.count("did x") == (1 if happened else 0)


async def resumed(agent: g.Agent, principal: g.Principal) -> g.RunResult:
    """Go on with the run, as soon as the dead process's lease has run out."""
    while True:
        try:
            return await agent.resume("r", principal=principal)
        except g.UsageError as error:
            if "driven by another" not in str(error):
                raise
            await asyncio.sleep(0.05)


ASKED = {
    # what is known to have happened stands, what is known not to have happened is asked about
    ("none", True): ("UNCERTAIN", "EFFECT_UNKNOWN", "completed"),
    ("key", True): ("UNCERTAIN", "EFFECT_UNKNOWN", "completed"),
    ("probe", True): ("RESOLVED_SUCCEEDED", "ok", "completed"),
    ("probe", False): ("PLANNED", "pending", "pending_approval"),
}


@pytest.mark.parametrize(("how", "happened"), list(ASKED))
def test_a_resumed_run_whose_policy_asks_now(how: str, happened: bool, durable: str) -> None:
    effects = [] if happened else ["dies before"]

    async def work() -> None:
        gate = g.Gateway(tools=tools(effects, how), store=durable, policy=ALLOW_ALL, lease_s=LEASE_S)
        await gate.__aenter__()
        model = ScriptedModel([[("act.do.v1", {"name": "x"})]])
        await cut_off(gate, g.Agent(model, gate).run("Go.", run_id="r"), effects)
        async with g.Gateway(tools=tools(effects, how), store=durable, policy=asks("act.do.v1")) as other:
            agent = g.Agent(ScriptedModel(["Over."]), other)
            done = await resumed(agent, g.Principal("local"))
            (row,) = [row for row in await other.store.calls("r") if row.tool == "act.do.v1"]
            assert (row.state, code(done.calls[0]), done.status) == ASKED[how, happened]
            for approval in await other.store.approvals(run_id="r", state="pending"):
                effects.clear()
                effects.append("lives")
                await other.approve(approval.approval_id, by=g.Principal("boss"))
                assert code((await agent.resume("r")).calls[0]) == "ok"
        await gate.aclose()

    run(work(), within_s=60)
    assert effects.count("did x") == 1


@pytest.mark.parametrize("change", ["same", "denies"])
def test_a_read_has_failed(durable: str, change: str) -> None:
    """Nothing is in doubt of what only reads: it is made again, or refused like any other."""
    effects: list[str] = []

    async def work() -> None:
        gate = g.Gateway(
            tools=tools(effects, "", "read_internal"), store=durable, policy=ALLOW_ALL, lease_s=LEASE_S
        )
        await gate.__aenter__()
        model = ScriptedModel([[("act.do.v1", {"name": "x"})]])
        await cut_off(gate, g.Agent(model, gate).run("Go.", run_id="r"), effects)
        async with g.Gateway(
            tools=tools(effects, "", "read_internal"), store=durable, policy=policy_of(change)
        ) as other:
            done = await resumed(g.Agent(ScriptedModel(["Over."]), other), g.Principal("local"))
            (row,) = await other.store.calls("r")
            wanted = ("SUCCEEDED", "ok") if change == "same" else ("FAILED", "NOT_ANY_MORE")
            assert (row.state, code(done.calls[0])) == wanted
            assert done.calls[0].error is None or done.calls[0].error.effect == "none"
        await gate.aclose()

    run(work(), within_s=60)


@pytest.mark.parametrize(("how", "happened"), list(WANTED))
@pytest.mark.parametrize("turn", [nothing, killed])
def test_a_caller_that_comes_back(
    durable: str, how: str, happened: bool, turn: Callable[[g.Gateway], Coroutine[Any, Any, None]]
) -> None:
    """A program with its own loop makes the call again, and may not any more."""
    effects = [] if happened else ["dies before"]

    async def work() -> None:
        gate = g.Gateway(tools=tools(effects, how), store=durable, policy=ALLOW_ALL, lease_s=LEASE_S)
        await gate.__aenter__()
        await cut_off(gate, gate.call("act.do.v1", {"name": "x"}, run_id="r"), effects)
        policy = denies("act.do.v1") if turn is nothing else ALLOW_ALL
        async with g.Gateway(tools=tools(effects, how), store=durable, policy=policy) as other:
            await turn(other)
            different = await other.call("act.do.v1", {"name": "y"}, run_id="r")
            assert code(different) in ("NOT_ANY_MORE", "KILL_SWITCH")  # of another call nothing is in doubt
            result = await other.call("act.do.v1", {"name": "x"}, run_id="r")
            (row,) = [row for row in await other.store.calls("r") if "x" in row.arguments.decode()]
            assert (row.state, code(result)) == WANTED[how, happened]
            again = await other.call("act.do.v1", {"name": "x"}, run_id="r")
            assert code(again) in ("NOT_ANY_MORE", "KILL_SWITCH")  # what is on record is for who may ask
        await gate.aclose()

    run(work(), within_s=60)


@pytest.mark.parametrize("decided", [False, True])
def test_a_request_that_waits_ends_with_its_call(url: str, decided: bool) -> None:
    effects = ["lives"]

    async def work() -> None:
        made, policy = tools(effects, ""), Swapped(asks("act.do.v1"))
        async with g.Gateway(tools=made, store=url, policy=policy) as gate:
            agent = g.Agent(ScriptedModel([[("act.do.v1", {"name": "x"})], "Over."]), gate)
            waiting = await agent.run("Go.", run_id="r")
            (approval,) = await gate.store.approvals(run_id="r")
            if decided:
                await gate.approve(approval.approval_id, by=g.Principal("boss"))
            policy.inner = denies("act.do.v1")
            done = await agent.resume("r")
            assert (waiting.status, done.status) == ("pending_approval", "completed")
            assert code(done.calls[0]) == "NOT_ANY_MORE"
            (row,) = await gate.store.calls("r")
            (approval,) = await gate.store.approvals(run_id="r")
            assert (row.state, approval.state) == ("REFUSED", "expired" if decided else "cancelled")
            with pytest.raises(g.UsageError, match=approval.state):
                await gate.approve(approval.approval_id, by=g.Principal("boss"))
            kinds = [body["kind"] for body in await bodies(gate.store, "r")]
            assert kinds.count("call.refused") == 1

    run(work())
    assert "did x" not in effects


class Swapped:
    """A policy that another one takes the place of."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    @property
    def version(self) -> str:
        version: str = self.inner.version
        return version

    def decide(self, document: Any) -> g.Decision:
        decision: g.Decision = self.inner.decide(document)
        return decision
