"""The conversation as the model sees it. Provider-neutral; adapters translate it to their wire."""

from typing import Literal

from msgspec import Struct

Role = Literal["system", "user", "assistant", "tool"]


class ToolCall(Struct, frozen=True, gc=False):
    """One call as it stands in an assistant message.

    `id` pairs it with its result, `name` is the canonical tool name (or what the model wrote, when it
    names no tool), `arguments` the JSON text.
    """

    id: str
    name: str
    arguments: str


class Message(Struct, frozen=True, gc=False):
    """One message of a conversation.

    `tool_calls` belongs to role `assistant`; `tool_call_id` and `name` to role `tool`.
    """

    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    name: str | None = None
