"""Neutral messages to the JSON of Ollama's /api/chat."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from gerbang.adapters.models.openai_body import arguments_object, dump, functions
from gerbang.adapters.models.wirename import WireNames
from gerbang.values.message import Message
from gerbang.values.model import ModelRequest

TEMPERATURE: Final = 0.1
"""Used when the request names none: calls should not be a matter of luck."""


def encode(request: ModelRequest, model: str, context: int) -> bytes:
    """Return the request body; `context` is the window, in tokens, that the server is asked to use."""
    options: dict[str, Any] = {
        "temperature": TEMPERATURE if request.temperature is None else request.temperature,
        "num_ctx": context,
    }
    if request.max_tokens is not None:
        options["num_predict"] = request.max_tokens
    sampling = request.sampling
    if sampling.top_p is not None:
        options["top_p"] = sampling.top_p
    if sampling.stop:
        options["stop"] = list(sampling.stop)
    if sampling.seed is not None:
        options["seed"] = sampling.seed
    body: dict[str, Any] = {
        "model": model,
        "messages": _messages(request.messages, WireNames(request.tools)),
        "stream": request.stream,
        "options": options,
    }
    answer_format = _format(sampling.response_format)
    if answer_format is not None:
        body["format"] = answer_format
    if request.tools and request.tool_choice != "none":
        body["tools"] = functions(request.tools)
    return dump(body)


def _format(wanted: Mapping[str, Any] | None) -> Any:
    """Return Ollama's `format`: `json`, or the JSON Schema that the answer has to fit."""
    if wanted is None or wanted.get("type") == "text":
        return None
    described = wanted.get("json_schema")
    schema = described.get("schema") if isinstance(described, Mapping) else None
    return schema if isinstance(schema, Mapping) else "json"


def _messages(messages: Sequence[Message], names: WireNames) -> list[dict[str, Any]]:
    """Calls travel as objects, not as JSON text; a result is paired with its call by the tool's name."""
    out: list[dict[str, Any]] = []
    called: dict[str, str] = {}
    for message in messages:
        entry: dict[str, Any] = {"role": message.role, "content": message.content}
        if message.tool_calls:
            called.update((call.id, call.name) for call in message.tool_calls)
            entry["tool_calls"] = [
                {"id": call.id, "function": {"name": names[call.name], "arguments": arguments_object(call)}}
                for call in message.tool_calls
            ]
        if message.role == "tool":
            call_id = message.tool_call_id or ""
            entry["tool_name"] = names[message.name or called.get(call_id, "")]
            entry["tool_call_id"] = call_id
        out.append(entry)
    return out
