"""Values: strict JSON, coercion by schema, Python literals, model names."""

import json
from typing import Any

import pytest

from gerbang.adapters.tools.python import tool
from gerbang.errors import UsageError
from gerbang.parse import arguments_from_json, dialect_for, dialects, parse, reader
from gerbang.parse.coerce import coerce
from gerbang.parse.faults import CODES, Broken
from gerbang.parse.kinds import Offered
from gerbang.parse.python_calls import literal
from tests.parse.reading import read, same


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", {}),
        (" \n", {}),
        ("{}", {}),
        ('{"a": 9007199254740993}', {"a": 9007199254740993}),
        ('{"a": 123456789012345678901234567890}', {"a": 123456789012345678901234567890}),
        ('{"a": 1.5e3, "b": [true, null]}', {"a": 1500.0, "b": [True, None]}),
        ('{"a": "\\ud83d\\ude80 é"}', {"a": "🚀 é"}),
        ('{"a": 1, "a": 1.0}', {"a": 1.0}),
    ],
)
def test_structured_arguments(text: str, value: dict[str, Any]) -> None:
    found, fault = arguments_from_json(text)
    assert fault is None
    assert same(found, value)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{", "CALL_NOT_JSON"),
        ("{'a': 1}", "CALL_NOT_JSON"),
        ('{"a": 1,}', "CALL_NOT_JSON"),
        ('{"a": NaN}', "CALL_NOT_JSON"),
        ('{"a": -Infinity}', "CALL_NOT_JSON"),
        ('{"a": 1} x', "CALL_NOT_JSON"),
        ('{"a": "\n"}', "CALL_NOT_JSON"),
        ('{"a": "\\ud83d"}', "CALL_NOT_JSON"),
        ('{"a": "\ud83d"}', "CALL_NOT_JSON"),
        ('{"a": ' + "9" * 5_000 + "}", "CALL_NOT_JSON"),
        ("[1]", "CALL_SHAPE"),
        ('"x"', "CALL_SHAPE"),
        ("null", "CALL_SHAPE"),
        ('{"a": 1, "a": 2}', "CALL_AMBIGUOUS"),
        ('{"a": 1, "a": true}', "CALL_AMBIGUOUS"),
        ('{"a": {"b": 1, "b": "1"}}', "CALL_AMBIGUOUS"),
        ('{"a": ' * 201 + "1" + "}" * 201, "CALL_TOO_DEEP"),
        ('{"a": ' + "[" * 1_000_000, "CALL_TOO_DEEP"),
    ],
)
def test_structured_arguments_that_are_refused(text: str, code: str) -> None:
    found, fault = arguments_from_json(text)
    assert found is None
    assert fault is not None
    assert fault[0] == code
    assert len(fault[1]) > 40


NAMES = {"type": "object", "properties": {"k": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("schema", "raw", "value"),
    [
        ({"type": "string"}, "007", "007"),
        ({"type": "string"}, " null ", " null "),
        ({}, "5", "5"),
        ({"type": "integer"}, " 40 ", 40),
        ({"type": "integer"}, "007", "007"),
        ({"type": "integer"}, "4.0", 4.0),
        ({"type": "integer"}, "4.5", "4.5"),
        ({"type": "integer"}, "9" * 40, int("9" * 40)),
        ({"type": "number"}, "-2.50", -2.5),
        ({"type": "number"}, "1e400", "1e400"),
        ({"type": "number"}, "NaN", "NaN"),
        ({"type": "boolean"}, "True", True),
        ({"type": "boolean"}, "yes", "yes"),
        ({"type": "null"}, "None", None),
        ({"type": ["integer", "null"]}, "null", None),
        ({"type": ["integer", "null"]}, "3", 3),
        ({"type": ["string", "integer"]}, "3", 3),
        ({"type": ["string", "integer"]}, "03", "03"),
        ({"type": "integer", "nullable": True}, "null", None),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "null", None),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "nullable", "nullable"),
        ({"oneOf": [{"anyOf": [{"type": "integer"}]}, {"type": "boolean"}]}, "7", 7),
        ({"allOf": [{"type": "integer"}, {"minimum": 1}]}, "7", 7),
        ({"$ref": "#/$defs/Level"}, "7", 7),
        ({"$ref": "#/$defs/Loop"}, "7", "7"),
        ({"$ref": "http://example.org/x"}, "7", "7"),
        ({"enum": [1, 2]}, "2", 2),
        ({"const": True}, "true", True),
        ({"type": "array"}, "[1, 'a', None]", [1, "a", None]),
        ({"type": "array"}, '{"a": 1}', '{"a": 1}'),
        ({"type": "object"}, '{"a": [1,],}', {"a": [1]}),
        ({"type": "object"}, "{a: 1}", "{a: 1}"),
        ({"type": ["object", "string"]}, '{"a": 1}', {"a": 1}),
        ({"type": ["object", "string"]}, "{a}", "{a}"),
        ({"type": "integer"}, "<b>&amp;</b>", "<b>&amp;</b>"),
    ],
)
def test_raw_values_by_schema(schema: dict[str, Any], raw: str, value: Any) -> None:
    parameters = {
        "type": "object",
        "properties": {"x": schema},
        "$defs": {"Level": {"type": "integer"}, "Loop": {"$ref": "#/$defs/Loop"}},
    }
    tools = [{"name": "f", "parameters": parameters}]
    text, _ = coerce(raw, Offered(tools).kinds("f", "x"), repair=True)
    assert same(json.loads(text), value)
    call = f"<tool_call>f<arg_key>x</arg_key><arg_value>{raw}</arg_value></tool_call>"
    for deltas in ([call], list(call)):
        assert same(read(deltas, "glm47", tools=tools).calls, [("f", {"x": value})])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'a' \"b\"", "ab"),
        ("'''a\n'b'''", "a\n'b"),
        ("r'\\d'", "\\d"),
        ("'\\x41\\u00e9\\U0001F680\\101\\q'", "Aé🚀A\\q"),
        ("1_000", 1000),
        ("0xff", 255),
        ("+2.5", 2.5),
        (".5", 0.5),
        ("(1, 2)", [1, 2]),
        ("(1)", 1),
        ("{'a': (1,), 'b': {}}", {"a": [1], "b": {}}),
        ("[1, # one\n 2]", [1, 2]),
    ],
)
def test_python_literals(text: str, value: Any) -> None:
    assert same(literal(text), value)


