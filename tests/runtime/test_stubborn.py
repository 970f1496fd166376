"""Coroutine tools that swallow their cancellation: the call ends, and so does the program."""

import asyncio
import contextlib
import subprocess
import sys

import gerbang as g
from tests.runtime.street import ALLOW_ALL, code, run

SWALLOWS = """
import asyncio, gerbang as g

@g.tool(name="deaf.v1", risk="read_internal", timeout_s=0.1)
async def deaf() -> str:
    '''Never ends.'''
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            pass

async def main():
    async with g.Gateway(tools=[deaf]) as gate:
        print((await gate.call("deaf.v1", {})).error.error_code)

asyncio.run(main())
"""


@g.tool(name="deaf.v1", risk="write_internal", timeout_s=0.1)
async def deaf() -> str:
    """Never ends by itself."""
    while True:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(3600)


def test_a_deaf_tool_leaves_no_task_behind() -> None:
    async def work() -> None:
        async with g.Gateway(tools=[deaf], policy=ALLOW_ALL) as gate:
            result = await gate.call("deaf.v1", {})
            assert code(result) == "TOOL_TIMEOUT"
            assert result.error is not None
            assert result.error.effect == "unknown"
            assert asyncio.all_tasks() == {asyncio.current_task()}

    run(work())


def test_a_program_with_a_deaf_tool_ends() -> None:
    done = subprocess.run([sys.executable, "-c", SWALLOWS], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "TOOL_TIMEOUT", "")
