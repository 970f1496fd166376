"""A run whose call is a Python function, paused by its own hand right before the function is entered.

Arguments: the store's address, the file of effects, `coroutine`, `function` or `queued`, and `first` or
`resumed`. `queued`: the function waits for a thread, behind others that are let go when the process wakes up.
"""

import asyncio
import os
import signal
import sys
import threading
from typing import Any

import gerbang as g
from gerbang.limits import MAX_SYNC_THREADS
from gerbang.runtime.clearance import Clearance
from gerbang.testing import ScriptedModel
from gerbang.values.record import RunState

from .points import Points, watch_looks

POLICY = g.Policy.from_rules(
    [{"id": "all", "match": {"tool": "*"}, "everything": True, "decision": "allow", "reason": "TEST_ALLOWS"}]
)
LOOKS = {"coroutine": 2, "function": 3}
"""How often it is looked: before the tool, in its thread if it has one, and right before its function."""
awake = threading.Event()
inside = threading.Semaphore(0)


def pause() -> None:
    """Stop the process, this thread first: by a signal to the process another thread might be the first."""
    signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)
    awake.set()


def tools(effects: str, kind: str) -> list[Any]:
    def note(context: g.CallContext) -> str:
        with open(effects, "a") as file:
            file.write(f"{context.idempotency_key}\n")
        return "done"

    async def coroutine(context: g.CallContext) -> str:
        return note(context)

    def block() -> str:
        inside.release()
        awake.wait()
        return "awake"

    act = g.tool(name="act.do.v1", risk="external_communication", description="Do it.")
    wait = g.tool(name="act.wait.v1", risk="compute", description="Wait.")
    return [act(coroutine if kind == "coroutine" else note), wait(block)]


def pause_at_the_last_look(kind: str) -> None:
    """Pause at the look that is the last one before the function."""
    looks = 0

    class At(Points):
        def reach(self, label: str, steps: tuple[str, ...] = ()) -> None:
            nonlocal looks
            looks += 1
            if looks == LOOKS[kind]:
                pause()

    watch_looks(At(os.devnull, "first-0", -1, ""))


async def behind_others(gate: g.Gateway) -> "list[asyncio.Task[Any]]":
    """Have every thread taken, and pause as soon as the call has passed its look and waits for one."""
    waiting = [asyncio.create_task(gate.call("act.wait.v1", {})) for _ in range(MAX_SYNC_THREADS)]
    for _ in range(MAX_SYNC_THREADS):
        while not inside.acquire(blocking=False):
            await asyncio.sleep(0.01)
    ask = Clearance.ask

    async def asked(self: Clearance) -> str:
        code = await ask(self)
        if not awake.is_set():
            asyncio.get_running_loop().call_soon(pause)
        return code

    setattr(Clearance, "ask", asked)  # noqa: B010 - it is a name of the package
    return waiting


async def main(store: str, effects: str, kind: str, life: str) -> None:
    async with g.Gateway(tools=tools(effects, kind), store=store, policy=POLICY, lease_s=1.0) as gate:
        agent = g.Agent(ScriptedModel([[("act.do.v1", {})], "Over."]), gate)
        if life == "first":
            waiting = await behind_others(gate) if kind == "queued" else []
            if kind != "queued":
                pause_at_the_last_look(kind)
            print((await agent.run("Go.", run_id="run_1")).status)
            await asyncio.gather(*waiting)
            return
        while True:
            row = await gate.store.run("run_1")
            assert row is not None
            if row.state != RunState.RUNNING:
                print(row.state)
                return
            try:
                await g.Agent(ScriptedModel(["Over."]), gate).resume("run_1")
            except g.UsageError as error:
                if "driven by another" not in str(error):
                    raise
                await asyncio.sleep(0.05)


asyncio.run(main(*sys.argv[1:5]))
