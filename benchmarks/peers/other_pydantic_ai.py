"""pydantic-ai as a subject: its own function model says the script."""

import importlib
from typing import Any

from script import TOOLS, Script, current


class PydanticAI:
    """An Agent with the script's tools. Usage is given, else it would count tokens over the whole history."""

    def __init__(self) -> None:
        library: Any = importlib.import_module("pydantic_ai")
        messages: Any = importlib.import_module("pydantic_ai.messages")
        function: Any = importlib.import_module("pydantic_ai.models.function")
        usage: Any = importlib.import_module("pydantic_ai.usage")

        async def model(_: Any, __: Any) -> Any:
            spent = usage.RequestUsage(input_tokens=1, output_tokens=1)
            calls = current.get().next()
            if calls is None:
                return messages.ModelResponse(parts=[messages.TextPart("done")], usage=spent)
            parts = [
                messages.ToolCallPart(tool_name=name, args=text, tool_call_id=call_id)
                for call_id, name, text in calls
            ]
            return messages.ModelResponse(parts=parts, usage=spent)

        self._agent = library.Agent(
            function.FunctionModel(model), tools=[library.Tool(tool) for tool in TOOLS]
        )
        self._limits = usage.UsageLimits(request_limit=None)

    async def start(self) -> None:
        """Nothing to open."""

    async def run(self, script: Script) -> None:
        """Run the script to its end."""
        await self._agent.run("go", usage_limits=self._limits)
