"""What servers send, all the way to what is run and said: an agent and its gateway before a real socket."""
# ruff: noqa: E501 (a case is one line, so that the table can be read)

import json
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec import Struct

import gerbang as g
from tests.models.answers import delta, piece, run, sse
from tests.models.player import JSON, NDJSON, Script, head, playing, reply

R = "files__read__v1"
NOTES = '{"path": "notes.txt"}'
AGAIN = "ASKED_WITHOUT_STREAMING"
STOP, CALLS = delta("stop"), delta("tool_calls")


def stream(*values: Any, done: bool = True) -> Script:
    return [head(), sse(*values, done=done)]


def whole(finish: str = "stop", **message: Any) -> Script:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return reply(json.dumps({"choices": [choice]}))


def called(arguments: Any = NOTES, call_id: str | None = "c1") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": R, "arguments": arguments}}


def ollama(*values: dict[str, Any]) -> Script:
    lines = "".join(
        json.dumps({"message": {"role": "assistant", **value}, "done": False}) + "\n" for value in values
    )
    return [head(content_type=NDJSON), lines.encode() + b'{"done": true, "done_reason": "stop"}\n']


TEXT = f'<tool_call>\n{{"name": "{R}", "arguments": {NOTES}}}\n</tool_call>'
SAID = stream(delta(content="Read."), STOP)
O_SAID = ollama({"content": "Read."})


class Case(Struct):
    """`scripts` are the server's answers, one a request; `read` the paths that the tool was called with."""

    note: str
    scripts: Sequence[Script]
    read: list[str] = []
    answer: str = "Read."
    status: str = "completed"
    notices: list[str] = []
    errors: list[str] = []
    kind: str = "openai"


