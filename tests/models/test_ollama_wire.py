"""Ollama's /api/chat as servers send it, over real sockets, in several cuts."""
# ruff: noqa: E501 (a case is one line, so that the table can be read)

import json
from typing import Any

import pytest
from msgspec import Struct

from gerbang.adapters.models import open_model
from gerbang.values.model import FinishReason, ModelRequest, Usage
from tests.models.answers import ASK, READ, ask, run
from tests.models.player import JSON, NDJSON, head, playing

R = "files__read__v1"
NOTES = '{"path": "notes.txt"}'


class Case(Struct):
    """`body` as the server sends it, and the answer that it means."""

    note: str
    body: bytes
    text: str = ""
    calls: tuple[tuple[str | None, str, str], ...] = ()
    finish: FinishReason = "stop"
    reasoning: str = ""
    usage: Usage = Usage()


def lines(*values: Any) -> bytes:
    return "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values).encode()


def part(content: str = "", **fields: Any) -> dict[str, Any]:
    return {"model": "m", "message": {"role": "assistant", "content": content, **fields}, "done": False}


def call(arguments: Any, **fields: Any) -> dict[str, Any]:
    return part(tool_calls=[{"function": {"name": R, "arguments": arguments}, **fields}])


DONE = {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}
READ_NOTES = ((None, R, NOTES),)

CASES = [
    Case("text", lines(part("Hel"), part("lo"), DONE), "Hello"),
    Case("all in the last line", lines({**part("Hello"), "done": True}), "Hello"),
    Case("letters of several bytes", lines(part("naïve 🙂 日本"), DONE), "naïve 🙂 日本"),
    Case("CRLF", lines(part("a"), DONE).replace(b"\n", b"\r\n"), "a"),
    Case("no last line end", lines(part("a"), DONE).rstrip(), "a"),
    Case("blank lines", lines(part("a")) + b"\n\n" + lines(DONE), "a"),
    Case("as server-sent events", b"data: " + lines(part("a")) + b"\ndata: " + lines(DONE), "a"),
    Case("usage", lines(part("a"), {**DONE, "prompt_eval_count": 7, "eval_count": 3}), "a", usage=Usage(7, 3)),
    Case("usage of wrong types", lines(part("a"), {**DONE, "prompt_eval_count": "7", "eval_count": None}), "a"),
    Case("length", lines(part("a"), {**DONE, "done_reason": "length"}), "a", finish="length"),
    Case("no reason", lines(part("a"), {"done": True}), "a"),
    Case("done without a message", lines(part("a"), {"done": True, "done_reason": "stop"}), "a"),
    Case("ends before done", lines(part("a")), "a", finish="disconnected"),
    Case("cut within a line", lines(part("a")) + b'{"mess', "a", finish="disconnected"),
    Case("nothing", lines(DONE)),
    Case("thinking", lines(part(thinking="hm"), part("a"), DONE), "a", reasoning="hm"),
    Case("call, arguments as an object", lines(call({"path": "notes.txt"}), DONE), calls=READ_NOTES, finish="tool_calls"),
    Case("call, arguments as JSON text", lines(call(NOTES), DONE), calls=READ_NOTES, finish="tool_calls"),
    Case("call in the last line", lines({**call(NOTES), "done": True}), calls=READ_NOTES, finish="tool_calls"),
    Case("call with an id", lines(call(NOTES, id="c1"), DONE), calls=(("c1", R, NOTES),), finish="tool_calls"),
    Case("call after text", lines(part("Look."), call(NOTES), DONE), "Look.", READ_NOTES, "tool_calls"),
    Case("arguments null", lines(call(None), DONE), calls=((None, R, "{}"),), finish="tool_calls"),
    Case("arguments are not JSON", lines(call("path=x"), DONE), calls=((None, R, "path=x"),), finish="tool_calls"),
    Case("two calls in one line", lines(part(tool_calls=[{"function": {"name": R, "arguments": {"path": p}}} for p in "ab"]), DONE), calls=((None, R, '{"path": "a"}'), (None, R, '{"path": "b"}')), finish="tool_calls"),
    Case("two calls in two lines", lines(call({"path": "a"}), call({"path": "b"}), DONE), calls=((None, R, '{"path": "a"}'), (None, R, '{"path": "b"}')), finish="tool_calls"),
    Case("calls that are none", lines(part("a", tool_calls=None), part(tool_calls=[None, {}, {"function": 7}]), DONE), "a"),
    Case("byte order mark", b"\xef\xbb\xbf" + lines(part("a"), DONE), "a"),
    Case("white space before", b"\n  " + lines(part("a"), DONE), "a"),
    Case("content null", lines({"message": {"role": "assistant", "content": None}, "done": False}, part("a"), DONE), "a"),
    Case("lines with only a role", lines({"message": {"role": "assistant"}, "done": False}, part("a"), DONE), "a"),
    Case("one id for two calls", lines(call({"path": "a"}, id="c"), call({"path": "b"}, id="c"), DONE), calls=(("c", R, '{"path": "a"}'), ("c", R, '{"path": "b"}')), finish="tool_calls"),
    Case("the call again in the last line", lines(call(NOTES, id="c"), {**call(NOTES, id="c"), "done": True}), calls=(("c", R, NOTES),), finish="tool_calls"),
    Case("an index that is wrong", lines(part(tool_calls=[{"function": {"index": 7, "name": R, "arguments": {"path": "notes.txt"}}}]), DONE), calls=READ_NOTES, finish="tool_calls"),
    Case("no arguments", lines(part(tool_calls=[{"function": {"name": R}}]), DONE), calls=((None, R, "{}"),), finish="tool_calls"),
    Case("arguments an empty text", lines(call(""), DONE), calls=((None, R, ""),), finish="tool_calls"),
    Case("a wrong reason beside a call", lines(call(NOTES), {**DONE, "done_reason": "load"}), calls=READ_NOTES, finish="tool_calls"),
    Case("a lone surrogate", b'{"message":{"content":"x\\ud83d"}, "done": true}\n', "x\ufffd"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.note)
@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
def test_answer(case: Case, stream: bool) -> None:
    body_ = case.body
    cuts = [[body_], [bytes([b]) for b in body_], [body_[i : i + 7] for i in range(0, len(body_), 7)]]

    async def body() -> None:
        async with playing(*([head(content_type=NDJSON), *cut] for cut in cuts)) as server:
            model = open_model(f"ollama:m@{server.url}")
            for _cut in cuts:
                seen = await ask(model, ModelRequest(ASK, (READ,), stream=stream))
                assert (seen.text, seen.reasoning) == (case.text, case.reasoning)
                assert [(c.id, c.name, c.arguments) for c in seen.calls] == list(case.calls)
                assert seen.joined == {c.index: c.arguments for c in seen.calls}
                assert seen.done.usage == case.usage
                assert seen.done.finish_reason == case.finish
            await model.aclose()

    run(body)


def test_whole_answer_over_many_lines() -> None:
    pretty = json.dumps({**part("a"), "done": True}, indent=2)

    async def body() -> None:
        async with playing([head(content_type=JSON), pretty.encode()]) as server:
            model = open_model(f"ollama:m@{server.url}")
            assert (await ask(model, ModelRequest(ASK, stream=False))).text == "a"
            await model.aclose()

    run(body)
