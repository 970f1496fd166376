"""A Rego bundle that changes while it decides: swapped whole, never mixed, nothing left over."""

import asyncio
import os
from pathlib import Path

import gerbang as g
from gerbang.compose.policy import Policy
from gerbang.compose.policy_watch_rego import WatchedRego
from gerbang.errors import PolicyError

from .bundles import HARD, call, rego
from .test_rego_attacks import children

BUNDLE = 'package gerbang\n\ndecision := {{"decision": "{0}", "reasons": ["{1}"]}}\n'
POLL_S = 0.01


def written(folder: Path, decision: str) -> Path:
    """Write a bundle in one step, so that nobody reads half of it."""
    fresh = rego(folder, BUNDLE.format(decision, decision.upper()), "fresh.tmp")
    os.replace(fresh, folder / "policy.rego")
    return folder / "policy.rego"


def test_a_bundle_is_followed_while_it_decides(tmp_path: Path) -> None:
    told: list[PolicyError] = []

    async def work() -> None:
        path = written(tmp_path, "deny")
        async with WatchedRego(path, poll_s=POLL_S, on_bad=told.append) as policy:
            stop = asyncio.Event()
            found: set[tuple[str, str, str]] = set()

            async def ask() -> None:
                while not stop.is_set():
                    one = await policy.decide_async(call())
                    found.add((one.decision, one.reasons[0], one.policy_version))

            asking = [asyncio.ensure_future(ask()) for _ in range(10)]
            for number, decision in enumerate(("ask", "allow", "deny")):
                written(tmp_path, decision)
                while policy.status.swaps <= number:
                    await asyncio.sleep(POLL_S)
                assert policy.decide(call()).decision == decision
            path.write_text("package gerbang\n\ndecision := {")
            while not told:
                await asyncio.sleep(POLL_S)
            assert (await policy.decide_async(call())).decision == "deny"
            stop.set()
            await asyncio.gather(*asking)
            assert {code for _, code, _ in found} <= {"DENY", "ASK", "ALLOW"}  # no denial by the change
            assert all(decision.upper() == code for decision, code, _ in found)
            assert len({(code, version) for _, code, version in found}) == len({code for _, code, _ in found})
            assert "policy.rego:3:14" in str(told[0])
        assert policy.decide(call()).reasons == ("POLICY_ERROR", "POLICY_CLOSED")

    before = children()
    asyncio.run(work())
    assert children() <= before


def test_a_decision_in_the_making_keeps_its_bundle(tmp_path: Path) -> None:
    async def work() -> None:
        path = rego(tmp_path, HARD)
        async with WatchedRego(path) as policy:
            asked = asyncio.ensure_future(policy.decide_async(call("hang")))
            await asyncio.sleep(0.05)
            old = policy.version
            written(tmp_path, "allow")
            assert policy.reload()
            assert (await policy.decide_async(call())).reasons == ("ALLOW",)
            assert not asked.done()
            late = await asked
            assert (late.reasons, late.policy_version) == (("POLICY_TIMEOUT",), old)

    before = children()
    asyncio.run(work())
    assert children() <= before


def test_a_gateway_goes_by_the_bundle_in_force(tmp_path: Path) -> None:
    @g.tool(name="a.b.v1", risk="compute")
    def nothing() -> str:
        """Do nothing. Use for tests only. Returns `done`."""
        return "done"

    async def work() -> None:
        async with (
            Policy.watch(written(tmp_path, "deny")) as policy,
            g.Gateway(tools=[nothing], policy=policy, store="memory:") as gate,
        ):
            assert (await gate.call("a.b.v1", {})).status == "error"
            written(tmp_path, "allow")
            policy.reload()
            assert (await gate.call("a.b.v1", {})).status == "ok"

    asyncio.run(work())
