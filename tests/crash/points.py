"""Points at which a process may die, and the wrappers that have them. Only tests know of this.

Every point has a label. A life dies (SIGKILL, by its own hand) at its n-th point, or at the first whose label
nobody has died at yet. What it does is in a trace, line by line, for the judge.
"""

import asyncio
import hashlib
import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import msgspec
from msgspec import Struct

import gerbang as g
from gerbang.approval.machine import TRANSITIONS as APPROVALS
from gerbang.ledger.machine import TRANSITIONS as LEDGER
from gerbang.loop import machine as loop
from gerbang.runtime import driver
from gerbang.runtime.clearance import Clearance
from gerbang.values.record import FREE_STATES, Batch, CallRow, Committed, Lease

FLYING_S = 0.02


class Line(Struct, omit_defaults=True):
    """One line of a trace. `steps` are transitions, `keys` the calls that a commit writes, with states."""

    life: str
    what: str
    label: str = ""
    steps: tuple[str, ...] = ()
    keys: dict[str, str] = {}
    run_id: str = ""
    kinds: tuple[str, ...] = ()
    seq: int = 0
    told: dict[str, int] = {}


def step_of(table: Mapping[tuple[Any, Any], Any], name: str, former: str, after: str) -> str | None:
    """Return the name of the transition between two states, None when the table has none."""
    for (state, event), target in table.items():
        if state == former and target == after:
            return f"{name} {state} {event}"
    return None


