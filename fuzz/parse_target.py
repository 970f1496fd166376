"""Fuzz target for the readers (atheris): `python fuzz/parse_target.py -max_total_time=1200`.

Checked on every input: no exception, any cut gives the same joined result, fragments join to the JSON text,
and no mark of the dialect that formed a call is shown.
"""

import json
import sys

import atheris

with atheris.instrument_imports(include=["gerbang.parse"]):
    from gerbang.parse import dialects, reader
    from gerbang.parse.events import ArgumentsDelta, CallClosed, CallOpened, Content, ParseFault, Reasoning
    from gerbang.parse.plan import plan_of

IDS = [row.id for row in dialects()]
TOOLS = [
    {"name": "ping", "parameters": {"type": "object", "properties": {}}},
    {
        "name": "f",
        "parameters": {
            "type": "object",
            "properties": {
                "a": {"type": "string"},
                "n": {"type": "integer"},
                "x": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                "o": {"type": "object", "properties": {"k": {"type": "number"}}},
                "l": {"type": "array", "items": {"type": "boolean"}},
            },
        },
    },
]
SHARED = [
    *(
        '{"name": "f", "arguments": {"a": "x"}}',
        '{"name": "ping", "arguments": {}}',
        '{"a": "x"}',
        "{}",
        "[",
        "]",
    ),
    *(
        "{",
        "}",
        '"',
        "'",
        "\\",
        ":",
        ",",
        "\n",
        " ",
        "```",
        "```json\n",
        "f",
        "ping",
        "a",
        "n",
        "1",
        "null",
        "True",
    ),
    *(
        "<think>",
        "</think>",
        "f(a='x')",
        "[f(n=1)]",
        "call:f{a:",
        "<",
        ">",
        "/",
        "=",
        "\x00",
        "é",
        "日",
        "\ud800",
    ),
    *(
        "</s>",
        "f\n",
        ">>>all\n",
        "Action: f\nAction Input: ",
        "Thought:",
        "Final Answer:",
        "functions.f:0",
        "\u202e",
    ),
]
EXTRA = {
    "typed_pairs": ["<arg_key>a</arg_key>", "<arg_value>", "</arg_value>", "<tool_sep>", "<arg_key>"],
    "python": ["f(a='", "')", "[f(", "<|tool_call_start|>[f(a=", "n=1, ", "x='", "]", "\\u00e9", '"""'],
    "notation": ["call:f{a:", "call:ping{}", ",n:1", "}", "x:", "l:[true]", "o:{k:1}"],
    "bare": ['\n{"name": "f", "arguments": {"a": "', '"}}', "\n", '{"tool": "f", "input": {"a": "', "none"],
    "blocks": ["<|content_text|>", "<|content_thinking|>", '{"name": "f", "args": {"a": "'],
    "harmony": [
        "<|channel|>",
        "<|message|>",
        "<|call|>",
        "<|end|>",
        "<|start|>assistant",
        "commentary",
        " to=functions.f",
        "analysis",
        "final",
        "<|constrain|>json",
    ],
    "named_json": [
        "<｜tool▁sep｜>",
        "function",
        "<|tool_call_argument_begin|>",
        "[ARGS]",
        "[CALL_ID]",
        "<｜tool▁call▁end｜>",
    ],
}


def pieces_of(dialect: str) -> list[str]:
    """Return the pieces that texts of this dialect are built from."""
    found = [*SHARED, *plan_of(dialect).meanings, *EXTRA.get(plan_of(dialect).dialect.family, [])]
    for entry in plan_of(dialect).dialect.entries:
        for field in ("call", "call_close", "param", "param_close", "quote", "prefix"):
            mark = getattr(entry.layout, field, None)
            if mark:
                found += [mark, mark + 'name="a">', mark + "a>", mark + 'name="f">', mark + "f>"]
    return found


PIECES = {dialect: pieces_of(dialect) for dialect in IDS}


def joined(deltas: list[str], dialect: str, *, opened: bool, cut: bool, repair: bool) -> tuple[object, ...]:
    """Read the deltas and return what the events say, checking their order."""
    made = reader(dialect, tools=TOOLS, reasoning_open=opened, repair=repair)
    events = [event for delta in deltas for event in made.feed(delta)]
    events += made.finish(truncated=cut)
    text: list[str] = []
    thinking: list[str] = []
    calls: list[object] = []
    faults: list[object] = []
    fragments: list[str] = []
    for event in events:
        if isinstance(event, Content):
            text.append(event.text)
        elif isinstance(event, Reasoning):
            thinking.append(event.text)
        elif isinstance(event, CallOpened):
            fragments = []
        elif isinstance(event, ArgumentsDelta):
            fragments.append(event.fragment)
        elif isinstance(event, CallClosed):
            if "".join(fragments) != event.arguments_json:
                raise AssertionError("fragments differ from the JSON text")
            json.loads(event.arguments_json)
            calls.append((event.index, event.name, event.arguments_json, event.repaired))
        elif isinstance(event, ParseFault):
            faults.append((event.index, event.code, event.message, event.raw))
    return "".join(text), "".join(thinking), calls, faults


def one(data: bytes) -> None:
    """Build a text from the data and read it in four cuts."""
    take = atheris.FuzzedDataProvider(data)
    dialect = IDS[take.ConsumeIntInRange(0, len(IDS) - 1)]
    flags = {"opened": take.ConsumeBool(), "cut": take.ConsumeBool(), "repair": take.ConsumeBool()}
    seed = take.ConsumeIntInRange(1, 9)
    pieces = PIECES[dialect]
    parts = []
    while take.remaining_bytes() and len(parts) < 300:
        at = take.ConsumeIntInRange(0, len(pieces) + 3)
        parts.append(pieces[at] if at < len(pieces) else take.ConsumeUnicode(6))
    text = "".join(parts)
    whole = joined([text], dialect, **flags)
    for deltas in (list(text), [text[i : i + seed] for i in range(0, len(text), seed)], parts):
        other = joined(deltas, dialect, **flags)
        if other != whole:
            raise AssertionError(f"cut differs: {dialect} {flags} {deltas!r}\n{whole!r}\n{other!r}")


if __name__ == "__main__":
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()
