"""The prompt section: what it says, that its example is read, that it is bounded and always the same."""

from types import SimpleNamespace
from typing import Any

import pytest

from gerbang import parse
from gerbang.parse.render import RenderError, system_prompt
from gerbang.parse.render.prompt import example
from tests.parse.render.prompt_texts import ENGLISH, INDONESIAN
from tests.parse.render.render_forms import ONE, TOOLS, TWO

DIALECTS = sorted({*TWO, *ONE})
TERMINAL = [
    {
        "name": "run_in_terminal",
        "description": "Run a shell command. Use for what no other tool does. Returns stdout, then stderr.",
        "parameters": {
            "type": "object",
            "required": ["command", "risk"],
            "properties": {
                "command": {"type": "string", "description": "One shell command."},
                "risk": {"enum": ["low", "medium", "high"]},
                "explanation": {"type": "string", "description": "One sentence."},
            },
        },
    }
]


@pytest.mark.parametrize("lang", ["en", "id"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_example_stands_in_the_prompt_and_is_read(dialect: str, lang: str) -> None:
    for tools in (TOOLS, TERMINAL):
        shown = example(tools, dialect)
        assert f"\n\n{shown.strip()}\n\n" in system_prompt(tools, dialect, lang)
        read = parse.parse(shown, dialect, tools=tools)
        assert [call.name for call in read.calls] == [tools[-1]["name"]]
        assert not list(read.faults)


@pytest.mark.parametrize(
    "dialect", ["tool_use", "hermes", "qwen3_coder", "claude_xml", "glm45", "mistral_args"]
)
def test_the_prompt_as_a_whole_holds_exactly_one_call(dialect: str) -> None:
    for lang in ("en", "id"):
        read = parse.parse(system_prompt(TERMINAL, dialect, lang), dialect, tools=TERMINAL)
        assert [call.name for call in read.calls] == ["run_in_terminal"]


def test_the_english_prompt_to_the_character() -> None:
    assert system_prompt(TERMINAL, "tool_use") == ENGLISH


def test_the_indonesian_prompt_to_the_character() -> None:
    assert system_prompt(TERMINAL, "tool_use", lang="id") == INDONESIAN


def test_the_example_uses_what_the_schema_says() -> None:
    read = parse.parse(example(TERMINAL, "hermes"), "hermes", tools=TERMINAL)
    assert read.calls[0].arguments == {"command": "example text", "risk": "low"}


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ({"type": "string", "format": "date"}, "2026-01-31"),
        ({"type": "integer", "minimum": 5}, 5),
        ({"type": "number", "maximum": 0.5}, 0.5),
        ({"type": ["null", "boolean"]}, True),
        ({"type": "array", "items": {"type": "integer"}}, [1]),
        ({"$ref": "#/$defs/p"}, {"x": 1}),
        ({"$ref": "#/$defs/loop"}, "example text"),
        ({"$ref": "http://example.com/x"}, "example text"),
        ({"anyOf": [{"type": "boolean"}, {"type": "string"}]}, True),
        ({"const": "k"}, "k"),
        ({"type": "string", "maxLength": 3}, "exa"),
        (True, "example text"),
    ],
)
def test_example_values(parameter: Any, value: Any) -> None:
    defs = {
        "p": {"type": "object", "required": ["x"], "properties": {"x": {"type": "integer"}}},
        "loop": {"$ref": "#/$defs/loop"},
    }
    tools = [
        {
            "name": "f",
            "parameters": {"$defs": defs, "required": ["a"], "properties": {"a": parameter, "b": {}}},
        }
    ]
    (call,) = parse.parse(example(tools, "hermes"), "hermes", tools=tools).calls
    assert call.arguments == {"a": value}


def test_tool_lines() -> None:
    tools = [
        {
            "type": "function",
            "function": {
                "name": "plan",
                "description": "Plan a trip.\nUse for\ttrips.\u202e\x1b[31m",
                "parameters": {
                    "required": ["stops"],
                    "properties": {
                        "stops": {"type": "array", "items": {"type": "string"}},
                        "days": {"type": "integer", "minimum": 1, "maximum": 9},
                        "mode": {"enum": ["car", "train"], "description": "How to\ntravel."},
                        "limits": {"type": "object", "properties": {"cost": {"type": ["number", "null"]}}},
                        "who": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                    },
                },
            },
        },
        SimpleNamespace(name="ping", description="", parameters=None),
    ]
    prompt = system_prompt(tools, "hermes")
    assert (
        '\n- plan(stops: [string], days?: integer 1..9, mode?: "car"|"train" (How to travel.), '
        "limits?: {cost?: number|null}, who?: string|null) - Plan a trip. Use for trips. [31m\n- ping()\n"
    ) in prompt


def test_it_is_bounded() -> None:
    huge = {
        "name": "f",
        "description": "x" * 100_000,
        "parameters": {"properties": {f"p{i}" * 50: {"enum": ["y" * 1000] * 100} for i in range(500)}},
    }
    assert len(system_prompt([huge] * 1000, "hermes")) < 250_000
    wide: dict[str, Any] = {"type": "string"}
    for _ in range(6):
        fields = [f"k{i}" for i in range(8)]
        wide = {"type": "object", "required": fields, "properties": dict.fromkeys(fields, wide)}
    assert len(system_prompt([{"name": "f", "parameters": wide}], "hermes")) < 20_000
    assert len(example([{"name": "f", "parameters": wide}], "hermes")) < 5_000
    many = [{"name": f"t{i}"} for i in range(205)]
    assert "\n- t199()\n(5 more tools exist and are not listed here.)\n" in system_prompt(many, "hermes")


def test_no_tools() -> None:
    assert "No tools are available" in system_prompt([], "hermes")
    assert "Tidak ada alat" in system_prompt([], "hermes", lang="id")


@pytest.mark.parametrize(
    ("tools", "dialect", "lang", "reason"),
    [
        ([{"name": "none"}], "router", "en", "means something else"),
        ([{"name": "a"}], "nothing", "en", "Unknown dialect"),
        ([{"name": "a"}], "hermes", "de", "use 'en' or 'id'"),
        ([{"description": "a"}], "hermes", "en", "no usable name"),
        ([{"name": "a" * 129}], "hermes", "en", "longer than 128"),
        ([{"name": "two words"}], "pythonic", "en", "No example can be written"),
    ],
)
def test_wrong_usage(tools: Any, dialect: str, lang: str, reason: str) -> None:
    with pytest.raises(RenderError, match=reason):
        system_prompt(tools, dialect, lang)


def test_ways_to_answer_that_a_format_needs() -> None:
    assert '"none"' in system_prompt(TOOLS, "router")
    assert "Final Answer" in system_prompt(TOOLS, "react", lang="id")
    assert "one call in an answer" in system_prompt(TOOLS, "gigachat3")