NO_LITERALS = [
    *("x", "1 + 1", "f()", "{1: 2}", "{1, 2}", "b'x'", "f'{x}'", "1e999", "inf", "[1", "'a"),
    *("__import__('os')", "'\\ud83d'", "1 2"),
]


@pytest.mark.parametrize("text", NO_LITERALS)
def test_python_that_is_no_literal(text: str) -> None:
    with pytest.raises(Broken):
        literal(text)


@pytest.mark.parametrize(
    ("model", "dialect"),
    [
        ("Qwen/Qwen3-Coder-480B", "qwen3_coder"),
        ("Qwen/Qwen3-0.6B", "hermes"),
        ("qwen2.5:7b-instruct", "hermes"),
        ("deepseek-ai/DeepSeek-V3.1", "deepseek_v31"),
        ("deepseek-ai/DeepSeek-R1-0528", "deepseek_v3"),
        ("openai/gpt-oss-20b", "harmony"),
        ("meta-llama/Llama-3.3-70B-Instruct", "llama3_json"),
        ("meta-llama/Llama-4-Scout-17B", "pythonic"),
        ("mistralai/Mistral-7B-Instruct-v0.3", "mistral_json"),
        ("mistralai/Devstral-Small-2507", "mistral_args"),
        ("zai-org/GLM-4.7", "glm47"),
        ("moonshotai/Kimi-K2-Instruct", "kimi_k2"),
        ("ibm-granite/granite-4.0-h-small", "granite4"),
        ("a model nobody knows", None),
        ("", None),
    ],
)
def test_dialect_of_a_model(model: str, dialect: str | None) -> None:
    assert dialect_for(model) == dialect


def test_wrong_use_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(UsageError, match="Did you mean 'hermes'"):
        reader("herms")
    with pytest.raises(UsageError, match="has no name"):
        reader("hermes", tools=[{"parameters": {}}])
    made = reader("hermes")
    made.finish()
    with pytest.raises(RuntimeError, match="Make a new reader"):
        made.feed("x")
    with pytest.raises(RuntimeError, match="Make a new reader"):
        made.finish()


@pytest.mark.parametrize("tools", ["ping", {"name": "ping"}, 7, [7], ["ping"], [{"name": 7}], [None]])
def test_tools_that_are_none(tools: Any) -> None:
    with pytest.raises(UsageError, match="tool"):
        reader("hermes", tools=tools)


def test_what_is_no_text() -> None:
    for wrong in (None, b"x", 7, ["x"]):
        with pytest.raises(UsageError, match="parse takes the text of an answer"):
            parse(wrong, "hermes")  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="the name of a model"):
            dialect_for(wrong)  # type: ignore[arg-type]


def test_contracts_are_tools_too() -> None:
    @tool(name="sums.add.v1", risk="compute")
    def add(a: int) -> int:
        """Add one."""
        return a + 1

    text = "<tool_call><function=sums.add.v1><parameter=a>3</parameter></function></tool_call>"
    for offered in ([add.contract], (one for one in [add.contract])):
        (call,) = parse(text, "qwen3_coder", tools=offered).calls
        assert call.arguments == {"a": 3}


def test_every_code_has_a_message() -> None:
    assert all(message.format(why="x") for message in CODES.values())
    assert len(dialects()) == 54  # the 49 of the cases, three more, router and auto
