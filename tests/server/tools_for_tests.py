"""Tools that the server under test offers; given to it with --python."""

import asyncio
from typing import Any

import gerbang as g

COUNTED: list[str] = []


@g.tool(name="weather.get_current.v1", risk="read_external")
async def get_weather(city: str) -> dict[str, Any]:
    """Current weather of a city."""
    return {"city": city, "celsius": 21}


@g.tool(name="notes.add.v1", risk="write_internal")
async def add_note(text: str) -> str:
    """Add a note."""
    COUNTED.append(text)
    return f"note {len(COUNTED)}: {text}"


@g.tool(name="mail.send.v1", risk="external_communication")
async def send_mail(to: str, text: str) -> str:
    """Send a mail."""
    return f"sent to {to}: {text}"


@g.tool(name="slow.wait.v1", risk="read_internal", timeout_s=30)
async def wait(seconds: float) -> str:
    """Wait."""
    await asyncio.sleep(seconds)
    return f"waited {seconds}"


@g.tool(name="broken.raise.v1", risk="read_internal")
async def fail() -> str:
    """Fail with a text that must not be shown."""
    raise RuntimeError("the password is hunter2")


@g.tool(name="big.text.v1", risk="read_internal")
async def big(size: int) -> str:
    """Return a long text."""
    return "x" * size


TOOLS = [get_weather, add_note, send_mail, wait, fail, big]
