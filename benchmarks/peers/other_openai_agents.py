"""openai-agents as a subject: a model class that says the script, tracing off."""

import importlib
from typing import Any

from script import TOOLS, Script, current


class OpenAIAgents:
    """An Agent with the script's tools, run by the library's Runner."""

    def __init__(self) -> None:
        library: Any = importlib.import_module("agents")
        responses: Any = importlib.import_module("openai.types.responses")

        async def get_response(*_: Any, **__: Any) -> Any:
            calls = current.get().next()
            output: list[Any]
            if calls is None:
                text = responses.ResponseOutputText(type="output_text", text="done", annotations=[])
                output = [
                    responses.ResponseOutputMessage(
                        id="m", type="message", role="assistant", status="completed", content=[text]
                    )
                ]
            else:
                output = [
                    responses.ResponseFunctionToolCall(
                        id=f"f{call_id}",
                        call_id=call_id,
                        type="function_call",
                        name=name,
                        arguments=arguments,
                    )
                    for call_id, name, arguments in calls
                ]
            return library.ModelResponse(output=output, usage=library.Usage(), response_id=None)

        model = type(
            "ScriptModel", (library.Model,), {"get_response": get_response, "stream_response": get_response}
        )
        self._agent = library.Agent(
            name="a",
            instructions="x",
            model=model(),
            tools=[library.function_tool(tool) for tool in TOOLS],
        )
        self._runner = library.Runner
        self._config = library.RunConfig(tracing_disabled=True)

    async def start(self) -> None:
        """Nothing to open."""

    async def run(self, script: Script) -> None:
        """Run the script to its end."""
        await self._runner.run(self._agent, "go", max_turns=None, run_config=self._config)
