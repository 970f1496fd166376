"""One life of a process: it begins a run, or goes on with it, and ends at the point that it was told."""

import asyncio
import multiprocessing
import os
import signal
import tempfile
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

import gerbang as g
from gerbang.adapters.stores import open_store
from gerbang.compose.events import RunResult
from gerbang.errors import ModelFault
from gerbang.testing import ScriptedModel
from gerbang.values.record import RunState

from .points import KillingStore, KillingTool, Line, Points, watch_looks, watch_loop, watched_person
from .scenarios import ALL, ATTEMPTS, CANCEL, FAULT, Scenario
from .target import SLOW_S

PATIENCE_S = 120.0
"""For a run that goes on for ever; on a machine that has much else to do a good one may take a minute."""
PAGE = g.ClientTool(
    "show_page", "Show a page.", {"type": "object", "properties": {"page": {"type": "string"}}}
)
_BOSSES = (g.Principal("boss"), g.Principal("chief"))


class Order(Struct, frozen=True):
    """What a life is to do. It dies at its point number `at`, at the one with that `label`, or at the
    first not in the folder `seen`. `end` is the signal that it gives itself there.
    """

    store: str
    scenario: str
    run_id: str
    origin: str
    trace: str
    life: str
    at: int = -1
    label: str = ""
    end: int = signal.SIGKILL
    seen: str = ""
    lease_s: float = 1.0


class Model(ScriptedModel):
    """Says what belongs to the conversation so far, with points around its answer."""

    def __init__(self, scenario: Scenario, item: str, points: Points, running: list[Any]) -> None:
        super().__init__([self._next])
        self._script = scenario.answers(item)
        self._points = points
        self._running = running

    def _next(self, messages: Any) -> Any:
        said = sum(1 for message in messages if message.role == "assistant")
        told = Counter(message.tool_call_id for message in messages if message.role == "tool")
        self._points.note("told", told=dict(told))
        item = self._script[min(said, len(self._script) - 1)]
        return ModelFault("No answer.") if item == FAULT else item

    async def answer(self, request: Any) -> Any:
        self._points.reach("the model is asked")
        if self._next(request.messages) == CANCEL:
            self._running[0].cancel()
            await asyncio.Event().wait()
        async for event in super().answer(request):
            yield event
        self._points.reach("the model has answered")


def tools(scenario: Scenario, origin: str, points: Points) -> list[Any]:
    """Return a scenario's tools; those that act are real HTTP requests to the target."""

    @g.tool(name="notes.read.v1", risk="read_internal")
    async def read(name: str) -> str:
        """Read a note."""
        return f"the note {name}"

    item = {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]}
    act: dict[str, Any] = {
        "name": "cell.act.v1",
        "description": "Do it.",
        "parameters": item,
        "url": origin + scenario.path,
        "risk": scenario.risk,
        "timeout_s": scenario.timeout_s,
        "retry": {"max_attempts": ATTEMPTS, "base_ms": 1, "max_ms": 5},
    }
    made = {
        "name": "cell.made.v1",
        "description": "Tell whether it was done.",
        "parameters": item,
        "url": origin + "/made?item={item}",
        "method": "GET",
        "risk": "read_external",
    }
    if scenario.how == "key":
        act["honours_key"] = True
    elif scenario.how == "probe":
        act["probe"] = {
            "tool": "cell.made.v1",
            "arguments": {"item": "item"},
            "happened": {"test": "equals", "path": "/made", "value": True},
            "not_happened": {"test": "equals", "path": "/made", "value": False},
            "settles_s": SLOW_S + 1,
        }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tools.json"
        path.write_bytes(msgspec.json.encode([act, made]))
        loaded = g.load_tools(path, egress=[origin.removeprefix("http://")])
    return [read, *(KillingTool(tool, points) for tool in loaded)]


def person(scenario: Scenario, points: Points, running: list[Any]) -> Any:
    """Return who is asked at once, None for nobody."""

    async def leaves(_: g.ApprovalRequest) -> Any:
        running[0].cancel()
        await asyncio.Event().wait()

    def answer(request: g.ApprovalRequest) -> Any:
        if scenario.person == "leaves":
            return leaves(request)
        if scenario.person == "refuses":
            return g.ApprovalAnswer("refuse", _BOSSES[0])
        return g.ApprovalAnswer("approve", _BOSSES[1 if request.votes else 0])

    at_once = scenario.person in ("agrees", "two agree", "refuses", "leaves")
    return watched_person(points, answer) if at_once else None


