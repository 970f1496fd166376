"""Profile `voice` with declarative HTTP tools: texts, limits and messages of its source, to the letter."""

import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

import gerbang as g
from gerbang.adapters.models import open_model
from tests.compose.runs import Watched
from tests.models.player import SSE, head, playing
from tests.models.player import reply as whole
from tests.runtime.street import ALLOW_ALL, bodies, run
from tests.tools.origin import definition, serving, write

PAGES = {
    "/fine": (200, "fine"),
    "/long": (200, "x" * 5_000),
    "/exact": (200, "x" * 2_000),
    "/missing": (404, "no such page"),
    "/broken": (500, "x" * 5_000),
    "/slow-down": (429, "wait"),
    "/forbidden": (403, "not you"),
}


async def pages(request: web.BaseRequest) -> web.StreamResponse:
    status, text = PAGES[request.path]
    return web.Response(status=status, text=text)


def tools_of(folder: Path, url: str, **more: Any) -> list[Any]:
    return g.load_tools(
        write(
            folder,
            definition(url + "/{id}", "GET", name="page", **more),
            definition(url + "/fine", "GE T", name="bad_verb"),
            definition("http://127.0.0.1:9/", "POST", name="gone"),
            definition("http://169.254.169.254/", "GET", name="metadata"),
        )
    )


async def say(
    folder: Path, calls: list[tuple[str, dict[str, Any]]], **agent: Any
) -> tuple[g.RunResult, list[str]]:
    """Let a model make calls in one answer; return what it was shown of each."""
    watched = Watched([calls, "Done."])
    async with serving(pages) as origin, g.Gateway(tools_of(folder, origin.url), policy=ALLOW_ALL) as gate:
        result = await g.Agent(watched.model, gate, profile="voice", **agent).run("Go.")
        return result, [message.content for message in watched.last if message.role == "tool"]


SAID: list[tuple[str, dict[str, Any], str]] = [
    ("page", {"id": "fine"}, "fine"),
    ("page", {"id": "exact"}, "x" * 2_000),
    ("page", {"id": "long"}, "x" * 2_000 + "… [truncated]"),
    ("page", {"id": "missing"}, "Error: HTTP 404 — no such page"),
    ("page", {"id": "forbidden"}, "Error: HTTP 403 — not you"),
    ("page", {"id": "slow-down"}, "Error: HTTP 429 — wait"),
    ("page", {"id": "broken"}, f"Error: HTTP 500 — {'x' * 2_000}… [truncated]"),
    ("bad_verb", {}, "Error: invalid HTTP method 'GE T' for tool 'bad_verb'"),
    ("nope", {}, "Error: unknown tool 'nope'"),
    ("gone", {}, "Error: tool request failed: nothing answers at 127.0.0.1:9"),
    (
        "metadata",
        {},
        "Error: tool request failed: 169.254.169.254:80 is not on the list of hosts that tools may reach "
        "(setting `egress`)",
    ),
]


@pytest.mark.parametrize("lang", ["en", "id"])
def test_what_the_model_is_told(tmp_path: Path, lang: str) -> None:
    for tool, arguments, said in SAID:
        result, shown = run(say(tmp_path, [(tool, arguments)], lang=lang))
        assert (result.answer, shown) == ("Done.", [said])


def test_a_smaller_result(tmp_path: Path) -> None:
    calls = [("page", {"id": name}) for name in ("long", "broken")]
    _, shown = run(say(tmp_path, calls, result_max_chars=100))
    assert shown[0] == "x" * 100 + "… [truncated]"
    assert shown[1] == f"Error: HTTP 500 — {'x' * 100}… [truncated]"


def test_the_policy_of_the_same_name(tmp_path: Path) -> None:
    """Nobody can be asked: what writes runs because the operator wrote it down; money never does."""
    tools = [
        definition("{url}/fine", "POST", name="write"),
        definition("{url}/fine", "POST", name="pay", risk="transactional"),
        definition("{url}/fine", "DELETE", name="wipe", risk="destructive"),
        definition("{url}/fine", "GET", name="read"),
    ]

    async def work() -> list[str]:
        async with serving(pages) as origin:
            for tool in tools:
                tool["url"] = f"{origin.url}/fine"
            loaded = g.load_tools(write(tmp_path, *tools))
            assert {tool.defined_by for tool in loaded} == {"file"}
            async with g.Gateway(loaded, policy=g.Policy.shipped("voice")) as gate:
                results = [await gate.call(tool["name"], {}) for tool in tools]
            return [result.status for result in results]

    assert run(work()) == ["ok", "error", "error", "ok"]


# -- on the wire of a model server ---------------------------------------------------------------------------


def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return f"data: {json.dumps({'id': 'x', 'choices': [choice]})}\n\n".encode()


