"""A local model with files of one folder, in Indonesian. Runs with the embedded model; for Ollama:

python examples/local.py ollama:qwen2.5:7b-instruct@http://127.0.0.1:11434
"""

import asyncio
import sys
from contextlib import aclosing

import gerbang as g
from gerbang.packs import basics, sample


async def main() -> None:
    model = sys.argv[1] if len(sys.argv) > 1 else "embedded:"
    workspace = sample.copy_sample(basics.default_workspace("id"), "id")
    async with (
        g.Gateway(tools=basics.tools(workspace, lang="id"), store="memory:") as gate,
        aclosing(g.Agent(model=model, gateway=gate, profile="local", lang="id")) as agent,
    ):
        for question in ("Hitung 25 * 4 + 10", "Baca berkas catatan.txt", "Baca berkas ../rahasia.txt"):
            print(f"> {question}")
            async for event in agent.stream(question):
                if isinstance(event, g.ToolCalled):
                    print(f"  {event.tool} {event.arguments}")
                elif isinstance(event, g.Finished):
                    print(event.result.answer)


asyncio.run(main())
