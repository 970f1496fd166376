"""What OpenAI-compatible servers really send, over real sockets, in several cuts."""
# ruff: noqa: E501 (a case is one line, so that the table can be read)

import json
from typing import Any

import pytest
from msgspec import Struct

from gerbang.adapters.models import open_model
from gerbang.values.model import FinishReason, ModelCall, ModelRequest, Usage
from tests.models.answers import ASK, LIST, READ, Seen, ask, delta, piece, run, sse
from tests.models.player import JSON, head, playing

NOTES = '{"path": "notes.txt"}'
STOP = delta("stop")
CALLS = delta("tool_calls")


class Case(Struct):
    """`body` as the server sends it, and the answer that it means."""

    note: str
    body: bytes
    text: str = ""
    calls: tuple[tuple[str | None, str, str], ...] = ()
    finish: FinishReason = "stop"
    reasoning: str = ""
    usage: Usage = Usage()


def _one(call_id: str | None = "c1", arguments: str = NOTES) -> tuple[tuple[str | None, str, str], ...]:
    return ((call_id, "files__read__v1", arguments),)


def _text(*parts: str) -> list[dict[str, Any]]:
    return [delta(content=part) for part in parts]


R, L = "files__read__v1", "files__list__v1"
TWO = ((None, R, '{"path": "a"}'), (None, R, '{"path": "b"}'))
EMOJI = "naïve 🙂 日本"