DONE = b"data: [DONE]\n\n"
CALL = {"index": 0, "id": "c1", "function": {"name": "page", "arguments": '{"id": "fine"}'}}


def text(words: str) -> list[bytes]:
    return [head(), chunk({"role": "assistant", "content": words}), chunk({}, "stop"), DONE]


def call() -> list[bytes]:
    return [head(), chunk({"tool_calls": [CALL]}), chunk({}, "tool_calls"), DONE]


def completion(message: dict[str, Any], finish: str = "stop") -> list[bytes | str]:
    usage = {"prompt_tokens": 5, "completion_tokens": 7}
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return list(whole(json.dumps({"id": "x", "choices": [choice], "usage": usage})))


NOTHING = [head(content_type=SSE), chunk({"role": "assistant", "content": ""}), chunk({}, "stop"), DONE]


async def talk(
    folder: Path, *scripts: Any, **agent: Any
) -> tuple[g.RunResult, list[Any], list[dict[str, Any]], list[Any]]:
    """Run against a model server that plays scripts. Returns the result, requests, records and events."""
    async with serving(pages) as origin, playing(*scripts) as server:
        async with g.Gateway(tools_of(folder, origin.url), policy=ALLOW_ALL) as gate:
            model = open_model(f"openai:m@{server.url}/v1")
            speaker = g.Agent(model, gate, profile="voice", **agent)
            events = [event async for event in speaker.stream("Go.")]
            await speaker.aclose()
            assert isinstance(events[-1], g.Finished)
            result = events[-1].result
            recorded = await bodies(gate.store, result.run_id)
        return result, [body for _, body in server.requests], recorded, events


def test_every_request_carries_the_tools_but_the_one_after_the_last_round(tmp_path: Path) -> None:
    result, requests, _, _ = run(talk(tmp_path, call(), call(), call(), call(), text("Enough.")))
    assert (result.answer, result.steps, len(result.calls)) == ("Enough.", 5, 4)
    for request in requests[:4]:
        assert request["tool_choice"] == "auto"
        names = [tool["function"]["name"] for tool in request["tools"]]
        assert names == ["page", "bad_verb", "gone", "metadata"]
        assert {tool["type"] for tool in request["tools"]} == {"function"}
        assert request["tools"][0]["function"]["parameters"]["type"] == "object"
    assert "tools" not in requests[4]
    assert "tool_choice" not in requests[4]


LAST: list[tuple[str, list[Any], str]] = [
    ("a call", call(), "The step limit of this run is reached."),
    (
        "a call as text",
        text("<tool_call><function=page><parameter=id>fine</parameter></function></tool_call>"),
        "The step limit of this run is reached.",
    ),
    ("words and a call", [head(), chunk({"content": "So far: fine."}), *call()[1:]], "So far: fine."),
]


@pytest.mark.parametrize(("last", "answer"), [pytest.param(*row[1:], id=row[0]) for row in LAST])
def test_a_call_in_the_answer_without_tools_is_not_made_and_not_announced(
    tmp_path: Path, last: list[Any], answer: str
) -> None:
    result, requests, _, events = run(talk(tmp_path, *[call()] * 4, last))
    assert (result.status, result.answer, len(requests)) == ("max_steps", answer, 5)
    assert [item.status for item in result.calls] == ["ok"] * 4 + ["error"]
    assert len([event for event in events if type(event) is g.ToolCalled]) == 4


def test_the_same_call_may_come_as_often_as_there_are_rounds(tmp_path: Path) -> None:
    rounds = [call()] * 7
    result, _, _, _ = run(talk(tmp_path, *rounds, text("Enough."), max_steps=7))
    assert [item.value for item in result.calls] == ["fine"] * 7
    result, _, _, _ = run(talk(tmp_path, *rounds, text("Enough."), max_steps=7, max_repeats=2))
    assert [item.error.error_code for item in result.calls if item.error] == ["REPEATED_CALL"] * 5


def test_calls_go_back_as_an_assistant_message_and_one_tool_message_each(tmp_path: Path) -> None:
    two = [
        CALL,
        {**CALL, "index": 1, "id": "c2", "function": {"name": "page", "arguments": '{"id":"missing"}'}},
    ]
    both = [head(), chunk({"tool_calls": two}), chunk({}, "tool_calls"), DONE]
    _, requests, _, _ = run(talk(tmp_path, both, text("Done.")))
    user, assistant, first, second = requests[1]["messages"]
    assert user == {"role": "user", "content": "Go."}
    assert [item["function"]["name"] for item in assistant["tool_calls"]] == ["page", "page"]
    assert [item["id"] for item in assistant["tool_calls"]] == ["c1", "c2"]
    assert first == {"role": "tool", "tool_call_id": "c1", "content": "fine"}
    assert second == {"role": "tool", "tool_call_id": "c2", "content": "Error: HTTP 404 — no such page"}


