"""A gateway that dies of SIGKILL in a call.

Arguments: the store, the file of effects, the tool, and when: `before` the effect, `after` it, `asking`. Then
perhaps the run of a program with its own loop.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import gerbang as g
from tests.runtime.test_recovery import tools

POLICY = g.Policy.from_rules(
    [{"id": "all", "match": {"tool": ["*"]}, "everything": True, "decision": "allow", "reason": "T"}]
)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def main(store: str, log: str, name: str, when: str, run_id: str = "") -> None:
    def approver(_: g.ApprovalRequest) -> bool:
        die()
        return True

    made = tools(Path(log))
    for tool in made:

        async def body(name: str) -> str:
            if when == "after":
                with Path(log).open("a") as file:
                    file.write(f"set {name}\n")
            die()
            return name

        tool.function = body
    policy = g.Policy.default() if when == "asking" else POLICY
    async with g.Gateway(tools=made, store=store, policy=policy, approver=approver) as gate:
        await gate.call(name, {"name": "a"}, run_id=run_id or None)


asyncio.run(main(*sys.argv[1:6]))
