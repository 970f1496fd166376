"""Hostile texts: no exception, bounded memory, nothing executed by mistake. Speed: see benchmarks."""

# ruff: noqa: E501 -- the answers of models stay on one line, as they are

import tracemalloc
from typing import Any

import pytest

from gerbang.parse import dialects, reader
from gerbang.parse.caps import MAX_DEPTH
from gerbang.parse.events import CallClosed, ParseFault
from tests.parse.reading import TOOLS

DIALECTS = [row.id for row in dialects()]
CALL = '<tool_call>{"name": "ping", "arguments": {}}</tool_call>'
FLOODS = [
    *(
        "<",
        "[",
        '{"a":',
        "{",
        "<tool_",
        "<tool_call>",
        "<function=",
        "\n[",
        "\n{",
        " ",
        "\n",
        "`",
        "```",
        "<think>",
    ),
    *(
        "[TOOL_CALLS]",
        "<｜tool▁calls▁begin｜>",
        "<|channel|>",
        "Action: ",
        ">>>",
        "]<]minimax[>[<",
        "\\",
        '"',
        "'",
    ),
    *(
        "\x00",
        "\ud800",
        "\u202e",
        '<invoke name="f">',
        "functools[{",
        "<|tool_call>call:f{a:",
        "</parameter> ",
        "a",
    ),
]


def feed(dialect: str, text: str, size: int) -> list[Any]:
    made = reader(dialect, tools=TOOLS)
    events: list[Any] = []
    for at in range(0, len(text), size):
        events += made.feed(text[at : at + size])
    return events + made.finish()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_floods_end_and_call_nothing(dialect: str) -> None:
    for unit in FLOODS:
        text = unit * (4_000 // len(unit))
        for size in (3, len(text)):
            assert not [event for event in feed(dialect, text, size) if isinstance(event, CallClosed)]


@pytest.mark.parametrize("unit", ["<", "[", '{"a":', "<tool_cal", "```\n<"])
@pytest.mark.parametrize("dialect", ["hermes", "qwen3_coder", "bare_json"])
def test_memory_does_not_grow_with_the_answer(dialect: str, unit: str) -> None:
    delta = unit * (65_536 // len(unit))
    made = reader(dialect, tools=TOOLS)
    made.feed(delta)
    tracemalloc.start()
    for _ in range(3):
        made.feed(delta)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    made.finish()
    assert kept < 400_000


@pytest.mark.parametrize("unit", ["<", "[", '{"a":', "<tool_cal"])
def test_ten_megabytes(unit: str) -> None:
    delta = unit * (1_048_576 // len(unit))
    made = reader("hermes", tools=TOOLS)
    events = [event for _ in range(10) for event in made.feed(delta)] + made.finish()
    assert not [event for event in events if isinstance(event, CallClosed)]


def test_many_calls_are_all_read() -> None:
    made = reader("hermes", tools=TOOLS)
    count = 0
    for _ in range(100):
        count += sum(isinstance(event, CallClosed) for event in made.feed(CALL * 1_000))
    count += sum(isinstance(event, CallClosed) for event in made.finish())
    assert count == 100_000


@pytest.mark.parametrize(
    ("dialect", "text", "code"),
    [
        ("hermes", '<tool_call>{"name": "f", "arguments": ' + '{"a": ' * 300 + "1" + "}" * 301 + "</tool_call>", "CALL_TOO_DEEP"),
        ("hermes", '<tool_call>{"name": "f", "arguments": {"a": ' + "[" * 100_000, "CALL_TOO_DEEP"),
        ("hermes", '<tool_call>{"name": "' + "n" * 1_000_000 + '", "arguments": {}}</tool_call>', "CALL_SHAPE"),
        ("hermes", '<tool_call>{"name": "a\\u0000b", "arguments": {}}</tool_call>', "CALL_SHAPE"),
        ("hermes", '<tool_call>{"name": "f", "arguments": {"a": ' + "9" * 5_000 + "}}</tool_call>", "CALL_NOT_JSON"),
        ("hermes", '<tool_call>{"name": "f", "arguments": {"a": "\ud800"}}</tool_call>', "CALL_NOT_JSON"),
        ("qwen3_coder", "<tool_call>\n<function=" + "n" * 5_000 + ">\n</function>\n</tool_call>", "CALL_SHAPE"),
        ("qwen3_coder", "<tool_call>\n<function=f>\n<parameter=a>\n\udfff\n</parameter>\n</function>\n</tool_call>", "CALL_NOT_JSON"),
        ("lfm2", "<|tool_call_start|>[f(a=" + "[" * 300 + "]" * 300 + ")]<|tool_call_end|>", "CALL_TOO_DEEP"),
        ("gemma4", "<|tool_call>call:f{a:" + "[" * 300 + "]" * 300 + "}<tool_call|>", "CALL_TOO_DEEP"),
        ("minimax_m3", "]<]minimax[>[<tool_call>]<]minimax[>[<invoke name=\"f\">" + "]<]minimax[>[<a>" * 300, "CALL_TOO_DEEP"),
    ],
)  # fmt: skip
def test_breaches_are_faults(dialect: str, text: str, code: str) -> None:
    for size in (7, len(text)):
        events = feed(dialect, text, size)
        assert not [event for event in events if isinstance(event, CallClosed)]
        assert code in [event.code for event in events if isinstance(event, ParseFault)]


def test_the_depth_that_is_allowed() -> None:
    inner = '{"a": ' * (MAX_DEPTH - 1) + "1" + "}" * (MAX_DEPTH - 1)
    (call,) = [
        event
        for event in feed("hermes", f'<tool_call>{{"name": "f", "arguments": {inner}}}</tool_call>', 50)
        if isinstance(event, CallClosed)
    ]
    assert call.name == "f"


def test_a_call_over_the_cap_is_refused_and_the_next_one_read() -> None:
    made = reader("hermes", tools=TOOLS)
    events = made.feed('<tool_call>{"name": "write_note", "arguments": {"body": "')
    for _ in range(170):
        events += made.feed("x" * 100_000)
    events += made.feed(f'"}}}}</tool_call>{CALL}')
    events += made.finish()
    assert [event.code for event in events if isinstance(event, ParseFault)] == ["CALL_TOO_LARGE"]
    assert [event.name for event in events if isinstance(event, CallClosed)] == ["ping"]