async def live(order: Order) -> None:
    """Bring the run to its end."""
    scenario = ALL[order.scenario]
    points = Points(order.trace, order.life, order.at, order.seen, order.label, order.end)
    watch_loop(points)
    watch_looks(points)
    running: list[Any] = []
    gateway = g.Gateway(
        tools=tools(scenario, order.origin, points),
        policy=scenario.rules(not order.life.startswith("first")),
        store=KillingStore(open_store(order.store), points, order.run_id),
        approver=person(scenario, points, running),
        lease_s=order.lease_s,
        approval_s=scenario.approval_s,
    )
    async with gateway as gate:
        if scenario.single:
            await _single(gate, order)
        elif scenario.left and not order.life.startswith("first"):
            await _left(gate, order, scenario)
        elif scenario.direct:
            await _direct(gate, order)
        else:
            await _driven(gate, order, scenario, points, running)
    points.note("ended")


async def _direct(gate: g.Gateway, order: Order) -> None:
    for step in (1, 2):
        call = {"item": f"{order.run_id}.{step}"}
        await gate.call("cell.act.v1", call, run_id=order.run_id, step_id=step)


async def _single(gate: g.Gateway, order: Order) -> None:
    if order.life.startswith("first"):
        await gate.call("cell.act.v1", {"item": order.run_id})
        return
    written = msgspec.json.Decoder(Line).decode_lines(Path(order.trace).read_bytes())
    named = [line.run_id for line in written if line.run_id]
    row = await gate.store.run(named[0]) if named else None
    if row is not None:
        gate.store.only = row.run_id  # type: ignore[attr-defined]
    while row is not None and (row.state == RunState.RUNNING or await gate.store.open_calls(row.run_id)):
        await gate.recover()
        await asyncio.sleep(0.1)  # a dead recoverer's lease has to run out
        row = await gate.store.run(row.run_id)


async def _left(gate: g.Gateway, order: Order, scenario: Scenario) -> None:
    settled = {"probe": ("PLANNED",), "none": ("PLANNED", "UNCERTAIN"), "key": ()}[scenario.how]
    while any(row.state not in settled for row in await gate.store.open_calls(order.run_id)):
        await gate.recover()
        await asyncio.sleep(0.1)


async def _driven(
    gate: g.Gateway, order: Order, scenario: Scenario, points: Points, running: list[Any]
) -> None:
    model = Model(scenario, order.run_id, points, running)
    profile = "voice" if scenario.voice else "gateway"
    agent = g.Agent(model, gate, profile=profile, max_steps=1 if scenario.voice else scenario.steps)
    client = g.Client((PAGE,)) if scenario.client else None
    async with asyncio.timeout(PATIENCE_S) as patience:
        while True:
            row = await gate.store.run(order.run_id)
            if row is not None and row.state not in (RunState.RUNNING, RunState.PENDING_APPROVAL):
                return
            if row is not None and row.state == RunState.PENDING_APPROVAL:
                await _decide(gate, scenario, order.run_id)
            fresh = (
                agent.run("Go.", run_id=order.run_id, client=client)
                if row is None
                else agent.resume(order.run_id)
            )
            work: asyncio.Task[RunResult] = asyncio.ensure_future(fresh)
            running[:] = [work]
            try:
                await work
            except asyncio.CancelledError:
                if patience.expired():
                    raise
            except g.UsageError as error:
                if "driven by another" not in str(error) and "nothing to go on" not in str(error):
                    raise
                await asyncio.sleep(0.05)  # the dead one's lease has to run out


async def _decide(gate: g.Gateway, scenario: Scenario, run_id: str) -> None:
    """Do what people do with a request that waits."""
    for approval in await gate.store.approvals(run_id=run_id, state="pending"):
        if scenario.person in ("agrees later", "agrees too late"):
            try:
                await gate.approve(approval.approval_id, by=_BOSSES[0])
            except g.UsageError as error:
                if "expired" not in str(error):
                    raise
    if scenario.person in ("never", "agrees too late"):
        await asyncio.sleep(scenario.approval_s)


def main(data: bytes) -> None:
    """Be a process. What goes wrong is in the trace."""
    order = msgspec.msgpack.decode(data, type=Order)
    try:
        asyncio.run(live(order))
    except BaseException:
        text = traceback.format_exc()
        Points(order.trace, order.life, -1, "").note("trouble", label=text)
        os._exit(1)


def processes() -> Any:
    """Return the context that lives are started from: a process with everything imported, that forks."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.crash.warm"])
    return context
