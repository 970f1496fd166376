"""Tools that go wrong in the ways that figures count; given to a server with --python."""

import asyncio
from typing import Any

import gerbang as g

TRIED: list[str] = []


@g.tool(name="priced.look_up.v1", risk="read_internal", cost_units=2.5)
async def look_up(what: str) -> str:
    """Look something up for money."""
    return what


@g.tool(name="late.wait.v1", risk="read_internal", timeout_s=0.1)
async def late() -> str:
    """Take longer than allowed."""
    await asyncio.sleep(20)
    return "late"


@g.tool(name="broken.shape.v1", risk="read_internal", returns={"type": "object", "required": ["celsius"]})
async def shape() -> Any:
    """Return something else than what was said."""
    return {"fahrenheit": 70}


@g.tool(
    name="shaky.get.v1",
    risk="read_external",
    retry={"max_attempts": 3, "retry_on": ["transient_network_error"], "base_ms": 1, "max_ms": 2},
)
async def shaky(word: str) -> str:
    """Fail the first time."""
    TRIED.append(word)
    if TRIED.count(word) == 1:
        raise g.ToolError("cut off", error_type="transient_network_error", recoverable=True, effect="none")
    return word


TOOLS = [look_up, late, shape, shaky]
