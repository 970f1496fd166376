"""Reading a text in many cuts, for the tests of the readers."""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from gerbang.parse import reader
from gerbang.parse.events import ArgumentsDelta, CallClosed, CallOpened, Content, Event, ParseFault, Reasoning
from gerbang.parse.plan import plan_of


def tool(name: str, **properties: Any) -> dict[str, Any]:
    """Return a tool with these argument schemas; a plain word is a type."""
    schemas = {key: {"type": kind} if isinstance(kind, str) else kind for key, kind in properties.items()}
    return {"name": name, "parameters": {"type": "object", "properties": schemas}}


TOOLS = [
    tool("ping"),
    tool("sum", a="number", b="number"),
    tool("write_note", path="string", body="string"),
    tool("run_shell", command="string", timeout="integer"),
    tool("set_lamp", room="string", level="integer", on="boolean"),
    tool("plan_trip", stops={"type": "array", "items": {"type": "string"}}, limits="object", budget="number"),
    tool("tag_item", id="integer", label={"anyOf": [{"type": "string"}, {"type": "null"}]}),
    tool("find_part", code="string", qty="integer"),
    tool(
        "cfg",
        opts={"$ref": "#/$defs/Options"},
        tags={"type": ["array", "null"], "items": {"type": "integer"}},
        n={"anyOf": [{"type": "integer"}, {"type": "null"}]},
        f="number",
        z={"type": "string", "nullable": True},
        e={"enum": ["1", "2"]},
        b={"type": ["boolean", "string"]},
    ),
]
TOOLS[-1]["parameters"]["$defs"] = {
    "Options": {
        "type": "object",
        "properties": {"k": {"type": "string"}, "xs": {"type": "array", "items": {"type": "number"}}},
    }
}


@dataclass(frozen=True)
class Read:
    """What joined events say."""

    content: str
    reasoning: str
    calls: list[tuple[str, dict[str, Any]]]
    arguments_json: list[str]
    repaired: list[bool]
    faults: list[tuple[int | None, str, str]]


def read(
    deltas: Sequence[str],
    dialect: str,
    *,
    tools: Any = TOOLS,
    reasoning_open: bool = False,
    truncated: bool = False,
    repair: bool = True,
) -> Read:
    """Feed the deltas and check what holds for every stream of events."""
    made = reader(dialect, tools=tools, reasoning_open=reasoning_open, repair=repair)
    events: list[Event] = []
    for delta in deltas:
        events += made.feed(delta)
    return joined([*events, *made.finish(truncated=truncated)])


def joined(events: Sequence[Event]) -> Read:
    """Join events; the order of opening, fragments and closing is checked on the way."""
    content: list[str] = []
    reasoning: list[str] = []
    open_call: tuple[int, str] | None = None
    fragments: list[str] = []
    result = Read("", "", [], [], [], [])
    count = 0
    for event in events:
        match event:
            case Content(text):
                assert text
                content.append(text)
            case Reasoning(text):
                assert text
                reasoning.append(text)
            case CallOpened(index, name):
                assert open_call is None
                assert index == count
                open_call, fragments = (index, name), []
                count += 1
            case ArgumentsDelta(index, fragment):
                assert open_call is not None
                assert index == open_call[0]
                assert fragment
                fragments.append(fragment)
            case CallClosed(index, name, arguments, text, repaired):
                assert open_call == (index, name)
                assert "".join(fragments) == text
                assert same(json.loads(text), arguments)
                result.calls.append((name, arguments))
                result.arguments_json.append(text)
                result.repaired.append(repaired)
                open_call = None
            case ParseFault(fault_index, code, message, raw):
                assert fault_index == (None if open_call is None else open_call[0])
                assert message
                assert len(raw) <= 500
                result.faults.append((fault_index, code, raw))
                open_call = None
    assert open_call is None
    return Read(
        "".join(content),
        "".join(reasoning),
        result.calls,
        result.arguments_json,
        result.repaired,
        result.faults,
    )


def same(left: Any, right: Any) -> bool:
    """Compare as JSON with types: 3 is not "3", true is not 1, 1 equals 1.0."""
    if isinstance(left, bool) or isinstance(right, bool) or left is None or right is None:
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, str) or isinstance(right, str):
        return isinstance(left, str) and isinstance(right, str) and left == right
    return bool(left == right)


def cuts(text: str, dialect: str, seed: int, *, count: int = 6) -> Iterator[list[str]]:
    """Yield the text whole, char by char, in fours, mark by mark, and at random places."""
    yield [text]
    if len(text) <= 60_000:
        yield list(text)
    yield [text[at : at + 4] for at in range(0, len(text), 4)]
    yield by_marks(text, dialect)
    chance = random.Random(seed)
    for number in range(count):
        places = sorted(chance.sample(range(len(text) + 1), min(2 + number, len(text) + 1)))
        edges = [0, *places, len(text)]
        yield [text[start:end] for start, end in pairwise(edges)]


def by_marks(text: str, dialect: str) -> list[str]:
    """Cut before and after every mark of the dialect."""
    marks = sorted(plan_of(dialect).meanings, key=len, reverse=True)
    places = {0, len(text)}
    for mark in marks:
        at = text.find(mark)
        while at >= 0 and len(places) < 5_000:
            places |= {at, at + len(mark)}
            at = text.find(mark, at + len(mark))
    edges = sorted(places)
    return [text[start:end] for start, end in pairwise(edges)]
