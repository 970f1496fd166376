"""A loop without a framework: the model answers {"tool": NAME, "input": ...} until the tool is "none".

Runs with a scripted model. For a real one: python examples/minimal.py ollama:MODEL@http://127.0.0.1:11434
"""

import asyncio
import sys
from contextlib import aclosing

import gerbang as g
from gerbang.packs import basics
from gerbang.testing import ScriptedModel

KNOWLEDGE = {"opening hours": "The library is open from 10:00 to 18:00, Tuesday to Saturday."}
SCRIPT = [
    '{"tool": "knowledge_search", "input": "opening hours"}',
    '{"tool": "calculator", "input": "18 - 10"}',
    '{"tool": "none", "input": "It is open for 8 hours a day."}',
]


async def main() -> None:
    model = sys.argv[1] if len(sys.argv) > 1 else ScriptedModel(SCRIPT)
    async with (
        g.Gateway(tools=basics.minimal_tools(KNOWLEDGE), store="memory:") as gate,
        aclosing(g.Agent(model=model, gateway=gate, profile="minimal", deadline_s=60)) as agent,
    ):
        result = await agent.run("For how many hours is the library open on a Friday?")
    for call in result.calls:
        print(f"{call.tool}: {call.for_model}")
    print(result.answer)


asyncio.run(main())
