"""Requests to the OpenAI-compatible endpoint that cannot be taken, and the wire of those that can."""
# ruff: noqa: E501 (a case is one line, so that the table can be read)

import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

from tests.server.running import Client, Server, asking, client, key, scripted
from tests.server.test_openai_sdk import OPEN, SCRIPT, told, user

PLACE = "/v1/chat/completions"
CALL = {"id": "c1", "type": "function", "function": {"name": "open_file", "arguments": "{}"}}
ASKS = {"role": "assistant", "content": None, "tool_calls": [CALL]}
GIVES = {"role": "tool", "tool_call_id": "c1", "content": "x"}


def tool(**function: Any) -> list[Any]:
    return [{"type": "function", "function": {"name": "t", **function}}]


WRONG: list[tuple[str, dict[str, Any], str | None]] = [
    ("no messages", {"messages": []}, "messages"),
    ("messages are a text", {"messages": "hi"}, "messages"),
    ("a role that there is not", {"messages": [{"role": "wizard", "content": "x"}]}, "messages[0].role"),
    ("no message of the user", {"messages": [{"role": "system", "content": "x"}]}, "messages"),
    ("the assistant spoke last", {"messages": [*user("x"), {"role": "assistant", "content": "y"}]}, "messages"),
    (
        "a picture",
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]},
        "messages[0].content[0].type",
    ),
    ("a result of no call", {"messages": [*user("x"), GIVES]}, "messages[1].tool_call_id"),
    ("a result without an id", {"messages": [*user("x"), ASKS, {"role": "tool", "content": "x"}]}, "messages[2].tool_call_id"),
    ("a result twice", {"messages": [*user("x"), ASKS, GIVES, GIVES]}, "messages[3].tool_call_id"),
    ("a call without its result", {"messages": [*user("x"), ASKS, *user("y")]}, "messages[2]"),
    ("a call without its result at the end", {"messages": [*user("x"), ASKS]}, "messages[1]"),
    ("calls of the user", {"messages": [{**ASKS, "role": "user"}, GIVES]}, "messages[0].tool_calls"),
    ("two calls of one id", {"messages": [*user("x"), {**ASKS, "tool_calls": [CALL, CALL]}, GIVES]}, "messages[1].tool_calls"),
    ("two choices", {"n": 2}, "n"),
    ("no choices", {"n": 0}, "n"),
    ("logprobs", {"logprobs": True}, "logprobs"),
    ("audio", {"modalities": ["text", "audio"]}, "modalities"),
    ("the old functions", {"functions": [{"name": "f"}]}, "functions"),
    ("the old function_call", {"function_call": "auto"}, "function_call"),
    ("a temperature too high", {"temperature": 2.5}, "temperature"),
    ("a temperature of text", {"temperature": "hot"}, "temperature"),
    ("top_p above 1", {"top_p": 1.5}, "top_p"),
    ("no tokens", {"max_tokens": 0}, "max_tokens"),
    ("half a token", {"max_tokens": 1.5}, "max_tokens"),
    ("an empty stop", {"stop": [""]}, "stop[0]"),
    ("too many stops", {"stop": ["a"] * 17}, "stop"),
    ("a format that there is not", {"response_format": {"type": "xml"}}, "response_format.type"),
    ("a format without its schema", {"response_format": {"type": "json_schema"}}, "response_format.json_schema"),
    ("a choice that there is not", {"tool_choice": "always"}, "tool_choice"),
    ("a choice of nothing", {"tool_choice": {"type": "function"}}, "tool_choice"),
    ("the choice of an unknown tool", {"tool_choice": {"type": "function", "function": {"name": "x"}}}, "tool_choice"),
    ("a tool of another type", {"tools": [{"type": "web_search"}]}, "tools[0].type"),
    ("a tool without a name", {"tools": [{"type": "function", "function": {}}]}, "tools[0].function"),
    ("a tool with a wrong name", {"tools": tool(name="a b")}, "tools"),
    ("a tool whose schema is wrong", {"tools": tool(parameters={"type": "object", "properties": {"a": {"type": "texty"}}})}, "tools"),
    ("a tool with a risk that there is not", {"tools": tool(**{"x-gerbang-risk": "some"})}, "tools"),
    ("two tools of one name", {"tools": tool() + tool()}, "tools"),
    ("the name of a tool of the server", {"tools": tool(name="weather__get_current__v1")}, "tools"),
    ("a purpose that is no text", {"metadata": {"purpose": 7}}, "metadata.purpose"),
]  # fmt: skip
RAW: list[tuple[str, bytes, int, str]] = [
    ("no JSON", b"{", 400, "not_json"),
    ("no UTF-8", b'{"model": "\xff"}', 400, "not_json"),
    ("an array", b"[]", 400, "invalid_value"),
    ("no model", b'{"messages": [{"role": "user", "content": "x"}]}', 400, "invalid_value"),
    ("nothing", b"", 400, "not_json"),
    ("too deep", b'{"metadata": {"a": ' + b"[" * 100_000, 400, "not_json"),
]


