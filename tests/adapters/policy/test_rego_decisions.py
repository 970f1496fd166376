"""What a bundle's result becomes: the shapes taken and refused, undefined values, errors, floors, numbers."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gerbang.adapters.policy.rego import RegoPolicy
from gerbang.errors import ConfigError
from gerbang.policy.input import PolicyInput

from .bundles import ALLOW, HARD, call, document, rego

HEAD = "package gerbang\n\n"
ECHO = HEAD + "decision := input.arguments.result\n"


def same_both_ways(policy: RegoPolicy, given: PolicyInput) -> tuple[str, tuple[str, ...]]:
    """Decide with and without an event loop; both must agree. Returns the decision and its reasons."""
    blocking = policy.decide(given)
    assert asyncio.run(policy.decide_async(given)) == blocking
    assert blocking.policy_version == policy.version
    return blocking.decision, blocking.reasons


WRONG = ("deny", ("POLICY_ERROR", "POLICY_RESULT"))
RESULTS: list[tuple[Any, tuple[str, tuple[str, ...]]]] = [
    ({"decision": "allow", "reasons": ["OK"]}, ("allow", ("OK",))),
    ({"decision": "ask", "reasons": ["A", "B_2"], "rule": "r", "obligations": []}, ("ask", ("A", "B_2"))),
    ({"decision": "deny", "reasons": ["NO"], "rule": None}, ("deny", ("NO",))),
    (True, WRONG),
    ("allow", WRONG),
    (None, WRONG),
    ([], WRONG),
    ({}, WRONG),
    ({"decision": "allow"}, WRONG),
    ({"decision": "allow", "reasons": []}, WRONG),
    ({"decision": "allow", "reasons": "OK"}, WRONG),
    ({"decision": "allow", "reasons": ["ok"]}, WRONG),
    ({"decision": "allow", "reasons": ["OK\n"]}, WRONG),
    ({"decision": "allow", "reasons": ["O" * 65]}, WRONG),
    ({"decision": "allow", "reasons": [f"R{n}" for n in range(33)]}, WRONG),
    ({"decision": "Allow", "reasons": ["OK"]}, WRONG),
    ({"decision": True, "reasons": ["OK"]}, WRONG),
    ({"decision": "allow", "reasons": ["OK"], "rule": 7}, WRONG),
    ({"decision": "allow", "reasons": ["OK"], "rule": "r" * 201}, WRONG),
    ({"decision": "allow", "reasons": ["OK"], "auto": "true"}, WRONG),
    ({"decision": "allow", "reasons": ["OK"], "obligations": ["fly"]}, WRONG),
    ({"decision": "allow", "reasons": ["OK"], "obligations": "dry_run"}, WRONG),
    ({"decision": "allow", "reasons": ["OK"], "allowed": True}, WRONG),
    ({"decision": "allow", "reasons": ["OK"], "rule": "r" * 100_000}, WRONG),
]


@pytest.fixture(scope="module")
def echo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RegoPolicy]:
    """A policy that answers whatever the call says it should."""
    policy = RegoPolicy.open(rego(tmp_path_factory.mktemp("echo"), ECHO))
    yield policy
    policy.close()


@pytest.mark.parametrize(("result", "want"), RESULTS, ids=lambda value: json.dumps(value)[:60])
def test_shapes(echo: RegoPolicy, result: Any, want: tuple[str, tuple[str, ...]]) -> None:
    assert same_both_ways(echo, document(arguments={"result": result})) == want


def test_the_whole_result_arrives(echo: RegoPolicy) -> None:
    result = {
        "decision": "ask",
        "reasons": ["MONEY"],
        "rule": "big-refunds",
        "obligations": ["two_person", {"approvers": ["ops", "risk"]}],
    }
    decision = echo.decide(document(arguments={"result": result}))
    assert (decision.rule, decision.obligations) == ("big-refunds", ("two_person", "approvers:ops,risk"))


FLOORS = [
    ("transactional", {}, "ask", ("FLOOR_TRANSACTIONAL", "OK")),
    ("destructive", {}, "ask", ("FLOOR_DESTRUCTIVE", "OK")),
    ("destructive", {"auto": True}, "allow", ("OK",)),
    ("write_external", {}, "allow", ("OK",)),
    ("transactional", {"decision": "deny"}, "deny", ("OK",)),
]


@pytest.mark.parametrize(("risk", "change", "decision", "reasons"), FLOORS)
def test_floors_only_tighten(
    echo: RegoPolicy, risk: str, change: dict[str, Any], decision: str, reasons: tuple[str, ...]
) -> None:
    result = {"decision": "allow", "reasons": ["OK"], **change}
    assert same_both_ways(echo, document(risk=risk, arguments={"result": result})) == (decision, reasons)


def test_risk_facts_set_a_floor(echo: RegoPolicy) -> None:
    result = {"decision": "allow", "reasons": ["OK"]}
    given = document(risk="write_internal", arguments={"result": result}, risk_facts={"production": True})
    assert same_both_ways(echo, given) == ("ask", ("FLOOR_PRODUCTION", "OK"))


NUMBERS = [
    (9_007_199_254_740_993, "==", 9_007_199_254_740_993, True),
    (9_007_199_254_740_993, "==", 9_007_199_254_740_992, False),
    (18_446_744_073_709_551_615, ">", 18_446_744_073_709_551_614, True),
    (-9_223_372_036_854_775_808, "<", -9_223_372_036_854_775_807, True),
    (0.1, "==", 0.1, True),
    (1.0, "==", 1, True),
    (50.00000000000001, ">", 50, True),
]


@pytest.mark.parametrize(("value", "operator", "bound", "holds"), NUMBERS)
def test_numbers_are_compared_exactly(
    value: float, operator: str, bound: float, holds: bool, tmp_path: Path
) -> None:
    text = HEAD + f"default decision := {ALLOW.replace('OK', 'ELSE')}\n"
    text += f"decision := {ALLOW} if input.arguments.n {operator} {bound}\n"
    policy = RegoPolicy.open(rego(tmp_path, text))
    try:
        reasons = policy.decide(document(arguments={"n": value})).reasons
        assert reasons == (("OK",) if holds else ("ELSE",))
    finally:
        policy.close()


BAD_INPUTS: list[tuple[Any, str]] = [
    (10**30, "POLICY_INPUT"),  # the engine would round it
    ("x" * 1_100_000, "POLICY_INPUT"),
    ("\ud800", "POLICY_INPUT"),
]


@pytest.mark.parametrize(("value", "code"), BAD_INPUTS, ids=["big", "long", "surrogate"])
def test_input_that_cannot_be_looked_at_is_denied(echo: RegoPolicy, value: Any, code: str) -> None:
    assert same_both_ways(echo, document(arguments={"result": value})) == ("deny", ("POLICY_ERROR", code))


def test_deep_arguments_are_denied_or_decided_but_never_crash(echo: RegoPolicy) -> None:
    deep: Any = 1
    for _ in range(200):
        deep = [deep]
    found = same_both_ways(echo, document(arguments={"result": deep}))
    assert found == ("deny", ("POLICY_ERROR", "POLICY_EVALUATION"))


def test_undefined_conflict_and_failing_builtins_are_denials(tmp_path: Path) -> None:
    text = HEAD + (
        f'decision := {ALLOW} if input.arguments.kind == "plain"\n'
        f'decision := {ALLOW} if {{ input.arguments.kind == "two"; input.tool.name }}\n'
        'decision := {"decision": "deny", "reasons": ["NO"]} if input.arguments.kind == "two"\n'
    )
    policy = RegoPolicy.open(rego(tmp_path, text))
    try:
        assert same_both_ways(policy, call("plain")) == ("allow", ("OK",))
        assert same_both_ways(policy, call("other")) == ("deny", ("POLICY_UNDEFINED",))
        assert same_both_ways(policy, call("two")) == ("deny", ("POLICY_ERROR", "POLICY_EVALUATION"))
        assert "conflict" in policy.tell(call("two")).detail or "multiple" in policy.tell(call("two")).detail
        assert "Stack backtrace" not in policy.tell(call("two")).detail
        assert same_both_ways(policy, call("plain")) == ("allow", ("OK",))  # nothing is left behind
    finally:
        policy.close()


def test_one_decision_leaves_nothing_to_the_next(tmp_path: Path) -> None:
    """The same calls, in another order and at once, get the same decisions."""
    text = HEAD + (
        'default decision := {"decision": "deny", "reasons": ["NO"]}\n'
        'decision := {"decision": "allow", "reasons": [code]} if {\n'
        '    input.arguments.n % 2 == 0\n    code := sprintf("N%d", [input.arguments.n])\n}\n'
    )
    policy = RegoPolicy.open(rego(tmp_path, text))

    async def ask(numbers: list[int]) -> list[tuple[str, ...]]:
        given = [document(arguments={"n": n}) for n in numbers]
        return [found.reasons for found in await asyncio.gather(*map(policy.decide_async, given))]

    try:
        numbers = list(range(200))
        want = [(f"N{n}",) if n % 2 == 0 else ("NO",) for n in numbers]
        assert asyncio.run(ask(numbers)) == want
        assert asyncio.run(ask(numbers[::-1])) == want[::-1]
    finally:
        policy.close()


def test_the_engine_is_an_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install 'gerbang\[rego\]'"):
        RegoPolicy.open(rego(tmp_path, HARD))


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf")])
def test_time_outs_are_positive_numbers(seconds: float, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="number of seconds above 0"):
        RegoPolicy.open(rego(tmp_path, HARD), timeout_s=seconds)
