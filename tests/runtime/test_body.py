"""Coroutine tools run in their call's own task: time-outs inside, cancellations of every origin, contexts."""

import asyncio
import contextlib
import contextvars

import gerbang as g
from tests.runtime.street import ALLOW_ALL, code, run

SEEN: contextvars.ContextVar[str] = contextvars.ContextVar("seen", default="nothing")


@g.tool(name="inner.timeout.v1", risk="read_internal", timeout_s=5)
async def inner_timeout() -> str:
    """Give up on a part of its work, and go on."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(0.02):
            await asyncio.sleep(3600)
    await asyncio.sleep(1.2)  # longer than the grace that a cancelled tool has
    return "went on"


@g.tool(name="inner.group.v1", risk="read_internal", timeout_s=5)
async def inner_group() -> str:
    """Lose one of its children."""

    async def fails() -> None:
        raise ValueError("one of two")

    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.sleep(3600))
            group.create_task(fails())
    except* ValueError:
        await asyncio.sleep(0)
    return "went on"


@g.tool(name="sets.v1", risk="read_internal")
async def sets() -> str:
    """Set a context variable."""
    before = SEEN.get()
    SEEN.set("something")
    await asyncio.sleep(0)
    return f"{before}, then {SEEN.get()}"


@g.tool(name="swallows.v1", risk="write_internal", timeout_s=0.1)
async def swallows() -> str:
    """Make nothing of its cancellation, and return."""
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.sleep(3600)
    return "as if nothing had been"


@g.tool(name="raises_cancelled.v1", risk="read_internal")
async def raises_cancelled() -> str:
    """Raise what only a cancellation raises."""
    await asyncio.sleep(0)
    raise asyncio.CancelledError


TOOLS = [inner_timeout, inner_group, sets, swallows, raises_cancelled]


def test_a_tool_may_use_timeouts_and_groups_inside() -> None:
    async def work() -> None:
        async with g.Gateway(tools=TOOLS, policy=ALLOW_ALL) as gate:
            outs = await gate.call_many([("inner.timeout.v1", {}), ("inner.group.v1", {})])
            assert [out.value for out in outs] == ["went on", "went on"]
            assert (await gate.call("inner.timeout.v1", {})).value == "went on"

    run(work())


def test_context_variables_stay_inside_a_call() -> None:
    async def work() -> None:
        async with g.Gateway(tools=TOOLS, policy=ALLOW_ALL) as gate:
            for _ in range(2):
                assert (await gate.call("sets.v1", {})).value == "nothing, then something"
            assert SEEN.get() == "nothing"

    run(work())


def test_a_timed_out_tool_that_returns_all_the_same_has_timed_out() -> None:
    async def work() -> None:
        async with g.Gateway(tools=TOOLS, policy=ALLOW_ALL) as gate:
            result = await gate.call("swallows.v1", {})
            assert (code(result), result.error and result.error.effect) == ("TOOL_TIMEOUT", "unknown")
            task = asyncio.current_task()
            assert task is not None
            assert task.cancelling() == 0

    run(work())


def test_a_cancellation_from_outside_cannot_be_swallowed() -> None:
    async def work() -> None:
        async with g.Gateway(tools=TOOLS, policy=ALLOW_ALL) as gate:
            call = asyncio.create_task(gate.call("swallows.v1", {}))
            await asyncio.sleep(0.03)
            call.cancel()
            await asyncio.wait([call])
            assert call.cancelled()

    run(work())


def test_a_tool_that_raises_cancelled_has_failed() -> None:
    async def work() -> None:
        async with g.Gateway(tools=TOOLS, policy=ALLOW_ALL) as gate:
            assert code(await gate.call("raises_cancelled.v1", {})) == "INTERNAL"

    run(work())