def test_what_cannot_be_taken_is_told_in_openais_shape() -> None:
    async def work(http: Client) -> None:
        for note, fields, param in WRONG:
            status, body = await http.post(PLACE, {"model": "gerbang", "messages": user("hello"), **fields})
            assert status == 400, (note, body)
            error = body["error"]
            assert set(error) == {"message", "type", "param", "code"}, note
            assert error["type"] == "invalid_request_error", note
            assert error["param"] == param, (note, error)
            assert 10 < len(error["message"]) < 600, note
        for note, raw, wanted, code in RAW:
            sent = await http.send("POST", PLACE, raw, Content_Type="application/json")
            assert (sent[0], sent[1]["error"]["code"]) == (wanted, code), note
        assert (await http.get(PLACE))[0] == 405
        assert "error" in (await http.get(PLACE))[1]
        large = json.dumps({"model": "gerbang", "messages": user("x" * 3_000_000)}).encode()
        status, body = await http.send("POST", PLACE, large, Content_Type="application/json")
        assert (status, body["error"]["type"]) == (413, "invalid_request_error")

    async def main() -> None:
        async with scripted(SCRIPT) as (server, model), client(server) as http:
            await work(http)
            assert model.requests == []  # nothing of it has reached the model

    asyncio.run(main())


def test_the_wire_of_a_stream() -> None:
    async def main() -> None:
        async with scripted(SCRIPT) as (server, _), client(server) as http:
            asked = {
                "model": "gerbang",
                "messages": user("open"),
                "tools": [OPEN],
                "stream": True,
                "stream_options": {"include_usage": True},
            }
            async with http.session.post(server.url + PLACE, json=asked) as answer:
                assert answer.status == 200
                assert answer.headers["Content-Type"] == "text/event-stream; charset=utf-8"
                run_id = answer.headers["X-Request-Id"]
                text = await answer.text()
            events = [one for one in text.split("\n\n") if not one.startswith(":")]  # signs of life aside
            assert events[-2:] == ["data: [DONE]", ""]
            chunks = [json.loads(event.removeprefix("data: ")) for event in events[:-2]]
            assert {chunk["id"] for chunk in chunks} == {f"chatcmpl-{run_id}"}
            deltas = [chunk["choices"][0]["delta"] for chunk in chunks[:-1]]
            call = {"name": "open_file", "arguments": '{"path":"a.txt"}'}
            assert deltas == [
                {"role": "assistant", "content": ""},
                {
                    "tool_calls": [
                        {"id": f"call_{run_id}_0", "type": "function", "function": call, "index": 0}
                    ]
                },
                {},
            ]
            reasons = [chunk["choices"][0]["finish_reason"] for chunk in chunks[:-1]]
            assert reasons == [None, None, "tool_calls"]
            assert [chunk["usage"] for chunk in chunks[:-1]] == [None, None, None]
            assert chunks[-1]["choices"] == []
            assert chunks[-1]["usage"] == {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
            status, shown = await http.get(f"/v1/runs/{run_id}")
            assert (status, shown["state"]) == (200, "client_calls")
            _, figures = await http.get("/metrics")
            assert 'tool="client.*"' in figures
            assert "client.open_file" not in figures

    asyncio.run(main())


def test_another_tenants_calls_are_not_known() -> None:
    """Ids are no keys: who has one gets nothing of the run, and what is sent with it is data."""

    async def main(folder: Path) -> None:
        ana, bob = key(folder, "runs"), key(folder, "runs", user="bob", tenant="other")
        async with scripted(SCRIPT, folder=folder) as (server, model):
            asked = {"model": "gerbang", "messages": user("both"), "tools": [OPEN]}
            async with client(server, ana) as http:
                _, first = await http.post(PLACE, asked)
            call = first["choices"][0]["message"]["tool_calls"][0]
            history = [*user("both"), *told([{"id": call["id"], **call["function"]}], "the file")]
            async with client(server, bob) as http:
                status, _ = await http.post(PLACE, {**asked, "messages": history})
            assert status == 200
            assert "celsius" not in str(model.requests[-1]["messages"])

    with tempfile.TemporaryDirectory() as made:
        asyncio.run(main(Path(made)))


def test_the_document_says_what_is_sent(plain: Server) -> None:
    async def work(http: Client) -> None:
        _, document = await http.get("/openapi.json")
        operation = document["paths"][PLACE]["post"]
        content = operation["responses"]["200"]["content"]
        assert set(content) == {"application/json", "text/event-stream"}
        assert operation["responses"]["404"]["content"]["application/json"]["schema"]["$ref"].endswith(
            "ChatFailure"
        )

    asking(plain, work)
