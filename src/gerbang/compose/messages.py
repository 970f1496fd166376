"""Conversations that programs and clients give: messages as objects, or as dicts of OpenAI's shape."""

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from gerbang.errors import UsageError
from gerbang.values import Message, ToolCall
from gerbang.values.text import clean_text

_ENCODER: Final = msgspec.json.Encoder()


def read_prompt(prompt: Any) -> str:
    """Return the prompt, cleaned. Raises UsageError when it is no text."""
    if not isinstance(prompt, str):
        raise UsageError("The prompt is a text.")
    return clean_text(prompt)


def read_messages(history: Any) -> list[Message]:
    """Return the messages of a history. Raises UsageError for what is none."""
    if type(history) is not tuple and (isinstance(history, str | dict) or not isinstance(history, Iterable)):
        raise UsageError("history is a list of messages.")
    return [read_message(item) for item in history]


def read_message(item: Any) -> Message:
    """Return a message of an OpenAI-style dict. Raises UsageError for what is none."""
    made = isinstance(item, Message)
    role = item.role if made else item.get("role") if isinstance(item, dict) else None
    if role not in ("system", "user", "assistant", "tool"):
        raise UsageError("history holds messages with a role of system, user, assistant or tool.")
    if made:
        return item  # type: ignore[no-any-return]
    content = _read_content(item.get("content") or "")
    asked = item.get("tool_calls") or ()
    if not isinstance(asked, list | tuple):
        raise UsageError("The tool_calls of a message in history are a list.")
    calls = tuple(_read_call(call) for call in asked)
    return Message(role, clean_text(content), calls, item.get("tool_call_id"), item.get("name"))


def _read_content(content: Any) -> str:
    """Return the text of a content: a text, or a list of parts that are texts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list | tuple) else [None]
    texts = [part.get("text") for part in parts if isinstance(part, dict) and part.get("type") == "text"]
    if len(texts) != len(parts) or not all(isinstance(text, str) for text in texts):
        raise UsageError("The content of a message in history is a text, or a list of parts of type text.")
    return "".join(map(str, texts))


def last_prompt(messages: list[Message]) -> str:
    """Return what the user said last. Raises UsageError when the user said nothing."""
    for message in reversed(messages):
        if message.role == "user":
            return message.content
    raise UsageError("The conversation has no message of the user.")


def _read_call(call: Any) -> ToolCall:
    try:
        function = call["function"]
        given = function["arguments"]
        arguments = given if isinstance(given, str) else _ENCODER.encode(given).decode()
        return ToolCall(str(call["id"]), str(function["name"]), arguments)
    except (TypeError, KeyError, ValueError, OverflowError):
        raise UsageError(
            "A tool call in history has 'id' and 'function' with 'name' and 'arguments'."
        ) from None
