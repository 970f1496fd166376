"""What the document of the API says of the OpenAI-compatible routes: shapes and examples."""

from typing import Any, Final, Literal

from msgspec import UNSET, Struct, UnsetType

from gerbang.server.operation import Answer


class ModelView(Struct, frozen=True):
    """A name that a request can ask for."""

    id: str
    object: Literal["model"]
    created: int
    owned_by: str


class ModelList(Struct, frozen=True):
    """The names that a request can ask for."""

    object: Literal["list"]
    data: list[ModelView]


class ChatError(Struct, frozen=True):
    """What is wrong. `param` is the path of the parameter, `code` the taxonomy's code in small letters."""

    message: str
    type: str
    param: str | None
    code: str | None
    gerbang: dict[str, Any] | UnsetType = UNSET


class ChatFailure(Struct, frozen=True):
    """An error in the shape that OpenAI's clients read."""

    error: ChatError


class ChatRun(Struct, frozen=True):
    """The run behind an answer. `status` as in /v1/runs, or `client_calls`."""

    run_id: str
    status: str
    approvals: list[str]


class ChatCompletion(Struct, frozen=True):
    """An answer."""

    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: list[dict[str, Any]]
    usage: dict[str, int]
    gerbang: ChatRun


class ChatEvent(Struct, frozen=True):
    """One event of a stream. `data` is a chunk of the answer as JSON, at the end `[DONE]`."""

    data: str


_ABOUT: Final = {
    400: "The request cannot be read, or a parameter is wrong; `param` names it",
    401: "No valid key came with it",
    403: "The key may not do that",
    404: "There is no such model, or run",
    409: "Another process drives the run that was asked for",
    413: "The body is too large",
    429: "Too many requests",
    500: "Something went wrong inside",
    502: "The model gave no answer",
    503: "Not available now",
}


def _failures(*statuses: int) -> tuple[Answer, ...]:
    return tuple(Answer(status, _ABOUT[status], ChatFailure) for status in statuses)


_EXAMPLE: Final[dict[str, Any]] = {
    "id": "chatcmpl-run_3f1d20a9b7c4d5e6f708",
    "object": "chat.completion",
    "created": 1796033012,
    "model": "gerbang",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "It is 21 degrees in Paris.", "refusal": None},
            "logprobs": None,
            "finish_reason": "stop",
        }
    ],
    "usage": {"prompt_tokens": 210, "completion_tokens": 12, "total_tokens": 222},
    "gerbang": {"run_id": "run_3f1d20a9b7c4d5e6f708", "status": "completed", "approvals": []},
}
_CHUNK: Final[dict[str, Any]] = {
    "data": '{"id":"chatcmpl-run_3f1d20a9b7c4d5e6f708","object":"chat.completion.chunk","created":1796033012,'
    '"model":"gerbang","choices":[{"index":0,"delta":{"content":"It is 21 degrees"},"logprobs":null,'
    '"finish_reason":null}]}'
}
_MODEL: Final = {"id": "gerbang", "object": "model", "created": 1796033000, "owned_by": "gerbang"}
EXAMPLES: Final[dict[str, Any]] = {
    "weather": {
        "value": {
            "model": "gerbang",
            "messages": [{"role": "user", "content": "What is the weather in Paris?"}],
        }
    }
}
ANSWERS: Final = (
    Answer(200, "The answer; with `stream` as server-sent events", ChatCompletion, _EXAMPLE),
    Answer(200, "The chunks of the answer", ChatEvent, _CHUNK, content_type="text/event-stream"),
    *_failures(400, 401, 403, 404, 409, 413, 429, 500, 502, 503),
)
_COMMON: Final = (400, 401, 403, 429, 500)
MODEL_ANSWERS: Final = (
    (
        Answer(200, "The names", ModelList, {"object": "list", "data": [_MODEL]}),
        *_failures(*_COMMON),
    ),
    (Answer(200, "The name", ModelView, _MODEL), *_failures(*_COMMON, 404, 503)),
)
