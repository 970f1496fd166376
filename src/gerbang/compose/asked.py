"""What began a run, in a line: for lists of runs."""

from typing import Final

import msgspec

from gerbang.ports import Store
from gerbang.values.record import RunRow

_FIRST_EVENTS: Final = 20
"""What is read of a run, however long it is."""


async def asked_of(store: Store, run: RunRow) -> str:
    """Return what began a run: its prompt, or `call` and the first tools that were called without a model."""
    if run.prompt:
        return run.prompt
    bodies = [
        msgspec.json.decode(event.body) for event in await store.events(run.run_id, limit=_FIRST_EVENTS)
    ]
    names = dict.fromkeys(str(body["tool_name"]) for body in bodies if body.get("tool_name"))
    return f"call {', '.join(names)}" if names else ""
