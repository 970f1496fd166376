"""An agent that nobody closes leaves nothing open: its gateway closes the model that it opened."""

import asyncio
import sys

import pytest

import gerbang as g
from tests.models.answers import delta, sse
from tests.models.player import head, playing

SAID = [head(), sse(delta(content="Well."), delta("stop"))]
HELD = """
import asyncio, sys
import gerbang as g

async def main():
    async with g.Gateway(store="memory:") as gate:
        agent = g.Agent(sys.argv[1], gate)
        print((await agent.run("Hello?")).answer)

asyncio.run(main())
"""
LET_GO = """
import asyncio, gc, sys
import gerbang as g

async def main():
    async with g.Gateway(store="memory:") as gate:
        print((await g.Agent(sys.argv[1], gate).run("Hello?")).answer)
        gc.collect()

asyncio.run(main())
"""


@pytest.mark.parametrize("program", [HELD, LET_GO])
def test_a_program_that_closes_no_agent_says_nothing_of_connections(program: str) -> None:
    async def told() -> tuple[str, str]:
        async with playing(SAID) as server:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-W", "error", "-c", program, f"openai:m@{server.url}"),
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            out, err = await process.communicate()
            return out.decode(), err.decode()

    assert asyncio.run(told()) == ("Well.\n", "")


@pytest.mark.parametrize("kind", ["openai", "ollama"])
def test_a_gateway_that_is_opened_again_asks_the_same_model_again(kind: str) -> None:
    said = SAID if kind == "openai" else [head(), b'{"message": {"content": "Well."}, "done": true}\n']

    async def twice() -> list[str]:
        answers = []
        async with playing(said) as server:
            gate = g.Gateway(store="memory:")
            agent = g.Agent(f"{kind}:m@{server.url}", gate)
            for _ in range(2):
                async with gate:
                    answers.append((await agent.run("Hello?")).answer)
        return answers

    assert asyncio.run(twice()) == ["Well.", "Well."]
