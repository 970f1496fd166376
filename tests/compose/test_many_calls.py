"""Answers with more calls than anybody would run: what runs, what is refused, and where reading stops."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

import gerbang as g
from gerbang import parse
from gerbang.runtime.reading import Answer, AnswerReader
from gerbang.values.model import ModelCall, ModelDone, ModelEvent, TextDelta
from tests.compose.runs import ask
from tests.runtime.street import run

NOTE: dict[str, Any] = {
    "name": "note.count.v1",
    "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}},
}


def call(number: int) -> str:
    return f'<tool_call>{{"name": "note.count.v1", "arguments": {{"n": {number}}}}}</tool_call>'


def broken(_number: int) -> str:
    return '<tool_call>{"name": "note.count.v1", "arguments": {"n": }}</tool_call>'


def read(events: Sequence[ModelEvent], dialect: str = "hermes") -> tuple[Answer, list[Any]]:
    shown: list[Any] = []
    reader = AnswerReader(dialect, parse.Offered([NOTE]), shown.append)
    for event in events:
        reader.feed(event)
    return reader.finish(), shown


def pieces(text: str, size: int) -> list[ModelEvent]:
    return [TextDelta(text[at : at + size]) for at in range(0, len(text), size)]


def codes(answer: Answer) -> list[str]:
    return ["" if asked.fault is None else asked.fault.error_code for asked in answer.calls]


@pytest.mark.parametrize("dialect", ["hermes", "auto"])
@pytest.mark.parametrize("size", [7, 1000, 10_000_000])
@pytest.mark.parametrize(
    ("count", "run", "refused", "reason"),
    [
        (1, 1, 0, "stop"),
        (128, 128, 0, "stop"),
        (129, 128, 1, "stop"),
        (256, 128, 128, "stop"),
        (300, 128, 128, "stop"),
        (20_000, 128, 128, "length"),
    ],
)
def test_calls_in_the_text(dialect: str, size: int, count: int, run: int, refused: int, reason: str) -> None:
    text = "".join(map(call, range(count)))
    answer, _ = read([*pieces(text, size), ModelDone("stop")], dialect)
    assert codes(answer) == [""] * run + ["TOO_MANY_CALLS"] * refused
    assert [asked.arguments for asked in answer.calls[:run]] == [{"n": n} for n in range(run)]
    assert answer.finish_reason == reason
    assert text.startswith(answer.raw)


def test_reading_stops_soon_after_enough_calls() -> None:
    text = "".join(map(call, range(20_000)))
    answer, _ = read([TextDelta(text), TextDelta("and more"), ModelDone("stop")])
    enough = len("".join(map(call, range(512))))
    assert enough <= len(answer.raw) <= enough + 4_096
    assert answer.content == ""


def test_twenty_thousand_broken_calls() -> None:
    answer, _ = read([TextDelta("".join(map(broken, range(20_000)))), ModelDone("stop")])
    assert len(answer.calls) == 256
    assert all(asked.arguments is None for asked in answer.calls)
    assert answer.finish_reason == "length"


def test_a_long_text_without_calls_is_read_to_its_end() -> None:
    text = "".join(f"Line {n}: a < b, é.\n" for n in range(50_000))
    answer, shown = read([TextDelta(text), ModelDone("stop")])
    assert (answer.content, answer.raw, answer.calls) == (text.strip(), text, ())
    assert answer.finish_reason == "stop"
    assert "".join(delta.text for delta in shown) == text


@pytest.mark.parametrize("text", ["", call(1), "".join(map(call, range(600)))], ids=["alone", "one", "many"])
def test_structured_calls(text: str) -> None:
    calls = [ModelCall(n, f"c{n}", "note.count.v1", json.dumps({"n": n})) for n in range(20_000)]
    answer, _ = read([*calls, TextDelta(text), ModelDone("tool_calls")])
    assert codes(answer) == [""] * 128 + ["TOO_MANY_CALLS"] * 128
    assert [asked.id for asked in answer.calls] == [f"c{n}" for n in range(256)]
    assert answer.finish_reason == "length"


def test_a_run_answers_each_call_that_it_keeps() -> None:
    counted: list[int] = []

    @g.tool(name="note.count.v1", risk="compute")
    async def note(n: int) -> int:
        """Count a note."""
        counted.append(n)
        return n

    items = ["".join(map(call, range(20_000))), "Done."]
    result, watched = run(ask(items, [note], max_calls=1_000, max_repeats=1_000))
    assert (result.answer, result.status) == ("Done.", "completed")
    assert counted == list(range(128))
    assert len([message for message in watched.last if message.role == "tool"]) == 256
