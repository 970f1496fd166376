"""What goes to a model and what comes back, free of any provider's wire format."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from gerbang.values.message import Message

FinishReason = Literal["stop", "length", "tool_calls", "content_filter", "disconnected"]


class ToolSpec(Struct, frozen=True, gc=False):
    """A tool as it is shown to a model.

    `name` is canonical (dotted, versioned), `wire_name` the same name in the letters that providers
    accept; `parameters` is a JSON Schema of type object.
    """

    name: str
    wire_name: str
    description: str
    parameters: dict[str, Any]


class Sampling(Struct, frozen=True, gc=False):
    """How an answer shall be made, as a client asked for it. None means that nothing was said.

    `stop` are texts that end an answer, `response_format` is that of OpenAI's chat completions, `penalties`
    holds `presence_penalty`, `frequency_penalty` and `logit_bias` by name. `tool_choice` is `auto`, `none`,
    `required`, or the name of the tool to call; it holds for the first answer of a run, `none` for all.
    `parallel_calls` False allows one call in an answer. `max_tokens` bounds one answer.
    """

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    response_format: Mapping[str, Any] | None = None
    penalties: Mapping[str, Any] = {}
    tool_choice: str = "auto"
    parallel_calls: bool = True


class ModelRequest(Struct, frozen=True, gc=False):
    """One completion request. `messages` is a live view: an adapter reads it and never keeps it.

    `tool_choice` is `auto`, `none` for the closing answer, `required`, or the canonical name of the tool
    that shall be called. `stream` asks for deltas as they are made. `timeout_s` bounds the whole answer, in
    seconds. Of `sampling` an adapter takes what its server knows, but for the choice of tools.
    """

    messages: Sequence[Message]
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: str = "auto"
    stream: bool = True
    temperature: float | None = None
    max_tokens: int | None = None
    timeout_s: float = 180.0
    sampling: Sampling = Sampling()


class Usage(Struct, frozen=True, gc=False):
    """Tokens that the server counted; 0 when it tells none."""

    input_tokens: int = 0
    output_tokens: int = 0


class TextDelta(Struct, frozen=True, gc=False):
    """A piece of the model's text, call markup included: the runtime's reader takes that apart."""

    text: str


class ReasoningDelta(Struct, frozen=True, gc=False):
    """A piece of reasoning that the server sent apart from the text."""

    text: str


class CallDelta(Struct, frozen=True, gc=False):
    """A structured call has opened, or more of its arguments arrived.

    `index` numbers the calls of the answer from 0. `name` is set once, when known.
    """

    index: int
    name: str | None = None
    fragment: str = ""


class ModelCall(Struct, frozen=True, gc=False):
    """A structured call, complete. `arguments` is the JSON text exactly as the server gave it."""

    index: int
    id: str | None
    name: str
    arguments: str


class ModelDone(Struct, frozen=True, gc=False):
    """The answer is over. `finish_reason` `length` or `disconnected` mean that it was cut off."""

    finish_reason: FinishReason = "stop"
    usage: Usage = Usage()


ModelEvent = TextDelta | ReasoningDelta | CallDelta | ModelCall | ModelDone
