"""A model that writes its calls as text, profile `terminal`: python examples/terminal_loop.py [MODEL]"""

import asyncio
import sys
from typing import Literal

import gerbang as g
from gerbang.testing import ScriptedModel

MACHINE = {"git status": "nothing to commit", "restart web": "restarted", "is-active web": "active"}
CALL = '<tool_use>{"name": "run_in_terminal", "arguments": {"command": "%s", "risk": "%s"}}</tool_use>'
SCRIPT = [
    "First the state. " + CALL % ("git status", "low"),
    CALL % ("restart web", "high"),
    '<tool_use>{"name": "run_in_terminal", "arguments": {"cmd": "is-active web"}}</tool_use>',
    CALL % ("is-active web", "low"),
    "The service is active again.",
]


@g.tool(name="run_in_terminal", risk="code_execution")
async def run(command: str, risk: Literal["low", "medium", "high"], explanation: str = "") -> str:
    """Run one command. Use only when the user asked for it. Returns what it prints."""
    return MACHINE.get(command, f"{command}: not found")


def person(request: g.ApprovalRequest) -> bool:
    print(f"asked: {request.arguments['command']} ({', '.join(request.reasons)})")
    return True


async def main() -> None:
    model = sys.argv[1] if sys.argv[1:] else ScriptedModel(SCRIPT)
    async with g.Gateway([run], approver=person) as gate:
        result = await g.Agent(model, gate, profile="terminal", lang="id").run("Restart the web service.")
    for call in result.calls:
        print(call.status, "|", *call.for_model.splitlines())
    print(result.steps, "answers:", result.answer)


asyncio.run(main())
