"""Running a model in a test and looking at what it gave."""

import asyncio
import json
import os
from collections.abc import Callable, Coroutine, Sequence
from contextlib import aclosing
from typing import Any, cast

from msgspec import Struct

from gerbang.ports import Model
from gerbang.values.message import Message
from gerbang.values.model import (
    CallDelta,
    ModelCall,
    ModelDone,
    ModelEvent,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
    ToolSpec,
)


def spec(name: str, description: str = "", **parameters: dict[str, Any]) -> ToolSpec:
    """Return a tool whose parameters are all required."""
    schema = {"type": "object", "properties": parameters, "required": list(parameters)}
    return ToolSpec(name, name.replace(".", "__"), description, schema)


READ = spec("files.read.v1", "Read a text file.", path={"type": "string", "description": "Path of the file."})
LIST = spec("files.list.v1", "List the files.")
ASK = [Message("user", "Read notes.txt")]


class Seen(Struct):
    """A whole answer. `opened` are the names of the CallDelta events, `joined` their fragments by index."""

    text: str
    reasoning: str
    calls: list[ModelCall]
    done: ModelDone
    opened: dict[int, str]
    joined: dict[int, str]
    pieces: int


async def ask(model: Model, request: ModelRequest) -> Seen:
    """Return the whole answer, checking the order that the port promises."""
    events: list[ModelEvent] = []
    async with aclosing(cast(Any, model.answer(request))) as stream:
        events.extend([event async for event in stream])
    assert isinstance(events[-1], ModelDone)
    assert sum(isinstance(event, ModelDone) for event in events) == 1
    seen = Seen("", "", [], events[-1], {}, {}, len(events))
    for event in events:
        if isinstance(event, TextDelta):
            seen.text += event.text
        elif isinstance(event, ReasoningDelta):
            seen.reasoning += event.text
        elif isinstance(event, ModelCall):
            seen.calls.append(event)
        elif isinstance(event, CallDelta):
            if event.name is not None:
                assert event.index not in seen.opened, "a name is told once"
                seen.opened[event.index] = event.name
            seen.joined[event.index] = seen.joined.get(event.index, "") + event.fragment
    return seen


def run(body: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run an async test; no task and no child process may be left when it is over."""
    before = children()

    async def guarded() -> None:
        await body()
        await asyncio.sleep(0)
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left, f"tasks left behind: {left}"

    asyncio.run(guarded(), debug=False)
    assert children() <= before, "child processes left behind"


def children() -> set[int]:
    """Return the ids of this process's children."""
    while True:
        try:
            return {child for task in os.listdir("/proc/self/task") for child in _children_of(task)}
        except (FileNotFoundError, ProcessLookupError):
            continue  # a thread has ended in between: its children are another's now


def _children_of(task: str) -> set[int]:
    with open(f"/proc/self/task/{task}/children") as file:
        return {int(pid) for pid in file.read().split()}


def sse(*values: Any, done: bool = True) -> bytes:
    """Return a stream of chunks as most servers write it."""
    text = "".join(f"data: {json.dumps(value, ensure_ascii=False)}\n\n" for value in values)
    return (text + ("data: [DONE]\n\n" if done else "")).encode()


def delta(finish: str | None = None, **fields: Any) -> dict[str, Any]:
    """Return one chat completion chunk."""
    return {
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": fields, "finish_reason": finish}],
    }


def piece(
    index: Any = 0, call_id: str | None = None, name: str | None = None, arguments: Any = None
) -> dict[str, Any]:
    """Return a chunk with one entry of `tool_calls`; what is None is left out."""
    function = {k: v for k, v in (("name", name), ("arguments", arguments)) if v is not None}
    entry: dict[str, Any] = {"type": "function", "function": function}
    entry |= {k: v for k, v in (("index", index), ("id", call_id)) if v is not None}
    return delta(tool_calls=[entry])


def names(calls: Sequence[ModelCall]) -> list[tuple[str, str]]:
    """Return names and arguments of calls."""
    return [(call.name, call.arguments) for call in calls]