class Points:
    """Counts the points of one life, and ends it at one of them."""

    def __init__(
        self, trace: str, life: str, at: int, seen: str, label: str = "", end: int = signal.SIGKILL
    ) -> None:
        self._file = os.open(trace, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self.life = life
        self._at = at
        self._label = label
        self._end = end
        self._seen = Path(seen) if seen else None
        self.count = 0

    def note(self, what: str, **facts: Any) -> None:
        """Write a line. It outlives this process; no disk has to."""
        os.write(self._file, msgspec.json.encode(Line(self.life, what, **facts)) + b"\n")

    def reach(self, label: str, steps: tuple[str, ...] = ()) -> None:
        """Be at a point, and perhaps die."""
        self.count += 1
        label = f"{self.life.partition('-')[0]}: {label}"
        if self.count == self._at or label == self._label or self._new(label):
            self._label = ""
            self.note("killed" if self._end == signal.SIGKILL else "stopped here", label=label, steps=steps)
            os.kill(os.getpid(), self._end)
        self.note("passed", label=label, steps=steps)

    def _new(self, label: str) -> bool:
        """Tell whether nobody has died here yet; several processes look at once."""
        if self._seen is None:
            return False
        try:
            (self._seen / hashlib.sha256(label.encode()).hexdigest()).touch(exist_ok=False)
        except FileExistsError:
            return False
        return True


_ALL = 1_000_000


class KillingStore:
    """A real store with a point before and after each commit and each taking of a lease.

    Who recovers sees calls of the run `only`: the others of a campaign have tools of the same names, and
    other contracts.
    """

    def __init__(self, inner: Any, points: Points, only: str) -> None:
        self.only = only
        self.inner = inner
        self.immediate = inner.immediate
        self._points = points

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    async def commit(self, batch: Batch) -> Committed:
        steps, keys = await self._steps(batch)
        kinds = tuple(event.kind for event in batch.events)
        run_id = batch.events[0].run_id if batch.events else ""
        tools = sorted({row.tool.split(".")[1] for row in (*batch.claims, *batch.calls)})
        label = ", ".join((*steps, *kinds, *tools)) or "a row"
        self._points.reach(f"before {label}", tuple(f"before {step}" for step in steps))
        self._points.note("begin", keys=keys, kinds=kinds, run_id=run_id)
        committed: Committed = await self.inner.commit(batch)
        if committed.written:
            self._points.note("done", keys=keys, kinds=kinds, run_id=run_id, seq=committed.seq)
            self._points.reach(f"after {label}", tuple(f"after {step}" for step in steps))
        else:
            self._points.note("stopped", keys=keys, kinds=kinds)
        return committed

    async def sent(self, limit: int = 100) -> list[CallRow]:
        return [row for row in await self.inner.sent(_ALL) if row.run_id == self.only][:limit]

    async def uncertain(self, limit: int = 100) -> list[CallRow]:
        return [row for row in await self.inner.uncertain(_ALL) if row.run_id == self.only][:limit]

    async def lease(self, run_id: str, holder: str, ttl_s: float) -> Lease | None:
        lease: Lease | None = await self.inner.lease(run_id, holder, ttl_s)
        if lease is not None:
            self._points.reach("after taking the lease")
        return lease

    async def release(self, lease: Lease) -> None:
        self._points.reach("before giving the lease back")
        await self.inner.release(lease)

    async def _steps(self, batch: Batch) -> tuple[tuple[str, ...], dict[str, str]]:
        steps: list[str] = []
        keys: dict[str, str] = {}
        for row in (*batch.claims, *batch.calls):
            known = await self.inner.call(row.key)
            fresh = known is None or known.state in FREE_STATES
            former = "PLANNED" if known is None or fresh else known.state
            step = step_of(LEDGER, "ledger", former, row.state)
            steps += [step] if step else []
            keys[row.key] = row.state
        for approval in batch.approvals:
            standing = await self.inner.approval(approval.approval_id)
            if standing is not None:
                step = step_of(APPROVALS, "approval", standing.state, approval.state)
                steps += [step] if step else []
        return tuple(steps), keys


class KillingTool:
    """A tool with points before, during and after its work."""

    blocking = False

    def __init__(self, inner: Any, points: Points) -> None:
        self.contract = inner.contract
        self._inner = inner
        self._points = points

    async def invoke(self, arguments: Mapping[str, Any], context: g.CallContext) -> Any:
        self._points.reach("in the tool, before its request")
        work = asyncio.ensure_future(self._inner.invoke(arguments, context))
        try:
            await asyncio.sleep(FLYING_S)
            self._points.reach("in the tool, its request on the way")
            value = await work
        finally:
            work.cancel()
        self._points.reach("in the tool, after its answer")
        return value

    async def aclose(self) -> None:
        if hasattr(self._inner, "aclose"):
            await self._inner.aclose()


def watch_loop(points: Points) -> None:
    """Have a point before and after each transition of the run's machine, in this process."""

    def advance(state: loop.LoopState, event: loop.LoopEvent) -> tuple[loop.LoopState, loop.Command]:
        after, command = loop.advance(state, event)
        follows = command.state if isinstance(command, loop.Finish) else after.phase
        step = f"loop {state.phase} {type(event).__name__} > {follows}"
        points.reach(f"before {step}", (f"before {step}",))  # the machine is pure: nothing knows of it yet
        points.reach(f"after {step}", (f"after {step}",))
        return after, command

    setattr(driver, "advance", advance)  # noqa: B010 - it is a name that the module imports


def watch_looks(points: Points) -> None:
    """Have a point before each look at whether a call may still be sent. The last one is right before its
    first byte.
    """
    ask, ask_from_thread = Clearance.ask, Clearance.ask_from_thread
    counts: WeakKeyDictionary[Clearance, int] = WeakKeyDictionary()

    def look(clearance: Clearance) -> None:
        counts[clearance] = count = counts.get(clearance, 0) + 1
        points.reach(f"before look {count}")

    async def asked(self: Clearance) -> str:
        look(self)
        return await ask(self)

    def asked_from_thread(self: Clearance) -> str:
        look(self)
        return ask_from_thread(self)

    setattr(Clearance, "ask", asked)  # noqa: B010 - as above
    setattr(Clearance, "ask_from_thread", asked_from_thread)  # noqa: B010


def watched_person(points: Points, answer: Callable[[g.ApprovalRequest], Any]) -> Any:
    """Return an approver with points around a person's thinking."""

    async def ask(request: g.ApprovalRequest) -> Any:
        points.reach("a person is asked")
        await asyncio.sleep(0)
        said = answer(request)
        if asyncio.iscoroutine(said):
            said = await said
        points.reach("a person has answered")
        return said

    return ask
