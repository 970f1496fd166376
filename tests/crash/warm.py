"""Preloaded by the process that lives are forked from: what a life would import, and one run in memory."""

import asyncio
import os

import gerbang as g
import gerbang.adapters.stores.postgres
import gerbang.adapters.stores.sqlite
from gerbang.testing import ScriptedModel

from .life import tools
from .points import Points
from .scenarios import ALL


async def _run() -> None:
    scenario = ALL["transactional/probe"]
    points = Points(os.devnull, "warm-0", -1, "")
    made = tools(scenario, "http://127.0.0.1:9", points)
    model = ScriptedModel([[("notes.read.v1", {"name": "a"}), ("cell.act.v1", {"item": "a"})], "Over."])
    async with g.Gateway(tools=made, policy=scenario.rules()) as gate:
        await g.Agent(model, gate).run("Go.")


asyncio.run(_run())
