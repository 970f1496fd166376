"""What the scripted model says in every subject: some turns of tool calls, then an answer."""

import asyncio
import contextvars
import time
from collections.abc import Awaitable, Callable
from typing import Any

ARGUMENTS = '{"city": "Paris", "days": 3}'
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city", "days"],
    "additionalProperties": False,
}


class Script:
    """One run of `steps` turns, each of `calls` calls of `tool`. `marks` are the CPU seconds at each turn."""

    __slots__ = ("calls", "made", "marks", "steps", "tool", "turns")

    def __init__(
        self, steps: int, calls: int = 1, tool: str = "get_weather", *, marked: bool = False
    ) -> None:
        self.steps = steps
        self.calls = calls
        self.tool = tool
        self.turns = self.made = 0
        self.marks: list[float] | None = [] if marked else None

    def next(self) -> list[tuple[str, str, str]] | None:
        """Return the next turn as (call id, tool, arguments), or None when the model answers in prose."""
        if self.marks is not None:
            self.marks.append(time.process_time())
        if self.turns >= self.steps:
            return None
        self.turns += 1
        first = self.made
        self.made += self.calls
        return [(f"call_{number}", self.tool, ARGUMENTS) for number in range(first, self.made)]


current: contextvars.ContextVar[Script] = contextvars.ContextVar("script")
"""The script of the run that is going on: subjects' models are shared by all runs."""


async def get_weather(city: str, days: int) -> str:
    """Weather forecast for a city."""
    return "sunny"


async def slow(city: str, days: int) -> str:
    """Weather forecast that takes 50 ms."""
    await asyncio.sleep(0.05)
    return "sunny"


TOOLS: tuple[Callable[..., Awaitable[str]], ...] = (get_weather, slow)
