"""What the embedded model is asked. It reads one short request, not a conversation.

The model was made to turn a sentence into calls. So it gets the latest request of the person, then the
results of the calls made since, one turn a round; earlier requests would only mislead it.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct

from gerbang.adapters.models.surrogates import whole
from gerbang.errors import ModelFault
from gerbang.values.message import Message
from gerbang.values.model import ToolSpec

MAX_REQUEST_CHARS: Final = 4_000
"""Longer requests are refused: the model loses the thread well before, and its time grows with the text."""
MAX_RESULT_CHARS: Final = 300
"""How much of each result the model sees. It needs enough to pick the next call, not the content."""
MAX_ROUNDS: Final = 4
"""After this many rounds of calls for one request the model is not asked again, and the answer ends."""

_SENTENCE: Final = re.compile(r"(?<=\.)\s|\n")
_KEPT: Final = frozenset(
    {"type", "description", "enum", "items", "properties", "required", "format", "anyOf"}
)
_FRAME: Final = re.compile(r"<tool_result [^>\n]*>(?:<(data-[0-9a-f]+)>)?\n")
_ENVELOPES: Final = ("Tool execution finished (step ", "Tool execution selesai (step ")
"""How results begin in the profile that hands them back as role `user`."""


class Query(Struct, frozen=True):
    """What to ask: the request, the results of each round since, and the calls already made for it."""

    request: str
    rounds: list[str]
    made: set[tuple[str, str]]


def query_for(messages: Sequence[Message]) -> Query | None:
    """Return what to ask, or None when there is nothing: no request, or enough rounds.

    Raises ModelFault when the request is too long.
    """
    start = _latest_request(messages)
    if start is None:
        return None
    request = whole(messages[start].content).strip()
    if len(request) > MAX_REQUEST_CHARS:
        raise ModelFault(
            f"The embedded model reads requests of at most {MAX_REQUEST_CHARS:,} characters; this one has "
            f"{len(request):,}. Shorten it, or use another model."
        )
    rounds, made = _rounds(messages, start + 1)
    if not request or len(rounds) > MAX_ROUNDS:
        return None
    return Query(request, rounds, made)


def tools_text(tools: Sequence[ToolSpec]) -> str:
    """Return the tools as the JSON text that the engine reads.

    It sees the first sentence of a description, and the parameters that must be there with their bare
    types: with more it picks worse, and an optional text it fills with any words at hand.
    """
    return json.dumps(
        [
            {
                "name": tool.wire_name,
                "description": _SENTENCE.split(tool.description.strip(), maxsplit=1)[0],
                "parameters": _bare(tool.parameters),
            }
            for tool in tools
        ],
        ensure_ascii=False,
    )


def _bare(schema: dict[str, Any]) -> dict[str, Any]:
    properties, required = schema.get("properties"), schema.get("required")
    names = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
    parts = properties if isinstance(properties, dict) else {}
    return {
        "type": "object",
        "properties": {
            name: {key: value for key, value in parts[name].items() if key in _KEPT}
            for name in names
            if isinstance(parts.get(name), dict)
        },
        "required": names,
    }


def call_key(name: str, arguments: Any) -> tuple[str, str]:
    """Return what makes two calls the same call, whatever the order or spacing of their JSON."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return name, str(arguments)
    return name, json.dumps(arguments, sort_keys=True)


def _latest_request(messages: Sequence[Message]) -> int | None:
    """Find the last user message that is no result. Some profiles hand results back in the role `user`."""
    latest, after_calls = None, False
    for place, message in enumerate(messages):
        if message.role == "assistant":
            after_calls = bool(message.tool_calls)
        elif message.role == "user" and not after_calls and not message.content.startswith(_ENVELOPES):
            latest = place
        elif message.role == "tool":
            after_calls = False
    return latest


def _rounds(messages: Sequence[Message], start: int) -> tuple[list[str], set[tuple[str, str]]]:
    rounds: list[list[dict[str, str]]] = []
    names: dict[str, str] = {}
    made: set[tuple[str, str]] = set()
    for message in messages[start:]:
        if message.role == "assistant" and message.tool_calls:
            rounds.append([])
            names = {call.id: call.name for call in message.tool_calls}
            made |= {call_key(call.name, call.arguments) for call in message.tool_calls}
        elif message.role in ("tool", "user") and rounds:
            name = message.name or names.get(message.tool_call_id or "", "result")
            rounds[-1].append({"name": name, "result": whole(_unframed(message.content)[:MAX_RESULT_CHARS])})
    return [json.dumps(results, ensure_ascii=False) for results in rounds if results], made


def _unframed(text: str) -> str:
    """Return a result without the frame round it, whose words the model takes for content.

    A frame without marks is taken off as well: transcripts of older runs have it.
    """
    opening = _FRAME.match(text)
    if opening is None:
        return text
    inner = f"</{opening[1]}>" if opening[1] else ""
    return text[opening.end() :].removesuffix(f"\n{inner}</tool_result>")
