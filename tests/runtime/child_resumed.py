"""An agent that dies of SIGKILL at a named point, and the same agent going on with its run.

Arguments: the store's path, the file of effects, the point (`resume`: go on).
"""

import asyncio
import os
import signal
import sys
from typing import Any

import gerbang as g
from gerbang.audit.chain import verify
from gerbang.testing import ScriptedModel

POLICY = g.Policy.from_rules(
    [{"id": "mail", "match": {"tool": "mail.send.v1"}, "decision": "allow", "reason": "TEST"}]
)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def main(path: str, effects: str, point: str) -> None:
    def note(text: str) -> None:
        with open(effects, "a") as file:
            file.write(text + "\n")

    @g.tool(name="notes.read.v1", risk="read_internal")
    async def read(name: str) -> str:
        """Read a note."""
        if point == "before" and name == "b":
            die()
        note(f"read {name}")
        if point == "between" and name == "c":
            die()
        return f"the note {name}"

    @g.tool(name="mail.send.v1", risk="external_communication")
    async def send(to: str) -> str:
        """Send mail."""
        if point == "inside":
            die()
        note(f"send {to}")
        if point == "after":
            die()
        return "sent"

    def second(_: Any) -> Any:
        if point == "asking":
            die()
        return [
            ("notes.read.v1", {"name": "b"}),
            ("mail.send.v1", {"to": "ana"}),
            ("notes.read.v1", {"name": "c"}),
        ]

    first: list[Any] = [[("notes.read.v1", {"name": "a"})], second, "Over."]
    script = first[1:] if point == "resume" else first
    async with g.Gateway(tools=[read, send], store=f"sqlite:{path}", policy=POLICY, lease_s=1.0) as gate:
        if point != "resume":
            await g.Agent(ScriptedModel(first), gate).run("Go.", run_id="run_1")
            return
        answers = len(await gate.store.answers("run_1"))
        agent = g.Agent(ScriptedModel(script if answers < 3 else ["Over."]), gate)
        for _ in range(400):  # until the dead process's lease has run out
            try:
                done = await agent.resume("run_1")
                break
            except g.UsageError:
                await asyncio.sleep(0.1)
        calls = {call.tool: call for call in done.calls}
        sent = calls["mail.send.v1"]
        print(done.status, "uncertain" if sent.error and sent.error.effect == "unknown" else sent.status)
        events = await gate.store.events("run_1")
        print("verified" if verify(events) is None else "broken")


asyncio.run(main(*sys.argv[1:4]))
