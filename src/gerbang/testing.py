"""Stand-ins for the outside world, for tests of programs that use Gerbang. Public and documented.

`ScriptedModel` says what it is told to, `ManualClock` stands still, `memory_store` forgets at the end.
"""

import inspect
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import Any

import msgspec

from gerbang.errors import ModelFault, UsageError
from gerbang.ports import Store
from gerbang.values import Message
from gerbang.values.model import ModelCall, ModelDone, ModelEvent, ModelRequest, TextDelta

Item = (
    str
    | Sequence[tuple[str, dict[str, Any] | str]]
    | BaseException
    | type[BaseException]
    | Callable[[Sequence[Message]], Any]
)
"""One answer: a text, a list of `(tool name, arguments)`, an exception, or a function of the messages."""


class ScriptedModel:
    """A model that gives the answers of a list, one for each request, and repeats the last one.

    Each item is one answer: a `str` is text, read by the profile's dialect; a list of
    `(tool_name, arguments)` is structured calls, with arguments as a dict or as raw JSON text; an
    exception is a model that failed (one that is no ModelFault becomes one, as in an adapter); a callable
    gets the messages and returns an item, or is a coroutine function that does.
    `requests` keeps the number of requests made.
    """

    name = "scripted:"
    context_tokens: int | None = None
    writes_prose = True

    def __init__(self, items: Sequence[Item]) -> None:
        if isinstance(items, str):
            raise UsageError("ScriptedModel takes a list of items: write [text].")
        if not isinstance(items, Iterable):
            raise UsageError(f"ScriptedModel takes a list of items, not {items!r:.80}.")
        if not items:
            raise UsageError("ScriptedModel needs at least one item.")
        self._items = [_item(item) for item in items]
        self.requests = 0

    async def answer(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Yield the next item of the script as model events."""
        item: Any = self._items[min(self.requests, len(self._items) - 1)]
        self.requests += 1
        while callable(item):
            item = item(list(request.messages))  # the run goes on writing its own
            item = _item(await item if inspect.isawaitable(item) else item)
        if isinstance(item, Exception) and not isinstance(item, ModelFault):
            raise ModelFault(f"The model failed: {type(item).__name__}.") from item
        if isinstance(item, BaseException):
            raise item
        if isinstance(item, str):
            yield TextDelta(item)
            yield ModelDone("stop")
            return
        for index, (name, arguments) in enumerate(item):
            text = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
            yield ModelCall(index, None, name, text)
        yield ModelDone("tool_calls")

    async def aclose(self) -> None:
        """Nothing to free."""


def _item(item: Any) -> Any:
    """Return the item. Raises UsageError for what is none."""
    if isinstance(item, type) and issubclass(item, BaseException):
        return item()
    if isinstance(item, str | BaseException) or callable(item):
        return item
    if isinstance(item, list | tuple) and all(
        isinstance(call, list | tuple) and len(call) == 2 and isinstance(call[0], str) for call in item
    ):
        return item
    raise UsageError(
        f"{item!r:.80} is no item of a script. Use a text, a list of (tool name, arguments), an exception, "
        "or a function of the messages."
    )


class ManualClock:
    """A clock that moves only when told to. Times in seconds."""

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self._now = start
        self._monotonic = 0.0

    def now(self) -> float:
        """Seconds since the epoch."""
        return self._now

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return self._monotonic

    def advance(self, seconds: float) -> None:
        """Let time pass on both clocks."""
        self._now += seconds
        self._monotonic += seconds

    def set_back(self, seconds: float) -> None:
        """Turn the wall clock back, as an operator might; the monotonic one goes on."""
        self._now -= seconds


def memory_store() -> Store:
    """Return a new store in memory, with the behaviour of the durable ones."""
    from gerbang.adapters.stores import open_store

    return open_store("memory:")
