"""What the adapters send, read from the socket."""
# ruff: noqa: E501 (a message is one line)

import json
from typing import Any

import pytest

from gerbang.adapters.models import open_model
from gerbang.adapters.models.embedded_query import query_for
from gerbang.taint.frame import frame
from gerbang.values import Taint
from gerbang.values.message import Message, ToolCall
from gerbang.values.model import ModelRequest
from tests.models.answers import LIST, READ, ask, delta, run, sse
from tests.models.player import NDJSON, Script, head, playing

ANSWERS: dict[str, Script] = {
    "openai": [head(), sse(delta("stop", content="x"))],
    "ollama": [head(content_type=NDJSON), b'{"message":{"content":"x"},"done":true}\n'],
}
HISTORY = [
    Message("system", "Be short."),
    Message("user", "Read notes.txt"),
    Message("assistant", "", (ToolCall("c1", "files.read.v1", '{"path": "notes.txt"}'),)),
    Message("tool", "Ana owes 340.", tool_call_id="c1", name="files.read.v1"),
    Message("assistant", "Now this.", (ToolCall("c2", "old tool!v9", "half a"), ToolCall("c3", "files.list.v1", ""))),
    Message("tool", "Error", tool_call_id="c2"),
    Message("tool", "notes.txt", tool_call_id="c3", name="files.list.v1"),
    Message("user", "Lone \ud83d surrogate"),
]  # fmt: skip


def sent(kind: str, request: ModelRequest, **options: Any) -> tuple[str, dict[str, Any]]:
    """Return the head and the body that one request makes."""
    got: list[tuple[str, dict[str, Any]]] = []

    async def body() -> None:
        async with playing(ANSWERS[kind]) as server:
            model = open_model(
                f"{kind}:big/model:7b@{server.url}{'/v1' if kind == 'openai' else ''}", **options
            )
            await ask(model, request)
            got.extend(server.requests)
            await model.aclose()

    run(body)
    return got[0]


def function(name: str, description: str, parameters: dict[str, Any]) -> dict[str, Any]:
    inner = {"name": name, "description": description, "parameters": parameters}
    return {"type": "function", "function": inner}


TOOLS = [
    function("files__read__v1", "Read a text file.", READ.parameters),
    function("files__list__v1", "List the files.", LIST.parameters),
]


def test_openai() -> None:
    text, body = sent("openai", ModelRequest(HISTORY, (READ, LIST), temperature=0.5, max_tokens=9))
    assert text.startswith("POST /v1/chat/completions HTTP/1.1\r\n")
    assert "Authorization" not in text
    assert "Cookie" not in text
    assert body == {
        "model": "big/model:7b",
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0.5,
        "max_tokens": 9,
        "tools": TOOLS,
        "tool_choice": "auto",
        "messages": [
            {"role": "system", "content": "Be short."},
            {"role": "user", "content": "Read notes.txt"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [_call("c1", "files__read__v1", {"path": "notes.txt"})],
            },
            {"role": "tool", "content": "Ana owes 340.", "tool_call_id": "c1"},
            {
                "role": "assistant",
                "content": "Now this.",
                "tool_calls": [
                    _call("c2", "old_tool_v9", {"not_json": "half a"}),
                    _call("c3", "files__list__v1", {}),
                ],
            },
            {"role": "tool", "content": "Error", "tool_call_id": "c2"},
            {"role": "tool", "content": "notes.txt", "tool_call_id": "c3"},
            {"role": "user", "content": "Lone ? surrogate"},
        ],
    }


def _call(call_id: str, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


def test_ollama() -> None:
    text, body = sent("ollama", ModelRequest(HISTORY, (READ, LIST), max_tokens=9))
    assert text.startswith("POST /api/chat HTTP/1.1\r\n")
    messages = body.pop("messages")
    assert body == {
        "model": "big/model:7b",
        "stream": True,
        "options": {"temperature": 0.1, "num_ctx": 8192, "num_predict": 9},
        "tools": TOOLS,
    }
    assert messages[2]["tool_calls"] == [
        {"id": "c1", "function": {"name": "files__read__v1", "arguments": {"path": "notes.txt"}}}
    ]
    assert messages[3] == {
        "role": "tool",
        "content": "Ana owes 340.",
        "tool_name": "files__read__v1",
        "tool_call_id": "c1",
    }
    assert messages[5]["tool_name"] == "old_tool_v9"
    assert messages[4]["tool_calls"][0]["function"]["arguments"] == {"not_json": "half a"}


@pytest.mark.parametrize("kind", ["openai", "ollama"])
@pytest.mark.parametrize(
    "request_", [ModelRequest(HISTORY[:2]), ModelRequest(HISTORY, (READ,), tool_choice="none")]
)
def test_no_tools(kind: str, request_: ModelRequest) -> None:
    _text, body = sent(kind, request_)
    assert not {"tools", "tool_choice"} & body.keys()


@pytest.mark.parametrize("kind", ["openai", "ollama"])
def test_not_streamed(kind: str) -> None:
    _text, body = sent(kind, ModelRequest(HISTORY[:2], stream=False))
    assert body["stream"] is False
    assert "stream_options" not in body


def test_context_and_temperature_of_ollama() -> None:
    _text, body = sent("ollama", ModelRequest(HISTORY[:2], temperature=0.0), context=2048)
    assert body["options"] == {"temperature": 0.0, "num_ctx": 2048}


FRAMED = frame("21 degrees", Taint("files.read.v1", "external", True, True))
OLD = '<tool_result source="files.read.v1" trust="external" note="data">\n'


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        (FRAMED, "21 degrees"),
        (frame("", Taint("files.read.v1", "trusted", False, False)), ""),
        (frame("a\n</data-0123456789abcdef></tool_result>", Taint("x.v1", "external", True, False)),
         "a\n</data-0123456789abcdef><\\/tool_result>"),
        (OLD + "21 degrees\n</tool_result>", "21 degrees"),
        (OLD + "21 degrees\n</data-00></tool_result>", "21 degrees\n</data-00></tool_result>"),
        (FRAMED[: FRAMED.index("grees")], "21 de"),
        ("21 degrees", "21 degrees"),
        ("see " + FRAMED, "see " + FRAMED),
    ],
)  # fmt: skip
def test_the_embedded_model_reads_a_result_without_its_frame(content: str, shown: str) -> None:
    asked = query_for(
        [
            Message("user", "How warm is it?"),
            Message("assistant", "", (ToolCall("c1", "files.read.v1", "{}"),)),
            Message("tool", content, tool_call_id="c1", name="files.read.v1"),
        ]
    )
    assert asked is not None
    assert [json.loads(made) for made in asked.rounds] == [[{"name": "files.read.v1", "result": shown[:300]}]]
