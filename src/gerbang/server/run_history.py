"""What a run said, from its record: for clients that come back after the process that drove it has gone."""

from typing import Any, Final

import msgspec

from gerbang.ports import Store
from gerbang.runtime.kept import read_answer
from gerbang.server.live import Note
from gerbang.server.run_names import marked
from gerbang.values.record import RunRow, RunState

_ENCODER: Final = msgspec.json.Encoder()
WORKING: Final = frozenset({RunState.RUNNING, RunState.OPEN})
"""States of a run that has not ended."""
WHERE_WHY: Final = "The server's log has the reason."
MODEL_FAILED: Final = {"code": "MODEL_FAILED", "message": f"The model gave no answer. {WHERE_WHY}"}
"""The fields of the `error` of a run whose model failed."""


async def own_run(store: Store, run_id: str, tenant: str) -> RunRow | None:
    """Return a run's row if it is the tenant's; another tenant's does not exist for it.

    `run_id` is the name that was given, or the one under which the run is kept: go on with the row's.
    """
    if not run_id or len(run_id) > 512 or "\x00" in run_id:
        return None
    for name in (run_id, marked(run_id, tenant)):
        row = await store.run(name)
        if row is not None and row.tenant == tenant:
            return row
    return None


async def stored_notes(store: Store, run_id: str, tenant: str) -> list[Note] | None:
    """Return the run's calls, its answer and its end as messages, numbered; None: there is no run."""
    row = await own_run(store, run_id, tenant)
    if row is None:
        return None
    said: list[tuple[str, dict[str, Any]]] = []
    for answer in await store.answers(row.run_id):
        kept = read_answer(answer.message) if answer.step else None  # step 0 is the opening
        if kept is None:
            continue
        if kept.calls is not None:  # written as text, or mended
            said.extend(
                ("tool_call", {"name": call.name, "arguments": call.arguments}) for call in kept.calls
            )
            continue
        said.extend(
            ("tool_call", {"name": call.name, "arguments": _arguments(call.arguments)})
            for call in kept.tool_calls
        )
    if row.state == RunState.MODEL_ERROR:
        said.append(("error", MODEL_FAILED))
    if row.answer:
        said.append(("assistant_delta", {"text": row.answer}))
    if row.state not in WORKING:
        said.append(("assistant_end", {"status": str(row.state), "text": row.answer}))
    return [
        Note(
            seq,
            kind,
            _ENCODER.encode({"type": kind, **fields, "run_id": run_id, "seq": seq, "replayed": True}),
        )
        for seq, (kind, fields) in enumerate(said, start=1)
    ]


def _arguments(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.MsgspecError:
        return {}
