"""What holds for every text: no exception, any cut reads the same, fragments are the JSON text."""

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gerbang.parse import dialects
from gerbang.parse.plan import Meaning, plan_of
from gerbang.parse.render import RenderError, render
from tests.parse.reading import TOOLS, read

DIALECTS = [row.id for row in dialects()]
MORE = int(os.environ.get("GERBANG_FUZZ", "1"))
SETTINGS = settings(
    max_examples=25 * MORE,
    deadline=None,
    derandomize=MORE == 1,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
SHARED = [
    *(
        '{"name": "ping", "arguments": {}}',
        '{"name": "sum", "arguments": {"a": 1}}',
        "{",
        "}",
        "[",
        "]",
        '"',
        "'",
    ),
    *(
        "\\",
        ":",
        ",",
        "\n",
        " ",
        "```",
        "```json\n",
        "ping",
        "a",
        "1",
        "null",
        "<",
        ">",
        "/",
        "=",
        "\x00",
        "é",
    ),
    *(
        "[ping()]",
        "call:ping{}",
        ">>>all\n",
        "Action: ping\nAction Input: ",
        "Thought:",
        "\ud800",
        "<function=ping>",
    ),
    *("<parameter=a>\n", "\n</parameter>\n", "</function>", '<invoke name="ping">', '<parameter name="a">'),
    *(
        "<arg_key>a</arg_key>",
        "<arg_value>",
        "</arg_value>",
        "<|channel|>final",
        "<|message|>",
        "to=functions.ping",
    ),
]


def pieces(dialect: str) -> st.SearchStrategy[list[str]]:
    """Texts from an alphabet of the dialect's own marks and broken bits of everything."""
    return st.lists(st.sampled_from([*SHARED, *plan_of(dialect).meanings]) | st.text(max_size=4), max_size=24)


def cut(text: str, sizes: list[int]) -> list[str]:
    deltas: list[str] = []
    at = 0
    while at < len(text):
        size = sizes[len(deltas) % len(sizes)]
        deltas.append(text[at : at + size])
        at += size
    return deltas


@pytest.mark.fuzz
@pytest.mark.parametrize("dialect", DIALECTS)
@SETTINGS
@given(data=st.data())
def test_any_cut_reads_the_same(dialect: str, data: st.DataObject) -> None:
    text = "".join(data.draw(pieces(dialect)))
    options: dict[str, Any] = {
        "reasoning_open": data.draw(st.booleans()),
        "truncated": data.draw(st.booleans()),
        "repair": data.draw(st.booleans()),
    }
    sizes = data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=4))
    whole = read([text], dialect, **options)
    assert read(list(text), dialect, **options) == whole
    assert read(cut(text, sizes), dialect, **options) == whole


@pytest.mark.fuzz
@pytest.mark.parametrize("dialect", DIALECTS)
@SETTINGS
@given(data=st.data())
def test_calls_are_found_among_text_and_no_mark_of_theirs_is_shown(dialect: str, data: st.DataObject) -> None:
    if dialect == "auto":
        return
    words = st.text(alphabet="abc xyz.,\né", max_size=20)
    body = data.draw(words)
    try:
        call = render(
            [{"name": "write_note", "arguments": {"path": "p", "body": body}}], dialect, tools=TOOLS
        )
    except RenderError:
        return
    result = read(cut(call, [data.draw(st.integers(1, 9))]), dialect)
    assert result.calls == [("write_note", {"path": "p", "body": body})]
    assert result.content.strip() == ""
    marks = [mark for mark, meaning in plan_of(dialect).meanings.items() if meaning is not Meaning.FENCE]
    assert not any(mark in result.content for mark in marks)


@pytest.mark.parametrize("dialect", [dialect for dialect in DIALECTS if dialect != "auto"])
def test_a_long_argument_in_small_deltas(dialect: str) -> None:
    body = "".join(f'line {number}: x = {{"k": [{number}]}} it\'s\n' for number in range(200))
    call = render([{"name": "write_note", "arguments": {"path": "p", "body": body}}], dialect, tools=TOOLS)
    for size in (1, 4, 4096):
        result = read(cut(call, [size]), dialect)
        assert result.calls == [("write_note", {"path": "p", "body": body})]
