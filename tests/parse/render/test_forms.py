"""The text of calls in every dialect, to the character."""

import pytest

from gerbang import parse
from gerbang.parse.render import render
from gerbang.parse.render.derive import derived
from gerbang.parse.render.wirecall import wire_calls
from tests.parse.render.render_forms import LAMP, ONE, SET, TOOLS, TWO

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


@pytest.mark.parametrize("dialect", [row.id for row in parse.dialects() if row.id != "auto"])
def test_every_dialect_that_can_be_read_can_be_written(dialect: str) -> None:
    (call,) = parse.parse(render([LAMP], dialect), dialect, tools=TOOLS).calls
    assert call.arguments == LAMP["arguments"]


@pytest.mark.parametrize("row", [row for row in parse.dialects() if row.id != "auto"], ids=lambda row: row.id)
def test_a_new_row_is_written_as_its_layout_says(row: parse.Dialect) -> None:
    shape = derived(row)
    if shape is None:
        assert row.family in {"named_json", "harmony", "recipients", "react", "bare"}
        return
    read = parse.parse(shape.write(wire_calls(SET)), row.id, tools=TOOLS)
    assert [{"name": call.name, "arguments": call.arguments} for call in read.calls] == SET
    assert not list(read.faults)


def test_no_call_is_no_text() -> None:
    assert render([], "hermes") == ""


def test_calls_may_be_objects_such_as_the_events_of_the_reader() -> None:
    read = parse.parse(TWO["hermes"], "hermes", tools=TOOLS)
    assert render(read.calls, "tool_use") == TWO["tool_use"]
