"""Real tools, and ways to run a coroutine and to read back what a run left behind."""

import asyncio
from collections import Counter
from collections.abc import Coroutine
from typing import Any, TypeVar

import msgspec

import gerbang as g
from gerbang.audit import chain
from gerbang.ports import Store
from gerbang.values.record import EventRow

T = TypeVar("T")

ALLOW_ALL = g.Policy.from_rules(
    [
        {
            "id": "all",
            "match": {"tool": ["*"]},
            "everything": True,
            "decision": "allow",
            "reason": "TEST_ALLOWS",
        }
    ]
)
"""Lets everything through except what has a floor of its own class."""

TERMINAL = frozenset({"call.finished", "call.refused", "call.replayed"})
"""Kinds of event that end a proposal."""


def run(work: Coroutine[Any, Any, T], *, within_s: float = 20.0) -> T:
    """Run a coroutine; fail when it leaves a task behind or the loop has something to complain about."""
    complaints: list[dict[str, Any]] = []

    async def watched() -> T:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: complaints.append(context))
        async with asyncio.timeout(within_s):
            result = await work
        assert others() == set()
        return result

    result = asyncio.run(watched())
    assert complaints == []
    return result


def others() -> set[str]:
    """Return the names of all tasks but the one that asks."""
    return {repr(task) for task in asyncio.all_tasks() if task is not asyncio.current_task()}


class Effects:
    """What tools did, in order: the truth that results and records are compared with."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.now = 0
        self.most = 0

    def __call__(self, what: str) -> None:
        self.log.append(what)

    def enter(self, what: str) -> None:
        """Note that something began."""
        self.log.append(f"+{what}")
        self.now += 1
        self.most = max(self.most, self.now)

    def leave(self, what: str) -> None:
        """Note that it ended."""
        self.log.append(f"-{what}")
        self.now -= 1

    def count(self, what: str) -> int:
        """Return how often it happened."""
        return self.log.count(what)


def toolbox(effects: Effects) -> list[Any]:
    """Return tools of several classes that note in `effects` what they do."""

    @g.tool(name="docs.read.v1", risk="read_internal")
    async def read(name: str, turns: int = 1) -> str:
        """Read a document. Returns its text."""
        effects.enter(name)
        for _ in range(turns):
            await asyncio.sleep(0)
        effects.leave(name)
        return f"text of {name}"

    @g.tool(name="docs.write.v1", risk="write_internal")
    async def write(name: str, turns: int = 1) -> str:
        """Write a document. Returns `written`."""
        effects.enter(name)
        for _ in range(turns):
            await asyncio.sleep(0)
        effects.leave(name)
        return f"written {name}"

    @g.tool(name="docs.store.v1", risk="write_internal")
    def store(name: str) -> str:
        """Store a document. Returns `stored`."""
        effects(name)
        return f"stored {name}"

    @g.tool(name="mail.send.v1", risk="external_communication")
    async def send(to: str, text: str = "") -> str:
        """Send a mail. Returns `sent`."""
        effects(f"mail {to}")
        return f"sent to {to}"

    @g.tool(name="bank.transfer.v1", risk="transactional", natural_key=("invoice",))
    async def transfer(invoice: str, amount: int) -> str:
        """Pay an invoice. Returns `paid`."""
        effects(f"paid {invoice} {amount}")
        return f"paid {invoice}"

    @g.tool(name="web.get.v1", risk="read_external")
    async def web(page: str) -> str:
        """Read a page. Returns its text."""
        effects(f"got {page}")
        return f"page {page}"

    @g.tool(name="sums.add.v1", risk="compute")
    def add(a: int, b: int) -> int:
        """Add two numbers. Returns the sum."""
        effects(f"{a}+{b}")
        return a + b

    @g.tool(name="sums.crash.v1", risk="compute")
    def crash() -> int:
        """Crash. Returns nothing."""
        raise RuntimeError("dsn=postgres://root:hunter2@db/prod")

    return [read, write, store, send, transfer, web, add, crash]


async def history(store: Store, run_id: str) -> list[EventRow]:
    """Return a run's events, having checked their chain."""
    events = await store.events(run_id)
    assert chain.verify(events) is None
    return events


async def bodies(store: Store, run_id: str) -> list[dict[str, Any]]:
    """Return the bodies of a run's events with their kind under `kind`."""
    return [{"kind": event.kind, **msgspec.json.decode(event.body)} for event in await history(store, run_id)]


async def endings(store: Store, run_id: str) -> Counter[str]:
    """Return how many terminal records each proposal of a run has, by call id."""
    return Counter(body["call_id"] for body in await bodies(store, run_id) if body["kind"] in TERMINAL)


def code(result: g.Result) -> str:
    """Return the error code of a result, or its status."""
    return result.status if result.error is None else result.error.error_code