@pytest.mark.parametrize(
    "words",
    [
        "<tool_call><function=page><parameter=id>fine</parameter></function></tool_call>",
        '<tool_call>{"name": "page", "arguments": {"id": "fine"}}</tool_call>',
    ],
)
def test_calls_written_as_text(tmp_path: Path, words: str) -> None:
    result, requests, _, events = run(talk(tmp_path, text("Let me see. " + words), text("Done.")))
    assert [item.value for item in result.calls] == ["fine"]
    assert requests[1]["messages"][-1]["content"] == "fine"
    said = "".join(event.text for event in events if type(event) is g.AnswerDelta)
    assert "<" not in said


SWALLOWED: list[tuple[str, list[Any], list[Any], str, int]] = [
    (
        "a call",
        completion({"content": None, "tool_calls": [CALL]}, "tool_calls"),
        [text("Done.")],
        "Done.",
        1,
    ),
    (
        "a call as text",
        completion({"content": '<tool_call>{"name":"page","arguments":{"id":"fine"}}</tool_call>'}),
        [text("Done.")],
        "Done.",
        1,
    ),
    ("text", completion({"content": "Just words."}), [], "Just words.", 0),
    ("nothing again", completion({"content": ""}), [], "(no answer)", 0),
]


@pytest.mark.parametrize(
    ("second", "then", "answer", "calls"), [pytest.param(*row[1:], id=row[0]) for row in SWALLOWED]
)
def test_a_round_that_streams_nothing_is_asked_once_more_without_streaming(
    tmp_path: Path, second: list[Any], then: list[Any], answer: str, calls: int
) -> None:
    result, requests, recorded, events = run(talk(tmp_path, NOTHING, second, *then))
    assert (result.answer, len(result.calls)) == (answer, calls)
    assert [request["stream"] for request in requests[:2]] == [True, False]
    assert requests[1]["tool_choice"] == "auto"
    assert {key: requests[0][key] for key in ("messages", "tools")} == {
        key: requests[1][key] for key in ("messages", "tools")
    }
    assert len(requests) == 2 + len(then)
    assert next(body["asked"] for body in recorded if body["kind"] == "model.answered") == 2
    assert [event.code for event in events if type(event) is g.Notice] == ["ASKED_WITHOUT_STREAMING"]
    assert result.steps == 1 + len(then)
    assert (result.input_tokens, result.output_tokens) == (5, 7)


@pytest.mark.parametrize(
    ("scripts", "options"),
    [
        ([text("Hello.")], {}),
        ([call(), text("Done.")], {}),
        ([[head(), chunk({"content": "cut"})]], {}),
        ([completion({"content": ""})], {"stream": False}),
        ([[head(), chunk({"content": ""}, "content_filter"), DONE]], {}),
    ],
)
def test_other_rounds_are_not_asked_again(
    tmp_path: Path, scripts: list[Any], options: dict[str, Any]
) -> None:
    _, requests, recorded, _ = run(talk(tmp_path, *scripts, **options))
    assert len(requests) == len(scripts)
    assert {body["asked"] for body in recorded if body["kind"] == "model.answered"} <= {1}


@pytest.mark.parametrize(
    ("script", "status", "answer", "detail"),
    [
        ([head(), chunk({"content": "Half of"})], "model_error", "Half of", "broke inside its answer"),
        (
            [head(), chunk({"content": "Half of"}, "length"), DONE],
            "completed",
            "Half of",
            "cut off at the number",
        ),
        ([head(), chunk({"content": "Whole."}, "stop"), DONE], "completed", "Whole.", ""),
    ],
)
def test_an_answer_that_is_cut_off_is_said_to_be(
    tmp_path: Path, script: Any, status: str, answer: str, detail: str
) -> None:
    result, _, recorded, _ = run(talk(tmp_path, script))
    assert (result.status, result.answer) == (status, answer)
    assert detail in result.detail
    assert bool(result.detail) == bool(detail)
    assert recorded[-1]["status"] == status


def test_reasoning_alone_is_nothing_and_the_closing_round_has_no_tools(tmp_path: Path) -> None:
    thinking = [head(), chunk({"reasoning_content": "Hm."}), chunk({}, "stop"), DONE]
    result, requests, _, _ = run(talk(tmp_path, thinking, completion({"content": "Yes."})))
    assert (result.answer, len(requests)) == ("Yes.", 2)
    result, requests, _, _ = run(talk(tmp_path, call(), NOTHING, max_steps=1))
    assert (result.answer, len(requests)) == ("(no answer)", 2)
