"""Agents with a scripted model, and what a model was shown."""

from collections.abc import Sequence
from typing import Any

import gerbang as g
from gerbang.testing import ScriptedModel
from tests.runtime.street import Effects, toolbox


class Watched:
    """A script whose every request is kept: `seen[n]` are the messages of request n."""

    def __init__(self, items: Sequence[Any]) -> None:
        self.seen: list[list[g.Message]] = []
        self.model = ScriptedModel([self._watch(item) for item in items])

    def _watch(self, item: Any) -> Any:
        def answer(messages: Sequence[g.Message]) -> Any:
            self.seen.append(list(messages))
            return item(messages) if callable(item) and not isinstance(item, BaseException) else item

        return answer

    @property
    def last(self) -> list[g.Message]:
        """The messages of the last request."""
        return self.seen[-1]


async def ask(
    items: Sequence[Any],
    tools: Sequence[Any] | None = None,
    *,
    prompt: str = "Do it.",
    store: str = "memory:",
    gateway: dict[str, Any] | None = None,
    ask: dict[str, Any] | None = None,
    **agent: Any,
) -> tuple[g.RunResult, Watched]:
    """Run one request in a gateway of its own."""
    watched = Watched(items)
    chosen = toolbox(Effects()) if tools is None else tools
    async with g.Gateway(tools=chosen, store=store, **(gateway or {})) as gate:
        result = await g.Agent(watched.model, gate, **agent).run(prompt, **(ask or {}))
        row = await gate.store.run(result.run_id)
        assert row is not None
        assert (row.state, row.answer, row.prompt) == (result.status, result.answer, prompt)
    return result, watched
