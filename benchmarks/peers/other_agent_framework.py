"""agent-framework as a subject: a chat client with the library's own layers that says the script."""

import importlib
from typing import Any

from script import TOOLS, Script, current


class AgentFramework:
    """An Agent with the script's tools, none of which needs an approval."""

    def __init__(self) -> None:
        library: Any = importlib.import_module("agent_framework")
        observed: Any = importlib.import_module("agent_framework.observability")

        async def answer() -> Any:
            calls = current.get().next()
            if calls is None:
                contents = [library.Content.from_text("done")]
            else:
                contents = [
                    library.Content.from_function_call(call_id, name, arguments=text)
                    for call_id, name, text in calls
                ]
            message = library.Message(role="assistant", contents=contents)
            return library.ChatResponse(messages=[message], response_id="r")

        def respond(_: Any, **__: Any) -> Any:
            return answer()

        layers = (
            library.FunctionInvocationLayer,
            library.ChatMiddlewareLayer,
            observed.ChatTelemetryLayer,
            library.BaseChatClient,
        )
        members = {"OTEL_PROVIDER_NAME": "script", "_inner_get_response": respond}
        client = type("ScriptClient", layers, members)(
            function_invocation_configuration={"max_iterations": 100_000}
        )
        tools = [library.tool(tool, approval_mode="never_require") for tool in TOOLS]
        self._agent = library.Agent(client=client, instructions="x", tools=tools)

    async def start(self) -> None:
        """Nothing to open."""

    async def run(self, script: Script) -> None:
        """Run the script to its end."""
        await self._agent.run("go")