CASES = [
    Case("plain text", sse(delta(role="assistant", content=""), *_text("Hel", "lo"), STOP), "Hello"),
    Case("text in one chunk that also ends", sse(delta("stop", content="Hello")), "Hello"),
    Case("letters of several bytes", sse(*_text(EMOJI), STOP), EMOJI),
    Case("CRLF line ends", sse(*_text("a", "b"), STOP).replace(b"\n", b"\r\n"), "ab"),
    Case("CR line ends", sse(*_text("a", "b"), STOP).replace(b"\n", b"\r"), "ab"),
    Case("no space after data:", sse(*_text("a"), STOP).replace(b"data: ", b"data:"), "a"),
    Case("no blank lines between events", sse(*_text("a", "b"), STOP).replace(b"\n\n", b"\n"), "ab"),
    Case("comments and keep-alives", b": ping\n\n" + sse(*_text("a"), done=False) + b":\n\n: x\n\n" + sse(STOP), "a"),
    Case("event, id and retry fields", b"retry: 10\nid: 7\nevent: message\n" + sse(*_text("a"), STOP), "a"),
    Case("byte order mark", b"\xef\xbb\xbf" + sse(*_text("a"), STOP), "a"),
    Case("one event over many data lines", b'data: {"choices":\ndata: [{"delta":{"content":"a"}}]}\n\n' + sse(STOP), "a"),
    Case("empty data lines", b"data:\n\ndata: \n\n" + sse(*_text("a"), STOP), "a"),
    Case("no [DONE]", sse(*_text("a"), STOP, done=False), "a"),
    Case("no [DONE], no last line end", sse(*_text("a"), STOP, done=False).rstrip(), "a"),
    Case("[DONE] and no finish_reason", sse(*_text("a")), "a"),
    Case("text after [DONE] is not read", sse(*_text("a"), STOP) + b"data: rubbish\n\n", "a"),
    Case("neither [DONE] nor finish_reason", sse(*_text("a"), done=False), "a", finish="disconnected"),
    Case("cut within an event", sse(*_text("a"), done=False) + b'data: {"choi', "a", finish="disconnected"),
    Case("length", sse(*_text("a"), delta("length")), "a", finish="length"),
    Case("content filter", sse(*_text("a"), delta("content_filter")), "a", finish="content_filter"),
    Case("unknown finish_reason", sse(*_text("a"), delta("eos_token")), "a"),
    Case("tool_calls as the reason, but none came", sse(*_text("a"), CALLS), "a"),
    Case("nothing at all", sse(delta(role="assistant"), STOP)),
    Case("only [DONE]", sse()),
    Case("usage in its own chunk", sse(*_text("a"), STOP, {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 5}}), "a", usage=Usage(3, 5)),
    Case("usage in every chunk", sse(*({**d, "usage": {"prompt_tokens": 3, "completion_tokens": n}} for n, d in enumerate(_text("a", "b"), 1)), STOP), "ab", usage=Usage(3, 2)),
    Case("usage null and of wrong types", sse({**delta(content="a"), "usage": None}, {**STOP, "usage": {"prompt_tokens": "9", "completion_tokens": -1}}), "a"),
    Case("usage without choices", sse(*_text("a"), STOP, {"object": "x", "usage": {"prompt_tokens": 1, "completion_tokens": 2}}), "a", usage=Usage(1, 2)),
    Case("reasoning_content", sse(delta(reasoning_content="hm"), *_text("a"), STOP), "a", reasoning="hm"),
    Case("reasoning", sse(delta(reasoning="h"), delta(reasoning="m"), *_text("a"), STOP), "a", reasoning="hm"),
    Case("both names of reasoning", sse(delta(reasoning="hm", reasoning_content="hm"), STOP), reasoning="hm"),
    Case("content in parts", sse(delta(content=[{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]), STOP), "ab"),
    Case("content null", sse(delta(content=None), *_text("a"), STOP), "a"),
    Case("a pair of surrogates over two chunks", b'data: {"choices":[{"delta":{"content":"\\ud83d"}}]}\n\ndata: {"choices":[{"delta":{"content":"\\ude42!"}}]}\n\n' + sse(STOP), "🙂!"),
    Case("a lone surrogate", b'data: {"choices":[{"delta":{"content":"x\\ud83d"}}]}\n\n' + sse(STOP), "x\ufffd"),
    Case("bad UTF-8", b'data: {"choices":[{"delta":{"content":"a\xff"}}]}\n\n' + sse(STOP), "a\ufffd"),
    Case("a second choice is not ours", sse({"choices": [{"index": 1, "delta": {"content": "no"}}, {"index": 0, "delta": {"content": "a"}}]}, STOP), "a"),
    Case("text calls stay text", sse(*_text("<tool_", "call>{}</tool_call>"), STOP), "<tool_call>{}</tool_call>"),
    Case("message in place of delta", sse({"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}]}), "a"),
    Case("call in one chunk", sse(piece(0, "c1", R, NOTES), CALLS), calls=_one(), finish="tool_calls"),
    Case("call after text", sse(*_text("Let me look."), piece(0, "c1", R, NOTES), CALLS), "Let me look.", _one(), "tool_calls"),
    Case("name first, then arguments by the letter", sse(piece(0, "c1", R, ""), *(piece(0, arguments=c) for c in NOTES), CALLS), calls=_one(), finish="tool_calls"),
    Case("id in every chunk", sse(piece(0, "c1", R, ""), *(piece(0, "c1", arguments=c) for c in NOTES), CALLS), calls=_one(), finish="tool_calls"),
    Case("a new id in every chunk", sse(piece(0, "c1", R, ""), *(piece(0, f"x{n}", arguments=c) for n, c in enumerate(NOTES)), CALLS), calls=_one(), finish="tool_calls"),
    Case("name repeated in every chunk", sse(*(piece(0, "c1", R, c) for c in NOTES), CALLS), calls=_one(), finish="tool_calls"),
    Case("name repeated, no id", sse(*(piece(0, None, R, c) for c in NOTES), CALLS), calls=_one(None), finish="tool_calls"),
    Case("id comes late", sse(piece(0, None, R, NOTES[:5]), piece(0, "c1", None, NOTES[5:]), CALLS), calls=_one(), finish="tool_calls"),
    Case("no id at all", sse(piece(0, None, R, NOTES), CALLS), calls=_one(None), finish="tool_calls"),
    Case("empty id", sse(piece(0, "", R, NOTES), CALLS), calls=_one(None), finish="tool_calls"),
    Case("no index", sse(piece(None, "c1", R, ""), *(piece(None, arguments=c) for c in NOTES), CALLS), calls=_one(), finish="tool_calls"),
    Case("index from 1", sse(piece(1, "c1", R, ""), piece(1, arguments=NOTES), CALLS), calls=_one(), finish="tool_calls"),
    Case("index of the pieces is wrong", sse(piece(0, "c1", R, ""), piece(1, arguments=NOTES), CALLS), calls=_one(), finish="tool_calls"),
    Case("index is text", sse(piece("0", "c1", R, NOTES), CALLS), calls=_one(), finish="tool_calls"),
    Case("two calls", sse(piece(0, "c1", R, '{"path": "a"}'), piece(1, "c2", R, '{"path": "b"}'), CALLS), calls=(("c1", R, '{"path": "a"}'), ("c2", R, '{"path": "b"}')), finish="tool_calls"),
    Case("two calls, all with index 0", sse(piece(0, "c1", R, '{"path": "a"}'), piece(0, "c2", R, '{"path": "b"}'), CALLS), calls=(("c1", R, '{"path": "a"}'), ("c2", R, '{"path": "b"}')), finish="tool_calls"),
    Case("two calls, index 0, no ids", sse(piece(0, None, R, '{"path": "a"}'), piece(0, None, R, '{"path": "b"}'), CALLS), calls=TWO, finish="tool_calls"),
    Case("two calls, no index, no ids", sse(piece(None, None, R, '{"path": "a"}'), piece(None, None, R, '{"path": "b"}'), CALLS), calls=TWO, finish="tool_calls"),
    Case("two calls, index 0, in pieces", sse(piece(0, "c1", R, '{"path"'), piece(0, None, None, ': "a"}'), piece(0, "c2", R, '{"path"'), piece(0, None, None, ': "b"}'), CALLS), calls=(("c1", R, '{"path": "a"}'), ("c2", R, '{"path": "b"}')), finish="tool_calls"),
    Case("two calls mixed piece by piece", sse(piece(0, "c1", R, '{"path"'), piece(1, "c2", R, '{"path"'), piece(0, None, None, ': "a"}'), piece(1, None, None, ': "b"}'), CALLS), calls=(("c1", R, '{"path": "a"}'), ("c2", R, '{"path": "b"}')), finish="tool_calls"),
    Case("two calls in one chunk", sse(delta(tool_calls=[{"id": "c1", "function": {"name": R, "arguments": NOTES}}, {"id": "c2", "function": {"name": L, "arguments": "{}"}}]), CALLS), calls=(("c1", R, NOTES), ("c2", L, "{}")), finish="tool_calls"),
    Case("a gap in the index", sse(piece(0, "c1", L, "{}"), piece(5, "c2", R, NOTES), CALLS), calls=(("c1", L, "{}"), ("c2", R, NOTES)), finish="tool_calls"),
    Case("two tools without arguments, no ids", sse(piece(0, None, L, ""), piece(0, None, R, NOTES), CALLS), calls=((None, L, ""), (None, R, NOTES)), finish="tool_calls"),
    Case("braces within strings", sse(piece(0, "c1", R, '{"path": "}{\\"}'), piece(0, None, None, '"}'), CALLS), calls=_one(arguments='{"path": "}{\\"}"}'), finish="tool_calls"),
    Case("the whole call again at the end", sse(piece(0, "c1", R, NOTES), piece(0, "c1", R, NOTES), CALLS), calls=_one(), finish="tool_calls"),
    Case("the arguments again at the end, no id", sse(piece(0, "c1", R, NOTES), piece(0, None, None, NOTES), CALLS), calls=_one(), finish="tool_calls"),
    Case("arguments as an object", sse(piece(0, "c1", R, {"path": "notes.txt"}), CALLS), calls=_one(), finish="tool_calls"),
    Case("arguments null", sse(piece(0, "c1", L), CALLS), calls=(("c1", L, ""),), finish="tool_calls"),
    Case("arguments are not JSON", sse(piece(0, "c1", R, "path=notes"), CALLS), calls=_one(arguments="path=notes"), finish="tool_calls"),
    Case("reason is stop, a call came", sse(piece(0, "c1", R, NOTES), STOP), calls=_one(), finish="tool_calls"),
    Case("reason is function_call", sse(piece(0, "c1", R, NOTES), delta("function_call")), calls=_one(), finish="tool_calls"),
    Case("old function_call", sse(delta(function_call={"name": R, "arguments": ""}), delta(function_call={"arguments": NOTES}), delta("function_call")), calls=_one(None), finish="tool_calls"),
    Case("tool_calls that is no list", sse(delta(tool_calls="x"), delta(tool_calls=[None, 7, {}]), delta(tool_calls={"id": "c1", "function": {"name": R, "arguments": NOTES}}), CALLS), calls=_one(), finish="tool_calls"),
    Case("canonical name", sse(piece(0, "c1", "files.read.v1", NOTES), CALLS), calls=(("c1", "files.read.v1", NOTES),), finish="tool_calls"),
    Case("unknown name", sse(piece(0, "c1", "rm_rf", "{}"), CALLS), calls=(("c1", "rm_rf", "{}"),), finish="tool_calls"),
    Case("length within the arguments", sse(piece(0, "c1", R, '{"path": "no'), delta("length")), calls=_one(arguments='{"path": "no'), finish="length"),
    Case("length before the arguments", sse(piece(0, "c1", R, ""), delta("length")), finish="length"),
    Case("cut within the arguments", sse(piece(0, "c1", R, '{"path": "no'), done=False), calls=_one(arguments='{"path": "no'), finish="disconnected"),
    Case("cut between two calls", sse(piece(0, "c1", R, NOTES), piece(1, "c2", R, ""), done=False), calls=_one(), finish="disconnected"),
    Case("one id for two calls", sse(piece(0, "c1", R, '{"path": "a"}'), piece(1, "c1", R, '{"path": "b"}'), CALLS), calls=(("c1", R, '{"path": "a"}'), ("c1", R, '{"path": "b"}')), finish="tool_calls"),
    Case("one id for two calls, in pieces", sse(piece(0, "c1", R, ""), piece(1, "c1", R, ""), piece(0, "c1", None, '{"path": "a"}'), piece(1, "c1", None, '{"path": "b"}'), CALLS), calls=(("c1", R, '{"path": "a"}'), ("c1", R, '{"path": "b"}')), finish="tool_calls"),
    Case("one id for two calls, one index", sse(piece(0, "c1", R, '{"path": "a"}'), piece(0, "c1", R, '{"path": "b"}'), CALLS), calls=(("c1", R, '{"path": "a"}'), ("c1", R, '{"path": "b"}')), finish="tool_calls"),
    Case("one id for two calls, no index", sse(piece(None, "c1", R, '{"path": "a"}'), piece(None, "c1", R, '{"path": "b"}'), CALLS), calls=(("c1", R, '{"path": "a"}'), ("c1", R, '{"path": "b"}')), finish="tool_calls"),
    Case("the whole call again under another index", sse(piece(0, "c1", R, NOTES), piece(1, "c1", R, NOTES), CALLS), calls=_one(), finish="tool_calls"),
    Case("id without a function opens, the rest follows", sse(delta(tool_calls=[{"index": 0, "id": "c1", "type": "function"}]), piece(0, None, R, NOTES), CALLS), calls=_one(), finish="tool_calls"),
    Case("function null at the end", sse(piece(0, "c1", R, NOTES), delta(tool_calls=[{"index": 0, "function": None}]), CALLS), calls=_one(), finish="tool_calls"),
    Case("arguments null, then in pieces", sse(piece(0, "c1", R), piece(0, arguments=""), piece(0, arguments=NOTES), CALLS), calls=_one(), finish="tool_calls"),
    Case("arguments an empty object first", sse(piece(0, "c1", L, {}), CALLS), calls=(("c1", L, "{}"),), finish="tool_calls"),
    Case("content null beside a call", sse(delta(role="assistant", content=None, tool_calls=[{"index": 0, "id": "c1", "function": {"name": R, "arguments": NOTES}}]), CALLS), calls=_one(), finish="tool_calls"),
    Case("finish_reason with the call, [DONE] only after usage", sse(delta("tool_calls", tool_calls=[{"index": 0, "id": "c1", "function": {"name": R, "arguments": NOTES}}]), {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2}}), calls=_one(), finish="tool_calls", usage=Usage(1, 2)),
    Case("deltas with only a role", sse(delta(role="assistant"), delta(role="assistant"), *_text("a"), delta(role="assistant"), STOP), "a"),
    Case("empty deltas and no delta", sse(delta(), {"choices": [{"index": 0, "finish_reason": None}]}, *_text("a"), STOP), "a"),
    Case("choices null", sse({"id": "x", "choices": None}, *_text("a"), STOP), "a"),
    Case("CRLF, comments and fields together", (b": hi\n\n" + sse(*_text("a"), done=False) + b"event: ping\ndata:\n\n" + sse(STOP)).replace(b"\n", b"\r\n"), "a"),
    Case("whole answer to a streaming request", json.dumps({"choices": [{"index": 0, "message": {"role": "assistant", "content": "a"}, "finish_reason": "stop"}]}).encode(), "a"),
]  # fmt: skip


def _cuts(body: bytes) -> list[list[bytes]]:
    """Whole, by the byte, and in runs of 7, which falls within letters, line ends and fields."""
    return [[body], [bytes([b]) for b in body], [body[i : i + 7] for i in range(0, len(body), 7)]]


def _check(case: Case, seen: Seen) -> None:
    assert seen.text == case.text
    assert seen.reasoning == case.reasoning
    assert [(call.id, call.name, call.arguments) for call in seen.calls] == list(case.calls)
    assert [call.index for call in seen.calls] == sorted({call.index for call in seen.calls})
    assert seen.done.finish_reason == case.finish
    assert seen.done.usage == case.usage
    for call in seen.calls:
        assert seen.opened[call.index] == call.name
        assert seen.joined.get(call.index, "") == call.arguments


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.note)
def test_streamed(case: Case) -> None:
    async def body() -> None:
        async with playing(*([head(), *cut] for cut in _cuts(case.body))) as server:
            model = open_model(f"openai:m@{server.url}/v1")
            for _cut in range(3):
                _check(case, await ask(model, ModelRequest(ASK, (READ, LIST))))
            await model.aclose()

    run(body)


MESSAGES = [
    ("text", {"content": "a"}, "a", ()),
    ("null content", {"content": None}, "", ()),
    ("parts", {"content": [{"type": "text", "text": "a"}]}, "a", ()),
    ("a call", {"content": None, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": R, "arguments": NOTES}}]}, "", (("c1", R, NOTES),)),
    ("no ids", {"tool_calls": [{"function": {"name": R, "arguments": '{"path": "a"}'}}, {"function": {"name": R, "arguments": '{"path": "b"}'}}]}, "", TWO),
    ("arguments as an object", {"tool_calls": [{"id": "c1", "function": {"name": R, "arguments": {"path": "notes.txt"}}}]}, "", (("c1", R, NOTES),)),
    ("tool_calls null", {"content": "a", "tool_calls": None}, "a", ()),
    ("tool_calls empty", {"content": "a", "tool_calls": []}, "a", ()),
]  # fmt: skip


@pytest.mark.parametrize(("note", "message", "text", "calls"), MESSAGES, ids=[case[0] for case in MESSAGES])
def test_whole(note: str, message: dict[str, Any], text: str, calls: tuple[Any, ...]) -> None:
    usage = {"prompt_tokens": 4, "completion_tokens": 6}
    answer = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage}

    async def body() -> None:
        async with playing([head(content_type=JSON), json.dumps(answer).encode()]) as server:
            model = open_model(f"openai:m@{server.url}/v1")
            seen = await ask(model, ModelRequest(ASK, (READ,), stream=False))
            assert seen.text == text
            assert [(call.id, call.name, call.arguments) for call in seen.calls] == list(calls)
            assert seen.done.finish_reason == ("tool_calls" if calls else "stop")
            assert seen.done.usage == Usage(4, 6)
            assert server.requests[0][1]["stream"] is False
            await model.aclose()

    run(body)


def test_server_streams_though_not_asked() -> None:
    async def body() -> None:
        async with playing([head(), sse(*_text("a", "b"), STOP)]) as server:
            model = open_model(f"openai:m@{server.url}/v1")
            assert (await ask(model, ModelRequest(ASK, stream=False))).text == "ab"
            await model.aclose()

    run(body)


def test_answer_without_end_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gerbang.adapters.models.openai_stream.MAX_ANSWER_CHARS", 1_000)
    chunk = sse(*_text("x" * 300), done=False)

    async def body() -> None:
        async with playing([head(), *[chunk] * 50, "hang"]) as server:
            model = open_model(f"openai:m@{server.url}/v1")
            seen = await ask(model, ModelRequest(ASK))
            assert (len(seen.text), seen.done.finish_reason) == (1_000, "length")
            await model.aclose()

    run(body)


def test_calls_are_told_as_they_are_written() -> None:
    """Deltas come before the end of the answer, and the calls of ModelCall keep the order of opening."""

    async def body() -> None:
        stream = sse(piece(0, "c1", R, ""), *(piece(0, arguments=c) for c in NOTES), CALLS)
        async with playing([head(), stream]) as server:
            model = open_model(f"openai:m@{server.url}/v1")
            seen = await ask(model, ModelRequest(ASK, (READ,)))
            assert seen.pieces == 1 + len(NOTES) + 2
            assert seen.calls == [ModelCall(0, "c1", R, NOTES)]
            await model.aclose()

    run(body)
