"""What a coroutine tool waits for may fail: the tool sees it, as in any coroutine."""

import asyncio

import gerbang as g
from tests.runtime.street import ALLOW_ALL, code, run


@g.tool(name="wait.handled.v1", risk="compute")
async def handled() -> str:
    """Wait for something that fails, and go on. Use for tests."""
    waited: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(waited.set_exception, KeyError("x"))
    try:
        await waited
    except KeyError:
        await asyncio.sleep(0)
        return "handled"
    return "not seen"


@g.tool(name="wait.unhandled.v1", risk="compute")
async def unhandled() -> str:
    """Wait for something that fails. Use for tests."""
    waited: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(waited.set_exception, KeyError("x"))
    try:
        await waited
    finally:
        seen.append("cleaned up")
    return ""


seen: list[str] = []


def test_a_failed_wait_is_raised_inside_the_tool() -> None:
    async def work() -> list[str]:
        async with g.Gateway([handled, unhandled], policy=ALLOW_ALL) as gate:
            first = await gate.call("wait.handled.v1", {})
            assert first.value == "handled"
            return [code(await gate.call("wait.unhandled.v1", {})), *seen]

    assert run(work()) == ["INTERNAL", "cleaned up"]