NOTE = ["notes.txt"]
AB = ["a", "b"]
CASES = [
    # a call that is lost when it is streamed
    Case("the reason says calls, none came; asked whole it is there", [stream(delta(role="assistant"), CALLS), whole("tool_calls", tool_calls=[called()]), SAID], NOTE, notices=[AGAIN]),
    Case("nothing at all came; asked whole it is there as text", [stream(STOP), whole(content=TEXT), SAID], NOTE, notices=[AGAIN]),
    Case("nothing at all came; asked whole there is text", [stream(STOP), whole(content="Read.")], notices=[AGAIN]),
    Case("only [DONE] came", [stream(), whole(tool_calls=[called()]), SAID], NOTE, notices=[AGAIN]),
    Case("only white space and reasoning came", [stream(delta(content="\n"), delta(reasoning_content="hm"), STOP), whole(tool_calls=[called()]), SAID], NOTE, notices=[AGAIN]),
    Case("nothing either time", [stream(STOP), whole(content="")], answer="(no answer)", notices=[AGAIN]),
    Case("the reason says calls, text came", [stream(delta(content="Read."), CALLS)]),
    # a call that is sent twice
    Case("structured and as text", [stream(delta(content=TEXT), piece(0, "c1", R, NOTES), CALLS), SAID], NOTE),
    Case("as text and structured, blanks differ", [stream(piece(0, "c1", R, '{"path":"notes.txt"}'), delta(content=TEXT), CALLS), SAID], NOTE),
    Case("structured, another one as text", [stream(delta(content=TEXT), piece(0, "c1", R, '{"path": "b"}'), CALLS), SAID], ["b", "notes.txt"]),
    Case("structured twice", [stream(piece(0, "c1", R, NOTES), piece(0, "c1", R, NOTES), CALLS), SAID], NOTE),
    Case("as text only", [stream(delta(content=TEXT), STOP), SAID], NOTE),
    # arguments
    Case("arguments by the letter", [stream(piece(0, "c1", R, ""), *(piece(0, arguments=letter) for letter in NOTES), CALLS), SAID], NOTE),
    Case("arguments as an object", [stream(piece(0, "c1", R, {"path": "notes.txt"}), CALLS), SAID], NOTE),
    Case("arguments empty", [stream(piece(0, "c1", R, ""), CALLS), SAID], errors=["MISSING_FIELD"]),
    Case("arguments null", [stream(piece(0, "c1", R), CALLS), SAID], errors=["MISSING_FIELD"]),
    Case("arguments cut, reason length", [stream(piece(0, "c1", R, '{"path": "no'), delta("length")), SAID], errors=["CALL_TRUNCATED"]),
    # ids and indexes
    Case("no ids, one index", [stream(piece(0, None, R, '{"path": "a"}'), piece(0, None, R, '{"path": "b"}'), CALLS), SAID], AB),
    Case("one id for both", [stream(piece(0, "c", R, '{"path": "a"}'), piece(1, "c", R, '{"path": "b"}'), CALLS), SAID], AB),
    Case("the id of an earlier answer", [stream(piece(0, "c", R, '{"path": "a"}'), CALLS), stream(piece(0, "c", R, '{"path": "b"}'), CALLS), SAID], AB),
    Case("mixed piece by piece", [stream(piece(0, "c1", R, '{"path"'), piece(1, "c2", R, '{"path"'), piece(0, None, None, ': "a"}'), piece(1, None, None, ': "b"}'), CALLS), SAID], AB),
    # ends
    Case("no reason, no [DONE]", [stream(piece(0, "c1", R, NOTES), done=False), SAID], errors=["CALL_TRUNCATED"]),
    Case("no reason, [DONE]", [stream(piece(0, "c1", R, NOTES)), SAID], NOTE),
    Case("reason stop beside a call", [stream(piece(0, "c1", R, NOTES), STOP), SAID], NOTE),
    Case("an error within the stream", [stream(delta(content="Re"), {"error": {"message": "gone"}})], answer="The model gave no answer.", status="model_error"),
    Case("a page with status 200", [reply("<!doctype html><html></html>", 200, "text/html")], answer="The model gave no answer.", status="model_error"),
    Case("a whole answer to a streaming request", [whole("tool_calls", tool_calls=[called()]), SAID], NOTE),
    # Ollama
    Case("nothing came; asked whole it is there", [ollama({"content": ""}), reply(json.dumps({"message": {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": R, "arguments": {"path": "notes.txt"}}}]}, "done": True}), content_type=JSON), O_SAID], NOTE, notices=[AGAIN], kind="ollama"),
    Case("structured and as text", [ollama({"content": TEXT}, {"content": "", "tool_calls": [called({"path": "notes.txt"})]}), O_SAID], NOTE, kind="ollama"),
    Case("arguments as text", [ollama({"content": "", "tool_calls": [called()]}), O_SAID], NOTE, kind="ollama"),
    Case("arguments missing", [ollama({"content": "", "tool_calls": [{"function": {"name": R}}]}), O_SAID], errors=["MISSING_FIELD"], kind="ollama"),
    Case("one id for both", [ollama({"tool_calls": [called('{"path": "a"}', "c"), called('{"path": "b"}', "c")]}), O_SAID], AB, kind="ollama"),
    Case("as text only", [ollama(*({"content": letter} for letter in TEXT)), O_SAID], NOTE, kind="ollama"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.kind}: {case.note}")
def test_run(case: Case) -> None:
    read: list[str] = []

    @g.tool(name="files.read.v1", risk="read_internal")
    async def read_file(path: str) -> str:
        """Read a file."""
        read.append(path)
        return f"text of {path}"

    async def body() -> None:
        async with playing(*case.scripts) as server, g.Gateway([read_file]) as gate:
            path = "/v1" if case.kind == "openai" else ""
            agent = g.Agent(f"{case.kind}:m@{server.url}{path}", gate)
            events = [event async for event in agent.stream("Read it.")]
            await agent.aclose()
            last = events[-1]
            assert type(last) is g.Finished
            result = last.result
            assert (result.status, result.answer, read) == (case.status, case.answer, case.read)
            assert [event.code for event in events if type(event) is g.Notice] == case.notices
            errors = [call.error.error_code for call in result.calls if call.error is not None]
            assert errors == case.errors
            shown = "".join(event.text for event in events if type(event) is g.AnswerDelta)
            assert "<tool" not in shown
            assert len(server.requests) == len(case.scripts)
            ids = [
                call["id"]
                for item in server.requests[-1][1]["messages"]
                for call in item.get("tool_calls", ())
            ]
            assert len(set(ids)) == len(ids)
            answered = [
                item["tool_call_id"] for item in server.requests[-1][1]["messages"] if item["role"] == "tool"
            ]
            assert answered == ids

    run(body)
