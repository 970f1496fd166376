"""A request for a chat completion: what is taken of it, what is refused, and what it means for a run.

Fields as in OpenAI's API reference for `POST /v1/chat/completions`. Fields that change nothing here (`user`,
`store`, `service_tier` and the like) are ignored, as other servers do; those that would change the answer's
shape and cannot be had (`n` above 1, `logprobs`, audio, the old `functions`) are refused.
"""

import re
from typing import Annotated, Any, ClassVar, Final, Literal

import msgspec
from msgspec import Meta, Struct

from gerbang.compose.client_tools import Client
from gerbang.contract.client_tools import ClientTool
from gerbang.server.openai_errors import invalid
from gerbang.server.operation import Exchange
from gerbang.values import Message, ToolCall
from gerbang.values.model import Sampling
from gerbang.values.text import clean_text

Count = Annotated[int, Meta(ge=1, le=10_000_000)]
Penalty = Annotated[float, Meta(ge=-2, le=2)]
Stop = Annotated[str, Meta(min_length=1, max_length=1_000)]
Name = Annotated[str, Meta(min_length=1, max_length=512)]


class ChatPart(Struct, frozen=True):
    """A part of a message's content. Only text is taken."""

    type: str
    text: str | None = None
    refusal: str | None = None


class ChatFunction(Struct, frozen=True):
    """The function of a call in the history."""

    name: str
    arguments: str = ""


class ChatCall(Struct, frozen=True):
    """A call in the history."""

    id: Annotated[str, Meta(min_length=1, max_length=600)]
    function: ChatFunction
    type: str = "function"


class ChatMessage(Struct, frozen=True):
    """A message of the history."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[ChatPart] | None = None
    tool_calls: list[ChatCall] | None = None
    tool_call_id: str | None = None
    name: str | None = None


class ChatDescribed(Struct, frozen=True):
    """A function that the client runs itself. `x-gerbang-risk` is its risk class, `draft` if not said."""

    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None
    risk: str | None = msgspec.field(default=None, name="x-gerbang-risk")


class ChatTool(Struct, frozen=True):
    """A tool of the client."""

    type: str
    function: ChatDescribed | None = None


class StreamOptions(Struct, frozen=True):
    """What a stream shall have besides the answer."""

    include_usage: bool | None = None


class ChatAsks(Struct, frozen=True):
    """What only this server knows. `run_id`: tell the answer of this run, which waited for a person."""

    run_id: Name | None = None


class Chat(Struct, frozen=True):
    """The body of a request. What stands after `metadata` is known only to be refused."""

    SCHEMAS: ClassVar[dict[str, Any]] = {
        "n": {"enum": [1, None], "default": None},
        "logprobs": {"enum": [False, None], "default": None},
        "modalities": {"items": {"const": "text"}, "type": ["array", "null"], "default": None},
        **{name: {"type": "null", "default": None} for name in ("audio", "functions", "function_call")},
    }

    model: str
    messages: Annotated[list[ChatMessage], Meta(min_length=1, max_length=10_000)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    tools: list[ChatTool] | None = None
    tool_choice: str | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    max_tokens: Count | None = None
    max_completion_tokens: Count | None = None
    stop: Stop | Annotated[list[Stop], Meta(max_length=16)] | None = None
    seed: Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] | None = None
    response_format: dict[str, Any] | None = None
    presence_penalty: Penalty | None = None
    frequency_penalty: Penalty | None = None
    logit_bias: dict[str, float] | None = None
    gerbang: ChatAsks | None = None
    metadata: dict[str, Any] | None = None
    n: int | None = None
    logprobs: bool | None = None
    modalities: list[str] | None = None
    audio: Any = None
    functions: Any = None
    function_call: Any = None

    @property
    def wants_shape(self) -> bool:
        """True when the answer has to be JSON: then nothing but the last answer's text may be said."""
        return self.response_format is not None and self.response_format.get("type") != "text"


_CHAT: Final = msgspec.json.Decoder(Chat)
_WHERE: Final = re.compile(r" - at `\$\.?([^`]*)`")
_MAX_FUNCTION: Final = 64


def read_chat(exchange: Exchange) -> Chat:
    """Return the request. Raises Problem that names the parameter that is wrong."""
    try:
        asked = _CHAT.decode(exchange.body)
    except msgspec.ValidationError as error:
        said = str(error)
        where = _WHERE.search(said)
        path = re.sub(r"^\[\.\.\.\]", "", where[1]) if where else None
        raise invalid(f"The request does not fit: {said}.", path or None) from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise invalid("The body is not JSON. Send one JSON object.", code="NOT_JSON") from None
    _refuse(asked)
    return asked


def _refuse(asked: Chat) -> None:
    if asked.n is not None and asked.n != 1:
        raise invalid("'n' can only be 1: each choice would call the tools again.", "n")
    if asked.logprobs:
        raise invalid("'logprobs' cannot be had here. Leave it out.", "logprobs")
    if asked.audio is not None or set(asked.modalities or ()) - {"text"}:
        raise invalid("Only text can be had here. Leave 'audio' out, and 'modalities'.", "modalities")
    for name in ("functions", "function_call"):
        if getattr(asked, name) is not None:
            raise invalid(f"'{name}' is of an old version of the API. Use 'tools' and 'tool_choice'.", name)


