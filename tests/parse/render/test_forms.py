"""The text of calls in every dialect, to the character."""

import pytest
from tests.parse.render.render_forms import LAMP, ONE, SET, TOOLS, TWO

from gerbang import parse
from gerbang.parse.render import render

SINGLE = ("gigachat3", "react", "router")


@pytest.mark.parametrize("dialect", sorted(TWO))
def test_two_calls(dialect: str) -> None:
    assert render(SET, dialect, tools=TOOLS) == TWO[dialect]


@pytest.mark.parametrize("dialect", sorted(ONE))
def test_one_call(dialect: str) -> None:
    assert render([LAMP], dialect, tools=TOOLS) == ONE[dialect]


@pytest.mark.parametrize("dialect", sorted(TWO) + list(SINGLE))
def test_what_is_written_is_read_without_content_or_faults(dialect: str) -> None:
    calls = [LAMP] if dialect in SINGLE else SET
    read = parse.parse(render(calls, dialect), dialect, tools=TOOLS)
    assert [{"name": call.name, "arguments": call.arguments} for call in read.calls] == calls
    assert not list(read.faults)
    assert read.content.strip() == ""


def test_every_dialect_can_be_written() -> None:
    readable = {dialect.id for dialect in parse.dialects()} - {"auto"}
    assert readable == {*TWO, *SINGLE}


def test_no_call_is_no_text() -> None:
    assert render([], "hermes") == ""


def test_calls_may_be_objects_such_as_the_events_of_the_reader() -> None:
    read = parse.parse(TWO["hermes"], "hermes", tools=TOOLS)
    assert render(read.calls, "tool_use") == TWO["tool_use"]
