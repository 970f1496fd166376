"""Sections that announce calls and hold none: text, however many there are of them, and read once."""

import pytest

from gerbang import parse
from gerbang.parse.scan import skip_past

OPEN = {"kimi_k2": "<|tool_calls_section_begin|>", "deepseek_v31": "<｜tool▁calls▁begin｜>"}
CALL = {
    "kimi_k2": '<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{"a": 1}<|tool_call_end|>',
    "deepseek_v31": '<｜tool▁call▁begin｜>f<｜tool▁sep｜>{"a": 1}<｜tool▁call▁end｜>',
}


@pytest.mark.parametrize("dialect", [*OPEN])
@pytest.mark.parametrize("reader", ["own", "auto"])
def test_openings_are_read_once(dialect: str, reader: str, monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[int] = []

    def counted(reader: parse.Reader, closes: object, opens: object) -> object:
        searched.append(len(reader.buf) - reader.pos)
        return skip_past(reader, closes, opens)  # type: ignore[arg-type]

    monkeypatch.setattr("gerbang.parse.family_named.skip_past", counted)
    text = f"{OPEN[dialect]} x " * 300
    read = parse.parse(text, dialect if reader == "own" else "auto")
    assert not read.calls
    assert sum(searched) <= 2 * len(text)


@pytest.mark.parametrize("dialect", [*OPEN])
@pytest.mark.parametrize("step", [1, 7, 10_000])
def test_calls_after_openings_are_found(dialect: str, step: int) -> None:
    text = f"{OPEN[dialect]} x {OPEN[dialect]}{CALL[dialect]} and {OPEN[dialect]} y"
    whole = parse.parse(text, dialect)
    reader = parse.reader(dialect)
    events = [event for at in range(0, len(text), step) for event in reader.feed(text[at : at + step])]
    events += reader.finish()
    assert [call.arguments for call in whole.calls] == [{"a": 1}]
    closed = [event for event in events if isinstance(event, parse.CallClosed)]
    assert [event.arguments for event in closed] == [{"a": 1}]
    shown = "".join(event.text for event in events if isinstance(event, parse.Content))
    assert shown.strip() == whole.content.strip()
