"""Short ways to make rows, and to run a coroutine on an opened store."""

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from gerbang.adapters.stores import open_store
from gerbang.ports import Store
from gerbang.values.event import NewEvent
from gerbang.values.record import ApprovalRow, CallRow, EventRow, RunRow

T = TypeVar("T")
CHILD_S = 60


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


@contextlib.asynccontextmanager
async def opened(url: str) -> AsyncIterator[Store]:
    store = open_store(url)
    await store.open()
    try:
        yield store
    finally:
        await store.close()


def call(
    key: str, state: str = "PLANNED", *, run_id: str = "r1", ordinal: int = 0, result: bytes = b""
) -> CallRow:
    return CallRow(key, run_id, "1", ordinal, f"id-{key}", "files.read.v1", state, "hmac:1", result=result)


def a_run(
    run_id: str = "r1", state: str = "running", *, started_at: float = 1.0, tenant: str = "acme"
) -> RunRow:
    return RunRow(run_id, tenant, "ana", state, started_at, started_at + 1)


def event(run_id: str = "r1", body: bytes = b"{}") -> NewEvent:
    return NewEvent(run_id, "call.planned", body)


def approval(
    name: str, state: str = "pending", *, run_id: str = "r1", created_at: float = 1.0
) -> ApprovalRow:
    return ApprovalRow(
        name,
        run_id,
        "key",
        "mail.send.v1",
        "acme",
        state,
        "sha256:1",
        "Send it?",
        b"{}",
        "[]",
        created_at,
        9.0,
    )


async def all_events(store: Store, run_id: str) -> list[EventRow]:
    events: list[EventRow] = []
    while page := await store.events(run_id, after=events[-1].seq if events else 0, limit=1000):
        events += page
    return events


def rest_of(process: "subprocess.Popen[str]") -> str:
    """Return what a process whose lines were read so far still prints, and wait for its end.

    `communicate` would read past the pipe's own buffer: the first line could then be half a line.
    """
    assert process.stdout is not None
    rest = process.stdout.read()
    process.communicate(timeout=CHILD_S)
    return rest


def child(program: Path, *arguments: str) -> "subprocess.Popen[str]":
    """Start a program of this folder as its own process."""
    return subprocess.Popen(
        [sys.executable, "-W", "error", str(program), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
