"""Tools that take too long: ended when they can be, counted when not, resolved when they come back."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

import gerbang as g
from gerbang.limits import MAX_LATE_THREADS
from tests.runtime.street import ALLOW_ALL, Effects, bodies, code, endings, run

SHORT_S = 0.4
"""Long enough for a busy machine to write the intent: the time of a change is counted from before that."""


def make(function: Callable[..., Any], risk: str = "read_internal", **options: Any) -> Any:
    """Return a tool `t.v1` of a function without a docstring."""
    return g.tool(name="t.v1", risk=risk, description="A tool of a test.", **options)(function)


async def never() -> None:
    """Wait for ever."""
    await asyncio.Event().wait()


async def deaf() -> None:
    """Go on though it is cancelled, for a while."""
    for _ in range(3):
        try:
            await asyncio.sleep(SHORT_S)
        except asyncio.CancelledError:
            continue


@pytest.mark.parametrize("function", [never, deaf])
@pytest.mark.parametrize("risk", ["read_internal", "write_internal"])
def test_a_tool_that_never_returns_is_ended(function: Callable[[], Any], risk: str, url: str) -> None:
    async def work() -> None:
        async with g.Gateway(
            tools=[make(function, risk, timeout_s=SHORT_S)], store=url, policy=ALLOW_ALL
        ) as gate:
            result = await gate.call("t.v1", {}, run_id="r")
            assert code(result) == "TOOL_TIMEOUT"
            assert result.error is not None
            assert f"{SHORT_S} s" in result.error.message or risk == "write_internal"
            assert result.error.effect == ("none" if risk == "read_internal" else "unknown")
            assert result.error.suggested_fix
            again = await gate.call("t.v1", {}, run_id="r")
            assert code(again) == ("TOOL_TIMEOUT" if risk == "read_internal" else "EFFECT_UNKNOWN")
            assert (await endings(gate.store, "r"))[result.call_id] == 2
        for _ in range(10):
            await asyncio.sleep(0.02)

    run(work())


class Gate:
    """Lets threads through when told to."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.through = 0

    def wait(self) -> str:
        assert self.open.wait(20)
        self.through += 1
        return "late"


@pytest.mark.parametrize("risk", ["read_internal", "write_internal"])
def test_threads_that_outlive_their_call_are_counted_and_capped(risk: str, url: str) -> None:
    barrier = Gate()

    async def work() -> None:
        tool = make(barrier.wait, risk, timeout_s=0.5)  # what no thread has begun by then is not late

        @g.tool(name="quick.v1", risk="compute")
        def quick() -> int:
            """Answer at once."""
            return 1

        async with g.Gateway(tools=[tool, quick], store=url, policy=ALLOW_ALL) as gate:
            calls = [gate.call("t.v1", {}, run_id="r", step_id=step) for step in range(MAX_LATE_THREADS)]
            results = await asyncio.gather(*calls)
            assert {code(result) for result in results} == {"TOOL_TIMEOUT"}
            refused = await gate.call("quick.v1", {}, run_id="r", step_id="full")
            assert code(refused) == "TOO_MANY_LATE_CALLS"
            assert refused.error is not None
            assert (refused.error.error_type, refused.error.effect) == ("rate_limited", "none")
            assert refused.error.retry_after_ms
            barrier.open.set()
            while barrier.through < MAX_LATE_THREADS:
                await asyncio.sleep(0.005)
            for _ in range(200):
                await asyncio.sleep(0.005)
                if (await gate.call("quick.v1", {}, run_id="r", step_id="free")).status == "ok":
                    break
            else:
                pytest.fail("the cap was never lifted")

    try:
        run(work())
    finally:
        barrier.open.set()


def test_a_late_result_resolves_a_change_of_unknown_fate(url: str) -> None:
    barrier = Gate()

    async def work() -> None:
        async with g.Gateway(
            tools=[make(barrier.wait, "write_internal", timeout_s=SHORT_S)], store=url, policy=ALLOW_ALL
        ) as gate:
            first = await gate.call("t.v1", {}, run_id="r")
            assert code(first) == "TOOL_TIMEOUT"
            assert code(await gate.call("t.v1", {}, run_id="r")) == "EFFECT_UNKNOWN"
            barrier.open.set()
            for _ in range(400):
                await asyncio.sleep(0.005)
                (row,) = await gate.store.calls("r")
                if row.state == "RESOLVED_SUCCEEDED":
                    break
            again = await gate.call("t.v1", {}, run_id="r")
            assert (again.status, again.value, again.replayed) == ("ok", "late", True)
            kinds = [body["kind"] for body in await bodies(gate.store, "r")]
            assert "call.resolved" in kinds

    try:
        run(work())
    finally:
        barrier.open.set()
    assert barrier.through == 1


def test_the_loop_is_free_while_a_sync_tool_blocks() -> None:
    barrier = Gate()

    async def work() -> None:
        async with g.Gateway(tools=[make(barrier.wait)]) as gate:
            task = asyncio.create_task(gate.call("t.v1", {}))
            for _ in range(50):
                await asyncio.sleep(0)
            assert not task.done()
            barrier.open.set()
            assert (await task).value == "late"

    try:
        run(work())
    finally:
        barrier.open.set()


def test_a_hundred_sync_tools_at_once(url: str) -> None:
    effects = Effects()

    def count() -> int:
        effects("ran")
        return threading.get_ident()

    async def work() -> None:
        async with g.Gateway(tools=[make(count)], store=url) as gate:
            results = await asyncio.gather(*(gate.call("t.v1", {}, run_id=f"r{n}") for n in range(100)))
            assert {result.status for result in results} == {"ok"}
            assert threading.get_ident() not in {result.value for result in results}

    run(work())
    assert effects.count("ran") == 100


def test_a_cancelled_change_is_uncertain_and_a_cancelled_read_is_free(url: str) -> None:
    async def work() -> None:
        for risk, state in (("write_internal", "UNCERTAIN"), ("read_internal", "FAILED")):
            begun = asyncio.Event()

            async def wait(begun: Any = begun) -> None:
                begun.set()
                await asyncio.Event().wait()

            tool = g.tool(name="w.v1", risk=risk, description="Wait.")(_no_parameters(wait))
            async with g.Gateway(tools=[tool], policy=ALLOW_ALL) as gate:
                task = asyncio.create_task(gate.call("w.v1", {}, run_id="r"))
                await begun.wait()
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                (row,) = await gate.store.calls("r")
                assert row.state == state
                (ending,) = [
                    body for body in await bodies(gate.store, "r") if body["kind"] == "call.finished"
                ]
                assert ending["error_code"] == "RUN_CANCELLED"

    run(work())


def _no_parameters(function: Callable[..., Any]) -> Callable[[], Any]:
    async def plain() -> Any:
        return await function()

    return plain
