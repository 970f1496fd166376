"""The ground-truth calls of a public benchmark, written and read back in every dialect.

The data come from the installed package `bfcl-eval` (Apache-2.0); nothing of it is imported or copied.
"""

import json
from functools import cache
from importlib.metadata import distribution
from typing import Any

import pytest

from gerbang import parse
from gerbang.parse.render import RenderError, render

SINGLE = {"gigachat3", "react", "router"}
DIALECTS = sorted(row.id for row in parse.dialects() if row.id != "auto")
EVERY = 3
UNTYPED = {row.id for row in parse.dialects() if row.encoding == "X"}
SETS = (
    *("simple_python", "multiple", "parallel", "parallel_multiple"),
    *("live_simple", "live_multiple", "live_parallel", "live_parallel_multiple"),
)
TYPES = {"dict": "object", "float": "number", "tuple": "array", "String": "string"}


def rows(kind: str) -> list[Any]:
    text = str(distribution("bfcl-eval").locate_file(f"bfcl_eval/data/{kind}"))
    with open(text, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def schema(node: Any) -> Any:
    """Its type names are those of Python: say the same in JSON Schema."""
    if isinstance(node, list):
        return [schema(item) for item in node]
    if not isinstance(node, dict):
        return node
    out = {key: schema(item) for key, item in node.items()}
    if isinstance(out.get("type"), str):
        out["type"] = TYPES.get(out["type"], out["type"])
        if out["type"] == "any":
            del out["type"]
    return out


def given(options: dict[str, Any]) -> dict[str, Any]:
    """Take the first right value of each argument; an empty text in the list says that it may be left out."""
    chosen = {key: right if isinstance(right, list) else [right] for key, right in options.items()}
    kept = {key: [value for value in right if value != ""] for key, right in chosen.items()}
    return {key: plain(right[0]) for key, right in kept.items() if right}


def plain(value: Any) -> Any:
    """Objects inside a value list the right values of their fields, too."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    return given(value) if isinstance(value, dict) else value


@cache
def cases() -> list[tuple[list[Any], list[Any]]]:
    """The calls of every row with the tools that were offered."""
    out = []
    for name in SETS:
        offered = {row["id"]: row["function"] for row in rows(f"BFCL_v4_{name}.json")}
        for row in rows(f"possible_answer/BFCL_v4_{name}.json"):
            calls = [
                {"name": tool, "arguments": given(arguments)}
                for truth in row["ground_truth"]
                for tool, arguments in truth.items()
            ]
            out.append((calls, [schema(tool) for tool in offered[row["id"]]]))
    return out


def told(kind: Any, value: Any) -> bool:
    """Whether a schema says exactly of what type the value and all in it are."""
    name = kind.get("type") if isinstance(kind, dict) else None
    if isinstance(value, dict):
        inner = kind.get("properties", {}) if name == "object" else {}
        return all(key in inner and told(inner[key], item) for key, item in value.items())
    if isinstance(value, list):
        return name == "array" and all(told(kind.get("items"), item) for item in value)
    names = {bool: ("boolean",), int: ("integer", "number"), float: ("number",), str: ("string",)}
    return name in names.get(type(value), ())


def typed(calls: list[Any], tools: list[Any]) -> bool:
    """Whether the offered tools tell the type of every value."""
    by_name = {tool["name"]: tool["parameters"] for tool in tools}
    return all(told(by_name.get(call["name"]), call["arguments"]) for call in calls)


def test_the_data_are_there() -> None:
    assert len(cases()) == 2351
    assert sum(len(calls) for calls, _ in cases()) == 3152
    assert sum(typed(calls, tools) for calls, tools in cases()) > 2000


def written(calls: list[Any], tools: list[Any], dialect: str) -> str | None:
    """The text, or None where the format may refuse: it has no types, and the schema does not tell them."""
    try:
        return render(calls, dialect, tools=tools)
    except RenderError:
        reserved = dialect == "harmony" and any(call["name"].startswith("functions.") for call in calls)
        if reserved or (dialect in UNTYPED and not typed(calls, tools)):
            return None
        raise


@pytest.mark.parametrize("dialect", DIALECTS)
def test_round_trip(dialect: str) -> None:
    offset = DIALECTS.index(dialect) % EVERY  # every row is read in a third of the dialects
    for calls, tools in cases()[offset::EVERY]:
        for part in [[call] for call in calls] if dialect in SINGLE else [calls]:
            text = written(part, tools, dialect)
            if text is not None:
                read = parse.parse(text, dialect, tools=tools).calls
                assert [{"name": call.name, "arguments": call.arguments} for call in read] == part