def client_of(asked: Chat) -> Client:
    """Return the client's tools, and how it wants answers made. Raises Problem."""
    tools = tuple(_tool(tool, place) for place, tool in enumerate(asked.tools or ()))
    stop = (asked.stop,) if isinstance(asked.stop, str) else tuple(asked.stop or ())
    penalties = {
        name: value
        for name in ("presence_penalty", "frequency_penalty", "logit_bias")
        if (value := getattr(asked, name)) is not None
    }
    sampling = Sampling(
        temperature=asked.temperature,
        top_p=asked.top_p,
        max_tokens=asked.max_completion_tokens or asked.max_tokens,
        stop=stop,
        seed=asked.seed,
        response_format=_format(asked.response_format),
        penalties=penalties,
        tool_choice=_choice(asked.tool_choice),
        parallel_calls=asked.parallel_tool_calls is not False,
    )
    return Client(tools, sampling)


def _tool(tool: ChatTool, place: int) -> ClientTool:
    if tool.type != "function" or tool.function is None:
        raise invalid(
            f"A tool of the type {tool.type[:40]!r} cannot be had. Use 'function'.", f"tools[{place}].type"
        )
    given = tool.function
    return ClientTool(given.name, given.description or "", given.parameters or {}, given.risk or "draft")


def _format(given: dict[str, Any] | None) -> dict[str, Any] | None:
    if given is None:
        return None
    kind = given.get("type")
    if kind not in ("text", "json_object", "json_schema"):
        raise invalid("Its type is 'text', 'json_object' or 'json_schema'.", "response_format.type")
    schema = given.get("json_schema")
    if kind == "json_schema" and not (isinstance(schema, dict) and isinstance(schema.get("schema"), dict)):
        raise invalid("It has no 'json_schema' with a 'schema'.", "response_format.json_schema")
    return None if kind == "text" else given


def _choice(given: str | dict[str, Any] | None) -> str:
    if given is None:
        return "auto"
    if isinstance(given, str):
        if given in ("auto", "none", "required"):
            return given
        raise invalid("It is 'auto', 'none', 'required', or an object that names a function.", "tool_choice")
    function = given.get("function")
    name = function.get("name") if given.get("type") == "function" and isinstance(function, dict) else None
    if not isinstance(name, str) or not 0 < len(name) <= 2 * _MAX_FUNCTION:
        raise invalid('It is {"type": "function", "function": {"name": ...}}.', "tool_choice")
    return name


def messages_of(asked: Chat) -> list[Message]:
    """Return the conversation. Raises Problem for parts that are no text, and for results without a call."""
    out: list[Message] = []
    open_ids: dict[str, str] = {}
    for place, given in enumerate(asked.messages):
        where = f"messages[{place}]"
        if given.role == "tool":
            if given.tool_call_id is None or given.tool_call_id not in open_ids:
                raise invalid(
                    "A message with the role 'tool' answers a call of the assistant's message before it: "
                    "its 'tool_call_id' is that of one of the 'tool_calls', each answered once.",
                    f"{where}.tool_call_id",
                )
            name = open_ids.pop(given.tool_call_id)
            out.append(Message("tool", _text(given, where), (), given.tool_call_id, name))
            continue
        _all_answered(open_ids, where)
        calls = tuple(_call(call) for call in given.tool_calls or ())
        if calls and given.role != "assistant":
            raise invalid("Only messages of the assistant have 'tool_calls'.", f"{where}.tool_calls")
        open_ids = {call.id: call.name for call in calls}
        if len(open_ids) < len(calls):
            raise invalid("Two calls have the same 'id'.", f"{where}.tool_calls")
        role = "system" if given.role == "developer" else given.role
        out.append(Message(role, _text(given, where), calls))
    _all_answered(open_ids, f"messages[{len(asked.messages) - 1}]")
    if out[-1].role not in ("user", "tool"):
        raise invalid("The last message is of the user, or the result of a tool.", "messages")
    if not any(message.role == "user" for message in out):
        raise invalid("There is no message of the user.", "messages")
    return out


def _all_answered(open_ids: dict[str, str], where: str) -> None:
    if open_ids:
        ids = ", ".join(list(open_ids)[:5])
        raise invalid(
            "An assistant's message with 'tool_calls' is followed by one with the role 'tool' for each. "
            f"These have none: {ids}.",
            where,
        )


def _call(call: ChatCall) -> ToolCall:
    return ToolCall(clean_text(call.id), clean_text(call.function.name), clean_text(call.function.arguments))


def _text(given: ChatMessage, where: str) -> str:
    content = given.content
    if content is None or isinstance(content, str):
        return clean_text(content or "")
    texts = []
    for place, part in enumerate(content):
        text = part.text if part.type == "text" else part.refusal if part.type == "refusal" else None
        if text is None:
            raise invalid(
                f"A part of the type {part.type[:40]!r} cannot be read here. Send text.",
                f"{where}.content[{place}].type",
            )
        texts.append(text)
    return clean_text("\n".join(texts))


def words_of(asked: Chat) -> dict[str, str | None]:
    """Return the purpose and the intent that `metadata` names. Raises Problem."""
    found: dict[str, str | None] = {"purpose": None, "intent": None}
    for name in found:
        value = (asked.metadata or {}).get(name)
        if value is None:
            continue
        if not isinstance(value, str) or not 0 < len(value) <= 512 or "\x00" in value:
            raise invalid("It is a text of 1 to 512 characters.", f"metadata.{name}")
        found[name] = value
    return found
