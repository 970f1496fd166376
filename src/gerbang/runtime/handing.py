"""Handing calls to the client that brought their tools: what stands in for the body of such a tool."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from gerbang.contract.catalogue import Catalogue
from gerbang.contract.client_tools import is_clients
from gerbang.ports import Tool
from gerbang.runtime.session import RunSession
from gerbang.values import CallContext, Result, ToolCall

_ENCODER: Final = msgspec.json.Encoder()
_ID: Final = re.compile(r"call_(.{1,512})_([0-9]{1,3})")


class _Handing:
    """Its result is the call as it was allowed: checked, its types put right, edited by who approved it."""

    blocking = False

    async def invoke(self, arguments: Mapping[str, Any], context: CallContext) -> Any:
        return {"arguments": dict(arguments)}

    def invoke_sync(self, arguments: Mapping[str, Any], context: CallContext) -> Any:
        raise NotImplementedError("handing over does not block")


HANDING: Final[Tool] = _Handing()


def is_handed(result: Result, catalogue: Catalogue) -> bool:
    """Tell whether a result is a call that the client has to run."""
    if result.status != "ok" or not isinstance(result.value, dict) or "arguments" not in result.value:
        return False
    entry = catalogue.find(result.tool)
    return entry is not None and is_clients(entry.contract)


def client_calls(
    session: RunSession, results: Sequence[Result], handed: Sequence[bool]
) -> tuple[ToolCall, ...]:
    """Return the calls that the client gets: with the names that it gave its tools, and ids of the run."""
    calls = []
    for ordinal, (result, clients) in enumerate(zip(results, handed, strict=True)):
        entry = session.catalogue.find(result.tool) if clients else None
        if entry is not None:
            arguments = _ENCODER.encode(result.value["arguments"]).decode()
            calls.append(ToolCall(handed_id(session.run_id, ordinal), entry.spec.wire_name, arguments))
    return tuple(calls)


def handed_id(run_id: str, ordinal: int) -> str:
    """Return the id under which a client gets the call at a place of the run's last answer."""
    return f"call_{run_id}_{ordinal}"


def read_handed_id(text: str) -> tuple[str, int] | None:
    """Return the run and the place of a call that a client was given; None for another id."""
    found = _ID.fullmatch(text)
    return None if found is None else (found[1], int(found[2]))
