"""parse(render(calls)) is calls, for every dialect, on generated calls."""

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gerbang import parse
from gerbang.parse.render import RenderError, render

MORE = int(os.environ.get("GERBANG_FUZZ", "1"))
"""How many times more examples are tried."""
SINGLE = {"gigachat3", "react", "router"}
DIALECTS = sorted(row.id for row in parse.dialects() if row.id != "auto")
UNESCAPED = {
    row.id: row.encoding in ("X", "O") or row.id == "kimi_k3" for row in parse.dialects() if row.id != "auto"
}
"""Whether the strings of a dialect are not escaped, so that some texts cannot be carried."""

names = st.from_regex(r"[a-z][a-z0-9_]{0,11}(\.[a-z][a-z0-9_]{0,5})?", fullmatch=True).filter(
    lambda name: name not in {"none", "all"}
)
keys = st.from_regex(r"[a-z][a-z0-9_]{0,9}", fullmatch=True)
markup = st.sampled_from(
    [
        *(
            "<",
            ">",
            "</tool_call>",
            "</parameter>",
            "</function>",
            "<|",
            "|>",
            "```",
            "[TOOL_CALLS]",
            '"',
            "'",
        ),
        *("\\", "{", "}", "[", "]", ",", ":", "=", "(", ")", "\n", " ", "\t", "&amp;", "</arg_value>", "<｜"),
        *(
            "｜>",
            "]]>",
            "null",
            "true",
            "5",
            "</invoke>",
            "<escape>",
            "</",
            "é",
            "🚀",
            "\u2028",
            "\x00",
            "\r\n",
        ),
        *(
            "Observation:",
            "Action:",
            ">>>",
            "<tool_use>",
            "</tool_use>",
            "</param>",
            "functools[",
            "<|call|>",
        ),
    ]
)
texts = st.lists(markup | st.text(st.characters(exclude_categories=["Cs"]), max_size=4), max_size=6).map(
    "".join
)
scalars: st.SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=6,
)
calls_of = st.lists(
    st.fixed_dictionaries({"name": names, "arguments": st.dictionaries(keys, values, max_size=4)}),
    min_size=1,
    max_size=3,
    unique_by=lambda call: str(call["name"]),  # one schema a tool, so that types are never in doubt
)


def schema(value: Any) -> dict[str, Any]:
    """The exact schema of a value, as a tool's author would write it for such values."""
    if value is None:
        return {"type": "null"}
    if isinstance(value, dict):
        return {"type": "object", "properties": {key: schema(item) for key, item in value.items()}}
    if isinstance(value, list):
        return (
            {"type": "array", "items": {"anyOf": [schema(item) for item in value]}}
            if value
            else {"type": "array"}
        )
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string"}
    return {"type": kinds[type(value)]}


def typed(value: Any) -> Any:
    """The value with the type of each scalar beside it: 1 and true and "1" differ, 1 and 1.0 do not."""
    if isinstance(value, dict):
        return {key: typed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [typed(item) for item in value]
    kind = (
        "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__
    )
    return (kind, value)


@pytest.mark.parametrize("dialect", DIALECTS)
@settings(max_examples=20 * MORE, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(calls=calls_of)
def test_round_trip(dialect: str, calls: list[dict[str, Any]]) -> None:
    if dialect in SINGLE:
        calls = calls[:1]
    tools = [{"name": call["name"], "parameters": schema(call["arguments"])} for call in calls]
    try:
        text = render(calls, dialect, tools=tools)
    except RenderError:
        assert UNESCAPED[dialect], "a format with escapes carries everything"
        return
    read = parse.parse(text, dialect, tools=tools)
    assert [(call.name, typed(call.arguments)) for call in read.calls] == [
        (call["name"], typed(call["arguments"])) for call in calls
    ]


plain_texts = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=12)
plain = st.dictionaries(
    keys, st.integers() | st.booleans() | plain_texts | st.lists(plain_texts, max_size=3), max_size=4
)


@pytest.mark.parametrize("dialect", DIALECTS)
@settings(max_examples=8 * MORE, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(name=names, arguments=plain)
def test_ordinary_values_are_never_refused(dialect: str, name: str, arguments: dict[str, Any]) -> None:
    tools = [{"name": name, "parameters": schema(arguments)}]
    text = render([{"name": name, "arguments": arguments}], dialect, tools=tools)
    (call,) = parse.parse(text, dialect, tools=tools).calls
    assert (call.name, typed(call.arguments)) == (name, typed(arguments))
