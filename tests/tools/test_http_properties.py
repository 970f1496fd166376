"""Properties of HTTP tools over any text: values stay where they belong, and any definition is answered."""

import json
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import gerbang as g
from gerbang.adapters.tools.http_definition import read_definition
from gerbang.adapters.tools.http_file import read_tools
from gerbang.adapters.tools.http_request import prepare

TEXT = st.text(st.characters(codec="utf-8"), max_size=40)
VALUE = TEXT | st.integers() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.none()
PATH = read_definition({"url": "https://api.example.com/a/{x}/b?y={y}", "method": "GET"}, ("x", "y", "z"))
HEADER = read_definition({"url": "https://api.example.com/", "headers": {"X": "a{x}b"}}, ("x",))


def said(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


@given(x=VALUE, y=VALUE, z=VALUE)
def test_values_come_back_from_the_url_as_they_were(x: Any, y: Any, z: Any) -> None:
    assume(said(x) not in ("", ".", ".."))
    url = prepare(PATH, {"x": x, "y": y, "z": z}, tool="t", secret=str).url
    assert url.isascii()
    parts = urlsplit(url)
    assert (parts.scheme, parts.netloc, parts.fragment) == ("https", "api.example.com:443", "")
    first, segment, last = parts.path.removeprefix("/").split("/")
    assert (first, unquote(segment), last) == ("a", said(x), "b")
    pairs = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=True)
    assert pairs == [("y", said(y)), ("z", said(z))]


@given(x=VALUE)
def test_a_header_is_one_line_or_refused(x: Any) -> None:
    if any((char < " " and char != "\t") or char == "\x7f" for char in said(x)):
        with pytest.raises(g.ToolError, match="cannot stand"):
            prepare(HEADER, {"x": x}, tool="t", secret=str)
        return
    made = prepare(HEADER, {"x": x}, tool="t", secret=str)
    assert made.own["X"] == f"a{said(x)}b"
    assert json.loads(made.body or b"") == {"x": x}


JSON: Any = st.recursive(
    VALUE, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4)
)
URLS = st.sampled_from(
    ["https://a.example/{x}", "http://127.0.0.1/", "{x}", "https://{x}/", "//a", "https://a.example/${x}"]
)
FIELDS = st.fixed_dictionaries(
    {"name": st.just("t") | JSON, "description": st.just("d") | JSON, "url": URLS | TEXT | JSON},
    optional={
        "parameters": st.just({"properties": {"x": {"type": "string"}}}) | JSON,
        "method": st.sampled_from(["GET", "x y"]) | JSON,
        "headers": st.dictionaries(TEXT, TEXT | st.just("{x}"), max_size=3) | JSON,
        "header_only": st.booleans() | JSON,
        "risk": st.just("compute") | JSON,
        "timeout_s": JSON,
        "retry": JSON,
        "sensitive": JSON,
        "annotations": JSON,
        "other": JSON,
    },
)


def answered(data: bytes, trusted: bool = True) -> int | str:
    """Return how many tools loaded, or what kind of answer there was."""
    try:
        return len(read_tools(data, origin="x", trusted=trusted, may_name_secrets=trusted))
    except g.ContractError as error:
        return "a fault" if str(error).startswith("x") else str(error)


@settings(max_examples=150, deadline=None)
@given(st.lists(FIELDS | JSON, max_size=3))
def test_any_definitions_load_or_are_told_what_is_wrong(tools: list[Any]) -> None:
    for trusted in (True, False):
        assert answered(json.dumps(tools).encode(), trusted) in ("a fault", len(tools))


@given(st.binary(max_size=60))
def test_any_bytes(data: bytes) -> None:
    assert answered(data) == "a fault"
