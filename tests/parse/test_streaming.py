"""Text arguments stream: a long one arrives in about as many fragments as deltas, in every dialect."""

from typing import Any

import pytest

from gerbang.parse import dialects, reader, render
from gerbang.parse.events import ArgumentsDelta, CallClosed, CallOpened, Content, Event, ParseFault
from tests.parse.reading import TOOLS, read

DIALECTS = [row.id for row in dialects() if row.id != "auto"]
BODY = "".join(f'word {number} it\'s "q" {{x}}, [y]\n' for number in range(100))[:2_000]
ENOUGH = 450
"""Fragments, of the 500 deltas that the text takes at least."""


def feed(text: str, dialect: str, size: int = 4, **options: Any) -> tuple[list[Event], list[Event]]:
    """Return the events before the end and those of `finish`."""
    made = reader(dialect, tools=TOOLS, **options)
    events = [event for at in range(0, len(text), size) for event in made.feed(text[at : at + size])]
    return events, made.finish()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_long_text_streams(dialect: str) -> None:
    text = render([{"name": "write_note", "arguments": {"path": "p", "body": BODY}}], dialect, tools=TOOLS)
    events, last = feed(text, dialect)
    fragments = [event.fragment for event in events if isinstance(event, ArgumentsDelta)]
    assert len(fragments) >= ENOUGH
    assert max(map(len, fragments)) < 64
    assert not any(isinstance(event, ParseFault) for event in [*events, *last])
    whole = read([text], dialect)
    assert whole.calls == [("write_note", {"path": "p", "body": BODY})]
    assert "".join(fragments) == whole.arguments_json[0]


BARE = ["bare_json", "llama3_json", "xlam", "router"]
HEAD = '{"name": "write_note", "arguments": {"path": "p", "body": "'
LIST = f"[{HEAD}"


@pytest.mark.parametrize("dialect", BARE)
def test_an_untagged_call_dies_when_text_follows_on_its_line(dialect: str) -> None:
    text = f'{HEAD}some words"}}}} is what I would send'
    events, last = feed(text, dialect)
    joined = [*events, *last]
    assert any(isinstance(event, CallOpened) for event in joined)
    faults = [event for event in joined if isinstance(event, ParseFault)]
    assert [(fault.index, fault.code) for fault in faults] == [(0, "CALL_NOT_STARTED")]
    assert not any(isinstance(event, CallClosed) for event in joined)
    assert "".join(event.text for event in joined if isinstance(event, Content)) == text


BROKEN = [
    ("bare_json", HEAD + 'x" y}}', "CALL_NOT_JSON"),
    ("bare_json", HEAD + "xyz", "CALL_TRUNCATED"),
    ("bare_json", HEAD + 'x"}, "arguments": {"path": "q"}}', "CALL_AMBIGUOUS"),
    ("fenced_json", f"```json\n{HEAD}x" + '" y}}\n```', "CALL_NOT_JSON"),
    ("fenced_json", f"```json\n{HEAD}x" + '"}}\n', None),
    ("fenced_json", f"```json\n{HEAD}x" + '"}}\nand more\n```', "CALL_NOT_STARTED"),
    ("xlam", LIST + "xyz", "CALL_TRUNCATED"),
    ("xlam", LIST + 'x"}}, {"title": "y"}]', "CALL_NOT_STARTED"),
    ("pythonic", "[write_note(path='p', body='x', z=open('f'))]", "CALL_NOT_LITERAL"),
    ("pythonic", "[write_note(path='p', body='x", "CALL_TRUNCATED"),
    ("pythonic", "[write_note(path='p', path='q')]", "CALL_AMBIGUOUS"),
    ("lfm2", "<|tool_call_start|>[write_note(path='p', body=x)]<|tool_call_end|>", "CALL_NOT_LITERAL"),
    ("olmo3", "<function_calls>write_note(path='p', path='q')</function_calls>", "CALL_AMBIGUOUS"),
    ("gemma4", '<|tool_call>call:write_note{path:<|"|>p<|"|>,body:x}<tool_call|>', "CALL_NOT_JSON"),
    ("gemma4", '<|tool_call>call:write_note{path:<|"|>p', "CALL_TRUNCATED"),
]


@pytest.mark.parametrize(("dialect", "text", "code"), BROKEN)
def test_what_breaks_after_it_was_opened_dies_with_its_index(
    dialect: str, text: str, code: str | None
) -> None:
    for size in (1, 4, len(text)):
        events, last = feed(text, dialect, size)
        joined = [*events, *last]
        faults = [(event.index, event.code) for event in joined if isinstance(event, ParseFault)]
        assert faults == ([] if code is None else [(0, code)])
        assert any(isinstance(event, CallClosed) for event in joined) == (code is None)


def test_a_forgotten_opening_mark_streams_nothing_before_its_end_mark() -> None:
    made = reader("hermes", tools=TOOLS)
    events = [event for delta in (HEAD, "x" * 600, "y" * 600, '"}}\n') for event in made.feed(delta)]
    assert events == []
    assert [type(event) for event in made.feed("</tool_call>")] == [CallOpened, ArgumentsDelta, CallClosed]
