"""Neutral messages to the JSON of OpenAI's chat completions."""

import json
from collections.abc import Sequence
from typing import Any

from gerbang.adapters.models.wirename import WireNames
from gerbang.values.message import Message, ToolCall
from gerbang.values.model import ModelRequest, ToolSpec


def encode(request: ModelRequest, model: str, *, stream_usage: bool) -> bytes:
    """Return the request body. `stream_usage` asks for a usage chunk at the end of a stream."""
    names = WireNames(request.tools)
    body: dict[str, Any] = {
        "model": model,
        "messages": [_message(message, names) for message in request.messages],
        "stream": request.stream,
    }
    if request.stream and stream_usage:
        body["stream_options"] = {"include_usage": True}
    sampling = request.sampling
    if request.tools and request.tool_choice != "none":
        body["tools"] = functions(request.tools)
        body["tool_choice"] = _choice(request.tool_choice, names)
        if not sampling.parallel_calls:
            body["parallel_tool_calls"] = False
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.max_tokens is not None:
        body["max_tokens"] = request.max_tokens
    if sampling.top_p is not None:
        body["top_p"] = sampling.top_p
    if sampling.stop:
        body["stop"] = list(sampling.stop)
    if sampling.seed is not None:
        body["seed"] = sampling.seed
    if sampling.response_format is not None:
        body["response_format"] = sampling.response_format
    body.update(sampling.penalties)
    return dump(body)


def _choice(choice: str, names: WireNames) -> Any:
    if choice in ("auto", "required"):
        return choice
    return {"type": "function", "function": {"name": names[choice]}}


def dump(body: Any) -> bytes:
    """Return JSON in UTF-8. A lone surrogate becomes `?`: servers refuse the whole request for one."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def functions(tools: Sequence[ToolSpec]) -> list[dict[str, Any]]:
    """Return the tools as OpenAI's and Ollama's requests name them."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.wire_name,
                "description": tool.description,
                "parameters": tool.parameters,
            },
        }
        for tool in tools
    ]


def arguments_object(call: ToolCall) -> dict[str, Any]:
    """Return a call's arguments for a server that parses them. What is no JSON object is told as text."""
    try:
        value = json.loads(call.arguments) if call.arguments.strip() else {}
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {"not_json": call.arguments}


def _message(message: Message, names: WireNames) -> dict[str, Any]:
    out: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.role == "tool":
        out["tool_call_id"] = message.tool_call_id or ""
    if message.tool_calls:
        out["content"] = message.content or None
        out["tool_calls"] = [_call(call, names) for call in message.tool_calls]
    return out


def _call(call: ToolCall, names: WireNames) -> dict[str, Any]:
    # Some servers parse the arguments of old calls for their template and fail on anything but an object.
    arguments = json.dumps(arguments_object(call), ensure_ascii=False)
    return {"id": call.id, "type": "function", "function": {"name": names[call.name], "arguments": arguments}}
