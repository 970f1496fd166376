"""Gerbang as a subject: an agent with the whole gate."""

from collections.abc import AsyncIterator

from script import TOOLS, Script, current

import gerbang as g
from gerbang.values.model import ModelCall, ModelDone, ModelEvent, ModelRequest, TextDelta

_MANY = 10**6


class ScriptModel:
    """Says what the current script says, as structured calls."""

    name = "script:"
    context_tokens: int | None = 10**9
    writes_prose = True

    async def answer(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Yield the next turn."""
        calls = current.get().next()
        if calls is None:
            yield TextDelta("done")
            yield ModelDone("stop")
            return
        for index, (call_id, name, text) in enumerate(calls):
            yield ModelCall(index, call_id, name, text)
        yield ModelDone("tool_calls")

    async def aclose(self) -> None:
        """Nothing to free."""


class TextModel(ScriptModel):
    """Says the same as text with call blocks, in one piece."""

    async def answer(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Yield the next turn."""
        calls = current.get().next()
        if calls is None:
            yield TextDelta("done")
        else:
            yield TextDelta(
                "\n".join(
                    f'<tool_use>{{"name": "{name}", "arguments": {text}}}</tool_use>'
                    for _, name, text in calls
                )
            )
        yield ModelDone("stop")


class Gerbang:
    """`text` reads the calls from the model's text instead of taking them structured."""

    def __init__(self, *, text: bool = False, store: str = "memory:") -> None:
        tools = [g.tool(name=function.__name__, risk="read_external")(function) for function in TOOLS]
        self.gate = g.Gateway(tools=tools, store=store)
        self.agent = g.Agent(
            TextModel() if text else ScriptModel(),
            self.gate,
            profile="terminal" if text else "gateway",
            max_steps=_MANY,
            max_calls=_MANY,
            max_repeats=_MANY,
            max_parallel=64,
        )

    async def start(self) -> None:
        """Open the gateway."""
        await self.gate.__aenter__()

    async def run(self, script: Script) -> None:
        """Run the script to its end."""
        result = await self.agent.run("go")
        if result.status != "completed" or any(call.status != "ok" for call in result.calls):
            raise RuntimeError(f"the run did not do its work: {result.status} {result.detail}")
