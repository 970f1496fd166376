"""The floors: loops with nothing in them that a trusted runtime could leave out."""

import asyncio
import hashlib
import json
import time
from typing import Any

import jsonschema_rs
from script import SCHEMA, TOOLS, Script


class Floor:
    """Parse the arguments, validate them, call the function."""

    def __init__(self) -> None:
        self.validator = jsonschema_rs.validator_for(SCHEMA)
        self.tools = {function.__name__: function for function in TOOLS}

    async def start(self) -> None:
        """Nothing to open."""

    async def run(self, script: Script) -> None:
        """Run the script to its end."""
        history: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
        while (calls := script.next()) is not None:
            history.append({"role": "assistant", "tool_calls": calls})
            if len(calls) == 1:
                history.append(await self.one(*calls[0]))
            else:
                history.extend(await asyncio.gather(*(self.one(*call) for call in calls)))
        history.append({"role": "assistant", "content": "done"})

    async def one(self, call_id: str, name: str, text: str) -> dict[str, Any]:
        """Make one call."""
        arguments = json.loads(text)
        self.validator.validate(arguments)
        out = await self.tools[name](**arguments)
        return {"role": "tool", "tool_call_id": call_id, "content": out}


class FloorPlus(Floor):
    """The least that a trusted runtime adds: a look-up that denies by default, a task with a time-out for
    each call, the result as JSON with a cap, a record in memory chained by SHA-256.
    """

    def __init__(self) -> None:
        super().__init__()
        self.policy = dict.fromkeys(self.tools, "allow")
        self.head = b""
        self.log: list[str] = []

    async def one(self, call_id: str, name: str, text: str) -> dict[str, Any]:
        """Make one call."""
        if self.policy.get(name) != "allow":
            return {"role": "tool", "tool_call_id": call_id, "content": "denied"}
        arguments = json.loads(text)
        self.validator.validate(arguments)

        async def bounded() -> str:
            async with asyncio.timeout(30):
                return await self.tools[name](**arguments)

        out = json.dumps(await asyncio.create_task(bounded()))[:100_000]
        digest = hashlib.sha256(out.encode()).hexdigest()
        record = json.dumps({"id": call_id, "tool": name, "args": arguments, "out": digest, "t": time.time()})
        self.head = hashlib.sha256(self.head + record.encode()).digest()
        self.log.append(record)
        if len(self.log) > 10_000:
            self.log.clear()
        return {"role": "tool", "tool_call_id": call_id, "content": out}
